"""Prompts that were sent: browsing them with the draft kept, and the file that carries them over restarts."""

from __future__ import annotations

from pathlib import Path

import msgspec

HISTORY_FILE = "pinyon-history.jsonl"
MAX_ENTRIES = 100
_MAX_STORED = 1000
_MAX_ENTRY_CHARS = 20_000


class PromptHistory:
    """Newest first, without direct repeats. `path` is where it is kept; None keeps it in memory.

    The file holds one JSON string a line. It is appended to, so that several programs can share it, and cut when it
    has grown to twice what is read.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.entries: list[str] = []
        self._at = -1
        self._draft = ""

    def load(self) -> None:
        """Read the file; what cannot be read is skipped."""
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().split(b"\n")
        except OSError:
            return
        texts = [text for line in lines if (text := _decoded(line))]
        if len(texts) > 2 * _MAX_STORED:
            texts = texts[-_MAX_STORED:]
            self._rewrite(texts)
        for text in texts[-_MAX_STORED:]:
            self._push(text)

    def add(self, text: str) -> None:
        """Remember a prompt and end browsing."""
        self._at = -1
        if text and self._push(text) and self._path is not None and len(text) <= _MAX_ENTRY_CHARS:
            self._append(text)

    def seed(self, texts: list[str]) -> None:
        """Put the prompts of a resumed session in front, oldest first; the file is not changed."""
        for text in texts:
            self._push(text)

    def older(self, current: str) -> str | None:
        """The next older prompt, None at the end. The first step keeps `current` as the draft."""
        if self._at + 1 >= len(self.entries):
            return None
        if self._at < 0:
            self._draft = current
        self._at += 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """The next newer prompt, at last the draft; None when nothing is browsed."""
        if self._at < 0:
            return None
        self._at -= 1
        return self._draft if self._at < 0 else self.entries[self._at]

    @property
    def is_browsing(self) -> bool:
        """Whether an older prompt is shown."""
        return self._at >= 0

    def stop(self) -> None:
        """End browsing, as when the text was changed."""
        self._at = -1

    def search(self, query: str) -> list[str]:
        """Prompts that hold `query`, newest first, each once."""
        wanted = query.lower()
        return list(dict.fromkeys(entry for entry in self.entries if wanted in entry.lower()))

    def _push(self, text: str) -> bool:
        if self.entries and self.entries[0] == text:
            return False
        self.entries.insert(0, text)
        del self.entries[_MAX_STORED:]
        return True

    def _append(self, text: str) -> None:
        assert self._path is not None
        try:
            is_new = not self._path.exists()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                if is_new:
                    self._path.chmod(0o600)
                file.write(msgspec.json.encode(text) + b"\n")
        except OSError:
            self._path = None  # a folder that cannot be written to: go on in memory

    def _rewrite(self, texts: list[str]) -> None:
        assert self._path is not None
        from pinyon._util.atomic import replace_file

        replace_file(self._path, b"".join(msgspec.json.encode(text) + b"\n" for text in texts))


def _decoded(line: bytes) -> str | None:
    try:
        value = msgspec.json.decode(line) if line else None
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, str) else None
