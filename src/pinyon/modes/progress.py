"""A line on standard error that shows a person at a terminal what a one-shot run is doing. It leaves no trace."""

from __future__ import annotations

import asyncio
import shutil
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from pinyon._util.terminal import strip_terminal_control
from pinyon.agent.event import AgentEnd, AgentStart, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from pinyon.ai.event import TextDelta, ThinkingDelta
from pinyon.coding.event import AutoRetryStart, CompactionEnd, CompactionStart

if TYPE_CHECKING:
    from pinyon.coding.event import SessionEvent

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_S = 0.12
_QUIET_S = 0.4
"""A run that ends sooner shows nothing."""
_ERASE = "\r\x1b[K"
_HINTS = ("command", "path", "file_path", "pattern", "query", "url")


class Progress:
    """Draws while it is entered; `hear` takes the events of the session."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._doing = "waiting for the model"
        self._tools: dict[str, str] = {}
        self._is_running = False
        self._is_drawn = False

    async def __aenter__(self) -> Progress:
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._draw())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        self._erase()

    def hear(self, event: SessionEvent) -> None:
        """Note what an event says about the present work."""
        match event:
            case AgentStart():
                self._is_running = True
                self._doing = "waiting for the model"
            case AgentEnd():
                self._is_running = False
                self._tools.clear()
                self._erase()  # at once: the answer is about to be written where the line stands
            case MessageUpdate(assistant_message_event=ThinkingDelta()):
                self._doing = "thinking"
            case MessageUpdate(assistant_message_event=TextDelta()):
                self._doing = "writing"
            case ToolExecutionStart():
                self._tools[event.tool_call_id] = _tool_text(event)
            case ToolExecutionEnd():
                self._tools.pop(event.tool_call_id, None)
                self._doing = "waiting for the model"
            case CompactionStart():
                self._is_running, self._doing = True, "summarising earlier messages"
            case CompactionEnd():
                self._is_running = False
            case AutoRetryStart():
                self._is_running = True
                self._doing = f"trying again ({event.attempt}/{event.max_attempts}): {event.error_message}"
            case _:
                return

    async def _draw(self) -> None:
        await asyncio.sleep(_QUIET_S)
        while True:
            if self._is_running:
                self._show()
            else:
                self._erase()
            await asyncio.sleep(_FRAME_S)

    def _show(self) -> None:
        seconds = time.monotonic() - self._began
        frame = _FRAMES[int(seconds / _FRAME_S) % len(_FRAMES)]
        doing = ", ".join(self._tools.values()) or self._doing
        width = shutil.get_terminal_size().columns - 1
        line = f"{frame} {int(seconds)} s  {doing}"
        self._write(_ERASE + strip_terminal_control(line).replace("\n", " ")[:width])
        self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(_ERASE)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._is_drawn = False  # the terminal is gone; the run goes on without its line


def _tool_text(event: ToolExecutionStart) -> str:
    given = event.args if isinstance(event.args, dict) else {}
    hint = next((str(given[name]) for name in _HINTS if given.get(name)), "")
    return f"{event.tool_name} {hint}".strip()
