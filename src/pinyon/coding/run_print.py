"""A run as plain text, for scripts and notebooks: the answer as it comes, and one line for each tool call."""

from __future__ import annotations

from typing import TextIO

from pinyon._util.terminal import strip_terminal_control
from pinyon.agent.event import MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from pinyon.ai.event import TextDelta
from pinyon.coding.event import AgentSettled, SessionEvent
from pinyon.coding.event_hub import EventHub


class RunPrinter:
    """Writes the events to `out` while it is entered."""

    def __init__(self, events: EventHub, out: TextIO) -> None:
        self._events = events
        self._out = out
        self._is_in_line = False

    def __enter__(self) -> RunPrinter:
        self._unsubscribe = self._events.subscribe(self._print)
        return self

    def __exit__(self, *exception: object) -> None:
        self._unsubscribe()

    def _print(self, event: SessionEvent) -> None:
        match event:
            case MessageUpdate(assistant_message_event=TextDelta(delta=delta)):
                self._write(delta)
            case ToolExecutionStart(tool_name=name):
                self._line(f"[{name}]")
            case ToolExecutionEnd(tool_name=name, is_error=True):
                self._line(f"[{name} failed]")
            case AgentSettled():
                self._end_line()
            case _:
                pass

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(text + "\n")

    def _end_line(self) -> None:
        if self._is_in_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(strip_terminal_control(text))
            self._out.flush()
            self._is_in_line = not text.endswith("\n")
