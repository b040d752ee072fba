"""Streams of chat-completions servers with all their habits, over loopback HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ai.apis.completions import KEY, SYSTEM, USER, Asked, ask, call_reply, fragment, model

from pinyon._util.abort import AbortController
from pinyon.ai.apis.openai_completions import API
from pinyon.ai.content import TextContent, ThinkingContent
from pinyon.ai.event import AssistantMessageEvent, TextDelta, ToolCallDelta
from pinyon.ai.message import AssistantMessage, SystemMessage
from pinyon.ai.model import ModelCost
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.tool import GrammarSampling, Tool
from pinyon.ai.transport import FunctionTransport, MemoryResponse
from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer, sse_reply, usage
from pinyon.testing.fake_server import Cut, FakeServer, Gate, Reply, ScriptedReply, Stall, Step, encode_sse
from pinyon.testing.stream import collect, event_names, final_message

SSE = {"content-type": "text/event-stream"}


def chunks(*deltas: dict[str, Any]) -> list[bytes]:
    return [encode_sse(None, delta_chunk(delta)) for delta in deltas]


def steps(*body: Step) -> Reply:
    return Reply(headers=SSE, body=body)


FINISH = encode_sse(None, delta_chunk({}, "stop"))
COUNTS = encode_sse(None, {"choices": [], "usage": usage(7, 3)})
DONE = encode_sse(None, "[DONE]")


# Tool calls


def test_text_and_a_call_that_interleave_stay_open_until_the_end() -> None:
    reply = sse_reply([
        delta_chunk({"reasoning_content": "hm"}),
        delta_chunk({"content": "a"}),
        delta_chunk({"tool_calls": [fragment("", "ls", index=0, id="c")]}),
        delta_chunk({"content": "b"}),
        delta_chunk({"tool_calls": [fragment('{"path":"."}', index=0)]}),
        delta_chunk({}, "tool_calls"),
    ])  # fmt: skip
    assert event_names(ask(reply).events) == [
        "start",
        *["thinking_start#0", "thinking_delta#0"],
        *["text_start#1", "text_delta#1"],
        *["toolcall_start#2", "toolcall_delta#2"],
        "text_delta#1",
        "toolcall_delta#2",
        *["thinking_end#0", "text_end#1", "toolcall_end#2"],
        "done",
    ]


def made(asked: Asked) -> list[tuple[str, dict[str, Any]]]:
    return [(item.name, item.arguments) for item in asked.message.tool_calls]


A, B = ("ls", {"path": "a"}), ("cat", {"path": "b"})
PARALLEL: dict[str, list[dict[str, Any]]] = {
    "numbers and no ids": [
        fragment('{"path":', "ls", index=0),
        fragment('"a"}', index=0),
        fragment('{"path":"b"}', "cat", index=1),
    ],
    "numbers whose fragments interleave": [
        fragment('{"path":', "ls", index=0, id="x"),
        fragment('{"path":', "cat", index=1, id="y"),
        fragment('"a"}', index=0),
        fragment('"b"}', index=1),
    ],
    "ids on first fragments only": [
        fragment('{"path":', "ls", id="x"),
        fragment('"a"}'),
        fragment('{"path":"b"}', "cat", id="y"),
    ],
    "ids on every fragment": [
        fragment('{"path":', "ls", id="x"),
        fragment('"a"}', id="x"),
        fragment('{"path":', "cat", id="y"),
        fragment('"b"}', id="y"),
    ],
    "ids without numbers that interleave": [
        fragment('{"path":', "ls", id="x"),
        fragment('{"path":', "cat", id="y"),
        fragment('"a"}', id="x"),
        fragment('"b"}', id="y"),
    ],
    "number zero for all": [
        fragment('{"path":', "ls", index=0, id="x"),
        fragment('"a"}', index=0),
        fragment('{"path":"b"}', "cat", index=0, id="y"),
    ],
    "number zero for all and no ids": [
        fragment('{"path":', "ls", index=0),
        fragment('"a"}', index=0),
        fragment('{"path":"b"}', "cat", index=0),
    ],
    "neither numbers nor ids": [
        fragment('{"path":', "ls"),
        fragment('"a"}'),
        fragment('{"path":"b"}', "cat"),
    ],
    "a number on first fragments and the id on later ones": [
        fragment('{"path":', "ls", index=0, id="x"),
        fragment('{"path":', "cat", index=1, id="y"),
        fragment('"a"}', id="x"),
        fragment('"b"}', id="y"),
    ],
    "the same id for all, with numbers": [
        fragment('{"path":', "ls", index=0, id="x"),
        fragment('{"path":', "cat", index=1, id="x"),
        fragment('"a"}', index=0, id="x"),
        fragment('"b"}', index=1, id="x"),
    ],
    "the same id for all, without numbers": [
        fragment('{"path":"a"}', "ls", id="x"),
        fragment('{"path":"b"}', "cat", id="x"),
    ],
    "empty ids": [
        fragment('{"path":"a"}', "ls", index=0, id=""),
        fragment('{"path":"b"}', "cat", index=1, id=""),
    ],
    "ids that are null and arguments that are objects": [
        {"index": 0, "id": None, "function": {"name": "ls", "arguments": {"path": "a"}}},
        {"index": 1, "id": None, "function": {"name": "cat", "arguments": {"path": "b"}}},
    ],
    "numbers that are text": [
        fragment('{"path":', "ls", index="0", id="x"),
        fragment('"a"}', index="0"),
        fragment('{"path":"b"}', "cat", index="1", id="y"),
    ],
}


@pytest.mark.parametrize("habit", PARALLEL)
def test_parallel_calls_are_told_apart_by(habit: str) -> None:
    asked = ask(call_reply(*PARALLEL[habit]))
    assert made(asked) == [A, B]
    ids = [item.id for item in asked.message.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2


def test_two_calls_in_one_chunk_are_two_calls() -> None:
    both = [fragment('{"path":"a"}', "ls", index=0, id="x"), fragment('{"path":"b"}', "cat", index=1, id="y")]
    assert made(ask(sse_reply([delta_chunk({"tool_calls": both}), delta_chunk({}, "tool_calls")]))) == [A, B]


@pytest.mark.parametrize("place", [{}, {"index": 0}])
def test_a_call_without_arguments_ends_where_a_call_of_another_tool_begins(place: dict[str, Any]) -> None:
    asked = ask(call_reply(fragment("", "now", **place), fragment('{"path":"b"}', "cat", **place)))
    assert made(asked) == [("now", {}), B]


def test_a_name_that_comes_again_with_each_fragment_begins_no_call() -> None:
    pieces = [fragment(piece, "ls", index=0, id="x") for piece in ("", '{"path"', ':"a"}', "")]
    assert made(ask(call_reply(*pieces))) == [A]


def test_the_old_form_of_a_single_call_is_a_call() -> None:
    reply = sse_reply([
        delta_chunk({"function_call": {"name": "ls", "arguments": '{"path":'}}),
        delta_chunk({"function_call": {"arguments": '"a"}'}}),
        delta_chunk({}, "function_call"),
    ])  # fmt: skip
    assert made(ask(reply)) == [A]


@pytest.mark.parametrize("name", ["", "multi_tool_use.parallel", "nope"])
def test_an_invented_tool_is_a_call_like_any_other(name: str) -> None:
    (item,) = ask(openai_answer(calls=[call(name, {"x": 1})])).message.tool_calls
    assert (item.name, item.arguments) == (name, {"x": 1})


@pytest.mark.parametrize("raw", ['{"path":"q.txt","content":"hi",]', '"x"', "[1]", "null", "7"])
def test_arguments_that_are_no_object_are_told_with_their_text(raw: str) -> None:
    (item,) = ask(openai_answer(calls=[call("ls", raw=raw)])).message.tool_calls
    assert item.arguments == {}
    assert raw in str(item.arguments_error)


def test_an_answer_cut_in_the_middle_of_its_second_call_is_cut_and_not_tool_use() -> None:
    calls = [call("ls", {"path": "a"}), call("ls", raw='{"path": "b')]
    message = ask(openai_answer(calls=calls, finish_reason="length")).message
    assert message.stop_reason == "length"
    assert len(message.tool_calls) == 2


# Text and thinking


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_remembers_the_field_it_came_in(field: str) -> None:
    message = ask(openai_answer("hi", reasoning="hm", reasoning_field=field)).message
    assert message.content == [ThinkingContent("hm", field), TextContent("hi")]


def test_thinking_in_two_fields_is_taken_once() -> None:
    both = delta_chunk({"reasoning": "hm", "reasoning_content": "hm", "content": "x"})
    message = ask(sse_reply([both, delta_chunk({}, "stop")])).message
    assert message.content == [ThinkingContent("hm", "reasoning_content"), TextContent("x")]


def test_content_in_parts_is_text_and_thinking() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}, "!"]
    message = ask(sse_reply([delta_chunk({"content": parts}), delta_chunk({}, "stop")])).message
    assert message.content == [ThinkingContent("hm", "reasoning_content"), TextContent("hi!")]


def test_a_refusal_is_shown_as_text() -> None:
    message = ask(sse_reply([delta_chunk({"refusal": "I would rather not."}), delta_chunk({}, "stop")])).message
    assert message.text == "I would rather not."


def test_half_a_surrogate_pair_from_the_server_does_not_break_the_answer() -> None:
    data = json.dumps(delta_chunk({"content": "a\ud83d"}))
    assert ask(sse_reply([data, delta_chunk({}, "stop")])).message.text.startswith("a")


def test_the_halves_of_a_surrogate_pair_in_two_chunks_become_one_character() -> None:
    halves = [json.dumps(delta_chunk({"content": half})) for half in ("a\ud83d", "\ude48b")]
    assert ask(sse_reply([*halves, delta_chunk({}, "stop")])).message.text == "a🙈b"


def test_bytes_that_are_no_utf8_do_not_end_the_answer() -> None:
    broken = encode_sse(None, delta_chunk({"content": "a?b"})).replace(b"?", b"\xff")
    assert ask(steps(broken, FINISH, DONE)).message.text == "a\ufffdb"


def test_the_free_text_of_a_grammar_tool_becomes_its_argument() -> None:
    grammar = GrammarSampling({"openai_lark": "start: /.+/"})
    schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    system = SystemMessage(content="s", timestamp=0, tools_added=[Tool("run", "d", schema, grammar)])
    reply = call_reply(
        {"index": 0, "id": "c", "custom": {"name": "run", "input": 'say "'}},
        {"index": 0, "custom": {"input": 'ü"\n'}},
    )
    fields = {"compat": {"supportsOpenAIGrammarTools": True}}
    (item,) = ask(reply, messages=[system, USER], fields=fields).message.tool_calls
    assert (item.name, item.arguments) == ("run", {"code": 'say "ü"\n'})


@pytest.mark.parametrize("piece_bytes", [1, 7, 10_000])
@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_any_cut_of_the_bytes_gives_the_same_answer(piece_bytes: int, framing: Any) -> None:
    sent = [
        delta_chunk({"content": "grüße 🙈 " * 5}),
        delta_chunk({"tool_calls": [fragment('{"p":"ä"}', "ls", id="c")]}),
    ]
    events = [(None, chunk) for chunk in (*sent, delta_chunk({}, "tool_calls"), "[DONE]")]
    message = ask(Reply.sse(events, piece_bytes=piece_bytes, framing=framing)).message
    assert message.text == "grüße 🙈 " * 5
    assert message.tool_calls[0].arguments == {"p": "ä"}


def test_an_answer_that_comes_as_one_document_is_read_like_a_stream() -> None:
    call_part = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"path":"a"}'}}
    choice = {"message": {"role": "assistant", "content": "I look.", "tool_calls": [call_part]}}
    document = {"id": "r", "choices": [choice | {"finish_reason": "tool_calls"}], "usage": usage(7, 3)}
    asked = ask(Reply.json(document))
    assert (asked.message.text, made(asked), asked.message.usage.input) == ("I look.", [A], 7)


# Usage


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (usage(100, 50, prompt_tokens_details={"cached_tokens": 80}), (20, 80, 0, 50, 0, 150)),
        (usage(100, 50, cached_tokens=80), (20, 80, 0, 50, 0, 150)),
        (usage(100, 50, prompt_cache_hit_tokens=80), (20, 80, 0, 50, 0, 150)),
        (usage(100, 50, completion_tokens_details={"reasoning_tokens": 30}), (100, 0, 0, 50, 30, 150)),
        (usage(100, 50, reasoning_tokens=30), (100, 0, 0, 50, 30, 150)),
        (
            usage(100, 50, prompt_tokens_details={"cached_tokens": 60, "cache_write_tokens": 30}),
            (10, 60, 30, 50, 0, 150),
        ),
        (usage(10, 5, prompt_tokens_details={"cached_tokens": 80}), (0, 80, 0, 5, 0, 85)),
        (usage(10, 5, prompt_tokens_details=None, completion_tokens_details=None), (10, 0, 0, 5, 0, 15)),
        ({"prompt_tokens": None, "completion_tokens": "many"}, (0, 0, 0, 0, 0, 0)),
        ({}, (0, 0, 0, 0, 0, 0)),
    ],
)
def test_tokens_are_counted_once(counts: dict[str, Any], expected: tuple[int, ...]) -> None:
    used = ask(openai_answer("x", counts=counts)).message.usage
    counted = (used.input, used.cache_read, used.cache_write, used.output, used.reasoning or 0, used.total_tokens)
    assert counted == expected


def test_usage_inside_a_choice_counts_and_a_later_one_replaces_it() -> None:
    first = delta_chunk({"content": "x"})
    first["choices"][0]["usage"] = usage(1, 1)
    assert ask(sse_reply([first, delta_chunk({}, "stop")])).message.usage.total_tokens == 2
    late = {"choices": [], "usage": usage(7, 3)}
    assert ask(sse_reply([first, delta_chunk({}, "stop"), late])).message.usage.total_tokens == 10


def test_usage_that_comes_with_every_chunk_does_not_end_the_stream() -> None:
    running = [delta_chunk({"content": letter}) | {"usage": usage(7, n)} for n, letter in enumerate("abc", start=1)]
    empty = {"choices": [], "usage": usage(7, 3)}
    message = ask(sse_reply([running[0], empty, *running[1:], delta_chunk({}, "stop")])).message
    assert (message.text, message.usage.output) == ("abc", 3)


def test_cost_follows_the_rates_of_the_model() -> None:
    rates = {"cost": ModelCost(input=1, output=2, cache_read=0.1, cache_write=1.25)}
    counts = usage(17, 20, prompt_tokens_details={"cached_tokens": 3, "cache_write_tokens": 4})
    used = ask(openai_answer("x", counts=counts), fields=rates).message.usage
    assert used.cost.total == pytest.approx((10 + 40 + 0.3 + 5) / 1e6)


# Ends


@pytest.mark.parametrize(
    "end",
    [
        (FINISH, COUNTS, DONE),
        (FINISH, COUNTS, Stall()),
        (COUNTS, FINISH, DONE, Stall()),
        (FINISH, COUNTS, Cut()),
        (FINISH, COUNTS, Cut(politely=True)),
        (FINISH, COUNTS[:-1]),
    ],
)
def test_an_answer_is_complete_however_the_server_leaves_it(end: tuple[Step, ...]) -> None:
    message = ask(steps(*chunks({"content": "hi"}), *end)).message
    assert (message.stop_reason, message.text, message.usage.total_tokens) == ("stop", "hi", 10)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ((), "ended without finish_reason"),
        ((DONE,), "ended without finish_reason"),
        ((Cut(),), "ECONNRESET"),
        ((Cut(politely=True),), ""),
        ((encode_sse(None, {"error": {"message": "Overloaded", "code": 503}}),), "Overloaded (code 503)"),
        ((encode_sse("error", {"object": "error", "message": "Overloaded", "code": 503}),), "Overloaded"),
    ],
)
def test_an_answer_that_breaks_off_keeps_its_text_and_is_worth_repeating(end: tuple[Step, ...], words: str) -> None:
    asked = ask(steps(*chunks({"content": "half"}), *end))
    assert (asked.message.stop_reason, asked.message.text) == ("error", "half")
    assert words in str(asked.message.error_message)
    assert is_retryable_assistant_error(asked.message)
    assert event_names(asked.events)[-1] == "error"


def test_a_server_that_names_no_finish_reason_can_be_said_to() -> None:
    compat = {"compat": {"supportsFinishReason": False}}
    assert ask(sse_reply([delta_chunk({"content": "x"})]), fields=compat).message.stop_reason == "stop"
    assert ask(call_reply(fragment("{}", "ls"), reason=None), fields=compat).message.stop_reason == "toolUse"


def test_the_text_of_a_server_behind_the_server_is_told() -> None:
    error = {"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream is asleep"}}
    message = ask(sse_reply([{"error": error}])).message
    assert message.error_message == "Provider returned error\nupstream is asleep (code 502)"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(headers=SSE), "ended without an answer"),
        (Reply(headers={"content-type": "application/json"}), "ended without an answer"),
        (sse_reply([]), "ended without an answer"),
        (Reply.json([{"error": "odd"}]), "odd"),
        (Reply.json({"error": {"message": "no such model"}}), "no such model"),
        (sse_reply(["{oops"]), "not JSON"),
        (openai_answer("  \n"), "without text"),
        (openai_answer(reasoning="hm"), "without text"),
        (openai_answer("Calling.", finish_reason="tool_calls"), "tool"),
        (openai_answer("x", finish_reason="network_error"), "finish_reason 'network_error'"),
        (error_reply(500, "out of memory"), "500"),
        (Reply.text("", 500), "500 status code (no body)"),
    ],
)
def test_no_failure_looks_like_success(reply: ScriptedReply, words: str) -> None:
    message = ask(reply).message
    assert message.stop_reason == "error"
    assert words in str(message.error_message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
PARTS = [
    *["id", "model", "choices", "usage", "error", "delta", "message", "finish_reason", "content", "tool_calls"],
    *["index", "function", "custom", "name", "arguments", "input", "reasoning", "reasoning_details", "type", "text"],
    *["prompt_tokens", "prompt_tokens_details", "cached_tokens", "function_call", "metadata", "code", "cost"],
]
CHUNKS = st.recursive(
    JSON,
    lambda inner: st.dictionaries(st.sampled_from(PARTS), inner | st.lists(inner, max_size=2), max_size=6),
    max_leaves=12,
)
DELTAS = st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"delta": CHUNKS}), max_size=2)})


@settings(max_examples=150, deadline=None)
@given(st.lists(CHUNKS | DELTAS, max_size=4))
def test_whatever_the_server_sends_the_stream_ends_in_one_terminal_event(sent: list[Any]) -> None:
    body = [encode_sse(None, chunk) for chunk in (*(json.dumps(item) for item in sent), delta_chunk({}, "stop"))]
    transport = FunctionTransport(lambda _: MemoryResponse(200, SSE, body))
    events = collect(API.stream(model(), [SYSTEM, USER], StreamOptions(api_key=KEY, http=transport)))
    names = event_names(events)
    assert names[0] == "start"
    assert [name for name in names if name in ("done", "error")] == [names[-1]]
    message = final_message(events)
    assert message.stop_reason in ("stop", "toolUse", "error")
    assert "Error: " not in str(message.error_message), "a fault of ours, not a failure that the server is told of"


# Abort and hooks


@pytest.mark.parametrize("reply", [Reply.never(), steps(Stall()), steps(*chunks({"content": "half"}), Stall())])
def test_an_abort_ends_the_stream_wherever_it_is(reply: Reply) -> None:
    async def read(server: FakeServer) -> AssistantMessage:
        controller = AbortController()
        options = StreamOptions(api_key=KEY, signal=controller.signal)

        async def leave() -> None:
            await asyncio.to_thread(server.wait_for_requests, 1)
            controller.abort()

        leaving = asyncio.create_task(leave())
        message = await API.stream(model(server.url), [USER], options).result()
        await leaving
        return message

    with FakeServer([reply]) as server:
        message = asyncio.run(read(server))
        server.wait_until_idle()
    assert message.stop_reason == "aborted"


def test_an_abort_before_the_request_sends_nothing() -> None:
    controller = AbortController()
    controller.abort()
    asked = ask(openai_answer("never"), signal=controller.signal)
    assert asked.message.stop_reason == "aborted"
    assert asked.requests == []


def test_an_abort_in_the_middle_of_a_call_closes_it_and_keeps_the_text() -> None:
    controller, gate = AbortController(), threading.Event()
    pieces = chunks({"content": "half"}, {"tool_calls": [fragment('{"path":', "ls", index=0, id="c")]})

    async def read(url: str) -> list[str]:
        stream = API.stream(model(url), [USER], StreamOptions(api_key=KEY, signal=controller.signal))
        seen: list[AssistantMessageEvent] = []
        async for event in stream:
            seen.append(event)
            if isinstance(event, ToolCallDelta):
                controller.abort()
                gate.set()
        assert final_message(seen).text == "half"
        return event_names(seen)

    with FakeServer([steps(*pieces, Gate(gate), Stall())]) as server:
        names = asyncio.run(read(server.url))
    assert names[-3:] == ["text_end#0", "toolcall_end#1", "error"]


def test_a_reader_that_leaves_early_closes_the_connection() -> None:
    async def read(url: str) -> None:
        stream = API.stream(model(url), [USER], StreamOptions(api_key=KEY))
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        await stream.aclose()

    with FakeServer([steps(*chunks({"content": "half"}), Stall())]) as server:
        asyncio.run(read(server.url))
        server.wait_until_idle()


def test_hooks_see_the_response_and_every_chunk_before_its_events() -> None:
    seen: list[Any] = []

    async def on_event(chunk: Any, _: Any) -> None:
        seen.append(chunk["choices"][0]["delta"] if chunk["choices"] else "usage")

    def on_response(info: ResponseInfo, _: Any) -> None:
        seen.append(info.status)

    asked = ask(openai_answer("hi"), on_provider_stream_event=on_event, on_response=on_response)
    assert asked.message.text == "hi"
    assert seen == [200, {"role": "assistant", "content": ""}, {"content": "h"}, {"content": "i"}, {}, "usage"]


@pytest.mark.parametrize("hook", ["on_payload", "on_response", "on_provider_stream_event"])
def test_a_hook_that_raises_fails_the_answer(hook: str) -> None:
    def broken(*_: Any) -> None:
        raise LookupError("the hook is broken")

    hooks: dict[str, Any] = {hook: broken}
    message = ask(openai_answer("hi"), **hooks).message
    assert (message.stop_reason, message.error_message) == ("error", "LookupError: the hook is broken")
