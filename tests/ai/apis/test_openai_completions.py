"""Chat completions over loopback HTTP: bodies against the vendor's types, answers of all kinds, odd servers."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

from pinyon._util.abort import AbortController
from pinyon.ai.apis.openai_completions import API
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, TextDelta
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.errors import AuthError
from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer, sse_reply, strict_reply, usage
from pinyon.testing.fake_server import FakeServer, Reply, ScriptedReply, Stall, Step, encode_sse
from pinyon.testing.stream import collect, event_names, final_message

KEY = "sk-secret-key-123"
USER = UserMessage(content="hello", timestamp=1)
LS = Tool(
    name="ls",
    description="List a folder.",
    parameters={"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
    constrained_sampling=JsonSchemaSampling("prefer"),
)
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[LS])


def model(url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Model:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    defaults: dict[str, Any] = {"id": "fake-1", "name": "Fake", "api": "openai-completions", "provider": "fake"}
    defaults |= {"base_url": url, "reasoning": True, "max_tokens": 8192, "cost": cost}
    return Model(**(defaults | fields))


def ask(
    *replies: ScriptedReply,
    messages: Sequence[Message] = (SYSTEM, USER),
    fields: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[list[AssistantMessageEvent], list[dict[str, Any]]]:
    """Events of one answer, and the bodies that the server received."""
    with FakeServer(replies) as server:
        target = model(f"{server.url}/v1", **(fields or {}))
        events = collect(API.stream(target, list(messages), StreamOptions(**{"api_key": KEY, **options})))
        return events, [request.json for request in server.requests]


def body_of(messages: Sequence[Message] = (SYSTEM, USER), **fields: Any) -> dict[str, Any]:
    options = fields.pop("options", {})
    return ask(openai_answer("ok"), messages=messages, fields=fields, **options)[1][0]


def answer(*content: Any, stop: Any = "stop", **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {"api": "openai-completions", "provider": "fake", "model": "fake-1"}
    defaults |= {"usage": Usage(), "stop_reason": stop, "timestamp": 2}
    return AssistantMessage(content=list(content), **(defaults | fields))


def result(call_id: str, *content: Any) -> ToolResultMessage:
    blocks = list(content) or [TextContent("ok")]
    return ToolResultMessage(tool_call_id=call_id, tool_name="ls", content=blocks, is_error=False, timestamp=3)


CONVERSATION: list[Message] = [
    SYSTEM,
    USER,
    answer(ThinkingContent("hm", "reasoning_content"), TextContent("I look."), ToolCall("c1", "ls", {"path": "."})),
    result("c1", TextContent("a.txt"), ImageContent("AAAA", "image/png")),
    UserMessage(content=[TextContent("and"), ImageContent("AAAA", "image/png")], timestamp=4),
]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"input": ["text", "image"]},
        {"compat": {"supportsStore": True, "supportsDeveloperRole": True, "supportsStrictMode": True}},
        {"compat": {"maxTokensField": "max_completion_tokens", "supportsReasoningEffort": True}},
        {"base_url": "https://api.openai.com/v1", "provider": "openai"},
    ],
)
def test_a_body_holds_no_field_that_the_vendor_does_not_publish(fields: dict[str, Any]) -> None:
    sent: list[dict[str, Any]] = []
    target = model(**fields)

    def keep(body: dict[str, Any], _: Model) -> None:
        sent.append(body)
        raise ValueError("stop here")

    options = StreamOptions(api_key=KEY, reasoning="medium", on_payload=keep)
    events = collect(API.stream(target, CONVERSATION, options))
    assert final_message(events).error_message == "ValueError: stop here"
    assert set(sent[0]) <= set(CompletionCreateParamsStreaming.__annotations__)


def test_an_unknown_server_is_asked_for_nothing_that_only_the_vendor_knows() -> None:
    body = body_of(options={"reasoning": "medium"})
    assert list(body) == ["model", "messages", "stream", "stream_options", "max_tokens", "tools"]
    assert body["messages"][0] == {"role": "system", "content": "be brief"}
    assert "strict" not in body["tools"][0]["function"]


@pytest.mark.parametrize(
    ("compat", "name", "value"),
    [
        ({"supportsStore": True}, "store", False),
        ({"maxTokensField": "max_completion_tokens"}, "max_completion_tokens", 8192),
        ({"supportsReasoningEffort": True}, "reasoning_effort", "medium"),
        ({"supportsUsageInStreaming": False}, "stream_options", None),
        ({"vllmPriority": 3}, "priority", 3),
        ({"zaiToolStream": True}, "tool_stream", True),
        ({"openRouterRouting": {"sort": "price"}}, "provider", {"sort": "price"}),
        ({"vercelGatewayRouting": {"only": ["x"]}}, "providerOptions", {"gateway": {"only": ["x"]}}),
        ({"promptCacheKeyMode": "enabled"}, "prompt_cache_key", "sid"),
        ({"thinkingFormat": "deepseek"}, "thinking", {"type": "enabled"}),
        ({"thinkingFormat": "openrouter"}, "reasoning", {"effort": "medium"}),
        ({"thinkingFormat": "qwen"}, "enable_thinking", True),
        ({"thinkingFormat": "together"}, "reasoning", {"enabled": True}),
        ({"thinkingFormat": "string-thinking"}, "thinking", "medium"),
        ({"thinkingFormat": "zai"}, "thinking", {"type": "enabled", "clear_thinking": False}),
        (
            {"thinkingFormat": "qwen-chat-template"},
            "chat_template_kwargs",
            {"enable_thinking": True, "preserve_thinking": True},
        ),
    ],
)
def test_a_flag_changes_its_field(compat: dict[str, Any], name: str, value: Any) -> None:
    body = body_of(compat=compat, options={"reasoning": "medium", "session_id": "sid"})
    assert body.get(name) == value


def test_the_vendors_role_and_strict_tools_need_their_flags() -> None:
    body = body_of(compat={"supportsDeveloperRole": True, "supportsStrictMode": True})
    assert body["messages"][0]["role"] == "developer"
    function = body["tools"][0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["additionalProperties"] is False


def test_the_vendors_client_streams_from_the_fake_server() -> None:
    async def scenario(url: str) -> tuple[str, list[str]]:
        async with AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="fake-1", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            text, names = "", []
            async for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    names += [item.function.name for item in choice.delta.tool_calls or () if item.function]
            return text, [name for name in names if name]

    with FakeServer([openai_answer("I look. ü🙈", calls=[call("ls", {"path": "."})])]) as server:
        assert asyncio.run(scenario(f"{server.url}/v1")) == ("I look. ü🙈", ["ls"])


def test_an_answer_comes_in_order_with_usage_cost_and_reason() -> None:
    counts = usage(
        100,
        50,
        completion_tokens_details={"reasoning_tokens": 30},
        prompt_tokens_details={"cached_tokens": 80},
    )
    events, _ = ask(
        openai_answer("Hello", reasoning="hm", calls=[call("ls", {"path": "."}, call_id="c")], counts=counts)
    )
    assert event_names(events) == [
        "start",
        *["thinking_start#0", "thinking_delta#0", "thinking_delta#0"],
        *["text_start#1", "text_delta#1", "text_delta#1"],
        *["toolcall_start#2", "toolcall_delta#2", "toolcall_delta#2"],
        *["thinking_end#0", "text_end#1", "toolcall_end#2"],
        "done",
    ]
    message = final_message(events)
    assert message.content == [
        ThinkingContent("hm", "reasoning_content"),
        TextContent("Hello"),
        ToolCall("c", "ls", {"path": "."}),
    ]
    used = message.usage
    assert (used.input, used.cache_read, used.output, used.reasoning, used.total_tokens) == (20, 80, 50, 30, 150)
    assert used.cost.total == pytest.approx(20 * 3e-6 + 80 * 0.3e-6 + 50 * 15e-6)
    assert (message.stop_reason, message.raw_stop_reason, message.response_id) == (
        "toolUse",
        "tool_calls",
        "chatcmpl-0001",
    )


@pytest.mark.parametrize("style", ["index", "no-index", "index-0"])
def test_parallel_calls_are_told_apart_however_the_server_numbers_them(style: Any) -> None:
    calls = [call("ls", {"path": "a"}, call_id="x"), call("ls", {"path": "b"}, call_id="y")]
    message = final_message(ask(openai_answer(calls=calls, style=style))[0])
    assert [(item.id, item.arguments) for item in message.tool_calls] == [("x", {"path": "a"}), ("y", {"path": "b"})]


def test_a_call_without_id_and_arguments_gets_an_id_and_an_object() -> None:
    piece = {"tool_calls": [{"index": 0, "function": {"name": "ls", "arguments": None}}]}
    events, _ = ask(sse_reply([delta_chunk(piece), delta_chunk({}, "tool_calls")]))
    (made,) = final_message(events).tool_calls
    assert made.id
    assert made.arguments == {}


@pytest.mark.parametrize("raw", ['{"path":"q",]', '"x"', "[1]", "null"])
def test_arguments_that_are_no_object_are_kept_as_an_error(raw: str) -> None:
    (made,) = final_message(ask(openai_answer(calls=[call("ls", raw=raw)]))[0]).tool_calls
    assert made.arguments == {}
    assert raw in (made.arguments_error or "")


def test_odd_chunks_are_read_for_what_they_hold() -> None:
    chunks = [
        {"choices": []},
        {"choices": None},
        {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None}}]},
        delta_chunk({"content": "text"}),
        delta_chunk({}, "stop"),
        {"choices": [], "usage": usage(7, 3)},
    ]
    message = final_message(ask(sse_reply(chunks))[0])
    assert (message.text, message.usage.input, message.usage.output) == ("text", 7, 3)
    without = final_message(ask(openai_answer("text", counts={}))[0])
    assert without.usage.total_tokens == 0


@pytest.mark.parametrize(
    ("reason", "calls", "stop"),
    [("stop", True, "toolUse"), ("length", True, "length"), ("length", False, "length"), ("end", False, "stop")],
)
def test_content_and_finish_reason_are_reconciled(reason: str, calls: bool, stop: str) -> None:
    wire = [call("ls", {"path": "."})] if calls else []
    message = final_message(ask(openai_answer("x", calls=wire, finish_reason=reason))[0])
    assert message.stop_reason == stop


@pytest.mark.parametrize(
    ("reply", "said", "retryable"),
    [
        (openai_answer(""), "without text", True),
        (openai_answer("x", finish_reason="tool_calls"), "tool", True),
        (openai_answer("x", finish_reason="content_filter"), "content_filter", False),
        (sse_reply([delta_chunk({"content": "half"})], done=False), "ended without finish_reason", True),
        (sse_reply([{"error": {"message": "Overloaded, sorry"}}]), "Overloaded, sorry", True),
        (error_reply(429, "slow down", "rate_limit"), "slow down", True),
        (error_reply(400, "bad field"), "bad field", False),
        (Reply.text("", 502), "502 status code (no body)", True),
        (Reply.text("<html>hello</html>"), "hello", None),
        (Reply.drop(), "ECONNRESET", True),
    ],
)
def test_failures_are_errors_that_retry_understands(reply: ScriptedReply, said: str, retryable: bool | None) -> None:
    message = final_message(ask(reply)[0])
    assert message.stop_reason == "error"
    assert said in (message.error_message or "")
    assert retryable is None or is_retryable_assistant_error(message) is retryable


def test_no_error_text_shows_the_key() -> None:
    message = final_message(ask(error_reply(401, f"invalid key {KEY}"))[0])
    assert KEY not in (message.error_message or "")
    assert "invalid key" in (message.error_message or "")


def test_a_missing_key_is_refused_before_any_request() -> None:
    with pytest.raises(AuthError, match="'fake'"):
        API.stream(model(), [USER], StreamOptions())


def test_a_failed_request_is_repeated_where_the_caller_wants_it() -> None:
    events, bodies = ask(error_reply(503, "busy", retry_after_ms="1"), openai_answer("ok"), max_retries=1)
    assert final_message(events).text == "ok"
    assert len(bodies) == 2
    late, _ = ask(error_reply(429, "busy", retry_after="9999"), max_retries=3)
    assert "retry delay" in (final_message(late).error_message or "")


def test_an_abort_keeps_what_had_arrived() -> None:
    controller = AbortController()
    steps: list[Step] = [encode_sse(None, delta_chunk({"content": "half"})), Stall()]

    async def read(url: str) -> AssistantMessage:
        stream = API.stream(model(url), [USER], StreamOptions(api_key=KEY, signal=controller.signal))
        async for event in stream:
            if isinstance(event, TextDelta):
                controller.abort()
        return await stream.result()

    with FakeServer([Reply(headers={"content-type": "text/event-stream"}, body=steps)]) as server:
        message = asyncio.run(read(f"{server.url}/v1"))
    assert (message.stop_reason, message.text) == ("aborted", "half")


def test_a_conversation_goes_out_as_strict_servers_want_it() -> None:
    messages: list[Message] = [
        SYSTEM,
        USER,
        result("GHOST"),
        answer(ToolCall("x", "ls", {}), ToolCall("x", "nope", {})),
        result("x"),
        result("x"),
        answer(ToolCall("", "ls", {}), stop="toolUse"),
        answer(TextContent(" ")),
        answer(ToolCall("lost", "ls", {}), stop="error"),
        result("lost"),
        UserMessage(content="more \ud83d", timestamp=9),
    ]
    events, bodies = ask(strict_reply(openai_answer("fine")), messages=messages)
    assert final_message(events).text == "fine"
    assert bodies[0]["messages"][-1] == {"role": "user", "content": "more \ufffd"}


def test_reasoning_goes_back_where_it_came_from_and_nowhere_else() -> None:
    own = answer(ThinkingContent("think", "reasoning_content"), ToolCall("c1", "ls", {}), stop="toolUse")
    reply = strict_reply(openai_answer("fine"), demands_reasoning=True)
    events, bodies = ask(reply, messages=[SYSTEM, USER, own, result("c1"), USER])
    assert final_message(events).text == "fine"
    assert bodies[0]["messages"][2]["reasoning_content"] == "think"
    foreign = answer(ThinkingContent("secret", "c2ln"), TextContent("said"), model="other", api="anthropic-messages")
    assert "secret" not in json.dumps(body_of([SYSTEM, USER, foreign, USER]))


def test_images_follow_results_and_are_left_out_for_models_that_read_text_only() -> None:
    seeing = body_of(CONVERSATION, input=["text", "image"])["messages"]
    assert [message["role"] for message in seeing] == ["system", "user", "assistant", "tool", "user", "user"]
    assert seeing[4]["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert "AAAA" not in json.dumps(body_of(CONVERSATION))


def test_a_turn_begins_with_the_bytes_of_the_turn_before() -> None:
    with FakeServer([openai_answer("one"), openai_answer("two")]) as server:
        target = model(f"{server.url}/v1")
        for messages in (CONVERSATION, [*CONVERSATION, answer(TextContent("one")), USER]):
            collect(API.stream(target, messages, StreamOptions(api_key=KEY)))
        first, second = (request.body for request in server.requests)
    begin = first.index(b'"messages":[')
    end = first.index(b'],"stream"')
    assert second[begin:].startswith(first[begin:end])


def test_without_room_for_an_answer_nothing_is_sent_and_the_error_reads_as_an_overflow() -> None:
    full: list[Message] = [SYSTEM, UserMessage(content="x" * 200_000, timestamp=1)]
    events, bodies = ask(openai_answer("never"), messages=full, fields={"context_window": 32_000, "max_tokens": 32_000})
    assert bodies == []
    assert is_context_overflow(final_message(events), 32_000)
    roomy = body_of([SYSTEM, UserMessage(content="x" * 70_000, timestamp=1)], context_window=32_000, max_tokens=32_000)
    assert 256 <= roomy["max_tokens"] <= 12_000


def test_small_models_call_tools_through_a_json_schema() -> None:
    compat = {"toolCallFormat": "json-schema"}
    reply = openai_answer('{"tool": "ls", "arguments": {"path": "."}}')
    with FakeServer([reply]) as server:
        target = model(f"{server.url}/v1", compat=compat)
        events = collect(API.stream(target, [SYSTEM, USER], StreamOptions(api_key=KEY)))
        body = server.requests[0].json
    assert "tools" not in body
    assert "ls" in json.dumps(body["response_format"])
    message = final_message(events)
    if not message.tool_calls:  # the shape that the schema asks for, whatever its field names are
        pytest.fail(f"no call in {message.content!r}; schema: {json.dumps(body['response_format'])}")
    assert [(item.name, item.arguments) for item in message.tool_calls] == [("ls", {"path": "."})]
