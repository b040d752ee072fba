"""Streams of the Responses API: event order, items of every kind, odd servers, usage and price, the vendor's client."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import UNSET
from openai import AsyncOpenAI, OpenAI
from tests.ai.apis.responses import KEY, LS, PATCH, USER, ask, exchange

from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import TextDelta, ThinkingDelta, ToolCallDelta
from pinyon.ai.message import AssistantMessage, SystemMessage
from pinyon.ai.model import ModelCost
from pinyon.testing.fake_responses import (
    ResponsesAnswer,
    WireItem,
    answer,
    custom_call,
    function_call,
    message,
    reasoning,
    responses_answer,
    responses_reply,
    usage,
)
from pinyon.testing.fake_server import FakeServer, Reply
from pinyon.testing.stream import event_names, final_message

EVERYTHING = answer(
    reasoning("think hard", item_id="rs_1", encrypted="enc"),
    message("Hello there", phase="commentary", item_id="msg_1"),
    function_call("ls", {"path": "."}, call_id="c1"),
    response_id="resp_1",
    usage=usage(100, 20, cached=30, written=10, reasoned=7),
)


def streamed(scripted: ResponsesAnswer, **options: Any) -> AssistantMessage:
    return ask(responses_reply(scripted), **options)


def sse(*events: dict[str, Any]) -> Reply:
    return Reply.sse([(event.get("type"), event) for event in events])


def completed(**fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", **fields}}


def test_events_come_in_order() -> None:
    events, _ = exchange(responses_reply(EVERYTHING))
    assert event_names(events) == [
        "start",
        "thinking_start#0",
        "thinking_delta#0",
        "thinking_delta#0",
        "thinking_delta#0",
        "thinking_end#0",
        "text_start#1",
        "text_delta#1",
        "text_delta#1",
        "text_end#1",
        "toolcall_start#2",
        "toolcall_delta#2",
        "toolcall_delta#2",
        "toolcall_end#2",
        "done",
    ]
    assert "".join(event.delta for event in events if isinstance(event, ThinkingDelta)) == "think hard\n\n"
    assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "Hello there"
    assert json.loads("".join(event.delta for event in events if isinstance(event, ToolCallDelta))) == {"path": "."}


def test_an_answer_keeps_all_that_the_next_request_needs() -> None:
    said = streamed(EVERYTHING)
    thinking, text, call = said.content
    assert isinstance(thinking, ThinkingContent)
    assert thinking.thinking == "think hard"
    assert json.loads(thinking.thinking_signature or "") == EVERYTHING.items[0].done
    assert text == TextContent("Hello there", '{"v":1,"id":"msg_1","phase":"commentary"}')
    assert isinstance(call, ToolCall)
    assert (call.id, call.arguments) == (f"c1|{EVERYTHING.items[2].done['id']}", {"path": "."})
    assert (said.stop_reason, said.raw_stop_reason, said.response_id) == ("toolUse", "completed", "resp_1")
    assert said.response_model is UNSET


def test_every_count_of_tokens_has_its_place_and_price() -> None:
    used = streamed(EVERYTHING).usage
    assert (used.input, used.cache_read, used.cache_write, used.output, used.reasoning) == (60, 30, 10, 20, 7)
    assert used.total_tokens == 120
    assert used.cost.total == pytest.approx((60 * 3 + 30 * 0.3 + 10 * 3.75 + 20 * 15) / 1e6)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, (0, 0, 0, 0)),
        ({}, (0, 0, 0, 0)),
        ({"input_tokens": 10, "output_tokens": 2}, (10, 0, 2, 12)),
        ({"input_tokens": 10, "output_tokens": None, "input_tokens_details": None}, (10, 0, 0, 10)),
        ({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 20}, "total_tokens": 10}, (0, 20, 0, 10)),
    ],
)
def test_odd_usage_is_read_as_far_as_it_goes(raw: Any, expected: tuple[int, int, int, int]) -> None:
    used = ask(sse(*[event for _, event in answer(message("x")).events("m")][:-1], completed(usage=raw))).usage
    assert (used.input, used.cache_read, used.output, used.total_tokens) == expected


@pytest.mark.parametrize(
    ("requested", "reported", "model_id", "factor"),
    [
        (None, "default", "fake-1", 1),
        (None, "flex", "fake-1", 0.5),
        ("flex", None, "fake-1", 0.5),
        ("priority", "priority", "fake-1", 2),
        ("priority", "default", "fake-1", 1),
        (None, "fast", "fake-1", 2),
        (None, "priority", "gpt-5.5", 2.5),
    ],
)
def test_the_service_tier_multiplies_the_price(
    requested: str | None, reported: str | None, model_id: str, factor: float
) -> None:
    extra = {"service_tier": requested} if requested else {}
    fields = {"id": model_id, "cost": ModelCost(input=1, output=1)}
    said = streamed(answer(message("x"), service_tier=reported), fields=fields, extra=extra)
    assert said.usage.cost.total == pytest.approx(120 * factor / 1e6)


@pytest.mark.parametrize(
    ("items", "fields", "stop", "raw"),
    [
        ([message("x")], {}, "stop", "completed"),
        ([message("x")], {"status": "queued"}, "stop", "queued"),
        ([message("x")], {"status": "in_progress"}, "stop", "in_progress"),
        ([function_call("ls")], {}, "toolUse", "completed"),
        ([message("x"), function_call("ls"), message("y", phase="final_answer")], {}, "toolUse", "completed"),
        (
            [message("x", is_told_done=False)],
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "incomplete.max_output_tokens",
        ),
        (
            [function_call("ls", raw='{"path": "a', is_told_done=False)],
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "incomplete.max_output_tokens",
        ),
    ],
)
def test_the_status_decides_why_an_answer_stopped(
    items: Sequence[WireItem], fields: dict[str, Any], stop: str, raw: str
) -> None:
    said = streamed(answer(*items, **fields))
    assert (said.stop_reason, said.raw_stop_reason) == (stop, raw)


def test_an_answer_whose_final_phase_came_counts_as_stopping() -> None:
    events, _ = exchange(responses_answer(message("bye", phase="final_answer")))
    assert final_message(events).stop_reason == "stop"
    assert json.loads(_signature(final_message(events)))["phase"] == "final_answer"


def _signature(said: AssistantMessage) -> str:
    text = said.content[0]
    assert isinstance(text, TextContent)
    return text.text_signature or ""


def test_summaries_and_raw_reasoning_are_thinking() -> None:
    two = reasoning("one", item_id="rs_1")
    two.done["summary"].append({"type": "summary_text", "text": "two"})
    said = streamed(answer(two, reasoning("raw", raw=True), message("x")))
    assert [block.thinking for block in said.content if isinstance(block, ThinkingContent)] == ["one\n\ntwo", "raw"]


def test_reasoning_without_a_text_is_kept_for_its_encrypted_content() -> None:
    said = streamed(answer(reasoning("", encrypted="secret"), message("x")))
    block = said.content[0]
    assert isinstance(block, ThinkingContent)
    assert block.thinking == ""
    assert json.loads(block.thinking_signature or "")["encrypted_content"] == "secret"


@pytest.mark.parametrize("early", [None, ""])
def test_late_encrypted_content_is_filled_in(early: str | None) -> None:
    scripted = answer(
        reasoning("a", item_id="rs_1", encrypted=early),
        reasoning("b", item_id="rs_2", encrypted="own"),
        message("x"),
        late_encrypted={"rs_1": "late", "rs_2": "other"},
    )
    blocks = [block for block in streamed(scripted).content if isinstance(block, ThinkingContent)]
    kept = [json.loads(block.thinking_signature or "")["encrypted_content"] for block in blocks]
    assert kept == ["late", "own"]


def test_a_refusal_is_text() -> None:
    assert streamed(answer(message("I will not.", refuses=True))).text == "I will not."


def test_items_that_are_never_told_done_are_taken_from_the_response() -> None:
    scripted = answer(
        reasoning("think", item_id="rs_1", is_told_done=False),
        message("text", item_id="msg_1", phase="commentary", is_told_done=False),
    )
    thinking, text = streamed(scripted).content
    assert isinstance(thinking, ThinkingContent)
    assert json.loads(thinking.thinking_signature or "")["id"] == "rs_1"
    assert text == TextContent("text", '{"v":1,"id":"msg_1","phase":"commentary"}')


def test_every_block_that_starts_ends_before_the_answer() -> None:
    events, _ = exchange(
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}},
            {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_1"}},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "hi"},
            {"type": "response.output_item.added", "output_index": 2, "item": function_call("ls").added},
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
        )
    )
    names = event_names(events)
    assert names[-4:] == ["thinking_end#0", "text_end#1", "toolcall_end#2", "done"]
    assert final_message(events).stop_reason == "length"


def test_items_that_come_whole_are_shown() -> None:
    items = [reasoning("hm").done, message("x").done, function_call("ls", {"path": "b"}).done]
    events, _ = exchange(
        sse(
            *({"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)),
            completed(),
        )
    )
    said = final_message(events)
    assert (said.text, said.tool_calls[0].arguments) == ("x", {"path": "b"})
    assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "x"
    assert event_names(events)[-1] == "done"


def test_deltas_without_an_item_open_one() -> None:
    said = ask(
        sse(
            {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "hi"},
            completed(),
        )
    )
    assert (said.text, said.stop_reason) == ("hi", "stop")


def test_a_server_that_does_not_stream_is_understood() -> None:
    document = answer(reasoning("hm"), message("whole"), function_call("ls", {"path": "."})).document("fake-1")
    said = ask(Reply.json(document))
    assert (said.text, said.stop_reason, said.usage.total_tokens) == ("whole", "toolUse", 120)


def test_parallel_calls_are_kept_apart_and_their_ids_distinct() -> None:
    first, second = (
        function_call("ls", {"path": "a"}, call_id="same"),
        function_call("ls", {"path": "b"}, call_id="same"),
    )
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "resp_1"}}]
    for index, item in enumerate((first, second)):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item.added})
    for deltas in zip(first.deltas, second.deltas, strict=True):
        events += [{**delta, "output_index": index} for index, delta in enumerate(deltas)]
    for index, item in enumerate((first, second)):
        events.append({"type": "response.output_item.done", "output_index": index, "item": item.done})
    calls = ask(sse(*events, completed())).tool_calls
    assert [call.arguments["path"] for call in calls] == ["a", "b"]
    assert len({call.id.partition("|")[0] for call in calls}) == 2


def test_a_call_without_ids_gets_one() -> None:
    item = {"type": "function_call", "name": "ls", "arguments": "{}"}
    call = ask(sse({"type": "response.output_item.done", "output_index": 0, "item": item}, completed())).tool_calls[0]
    assert call.id.startswith("call_")
    assert "|" not in call.id


def test_a_namespace_is_kept() -> None:
    assert streamed(answer(function_call("ls", namespace="ns"))).tool_calls[0].namespace == "ns"


@pytest.mark.parametrize("text", ['say "hi"\nand \\ go ä', "", "\U0001f648\U0001f648"])
def test_the_text_of_a_custom_tool_becomes_its_argument(text: str) -> None:
    events, _ = exchange(
        responses_answer(custom_call("patch", text)),
        messages=[SystemMessage("", 0, tools_added=[PATCH]), USER],
        fields={"compat": {"supportsOpenAIGrammarTools": True}},
    )
    assert final_message(events).tool_calls[0].arguments == {"text": text}
    pieces = "".join(event.delta for event in events if isinstance(event, ToolCallDelta))
    assert json.loads(pieces) == {"text": text}


def test_a_custom_tool_whose_end_contradicts_its_beginning_fails() -> None:
    call = custom_call("patch", "abc")
    call.done["input"] = "xyz"
    assert streamed(answer(call)).stop_reason == "error"


@pytest.mark.parametrize("raw", ['{"path": ', '"x"', "[1]", "null"])
def test_arguments_that_are_no_object_are_not_run(raw: str) -> None:
    said = streamed(answer(function_call("ls", raw=raw)))
    call = said.tool_calls[0]
    assert said.stop_reason == "toolUse"
    assert call.arguments == {}
    assert raw in str(call.arguments_error)


def test_the_finished_item_wins_over_what_was_streamed() -> None:
    call, text = function_call("ls", {"path": "streamed"}), message("streamed")
    call.done["arguments"] = '{"path": "final"}'
    text.done["content"] = [{"type": "output_text", "text": "final", "annotations": []}]
    said = streamed(answer(text, call))
    assert (said.text, said.tool_calls[0].arguments) == ("final", {"path": "final"})


@pytest.mark.parametrize(
    ("reason", "is_told"), [("model_mismatch", True), ("prefix_mismatch", True), ("turn_boundary", False)]
)
def test_reasoning_that_the_server_left_out_is_noted(reason: str, is_told: bool) -> None:
    entry = {"type": "reasoning", "action": "removed", "id": "rs_1", "reason": reason}
    said = streamed(answer(message("x"), input_transformations=[entry]))
    kinds = [diagnostic.type for diagnostic in said.diagnostics or ()]
    assert kinds == (["openai_input_transformations"] if is_told else [])


def test_another_model_that_answered_is_named() -> None:
    assert streamed(answer(message("x"), model="fake-1-2026-11-01")).response_model == "fake-1-2026-11-01"


def test_the_callers_hook_sees_each_event_before_it_is_read() -> None:
    seen: list[str] = []
    said = streamed(EVERYTHING, on_provider_stream_event=lambda event, _: seen.append(event["type"]))
    assert seen == [name for name, _ in EVERYTHING.events("fake-1")]
    assert said.stop_reason == "toolUse"


def test_unknown_events_and_items_are_passed_over() -> None:
    web = {"type": "web_search_call", "id": "ws_1"}
    said = ask(
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": web},
            {"type": "response.web_search_call.searching", "output_index": 0},
            {"type": "response.output_item.done", "output_index": 0, "item": web},
            {"type": "response.news", "delta": {"odd": 1}},
            {"type": "response.output_item.done", "output_index": 1, "item": message("x").done},
            completed(),
        )
    )
    assert (said.text, len(said.content)) == ("x", 1)


@pytest.mark.parametrize("piece_bytes", [1, 7, 100])
def test_any_split_of_the_bytes_gives_the_same_answer(piece_bytes: int) -> None:
    reply = responses_reply(EVERYTHING, piece_bytes=piece_bytes)
    said = ask(reply)
    assert (said.text, said.stop_reason, len(said.content)) == ("Hello there", "toolUse", 3)


# The vendor's own client


def test_the_vendors_client_can_stream_from_the_fake_server() -> None:
    scripted = answer(
        reasoning("hm"),
        message("Hello", phase="commentary"),
        message("No.", refuses=True),
        function_call("ls", {"path": "."}),
        custom_call("patch", "text"),
    )

    async def read(url: str) -> list[Any]:
        async with AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            stream = await client.responses.create(model="fake-1", input="hi", stream=True)
            return [event async for event in stream]

    with FakeServer([responses_reply(scripted)]) as server:
        events = asyncio.run(read(f"{server.url}/v1"))
    assert [event.type for event in events] == [name for name, _ in scripted.events("fake-1")]
    kinds = [item.type for item in events[-1].response.output]
    assert kinds == ["reasoning", "message", "message", "function_call", "custom_tool_call"]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello"
    assert events[-1].response.usage.input_tokens_details.cache_write_tokens == 0


def test_the_vendors_client_can_read_a_document_of_the_fake_server() -> None:
    with (
        FakeServer([responses_answer(message("Hello"))]) as server,
        OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client,
    ):
        assert client.responses.create(model="fake-1", input="hi").output_text == "Hello"


def test_a_tool_named_in_the_request_is_the_one_that_is_called() -> None:
    assert streamed(answer(function_call(LS.name, {"path": "x"}))).tool_calls[0].name == "ls"
