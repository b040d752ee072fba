"""The answers of the demo's scripted model: chosen by what the conversation holds, sent through the real loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.cli.demo import _RUN_TEST, PROMPT

_OLD = "discount_percent // 10\n"
_NEW = "discount_percent // 100\n"

Step = tuple[str, str, dict[str, object]]

STEPS: tuple[Step, ...] = (
    ("I start with the failing test.", "bash", {"command": _RUN_TEST}),
    ("The discount is wrong: 10 percent took everything off. I look at the program.", "read", {"path": "shop.py"}),
    (
        "A percentage has to be divided by 100, not by 10. I mend that line.",
        "edit",
        {"path": "shop.py", "edits": [{"oldText": _OLD, "newText": _NEW}]},
    ),
    ("Now the test again.", "bash", {"command": _RUN_TEST}),
)
DONE = (
    "Done: `total` in shop.py divided the discount by 10 instead of 100; it divides by 100 now and both tests pass. "
    "(This was a scripted model; a real one would have found its own way.)"
)
SELF_DESCRIPTION = (
    "I am the scripted model of `pinyon demo`: I hold a handful of fixed answers and no intelligence. In this "
    "conversation I changed `// 10` to `// 100` in shop.py. To talk to a real model, set a key such as "
    "ANTHROPIC_API_KEY or name a local server with `--model ollama/NAME`, then continue this session with "
    "`pinyon -c --model ... -p '...'`."
)


def demo_stream(model: Model, messages: list[Message], options: StreamOptions) -> AssistantMessageEventStream:
    """Answer the demo's conversation; a `StreamFn`."""
    del options
    return AssistantMessageEventStream(_events(model, messages))


async def _events(model: Model, messages: list[Message]) -> AsyncIterator[AssistantMessageEvent]:
    from pinyon.ai.apis.faux import stream_answer

    async for event in stream_answer(model, _answer(model, messages)):
        yield event


def _answer(model: Model, messages: list[Message]) -> AssistantMessage:
    from pinyon.ai.apis.faux import faux_assistant_message

    done = _steps_done(messages)
    if done is None:
        return faux_assistant_message(SELF_DESCRIPTION, model=model)
    if done >= len(STEPS):
        return faux_assistant_message(DONE, model=model)
    text, tool, arguments = STEPS[done]
    call = ToolCall(id=f"demo_{done + 1}", name=tool, arguments=arguments)
    return faux_assistant_message([TextContent(text=text), call], model=model, stop_reason="toolUse")


def _steps_done(messages: list[Message]) -> int | None:
    """How many steps of the script have results; None when the user asked something else."""
    done = 0
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return done if PROMPT in message.text else None
        done += isinstance(message, ToolResultMessage)
    return None
