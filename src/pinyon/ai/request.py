"""Ask a model: `stream` for the events of an answer, `complete` for the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal
from pinyon.ai.api import get_api
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.http_error import failure_event
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.tool import Tool
from pinyon.errors import ModelError


class Context(msgspec.Struct, kw_only=True):
    """What a model is asked, for callers that keep prompt and tools apart from the messages."""

    messages: list[Message]
    system_prompt: str | None = None
    tools: list[Tool] | None = None


def normalize_context(context: Context | Sequence[Message]) -> list[Message]:
    """The transcript of a context: prompt and tools become a leading system message; a transcript stays as it is."""
    if not isinstance(context, Context):
        return list(context)
    if not context.system_prompt and not context.tools:
        return list(context.messages)
    tools = context.tools or UNSET
    return [SystemMessage(content=context.system_prompt or "", timestamp=0, tools_added=tools), *context.messages]


def stream(
    model: Model, messages: Context | Sequence[Message], options: StreamOptions | None = None
) -> AssistantMessageEventStream:
    """Ask `model`; the request goes out with the first event that is asked for.

    Raises `AuthError` when a credential is missing. All other failures arrive as the stream's one `error` event.
    """
    try:
        api = get_api(model.api)
    except ModelError as error:
        return failed_stream(model, str(error))
    return api.stream(model, normalize_context(messages), options or StreamOptions())


async def complete(
    model: Model, messages: Context | Sequence[Message], options: StreamOptions | None = None
) -> AssistantMessage:
    """The whole answer of `model`. A failed request is a message whose `stop_reason` is `error` or `aborted`."""
    return await stream(model, messages, options).result()


def failed_stream(model: Model, error_text: str, *, aborted: bool = False) -> AssistantMessageEventStream:
    """A stream that holds nothing but the failure of a request that could not be made."""
    answer = LiveAnswer(model)

    async def events() -> AsyncIterator[AssistantMessageEvent]:
        yield answer.fail(error_text, aborted=aborted)

    return AssistantMessageEventStream(events())


def lazy_stream(
    model: Model,
    setup: Callable[[], Awaitable[AssistantMessageEventStream]],
    signal: AbortSignal | None = None,
) -> AssistantMessageEventStream:
    """A stream that is there at once and is set up when its first event is asked for.

    An error in `setup` becomes a lone `error` event, or `aborted` when the signal has fired.
    """
    answer = LiveAnswer(model)

    async def events() -> AsyncIterator[AssistantMessageEvent]:
        try:
            inner = await setup()
        except Exception as error:  # noqa: BLE001 - set-up runs the caller's code; a returned stream never raises
            yield failure_event(answer, error, signal)
            return
        try:
            async for event in inner:
                yield event
        finally:
            await inner.aclose()

    return AssistantMessageEventStream(events())
