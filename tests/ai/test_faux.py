"""The scripted provider."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.apis.faux import (
    DeferredPolicy,
    FauxProvider,
    FauxState,
    Pace,
    faux_assistant_message,
    faux_text,
    faux_thinking,
    faux_tool_call,
    stream_answer,
)
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, StreamError, TextDelta, ToolCallDelta
from pinyon.ai.message import AssistantMessage, DeferredHandle, Message, SystemMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.request import complete
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.errors import ModelError

USER = UserMessage(content="hello there", timestamp=1)


def ask(
    faux: FauxProvider, options: StreamOptions | None = None, messages: Sequence[Message] = (USER,)
) -> list[AssistantMessageEvent]:
    async def scenario() -> list[AssistantMessageEvent]:
        return [event async for event in faux.stream(faux.get_model(), messages, options or StreamOptions())]

    return asyncio.run(scenario())


def final(events: list[AssistantMessageEvent]) -> AssistantMessage:
    last = events[-1]
    return last.error if isinstance(last, StreamError) else last.message  # type: ignore[union-attr]


def kinds(events: list[AssistantMessageEvent]) -> list[str]:
    names: list[str] = []
    for event in events:
        name = str(type(event).__struct_config__.tag)
        if not name.endswith("_delta") or not names or names[-1] != name:
            names.append(name)
    return names


def test_answers_come_in_order_with_the_events_of_a_real_stream() -> None:
    faux = FauxProvider()
    call = faux_tool_call("ls", {"path": "a"}, id="c1")
    faux.set_responses([faux_assistant_message([faux_thinking("hm, let me see"), faux_text("I look."), call])])
    events = ask(faux)
    assert kinds(events) == [
        "start",
        "thinking_start",
        "thinking_delta",
        "thinking_end",
        "text_start",
        "text_delta",
        "text_end",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_end",
        "done",
    ]
    message = final(events)
    assert message.content == [ThinkingContent("hm, let me see"), TextContent("I look."), call]
    assert message.stop_reason == "toolUse"
    assert "".join(event.delta for event in events if isinstance(event, ToolCallDelta)) == '{"path":"a"}'


def test_chunks_are_three_to_five_tokens_and_repeat_with_the_seed() -> None:
    def cut(seed: int) -> list[str]:
        faux = FauxProvider(seed=seed)
        faux.set_responses([faux_assistant_message("x" * 500)])
        return [event.delta for event in ask(faux) if isinstance(event, TextDelta)]

    assert cut(1) == cut(1)
    assert cut(1) != cut(2)
    assert {len(chunk) for chunk in cut(1)[:-1]} == {12, 16, 20}


def test_functions_make_responses_from_what_was_asked() -> None:
    faux = FauxProvider()

    async def later(
        messages: list[Message], options: StreamOptions, state: FauxState, model: Model
    ) -> AssistantMessage:
        return faux_assistant_message(f"{len(messages)} {options.session_id} {state.call_count} {model.id}")

    faux.set_responses([later, lambda *_: faux_assistant_message("sync")])
    assert final(ask(faux, StreamOptions(session_id="s"))).text == "1 s 1 faux-1"
    assert final(ask(faux)).text == "sync"


def test_a_call_without_a_response_is_an_error() -> None:
    faux = FauxProvider()
    faux.append_responses([faux_assistant_message("only")])
    assert faux.pending_response_count == 1
    ask(faux)
    message = final(ask(faux))
    assert message.stop_reason == "error"
    assert "no more responses" in str(message.error_message)
    assert faux.state.call_count == 2


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_a_scripted_failure_ends_in_an_error_event_after_its_content(reason: str) -> None:
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("half", stop_reason=reason, error_message="529 overloaded")])  # type: ignore[arg-type]
    events = ask(faux)
    assert kinds(events)[-1] == "error"
    message = final(events)
    assert (message.text, message.stop_reason, message.error_message) == ("half", reason, "529 overloaded")


def test_an_exception_of_the_script_is_an_error_event() -> None:
    def broken(*_: object) -> AssistantMessage:
        raise LookupError("script bug")

    faux = FauxProvider()
    faux.set_responses([broken])
    assert final(ask(faux)).error_message == "script bug"


def test_an_empty_answer_is_delivered_as_scripted() -> None:
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("")])
    message = final(ask(faux))
    assert (message.stop_reason, message.content) == ("stop", [])


@pytest.mark.parametrize("pace", [Pace(), Pace(tokens_per_second=200.0)])
def test_abort_keeps_what_was_streamed(pace: Pace) -> None:
    faux = FauxProvider(pace=pace)
    faux.set_responses([faux_assistant_message("word " * 1000)])
    controller = AbortController()

    async def scenario() -> AssistantMessage:
        stream = faux.stream(faux.get_model(), [USER], StreamOptions(signal=controller.signal))
        async for event in stream:
            if isinstance(event, TextDelta):
                controller.abort()
        return await stream.result()

    message = asyncio.run(scenario())
    assert message.stop_reason == "aborted"
    assert "word " * 1000 != message.text != ""


def test_usage_is_estimated_and_sessions_have_a_prompt_cache() -> None:
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("12345678")] * 3)
    plain = final(ask(faux)).usage
    assert (plain.input, plain.output, plain.cache_read, plain.cache_write) == (4, 2, 0, 0)
    options = StreamOptions(session_id="s")
    first = final(ask(faux, options)).usage
    second = final(ask(faux, options, [USER, UserMessage(content="and more", timestamp=2)])).usage
    assert (first.input, first.cache_read, first.cache_write) == (0, 0, 4)
    assert (second.input, second.cache_read) == (0, 4)
    assert second.cache_write > 0
    assert second.total_tokens == second.output + second.cache_read + second.cache_write


def test_scripted_usage_and_timestamp_are_kept() -> None:
    from pinyon.ai.usage import Usage

    faux = FauxProvider()
    usage = Usage(input=99_000, output=10, total_tokens=99_010)
    faux.set_responses([faux_assistant_message("x", usage=usage, timestamp=5)])
    message = final(ask(faux))
    assert (message.usage, message.timestamp, message.duration_ms) == (usage, 5, UNSET)


def test_the_response_hook_sees_a_success() -> None:
    seen: list[int] = []

    async def hook(info: ResponseInfo, model: Model) -> None:
        seen.append(info.status)

    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("x")])
    ask(faux, StreamOptions(on_response=hook))
    assert seen == [200]


def test_deferred_answers_are_fetched_after_their_time() -> None:
    faux = FauxProvider(deferred=DeferredPolicy(pending_fetches=1, poll_after_ms=50))
    faux.set_responses([faux_assistant_message("late")])
    first = final(ask(faux, StreamOptions(deferred=True)))
    assert first.stop_reason == "deferred"
    handle = first.deferred
    assert isinstance(handle, DeferredHandle)
    assert (handle.poll_after_ms, handle.model_id) == (50, "faux-1")

    def fetch() -> AssistantMessage:
        async def scenario() -> AssistantMessage:
            return await faux.fetch_deferred(faux.get_model(), handle).result()

        return asyncio.run(scenario())

    assert fetch().stop_reason == "deferred"
    assert fetch().text == "late"
    assert fetch().stop_reason == "error"
    faux.cancel_deferred(handle)
    assert (faux.state.deferred_fetch_count, faux.state.cancelled_deferred) == (3, [handle.id])


def test_a_registered_provider_answers_requests_by_model() -> None:
    faux = FauxProvider(api="faux-test")
    faux.set_responses([faux_assistant_message("registered")])
    undo = faux.register()
    try:
        message = asyncio.run(complete(faux.get_model(), [SystemMessage(content="s", timestamp=0), USER]))
    finally:
        undo()
    assert message.text == "registered"


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(ModelError, match="'nope'"):
        FauxProvider().get_model("nope")


def test_one_answer_can_be_streamed_without_a_provider() -> None:
    model = FauxProvider().get_model()
    call = ToolCall(id="c", name="n", arguments={}, arguments_error="bad text")

    async def scenario() -> AssistantMessage:
        return await AssistantMessageEventStream(stream_answer(model, faux_assistant_message(call))).result()

    assert asyncio.run(scenario()).content == [call]
