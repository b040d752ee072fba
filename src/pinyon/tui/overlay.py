"""What takes the place of the editor for a while: selectors, dialogs and texts to read, one over the other."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget

from pinyon.tui.canvas import plain, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.keymap import Keymap
from pinyon.tui.rows import RowsWidget
from pinyon.tui.tone import Tone

DOCK_SHARE = 0.85
"""How much of the screen everything below the transcript may take."""
_CRAMPED_ROWS = 20


class Overlay(RowsWidget, can_focus=True):
    """Base: a title, rows, keys, and a result that is awaited. None is the result of closing it."""

    DEFAULT_CSS = "Overlay { height: 3; }"

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.tone = Tone()
        self.keymap = Keymap()
        self.deadline: float | None = None
        """When the overlay closes by itself, on the clock of `time.monotonic`."""
        self.result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def on_mount(self) -> None:
        """Count down where there is an end."""
        super().on_mount()
        if self.deadline is not None:
            self.set_interval(1, self.update_rows)

    def handle(self, key: str, character: str | None) -> None:
        """Do what a key means; the overlay has all keys while it is open."""
        if self.keymap.is_bound(key, "tui.select.cancel"):
            self.finish(None)
        del character

    def paste(self, text: str) -> None:
        """Take a pasted text."""

    def finish(self, value: Any) -> None:
        """Close with a result; a second one is ignored."""
        if not self.result.done():
            self.result.set_result(value)

    def max_rows(self, *, reserved: int) -> int:
        """How many rows a list may have so that everything else stays on the screen."""
        return max(1, min(10, int(self.app.size.height * DOCK_SHARE) - reserved))

    @property
    def is_cramped(self) -> bool:
        """Whether the screen is too low for anything but the list."""
        return self.app.size.height < _CRAMPED_ROWS

    def framed(self, body: list[Strip], width: int, hint: str) -> list[Strip]:
        """Rows between two rules, the title above and a line of keys below."""
        rule = plain("─" * width, width, self.tone.style("border"))
        head = []
        for number, line in enumerate(self.title.split("\n") if self.title else []):
            style = self.tone.style("muted") if number else self.tone.style("accent", bold=True)
            if number == 0 and self.deadline is not None:
                line = f"{line} ({max(0, round(self.deadline - time.monotonic()))}s)"  # noqa: PLW2901
            head += text_rows(Text(f" {line}", style=style), width)
        tail = [plain(fit(f" {hint}", width), width, self.tone.style("dim"))] if hint else []
        return [rule, *head, *body, *tail, rule]

    def select_hint(self, *more: str) -> str:
        """The keys of a list in one line."""
        hint = self.keymap.hint
        parts = [f"{hint('tui.select.confirm')} chooses", f"{hint('tui.select.cancel')} closes", *more]
        return " · ".join(part for part in parts if part)


class OverlayStack:
    """The open overlays; the newest is in front and has the keys. Each is answered on its own."""

    def __init__(self, slot: Widget, editor: Widget) -> None:
        self._slot = slot
        self._editor = editor
        self.open: list[Overlay] = []

    @property
    def front(self) -> Overlay | None:
        """The overlay that has the keys."""
        return self.open[-1] if self.open else None

    async def ask(self, overlay: Overlay, tone: Tone, keymap: Keymap) -> Any:
        """Show an overlay in front and return its result; it goes away whatever happens."""
        overlay.tone, overlay.keymap = tone, keymap
        self.open.append(overlay)
        try:
            await self._slot.mount(overlay)
            self._arrange()
            return await overlay.result
        finally:
            self.open.remove(overlay)
            await overlay.remove()
            self._arrange()

    def restyle(self, tone: Tone) -> None:
        """Draw all in another tone."""
        for overlay in self.open:
            overlay.tone = tone
            overlay.update_rows()

    def close_all(self) -> None:
        """Close every overlay without an answer."""
        for overlay in self.open:
            overlay.finish(None)

    def _arrange(self) -> None:
        for overlay in self.open:
            overlay.display = overlay is self.front
        self._editor.display = not self.open
        target = self.front or self._editor
        if target.is_mounted:
            target.focus()
