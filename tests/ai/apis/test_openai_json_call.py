"""Tool calls of small local models: a JSON Schema goes out, the JSON that comes back is a call or an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.apis.openai_completions import API
from pinyon.ai.apis.openai_json_call import JsonCallReader, json_call_fields, may_answer, offered_tools
from pinyon.ai.content import ImageContent, TextContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, TextDelta
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer
from pinyon.testing.stream import collect, event_names, final_message

LS = Tool("ls", "List a folder.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
TREE = Tool(
    "tree",
    "Keep a tree.",
    {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
        "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}},
    },
)
SYSTEM = SystemMessage(content="Be brief.", timestamp=0, tools_added=[LS, TREE])
USER = UserMessage(content="hi", timestamp=1)
MODEL = Model(
    id="m",
    name="m",
    api="openai-completions",
    provider="local",
    base_url="http://127.0.0.1:9/v1",
    compat={"toolCallFormat": "json-schema"},
)


def ask(
    reply: str, messages: Sequence[Message] = (SYSTEM, USER), finish_reason: str | None = None, **options: Any
) -> tuple[list[AssistantMessageEvent], dict[str, Any]]:
    """Events of the answer whose text is `reply`, and the body that the server received."""
    with FakeServer([openai_answer(reply, finish_reason=finish_reason)]) as server:
        model = Model(
            **{name: getattr(MODEL, name) for name in MODEL.__struct_fields__} | {"base_url": f"{server.url}/v1"}
        )
        events = collect(API.stream(model, list(messages), StreamOptions(api_key="k", **options)))
        return events, server.requests[0].json


def answer(*content: Any) -> AssistantMessage:
    return AssistantMessage(
        content=list(content),
        api="openai-completions",
        provider="local",
        model="m",
        usage=Usage(),
        stop_reason="toolUse",
        timestamp=2,
    )


def result(call_id: str, *content: Any, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="ls", content=list(content), is_error=is_error, timestamp=3
    )


def test_the_request_carries_a_schema_and_a_description_in_place_of_tools() -> None:
    _, body = ask('{"answer":"x"}')
    assert "tools" not in body
    assert body["response_format"]["type"] == "json_schema"
    prompt = body["messages"][0]["content"]
    assert prompt.startswith("Be brief.\n\n")
    for said in ("ls", "List a folder.", '"path"', '{"answer"', '{"tool"'):
        assert said in prompt


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ({"tool": "ls", "arguments": {"path": "."}}, True),
        ({"answer": "done"}, True),
        ({"tool": "tree", "arguments": {"root": {"child": {"child": {}}}}}, True),
        ({"tool": "tree", "arguments": {"root": {"child": 5}}}, False),
        ({"tool": "nope", "arguments": {}}, False),
        ({"tool": "ls", "arguments": {}}, False),
        ({"answer": "done", "tool": "ls"}, False),
        ({}, False),
    ],
)
def test_the_schema_admits_a_call_of_a_tool_or_an_answer(reply: Any, valid: bool) -> None:
    schema = json_call_fields([LS, TREE], may_answer=True)["response_format"]["json_schema"]["schema"]
    check = fastjsonschema.compile(schema)
    if valid:
        check(reply)
    else:
        with pytest.raises(fastjsonschema.JsonSchemaException):
            check(reply)


def test_references_of_a_single_tool_lead_to_its_place_too() -> None:
    schema = json_call_fields([TREE], may_answer=False)["response_format"]["json_schema"]["schema"]
    check = fastjsonschema.compile(schema)
    check({"tool": "tree", "arguments": {"root": {"child": {}}}})
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check({"answer": "x"})


@pytest.mark.parametrize(
    ("choice", "names", "answers"),
    [
        (None, ["ls", "tree"], True),
        ("auto", ["ls", "tree"], True),
        ("required", ["ls", "tree"], False),
        ("none", [], True),
        ({"type": "function", "function": {"name": "tree"}}, ["tree"], False),
        ({"type": "tool", "name": "ls"}, ["ls"], False),
    ],
)
def test_a_tool_choice_narrows_what_is_offered(choice: Any, names: list[str], answers: bool) -> None:
    assert [tool.name for tool in offered_tools([LS, TREE], choice)] == names
    assert may_answer(choice) is answers


def test_without_tools_the_request_is_a_plain_one() -> None:
    _, body = ask("plain text", [SystemMessage(content="S", timestamp=0), USER])
    assert set(body) == {"model", "messages", "stream", "stream_options", "max_tokens"}
    events, body = ask("plain text", tool_choice="none")
    assert "response_format" not in body
    assert body["messages"][0]["content"] == "Be brief."
    assert final_message(events).text == "plain text"


@pytest.mark.parametrize(
    "reply",
    [
        '{"tool": "ls", "arguments": {"path": "."}}',
        '\n {"tool":"ls","arguments":"{\\"path\\":\\".\\"}"}',
        '```json\n{"tool": "ls", "arguments": {"path": "."}}\n```',
        '{"name": "ls", "parameters": {"path": "."}}',
        '{"tool": "ls", "path": "."}',
        '{"type": "function", "function": {"name": "ls", "arguments": "{\\"path\\": \\".\\"}"}}',
    ],
)
def test_a_call_in_any_usual_shape_becomes_a_tool_call(reply: str) -> None:
    events, _ = ask(reply)
    assert event_names(events) == ["start", "toolcall_start#0", "toolcall_delta#0", "toolcall_end#0", "done"]
    message = final_message(events)
    (call,) = message.tool_calls
    assert (call.name, call.arguments, message.stop_reason) == ("ls", {"path": "."}, "toolUse")
    assert call.id


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"answer": "It is\\n\\"done\\"."}', 'It is\n"done".'),
        ("just text", "just text"),
        ('{"result": 5}', '{"result": 5}'),
        ('{"name": "Bob", "age": 3}', '{"name": "Bob", "age": 3}'),
        ("[1, 2]", "[1, 2]"),
        ("{not json at all", "{not json at all"),
        ('{"answer": "cut he', "cut he"),
    ],
)
def test_everything_else_is_text(reply: str, text: str) -> None:
    message = final_message(ask(reply)[0])
    assert (message.text, message.tool_calls, message.stop_reason) == (text, [], "stop")


def test_an_answer_streams_as_it_arrives() -> None:
    live = LiveAnswer(MODEL)
    reader = JsonCallReader(live, ["ls"], lambda: "id")
    deltas = [
        event.delta
        for piece in ('{"ans', 'wer": "Hel', "lo, wor", 'ld"}')
        for event in reader.take(piece)
        if isinstance(event, TextDelta)
    ]
    assert deltas == ["Hel", "lo, wor", "ld"]
    assert reader.finish() == []


def test_a_call_that_was_cut_keeps_its_broken_arguments() -> None:
    message = final_message(ask('{"tool": "ls", "arguments": {"path": "a', finish_reason="length")[0])
    (call,) = message.tool_calls
    assert (message.stop_reason, call.name, call.arguments) == ("length", "ls", {})
    assert '{"path": "a' in (call.arguments_error or "")


def test_an_empty_reply_is_a_failure() -> None:
    assert final_message(ask(" ")[0]).stop_reason == "error"


def test_past_calls_and_results_read_like_what_is_asked_for() -> None:
    image = ImageContent("AAAA", "image/png")
    history: list[Message] = [
        SYSTEM,
        USER,
        answer(TextContent("I look."), ToolCall("1", "ls", {"path": "."}), ToolCall("2", "ls", {"path": "b"})),
        result("1", TextContent("a.txt")),
        result("2", TextContent("no such folder"), is_error=True),
        UserMessage(content="and now?", timestamp=4),
        answer(TextContent("Nothing.")),
        UserMessage(content="look at this", timestamp=5),
        answer(ToolCall("3", "ls", {"path": "c"})),
        result("3", image),
    ]
    _, body = ask('{"answer":"x"}', history)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    texts = [message["content"] for message in body["messages"]]
    assert texts[2].splitlines() == [
        "I look.",
        '{"tool":"ls","arguments":{"path":"."}}',
        '{"tool":"ls","arguments":{"path":"b"}}',
    ]
    assert texts[3] == "Result of ls:\na.txt\n\nError from ls:\nno such folder\n\nand now?"
    assert json.loads(texts[4]) == {"answer": "Nothing."}
    assert "tool_calls" not in json.dumps(body)


def test_images_of_results_are_shown_to_models_that_see() -> None:
    history: list[Message] = [
        SYSTEM,
        USER,
        answer(ToolCall("3", "ls", {})),
        result("3", ImageContent("AAAA", "image/png")),
    ]
    with FakeServer([openai_answer('{"answer":"x"}')]) as server:
        model = Model(
            id="m", name="m", api="openai-completions", provider="local", base_url=f"{server.url}/v1",
            input=["text", "image"], compat={"toolCallFormat": "json-schema"},
        )  # fmt: skip
        collect(API.stream(model, history, StreamOptions(api_key="k")))
        (*_, last) = server.requests[0].json["messages"]
    assert [part["type"] for part in last["content"]] == ["text", "image_url"]


@given(st.text(max_size=30), st.integers(min_value=1, max_value=7))
def test_an_answer_comes_out_whole_however_it_is_cut(text: str, size: int) -> None:
    live = LiveAnswer(MODEL)
    reader = JsonCallReader(live, [], lambda: "id")
    reply = json.dumps({"answer": text})
    for start in range(0, len(reply), size):
        reader.take(reply[start : start + size])
    reader.finish()
    live.end_open_blocks()
    assert live.message.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.text(alphabet='{}[]":,toolansweruments \n`', max_size=40), st.integers(min_value=1, max_value=7))
def test_no_reply_is_lost_or_raises(reply: str, size: int) -> None:
    live = LiveAnswer(MODEL)
    reader = JsonCallReader(live, ["ls"], lambda: "id")
    for start in range(0, len(reply), size):
        reader.take(reply[start : start + size])
    reader.finish()
    live.end_open_blocks()
    assert live.message.content or not reply.strip() or '"answer"' in reply
