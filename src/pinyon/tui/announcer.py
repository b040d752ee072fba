"""What the program says by itself: notices in the transcript, hints and the spinner in the border of the editor, the
footer. One timer runs while something moves, and none when nothing does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.timer import Timer

from pinyon.tui.block.notice import NoticeBlock, NoticeKind
from pinyon.tui.spinner import FRAME_S

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_HINT_S = 2.5
_FOOTER_S = 0.1
_TOOL_CLOCK_S = 1.0


class Announcer:
    """Owns the timers of everything that moves or goes away by itself."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app
        self._ticker: Timer | None = None
        self._footer_timer: Timer | None = None
        self._hint_timer: Timer | None = None
        self._hint = ""
        self._last_tool_tick = 0.0
        self._last_status: NoticeBlock | None = None

    def notify(self, text: str, kind: NoticeKind) -> None:
        """Say something in the transcript; a status takes the place of the one right before it."""
        transcript = self._app.transcript
        if kind == "status" and self._last_status is not None and transcript.last_block is self._last_status:
            self._last_status.set_text(text)
            return
        block = NoticeBlock(kind, text)
        if kind == "status":
            self._last_status = block
        transcript.add(block)

    def hint(self, text: str) -> None:
        """Say something in the border of the editor for a moment."""
        self._hint = text
        if self._hint_timer is not None:
            self._hint_timer.stop()
        self._hint_timer = self._app.set_timer(_HINT_S, self._end_hint)
        self.show_status()

    def _end_hint(self) -> None:
        self._hint, self._hint_timer = "", None
        self.show_status()

    def spinner_changed(self) -> None:
        """Begin or stop to turn the spinner."""
        is_active = self._app.spinner.is_active
        if is_active and self._ticker is None:
            self._ticker = self._app.set_interval(FRAME_S, self._tick)
        elif not is_active and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        self.show_status()

    def _tick(self) -> None:
        self.show_status()
        now, desk = time.monotonic(), self._app.desk
        if desk is not None and now - self._last_tool_tick >= _TOOL_CLOCK_S:
            self._last_tool_tick = now
            for block in desk.conversation.running_tools():
                block.changed()

    def show_status(self) -> None:
        """Draw the hint, else the spinner, in the border of the editor."""
        app = self._app
        if not app.is_running:
            return
        hint = [(f" {self._hint} ", "muted")] if self._hint else []
        app.editor.status = hint or app.spinner.parts()
        app.editor.update_rows()

    def footer_soon(self) -> None:
        """Bring the footer up to date within a moment."""
        if self._footer_timer is None and self._app.is_running:
            self._footer_timer = self._app.set_timer(_FOOTER_S, self._update_footer)

    def _update_footer(self) -> None:
        self._footer_timer = None
        desk, footer = self._app.desk, self._app.footer
        if desk is not None:
            footer.facts = desk.facts()
            footer.update_rows()
