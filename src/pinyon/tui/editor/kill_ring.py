"""What was deleted in larger pieces, to be put back."""

from __future__ import annotations

_MAX_ENTRIES = 60


class KillRing:
    """Newest last. Kills that follow each other directly grow one entry."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._at = 0

    def push(self, text: str, *, is_backward: bool, extends: bool) -> None:
        """Add a deleted text; with `extends` it joins the newest entry, in front of it when `is_backward`."""
        if not text:
            return
        if extends and self._entries:
            newest = self._entries[-1]
            self._entries[-1] = text + newest if is_backward else newest + text
        else:
            self._entries.append(text)
            del self._entries[:-_MAX_ENTRIES]

    def newest(self) -> str:
        """The newest entry, empty where there is none."""
        self._at = len(self._entries) - 1
        return self._entries[-1] if self._entries else ""

    def older(self) -> str:
        """The entry before the one that was given last, going round."""
        if not self._entries:
            return ""
        self._at = (self._at - 1) % len(self._entries)
        return self._entries[self._at]
