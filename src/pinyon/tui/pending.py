"""Between transcript and editor: shell commands that wait for the end of a run, and queued messages."""

from __future__ import annotations

from textual.strip import Strip

from pinyon.tui.block.shell import ShellBlock
from pinyon.tui.canvas import blank, clean, plain
from pinyon.tui.grapheme import fit
from pinyon.tui.rows import RowsWidget
from pinyon.tui.tone import Tone

_MAX_ROWS = 8


class Pending(RowsWidget):
    """Draws what waits. `shells` move to the transcript when the run has settled."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.tone = Tone()
        self.shells: list[ShellBlock] = []
        self.steering: list[str] = []
        self.follow_ups: list[str] = []
        self.dequeue_hint = ""

    def build(self, width: int) -> list[Strip]:
        """The rows: shell blocks, steering, follow-ups, how to take them back."""
        rows: list[Strip] = []
        for shell in self.shells:
            rows += [blank(width), *shell.render(width, self.tone)]
        waiting = [*(("next", text) for text in self.steering), *(("later", text) for text in self.follow_ups)]
        if not waiting:
            return rows
        rows.append(blank(width))
        limit = min(_MAX_ROWS, max(1, self.app.size.height // 5))
        for kind, text in waiting[:limit]:
            line = fit(f" {kind}: {clean(text)}".replace("\n", " ⏎ "), width - 1)
            rows.append(plain(line, width, self.tone.style("dim")))
        hidden = len(waiting) - limit
        hint = f" {self.dequeue_hint} takes them back into the editor" if self.dequeue_hint else ""
        more = f" … {hidden} more" if hidden > 0 else ""
        if more or hint:
            rows.append(plain(fit(more + hint, width), width, self.tone.style("dim")))
        return rows
