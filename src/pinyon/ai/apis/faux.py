"""A scripted provider: answers that a test or a demonstration wrote down, streamed like those of a real model.

Nothing leaves the process. Chunk sizes come from a seeded generator, so that a run repeats exactly. A `FauxProvider`
is a wire API and a `StreamFn` at once::

    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("Hello"), faux_assistant_message([faux_tool_call("ls", {})])])
    message = await faux.stream(faux.get_model(), messages, StreamOptions()).result()
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util import json as _json
from pinyon._util.abort import AbortSignal
from pinyon._util.ids import uuid4
from pinyon.ai.api import register_api
from pinyon.ai.apis.faux_usage import PromptCacheModel, estimated_usage
from pinyon.ai.content import AssistantBlock, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import AssistantMessage, DeferredHandle, Message, StopReason
from pinyon.ai.model import Model
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.retry import pause
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.usage import Usage
from pinyon.errors import ModelError, ProviderError

_CHARS_PER_TOKEN = 4


class FauxState(msgspec.Struct):
    """What a scripted provider has been through."""

    call_count: int = 0
    deferred_fetch_count: int = 0
    cancelled_deferred: list[str] = msgspec.field(default_factory=list)


ResponseFn: TypeAlias = Callable[
    [list[Message], StreamOptions, FauxState, Model], "AssistantMessage | Awaitable[AssistantMessage]"
]
Response: TypeAlias = AssistantMessage | ResponseFn


class Pace(msgspec.Struct, frozen=True):
    """How an answer is cut and how fast it comes: chunks of `min_tokens` to `max_tokens` tokens of four characters,
    one per turn of the event loop, or `tokens_per_second`.
    """

    min_tokens: int = 3
    max_tokens: int = 5
    tokens_per_second: float | None = None


class DeferredPolicy(msgspec.Struct, frozen=True):
    """How deferred answers are delivered: after `pending_fetches` fetches that find nothing yet."""

    pending_fetches: int = 0
    poll_after_ms: int | UnsetType = UNSET


def faux_text(text: str) -> TextContent:
    """A text block."""
    return TextContent(text)


def faux_thinking(thinking: str) -> ThinkingContent:
    """A thinking block."""
    return ThinkingContent(thinking)


def faux_tool_call(name: str, arguments: Mapping[str, Any], *, id: str | None = None) -> ToolCall:  # noqa: A002
    """A tool call, with a fresh id unless one is given."""
    return ToolCall(id=id or f"tool:{uuid4()}", name=name, arguments=dict(arguments))


def faux_assistant_message(
    content: str | AssistantBlock | Sequence[AssistantBlock],
    *,
    model: Model | None = None,
    stop_reason: StopReason | None = None,
    error_message: str | None = None,
    response_id: str | None = None,
    timestamp: int | None = None,
    usage: Usage | None = None,
    deferred: DeferredHandle | None = None,
) -> AssistantMessage:
    """An answer for the script. The stop reason follows from the content unless it is given.

    Usage that is all zero is estimated when the answer is streamed; without a timestamp it gets that of the request.
    """
    block_list = _block_list(content)
    calls = any(isinstance(block, ToolCall) for block in block_list)
    default_reason: StopReason = "error" if error_message is not None else "toolUse" if calls else "stop"
    return AssistantMessage(
        content=block_list,
        api=model.api if model is not None else "faux",
        provider=model.provider if model is not None else "faux",
        model=model.id if model is not None else "faux-1",
        usage=usage or Usage(),
        stop_reason=stop_reason or default_reason,
        timestamp=timestamp or 0,
        error_message=UNSET if error_message is None else error_message,
        response_id=UNSET if response_id is None else response_id,
        deferred=UNSET if deferred is None else deferred,
    )


def _block_list(content: str | AssistantBlock | Sequence[AssistantBlock]) -> list[AssistantBlock]:
    if isinstance(content, str):
        return [TextContent(content)] if content else []
    return list(content) if isinstance(content, list | tuple) else [cast("AssistantBlock", content)]


async def stream_answer(
    model: Model,
    message: AssistantMessage,
    *,
    signal: AbortSignal | None = None,
    pace: Pace = Pace(),  # noqa: B008 - frozen
    chance: random.Random | None = None,
    answer: LiveAnswer | None = None,
) -> AsyncIterator[AssistantMessageEvent]:
    """The events of a scripted answer; `message` itself stays as it is."""
    answer = answer or LiveAnswer(model)
    chance = chance or random.Random(0)
    _copy_fields(message, answer.target)
    yield answer.start()
    for block in message.content:
        async for event in _block_events(answer, block, pace, chance, signal):
            yield event
        if signal is not None and signal.aborted:
            yield answer.fail("Request was aborted", aborted=True)
            return
    yield _final_event(answer, message)


def _copy_fields(message: AssistantMessage, target: AssistantMessage) -> None:
    for name in ("response_id", "response_model", "deferred", "diagnostics", "raw_stop_reason", "duration_ms"):
        setattr(target, name, getattr(message, name))
    if any((message.usage.input, message.usage.output, message.usage.cache_read, message.usage.cache_write)):
        target.usage = msgspec.structs.replace(message.usage)
    if message.timestamp:
        target.timestamp = message.timestamp


def _final_event(answer: LiveAnswer, message: AssistantMessage) -> AssistantMessageEvent:
    reason = message.stop_reason
    if reason == "error" or reason == "aborted":
        return answer.fail(message.error_message or f"scripted {reason}", aborted=reason == "aborted")
    return answer.done("stop" if reason == "pending" else reason, may_be_empty=True)


class _Streamed(msgspec.Struct):
    """An opened block: its first event, its text, and what makes deltas and the end of it."""

    start: AssistantMessageEvent
    text: str
    delta: Callable[[int, str], AssistantMessageEvent]
    end: Callable[[int], AssistantMessageEvent]


def _opened(answer: LiveAnswer, block: AssistantBlock) -> _Streamed | None:
    if isinstance(block, TextContent):
        streamed = _Streamed(answer.text_start(), block.text, answer.text_delta, answer.text_end)
        names: tuple[str, ...] = ("text_signature",)
    elif isinstance(block, ThinkingContent):
        start = answer.thinking_start(redacted=bool(block.redacted))
        streamed = _Streamed(start, block.thinking, answer.thinking_delta, answer.thinking_end)
        names = ("thinking_signature",)
    elif isinstance(block, ToolCall):
        start_call = answer.toolcall_start(block.id, block.name)
        text = _json.encode(block.arguments).decode()
        streamed = _Streamed(start_call, text, answer.toolcall_delta, answer.toolcall_end)
        names = ("thought_signature", "namespace")
    else:
        answer.target.content.append(block)
        return None
    for name in names:
        setattr(answer.target.content[-1], name, getattr(block, name))
    return streamed


async def _block_events(
    answer: LiveAnswer, block: AssistantBlock, pace: Pace, chance: random.Random, signal: AbortSignal | None
) -> AsyncIterator[AssistantMessageEvent]:
    index = len(answer.target.content)
    streamed = _opened(answer, block)
    if streamed is None:
        return
    yield streamed.start
    for chunk in _chunks(streamed.text, pace, chance):
        if not await _next_turn(chunk, pace, signal):
            return
        yield streamed.delta(index, chunk)
    event = streamed.end(index)
    if isinstance(block, ToolCall):
        finished = answer.target.content[index]
        assert isinstance(finished, ToolCall)
        finished.arguments_error = block.arguments_error
    yield event


def _chunks(text: str, pace: Pace, chance: random.Random) -> Iterable[str]:
    position = 0
    while position < len(text):
        size = _CHARS_PER_TOKEN * chance.randint(pace.min_tokens, pace.max_tokens)
        yield text[position : position + size]
        position += size


async def _next_turn(chunk: str, pace: Pace, signal: AbortSignal | None) -> bool:
    if signal is not None and signal.aborted:
        return False
    if not pace.tokens_per_second:
        await asyncio.sleep(0)
        return signal is None or not signal.aborted
    tokens = len(chunk) / _CHARS_PER_TOKEN
    return await pause(tokens / pace.tokens_per_second, signal)


class FauxProvider:
    """A provider whose answers are a queue; see the module.

    Each call takes the next response: a message, or a function of messages, options, state and model that makes one
    (also asynchronously). A call without a response left is an error event.
    """

    def __init__(
        self,
        *,
        api: str = "faux",
        provider: str = "faux",
        models: Sequence[Model] | None = None,
        pace: Pace = Pace(),  # noqa: B008 - frozen
        deferred: DeferredPolicy | None = None,
        seed: int = 0,
    ) -> None:
        self.api = api
        self.provider = provider
        self.models = list(models) if models else [_default_model(api, provider)]
        self.state = FauxState()
        self._pace = pace
        self._policy = deferred
        self._chance = random.Random(seed)
        self._responses: list[Response] = []
        self._cache = PromptCacheModel()
        self._deferred: dict[str, tuple[int, AssistantMessage]] = {}

    @property
    def pending_response_count(self) -> int:
        """Responses that no call has taken yet."""
        return len(self._responses)

    def get_model(self, model_id: str | None = None) -> Model:
        """The model of that id, by default the first. Raises `ModelError`."""
        for model in self.models:
            if model_id is None or model.id == model_id:
                return model
        raise ModelError(f"the scripted provider {self.provider!r} has no model {model_id!r}")

    def set_responses(self, responses: Iterable[Response]) -> None:
        """Replace the queue."""
        self._responses = list(responses)

    def append_responses(self, responses: Iterable[Response]) -> None:
        """Add to the queue."""
        self._responses.extend(responses)

    def register(self) -> Callable[[], None]:
        """Serve models of this provider's API in this process; returns what undoes it."""
        return register_api(self.api, self)

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """The next scripted answer."""
        return AssistantMessageEventStream(self._events(model, list(messages), options, LiveAnswer(model)))

    __call__ = stream

    def fetch_deferred(
        self, model: Model, handle: DeferredHandle, options: StreamOptions | None = None
    ) -> AssistantMessageEventStream:
        """The deferred answer if its time has come, else a deferred message again."""
        return AssistantMessageEventStream(self._fetch(model, handle, options or StreamOptions(), LiveAnswer(model)))

    def cancel_deferred(self, handle: DeferredHandle) -> None:
        """Forget a deferred answer."""
        self._deferred.pop(handle.id, None)
        self.state.cancelled_deferred.append(handle.id)

    async def _events(
        self, model: Model, messages: list[Message], options: StreamOptions, answer: LiveAnswer
    ) -> AsyncIterator[AssistantMessageEvent]:
        try:
            message = await self._next(model, messages, options)
            await _tell_response(model, options)
        except Exception as error:  # noqa: BLE001 - scripts and hooks are the caller's code; a stream never raises
            yield answer.fail(str(error) or type(error).__name__)
            return
        if options.deferred and self._policy is not None:
            message = self._defer(model, message)
        async for event in stream_answer(
            model, message, signal=options.signal, pace=self._pace, chance=self._chance, answer=answer
        ):
            yield event

    async def _next(self, model: Model, messages: list[Message], options: StreamOptions) -> AssistantMessage:
        self.state.call_count += 1
        if not self._responses:
            raise ProviderError(
                f"the scripted provider {self.provider!r} has no more responses at call {self.state.call_count}; "
                f"add some with append_responses"
            )
        response = self._responses.pop(0)
        if not isinstance(response, AssistantMessage):
            made = response(messages, options, self.state, model)
            response = await made if inspect.isawaitable(made) else made
        if not any((response.usage.input, response.usage.output, response.usage.cache_read)):
            usage = estimated_usage(model, messages, response, options, self._cache)
            response = msgspec.structs.replace(response, usage=usage)
        return response

    def _defer(self, model: Model, message: AssistantMessage) -> AssistantMessage:
        assert self._policy is not None
        key = f"faux-deferred-{self.state.call_count}"
        self._deferred[key] = (self._policy.pending_fetches, message)
        return self._deferred_message(model, key)

    def _deferred_message(self, model: Model, key: str) -> AssistantMessage:
        poll_after_ms = self._policy.poll_after_ms if self._policy is not None else UNSET
        handle = DeferredHandle(model.provider, model.id, model.api, key, poll_after_ms=poll_after_ms)
        return faux_assistant_message([], model=model, stop_reason="deferred", deferred=handle)

    async def _fetch(
        self, model: Model, handle: DeferredHandle, options: StreamOptions, answer: LiveAnswer
    ) -> AsyncIterator[AssistantMessageEvent]:
        self.state.deferred_fetch_count += 1
        entry = self._deferred.get(handle.id)
        if entry is None:
            yield answer.fail(f"the deferred answer {handle.id!r} is unknown or was cancelled")
            return
        pending, message = entry
        if pending > 0:
            self._deferred[handle.id] = (pending - 1, message)
            message = self._deferred_message(model, handle.id)
        else:
            del self._deferred[handle.id]
        async for event in stream_answer(
            model, message, signal=options.signal, pace=self._pace, chance=self._chance, answer=answer
        ):
            yield event


async def _tell_response(model: Model, options: StreamOptions) -> None:
    if options.on_response is not None:
        told = options.on_response(ResponseInfo(status=200, headers={}), model)
        if told is not None:
            await told


def _default_model(api: str, provider: str) -> Model:
    return Model(
        id="faux-1",
        name="Scripted model",
        api=api,
        provider=provider,
        base_url="http://localhost:0",
        input=["text", "image"],
        context_window=128_000,
        max_tokens=16_384,
    )


API = FauxProvider()
"""What models with the API name `faux` are served by unless a program registers a provider of its own."""
