"""What runs at the moment, with its time, as it stands in the border of the editor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import msgspec

from pinyon.tui.quantity import shown_tokens

IndicatorKind = Literal["working", "compaction", "retry", "branchSummary", "shell", "starting"]
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.08
_CHARS_PER_TOKEN = 4


class Indicator(msgspec.Struct):
    """One kind of work. `until` is when a pause ends, on the clock of `time.monotonic`."""

    kind: IndicatorKind
    text: str
    started: float
    until: float | None = None
    streamed_chars: int = 0


class Spinner:
    """The work in progress; the newest kind is shown. `changed` starts and stops the ticking of the owner."""

    def __init__(self, changed: Callable[[], None], now: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._now = now
        self._running: dict[str, Indicator] = {}
        self.cancel_hint = "Esc"
        self.working_text = "Working"

    def start(self, kind: IndicatorKind, text: str, *, for_s: float | None = None) -> None:
        """Show that something began; a pause ends after `for_s` seconds."""
        now = self._now()
        before = self._running.pop(kind, None)
        started = before.started if before is not None and for_s is None else now
        self._running[kind] = Indicator(kind, text, started, None if for_s is None else now + for_s)
        self._changed()

    def stop(self, kind: IndicatorKind) -> None:
        """Show that it ended."""
        if self._running.pop(kind, None) is not None:
            self._changed()

    def clear(self) -> None:
        """Nothing runs."""
        self._running.clear()
        self._changed()

    def streamed(self, chars: int) -> None:
        """Count what a model wrote."""
        if "working" in self._running:
            self._running["working"].streamed_chars += chars

    @property
    def is_active(self) -> bool:
        """Whether anything runs."""
        return bool(self._running)

    @property
    def kind(self) -> IndicatorKind | None:
        """What is shown."""
        return next(reversed(self._running.values())).kind if self._running else None

    def parts(self) -> list[tuple[str, str]]:
        """Texts and roles of the line."""
        if not self._running:
            return []
        shown = next(reversed(self._running.values()))
        now = self._now()
        frame = FRAMES[int(now / FRAME_S) % len(FRAMES)]
        role = "warning" if shown.kind == "retry" else ""
        facts = [f"{int(now - shown.started)}s"] if shown.until is None else [f"{max(0, round(shown.until - now))}s"]
        if shown.kind == "working" and shown.streamed_chars:
            facts.append(f"{shown_tokens(shown.streamed_chars / _CHARS_PER_TOKEN)} tokens")
        if self.cancel_hint and shown.kind != "starting":
            facts.append(f"{self.cancel_hint} stops")
        return [(f" {frame} {shown.text} ", role or "accent"), (f"{' · '.join(facts)} ", "dim")]
