"""Asking a model through the registry of wire APIs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.ai.api import api_names, get_api, register_api
from pinyon.ai.event import AssistantMessageEvent, StreamError
from pinyon.ai.identity import attribution_headers, identity_headers, merge_headers, user_agent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message, SystemMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import Attribution, Identity, StreamOptions
from pinyon.ai.request import Context, complete, failed_stream, lazy_stream, normalize_context, stream
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.tool import Tool
from pinyon.errors import AuthError, ModelError

USER = UserMessage(content="hi", timestamp=1)
TOOL = Tool(name="t", description="d", parameters={"type": "object"})


def model(api: str = "echo") -> Model:
    return Model(id="m", name="M", api=api, provider="p", base_url="http://127.0.0.1")


class EchoApi:
    """Answers with the roles of the transcript."""

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        if options.api_key == "missing":
            raise AuthError("no key for 'p'")
        answer = LiveAnswer(model)

        async def events() -> AsyncIterator[AssistantMessageEvent]:
            yield answer.start()
            yield answer.text_start()
            yield answer.text_delta(0, " ".join(type(message).__name__ for message in messages))
            yield answer.text_end(0)
            yield answer.done("stop")

        return AssistantMessageEventStream(events())


def test_a_context_becomes_a_transcript_with_a_leading_system_message() -> None:
    context = Context(messages=[USER], system_prompt="be kind", tools=[TOOL])
    assert normalize_context(context) == [SystemMessage(content="be kind", timestamp=0, tools_added=[TOOL]), USER]


def test_empty_parts_of_a_context_leave_no_trace() -> None:
    assert normalize_context(Context(messages=[USER], system_prompt="", tools=[])) == [USER]
    assert normalize_context(Context(messages=[USER], tools=[TOOL])) == [
        SystemMessage(content="", timestamp=0, tools_added=[TOOL]),
        USER,
    ]
    assert normalize_context([USER]) == [USER]


def test_a_registered_api_answers_until_it_is_withdrawn() -> None:
    undo = register_api("echo", EchoApi())
    try:
        message = asyncio.run(complete(model(), Context(messages=[USER], system_prompt="x")))
        assert message.text == "SystemMessage UserMessage"
        assert "echo" in api_names()
    finally:
        undo()
    with pytest.raises(ModelError, match="'echo'"):
        get_api("echo")


def test_a_program_may_replace_an_api_and_put_it_back() -> None:
    first, second = EchoApi(), EchoApi()
    undo_first, undo_second = register_api("echo", first), register_api("echo", second)
    assert get_api("echo") is second
    undo_second()
    assert get_api("echo") is first
    undo_first()
    undo_first()


def test_an_unknown_api_is_an_error_event_that_names_it() -> None:
    message = asyncio.run(complete(model("nonsense"), [USER]))
    assert message.stop_reason == "error"
    assert "'nonsense'" in str(message.error_message)


def test_a_missing_key_raises_at_once() -> None:
    undo = register_api("echo", EchoApi())
    try:
        with pytest.raises(AuthError, match="'p'"):
            stream(model(), [USER], StreamOptions(api_key="missing"))
    finally:
        undo()


def test_a_failed_stream_is_one_error_event() -> None:
    async def scenario() -> list[AssistantMessageEvent]:
        return [event async for event in failed_stream(model(), "no", aborted=True)]

    (event,) = asyncio.run(scenario())
    assert isinstance(event, StreamError)
    assert (event.reason, event.error.error_message) == ("aborted", "no")


def test_a_lazy_stream_forwards_what_its_setup_found() -> None:
    async def setup() -> AssistantMessageEventStream:
        return EchoApi().stream(model(), [USER], StreamOptions())

    assert asyncio.run(lazy_stream(model(), setup).result()).text == "UserMessage"


@pytest.mark.parametrize(
    ("error", "abort", "reason", "text"),
    [
        (AuthError("no key"), False, "error", "no key"),
        (LookupError("bug"), False, "error", "LookupError: bug"),
        (AuthError("no key"), True, "aborted", "aborted"),
        (OperationAbortedError(), False, "aborted", "aborted"),
    ],
)
def test_a_setup_that_fails_is_a_lone_error_event(error: Exception, abort: bool, reason: str, text: str) -> None:
    controller = AbortController()
    if abort:
        controller.abort()

    async def setup() -> AssistantMessageEventStream:
        raise error

    message = asyncio.run(lazy_stream(model(), setup, controller.signal).result())
    assert message.stop_reason == reason
    assert text in str(message.error_message)


@pytest.mark.parametrize(
    ("identity", "pattern"),
    [
        (None, r"^pinyon/[\w.]+ \(\w+; \w+/3\.\d+\.\d+; \w+\)$"),
        (Identity(user_agent="short"), "^pinyon$"),
        (Identity(user_agent="mine/1"), "^mine/1$"),
        (Identity(version="9"), r"^pinyon/9 \("),
    ],
)
def test_the_user_agent_is_ours_or_the_callers(identity: Identity | None, pattern: str) -> None:
    assert re.search(pattern, user_agent(identity))


@pytest.mark.parametrize(
    ("provider", "headers"),
    [
        ("openrouter", {"HTTP-Referer": "https://e.x", "X-OpenRouter-Title": "app", "X-OpenRouter-Categories": "a,b"}),
        ("nvidia", {"X-BILLING-INVOKE-ORIGIN": "App"}),
        ("opencode", {"x-opencode-client": "app"}),
        ("anthropic", {}),
    ],
)
def test_attribution_goes_to_providers_that_read_it(provider: str, headers: dict[str, str]) -> None:
    attribution = Attribution(name="app", url="https://e.x", categories=["a", "b"])
    assert attribution_headers(provider, attribution) == headers
    assert set(identity_headers(provider)) == {"User-Agent"}
    assert set(identity_headers(provider, Identity(attribution=attribution))) == {"User-Agent", *headers}


def test_header_layers_match_in_any_case_and_none_removes() -> None:
    merged = merge_headers({"A": "1", "B": "2"}, {"a": "3", "c": "4"}, None, {"B": None, "D": None})
    assert merged == {"a": "3", "c": "4"}
