"""The row of one tool call: a title, what came of it, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rich.text import Text
from textual.strip import Strip

from pinyon.ai.content import ImageContent
from pinyon.tui.block.block import Block
from pinyon.tui.block.tool_body import Panel, read_extent, tool_body
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.block.tool_title import tool_title
from pinyon.tui.canvas import inset, plain, text_rows
from pinyon.tui.picture import Picture
from pinyon.tui.quantity import shown_duration
from pinyon.tui.tone import Tone

_TIMED = ("bash", "powershell")
_TELLING_S = 1.0
_INDENT = 2


class ToolRenderer(Protocol):
    """How somebody else draws the rows of a tool: the title, and what stands under it."""

    def title(self, call: ToolCallView, tone: Tone, background: str) -> Text:
        """The first line."""
        ...

    def body(self, call: ToolCallView, panel: Panel) -> list[Strip]:
        """The rows under it."""
        ...


class ToolBlock(Block):
    """A tool call from its first argument to its result. `renderer` replaces the usual rows; one that raises does not
    take the row away.
    """

    can_expand = True

    def __init__(
        self, call: ToolCallView, *, renderer: ToolRenderer | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.call = call
        self.renderer = renderer
        self._now = now
        self._started: float | None = None

    def set_arguments(self, arguments: Mapping[str, Any], *, is_complete: bool) -> None:
        """Show the arguments as far as they are known."""
        self.call.arguments = arguments
        if is_complete and self.call.state == "arguments":
            self.call.state = "waiting"
        self.changed()

    def start(self) -> None:
        """The tool was taken up."""
        self.call.state = "running"
        self._started = self._now()
        self.changed()

    def progress(self, text: str, details: Any) -> None:
        """More output."""
        self.call.text, self.call.details = text, details
        self.changed()

    def finish(
        self,
        text: str,
        details: Any,
        *,
        is_error: bool,
        images: Sequence[ImageContent] = (),
        duration_ms: float | None = None,
    ) -> None:
        """The result."""
        call = self.call
        if duration_ms is not None:
            call.elapsed_s = duration_ms / 1000
        call.text, call.details, call.is_error, call.state = text, details, is_error, "done"
        self.pictures = call.pictures = [Picture(image) for image in images]
        self._started = None
        self.changed()

    def fail(self, text: str) -> None:
        """The call will never have a result."""
        if self.call.state != "done":
            self.finish(text, None, is_error=True)

    @property
    def is_running(self) -> bool:
        """Whether the row has a clock that goes on."""
        return self.call.state == "running"

    @property
    def background(self) -> str:
        """The role of the background."""
        if self.call.state != "done":
            return "toolPendingBg"
        return "toolErrorBg" if self.call.is_error else "toolSuccessBg"

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The rows on the background of the state."""
        if self._started is not None:
            self.call.elapsed_s = self._now() - self._started
        background = self.background
        base = tone.style("", background)
        room = max(1, width - 2)
        sign, role = self._sign()
        indent = _INDENT if room > 10 * _INDENT else 0
        title = self._title(tone, background)
        for part in self._facts():
            title.append(f"  {part}", tone.style("dim", background))
        rows = text_rows(title, room - indent, base)
        if indent:
            head = plain(sign, indent, tone.style(role, background))
            rows = [Strip.join([head, rows[0]]), *inset(rows[1:], indent, 0, base)]
        rows += inset(self._body(Panel(room - indent, tone, background, self.is_expanded)), indent, 0, base)
        return inset(rows, 1, 1, base)

    def _sign(self) -> tuple[str, str]:
        match self.call.state:
            case "done":
                return ("✗", "error") if self.call.is_error else ("✓", "success")
            case "running":
                return "●", "accent"
            case _:
                return "○", "muted"

    def _title(self, tone: Tone, background: str) -> Text:
        if self.renderer is not None:
            try:
                return self.renderer.title(self.call, tone, background)
            except Exception:  # noqa: BLE001 - the border to foreign renderers: the usual title stands in
                self.renderer = None
        return tool_title(self.call, tone, background)

    def _body(self, panel: Panel) -> list[Strip]:
        if self.renderer is not None:
            try:
                return self.renderer.body(self.call, panel)
            except Exception:  # noqa: BLE001 - the border to foreign renderers: the usual rows stand in
                self.renderer = None
        return tool_body(self.call, panel)

    def _facts(self) -> list[str]:
        facts = [extent] if (extent := read_extent(self.call)) else []
        elapsed = self.call.elapsed_s
        if elapsed is not None and (self.call.name in _TIMED or elapsed >= _TELLING_S):
            facts.append(shown_duration(elapsed))
        return facts

    def plain_text(self) -> str:
        """Title and output."""
        title = tool_title(self.call, Tone(), "").plain
        extra = self.call.argument("content") or self.call.detail("diff") or ""
        return f"{title}\n{self.call.text or extra}"
