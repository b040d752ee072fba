"""The interactive mode on terminals that can only print: a line is read, finished blocks are written.

Serves `TERM=dumb` and `--tui-mode regular`. The terminal's own scrollback holds the conversation. An interrupt stops
what runs; the end of the input leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pinyon._util.terminal import strip_terminal_control
from pinyon.tui.start import InteractiveStart

if TYPE_CHECKING:
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.event import SessionEvent

_MAX_ROWS = 30


def run_plain(start: InteractiveStart) -> int:
    """Talk line by line; returns the exit code."""
    return asyncio.run(_talk(start))


async def _talk(start: InteractiveStart) -> int:
    from pinyon.errors import PinyonError

    try:
        pi = await start.create(lambda kind, text: _say(f"{kind}: {text}"))
    except PinyonError as error:
        sys.stderr.write(strip_terminal_control(f"Error: {error}") + "\n")
        return 1
    async with pi:
        session = pi.session
        _say("Pinyon. Type a line and press Enter; !command runs a command; /quit or Ctrl+D leaves.")
        session.subscribe(_hear)
        with _interrupts(session):
            for prompt in await start.prompts() if start.prompts is not None else []:
                await _send(session, prompt.text)
            while (line := await _read_line()) is not None:
                if line.strip() == "/quit":
                    break
                await _send(session, line.strip())
    return 0


async def _send(session: AgentSession, text: str) -> None:
    from pinyon.errors import PinyonError

    if not text:
        return
    try:
        if text.startswith("!"):
            command = text.lstrip("!").strip()
            await session.execute_bash(command, _write, exclude_from_context=text.startswith("!!"))
            _write("\n")
        else:
            await session.prompt(text, source="interactive")
    except PinyonError as error:
        _say(f"error: {error}")


async def _read_line() -> str | None:
    """A line of the user, None at the end of the input."""
    _write("\n> ")
    loop = asyncio.get_running_loop()
    line = await loop.run_in_executor(None, sys.stdin.readline)
    return line or None


def _hear(event: SessionEvent) -> None:
    """Write what is finished; text of the model as it comes."""
    from pinyon.agent.event import MessageEnd, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
    from pinyon.ai.event import TextDelta, TextEnd
    from pinyon.ai.message import AssistantMessage
    from pinyon.coding.event import ExtensionFailed
    from pinyon.tui.message_block import fault_block, text_of

    match event:
        case MessageUpdate(assistant_message_event=TextDelta() as update):
            _write(update.delta)
        case MessageUpdate(assistant_message_event=TextEnd()):
            _write("\n")
        case ToolExecutionStart():
            _say(_title(event.tool_name, event.args))
        case ToolExecutionEnd():
            lines = text_of(event.result.content).strip().split("\n")
            hidden = len(lines) - _MAX_ROWS
            shown = lines if hidden <= 0 else [f"… {hidden} earlier lines", *lines[-_MAX_ROWS:]]
            _say("\n".join(f"    {line}" for line in shown))
        case MessageEnd(message=AssistantMessage() as message):
            fault = fault_block(message)
            if fault is not None:
                _say(f"error: {fault.text}")
        case ExtensionFailed():
            _say(f"error: {event.error}")
        case _:
            pass


def _title(name: str, args: object) -> str:
    from pinyon.tui.block.tool_call import ToolCallView
    from pinyon.tui.block.tool_title import tool_title
    from pinyon.tui.tone import Tone

    call = ToolCallView(name=name, arguments=args if isinstance(args, dict) else {})
    return "* " + tool_title(call, Tone(), "").plain


@contextlib.contextmanager
def _interrupts(session: AgentSession) -> Iterator[None]:
    """Let an interrupt stop the run that is in progress."""
    tasks: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        session.abort_bash()
        task = loop.create_task(session.abort())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    with contextlib.suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)


def _say(text: str) -> None:
    _write(text + "\n")


def _write(text: str) -> None:
    sys.stdout.write(strip_terminal_control(text))
    sys.stdout.flush()
