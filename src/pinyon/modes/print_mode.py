"""One-shot modes: run the prompts one after another, print the last answer or every event, and exit.

Text mode prints the text of the last answer and nothing else on standard output. JSON mode prints the session header
and then each event as one line. Both end with exit code 1 when the last answer failed, was aborted, is empty or was
cut at the output limit; the reason stands on standard error. A run that a limit of turns, tokens, cost or time ended
has an exit code of its own.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from pinyon._util import json as _json
from pinyon._util.terminal import strip_terminal_control
from pinyon.agent.event import MessageEnd
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage
from pinyon.coding.event import ExtensionFailed
from pinyon.modes.output import OutputClosedError, OutputWriter

if TYPE_CHECKING:
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.event import LimitName, SessionEvent
    from pinyon.coding.pi_agent import PiAgent

EXIT_LIMIT = 3
"""Exit code of a run that a limit ended before it was done."""

PrintFormat = Literal["text", "json"]


async def run_print_mode(
    pi: PiAgent,
    mode: PrintFormat = "text",
    initial_message: str | None = None,
    initial_images: Sequence[ImageContent] = (),
    messages: Sequence[str] = (),
    *,
    writer: OutputWriter | None = None,
    progress: TextIO | None = None,
) -> int:
    """Send the prompts in order, each after the one before has settled, and return the exit code.

    A failed run does not stop the next prompt; only the last answer decides. A limit that is used up ends everything
    with `EXIT_LIMIT`. Disposes `pi`. `writer` is where the output goes, by default file descriptor 1. `progress` is a
    terminal on which a line shows what the run is doing.
    """
    out = OutputWriter(1) if writer is None else writer
    try:
        if mode == "json":
            _start_json(pi.session, out)
        async with _shown_progress(pi.session, progress):
            code = await _run_prompts(pi, mode, out, initial_message, initial_images, messages)
        await out.flush()
    except OutputClosedError:
        return 1
    finally:
        await pi.dispose()
        out.tell_fault()
    return 1 if out.closed.is_set() else code


@asynccontextmanager
async def _shown_progress(session: AgentSession, stream: TextIO | None) -> AsyncIterator[None]:
    if stream is None:
        yield
        return
    from pinyon.modes.progress import Progress

    async with Progress(stream) as line:
        end = session.subscribe(line.hear)
        yield
        end()


def _start_json(session: AgentSession, out: OutputWriter) -> None:
    out.write_json(session.session.get_header().line)

    def print_event(event: SessionEvent) -> None:
        if not isinstance(event, ExtensionFailed):  # people are told; programs read what the agent did
            out.write_json(_json.encode(event))

    session.subscribe(print_event)
    session.add_gate(out.drain)


async def _run_prompts(
    pi: PiAgent,
    mode: PrintFormat,
    out: OutputWriter,
    initial_message: str | None,
    initial_images: Sequence[ImageContent],
    messages: Sequence[str],
) -> int:
    answered = False
    last: AgentMessage | None = None

    # What the run said counts, not the context: a failed answer is taken out of it, and one that could not be stored
    # never was in it.
    def keep_answer(event: SessionEvent) -> None:
        nonlocal last
        if isinstance(event, ExtensionFailed):
            sys.stderr.write(strip_terminal_control(f"Error: {event.error}") + "\n")
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage | ToolResultMessage):
            last = event.message

    pi.session.subscribe(keep_answer)
    prompts = [(initial_message, initial_images)] if initial_message or initial_images else []
    for text, images in (*prompts, *((message, ()) for message in messages)):
        last = None
        disposition = await pi.session.prompt(text or "", images=list(images))
        answered = disposition == "started"
        if pi.session.limits.stopped_by is not None:
            break
    if not answered:
        return 0
    if mode == "text" and isinstance(last, AssistantMessage):
        _print_text(last, out)
    limit = pi.session.limits.stopped_by
    fault = fault_of_answer(last) if limit is None else _limit_notice(limit)
    if fault:
        sys.stderr.write(strip_terminal_control(fault) + "\n")
    return EXIT_LIMIT if limit is not None else 1 if fault else 0


def _limit_notice(limit: LimitName) -> str:
    what = limit.replace("_", " ")
    return f"Warning: the run ended because its limit of {what} is used up; the session can be gone on with"


def _print_text(message: AssistantMessage, out: OutputWriter) -> None:
    if message.stop_reason in ("error", "aborted"):
        return
    for block in message.content:
        if isinstance(block, TextContent):
            out.write(strip_terminal_control(block.text).encode("utf-8", "replace") + b"\n")


def fault_of_answer(message: AgentMessage | None) -> str | None:
    """Why the last message of a run is no complete answer, as one line for people; None when it is one."""
    if isinstance(message, ToolResultMessage):
        return None  # a tool asked to stop here
    if not isinstance(message, AssistantMessage):
        return "Error: the run ended without an answer of the model"
    if message.stop_reason in ("error", "aborted"):
        return message.error_message or f"Error: the request ended as {message.stop_reason!r}"
    if message.stop_reason == "length":
        return "Warning: the answer was cut at the output limit of the model"
    if not message.text.strip():
        return "Error: the model's answer has no text"
    return None
