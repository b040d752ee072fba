"""Whole runs of an agent against a chat-completions server that refuses what strict back ends refuse."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from tests.ai.apis.completions import KEY, LS, SYSTEM, USER, ask, call_reply, fragment, model, result, said

from pinyon.agent import Agent, AgentTool, AgentToolResult
from pinyon.ai.apis.openai_completions import API
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.refused_image import forget_refused_images
from pinyon.testing.fake_openai import call, error_reply, openai_answer, strict_reply
from pinyon.testing.fake_server import FakeServer, Reply, ScriptedReply
from pinyon.testing.stream import final_message

IMAGE = ImageContent("AAAA", "image/png")


class Talk:
    """An agent with one tool that lists, and what its server and its tool saw."""

    def __init__(
        self, server: FakeServer, fields: dict[str, Any] | None = None, messages: Sequence[AgentMessage] = ()
    ) -> None:
        self.ran: list[dict[str, Any]] = []
        self.server = server
        listing = AgentTool(name="ls", label="ls", description="d", parameters=LS.parameters, execute=self._list)
        state: dict[str, Any] = {"model": model(f"{server.url}/v1", **(fields or {})), "tools": [listing]}
        state |= {"messages": list(messages)} if messages else {"system_prompt": "be brief"}
        self.agent = Agent(
            stream_fn=API.stream,
            initial_state=state,  # type: ignore[arg-type]
            get_api_key=lambda _: KEY,
        )

    async def _list(self, _: str, arguments: dict[str, Any], *__: Any) -> AgentToolResult:
        self.ran.append(arguments)
        return AgentToolResult(content=[TextContent("a.txt")])

    def say(self, *prompts: str) -> AssistantMessage:
        """Send prompts one after the other; gives the last answer."""

        async def go() -> None:
            for prompt in prompts:
                await self.agent.prompt(prompt)

        asyncio.run(go())
        answer = self.agent.state.messages[-1]
        assert isinstance(answer, AssistantMessage)
        return answer

    @property
    def results(self) -> list[ToolResultMessage]:
        """All tool results of the history."""
        return [message for message in self.agent.state.messages if isinstance(message, ToolResultMessage)]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """All request bodies."""
        return [request.json for request in self.server.requests]


def strict(*replies: ScriptedReply, **fields: Any) -> list[ScriptedReply]:
    return [strict_reply(reply, **fields) for reply in replies]


def text_of(message: ToolResultMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, TextContent))


# Runs


@pytest.mark.parametrize("reason", ["tool_calls", "stop", "function_call"])
def test_calls_are_run_whatever_reason_the_server_gives(reason: str) -> None:
    calls = [call("ls", {"path": "a"}), call("ls", {"path": "b"})]
    with FakeServer(strict(openai_answer(calls=calls, finish_reason=reason), openai_answer("two files"))) as server:
        talk = Talk(server)
        assert talk.say("look").text == "two files"
    assert talk.ran == [{"path": "a"}, {"path": "b"}]


def test_a_call_without_id_and_arguments_is_paired_by_an_id_of_ours() -> None:
    bare = call_reply({"index": 0, "id": None, "function": {"name": "ls", "arguments": None}})
    with FakeServer(strict(bare, openai_answer("done"))) as server:
        talk = Talk(server)
        assert talk.say("look").text == "done"
    asked, answered = talk.bodies[1]["messages"][-2:]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] != ""
    assert asked["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("raw", ['{"path":"q.txt","content":"hi",]', '"x"', "[1]", "null"])
def test_broken_arguments_are_not_run_and_do_not_spoil_later_requests(raw: str) -> None:
    with FakeServer(strict(openai_answer(calls=[call("ls", raw=raw)]), openai_answer("sorry"))) as server:
        talk = Talk(server)
        assert talk.say("look").text == "sorry"
    (refused,) = talk.results
    assert talk.ran == []
    assert refused.is_error
    assert raw in text_of(refused)
    sent = talk.bodies[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(sent), dict)


@pytest.mark.parametrize("names", [("nope", "ls"), ("multi_tool_use.parallel", "ls"), ("", "ls")])
def test_calls_with_the_same_id_and_invented_tools_stay_apart(names: tuple[str, str]) -> None:
    calls = [call(name, {"path": "."}, call_id="x") for name in names]
    with FakeServer(strict(openai_answer(calls=calls), openai_answer("done"))) as server:
        talk = Talk(server)
        assert talk.say("look").text == "done"
    unknown, listed = talk.results
    assert unknown.is_error
    assert "ls" in text_of(unknown)
    assert (listed.is_error, text_of(listed)) == (False, "a.txt")
    assert unknown.tool_call_id != listed.tool_call_id
    assert all(item["function"]["name"] for item in talk.bodies[1]["messages"][-3]["tool_calls"])


def test_calls_of_a_cut_answer_are_not_run_and_keep_their_results() -> None:
    cut = openai_answer(calls=[call("ls", {"path": "a"}), call("ls", raw='{"path": "b')], finish_reason="length")
    with FakeServer(strict(cut, openai_answer("shorter"), openai_answer("next"))) as server:
        talk = Talk(server)
        assert talk.say("look", "and now").text == "next"
    assert talk.ran == []
    assert [outcome.is_error for outcome in talk.results] == [True, True]


@pytest.mark.parametrize(
    "nothing",
    [openai_answer("", counts={}), openai_answer("x", finish_reason="tool_calls"), Reply.json({"choices": []})],
)
def test_an_answer_that_is_none_is_an_error_and_is_not_sent_back(nothing: ScriptedReply) -> None:
    with FakeServer(strict(nothing, openai_answer("here"))) as server:
        talk = Talk(server)
        assert talk.say("one").stop_reason == "error"
        assert talk.agent.state.error_message
        assert talk.say("two").text == "here"
    assert [message["role"] for message in talk.bodies[1]["messages"]] == ["system", "user", "user"]


def test_reasoning_goes_back_word_for_word_also_after_a_resume() -> None:
    first = openai_answer(reasoning="I think\nhard.", calls=[call("ls", {"path": "."})])
    replies = strict(first, openai_answer("done"), openai_answer("more"), demands_reasoning=True)
    with FakeServer(replies) as server:
        talk = Talk(server)
        talk.say("look")
        resumed = Talk(server, messages=talk.agent.state.messages)
        assert resumed.say("again").text == "more"
    said_before = [body["messages"][2]["reasoning_content"] for body in talk.bodies[1:]]
    assert said_before == ["I think\nhard."] * 2


def test_a_server_that_insists_on_reasoning_gets_a_stand_in_where_the_model_gave_none() -> None:
    fields = {"compat": {"requiresReasoningContentOnAssistantMessages": True}}
    look = openai_answer(calls=[call("ls", {"path": "."})])
    with FakeServer(strict(look, openai_answer("done"), demands_reasoning=True)) as server:
        assert Talk(server, fields).say("look").text == "done"


def test_each_request_of_a_run_begins_with_the_bytes_of_the_one_before() -> None:
    look = openai_answer("I look.", reasoning="hm", calls=[call("ls", {"path": "ü"}), call("ls", {"path": "b"})])
    with FakeServer(strict(look, openai_answer("done"), look, openai_answer("done"))) as server:
        Talk(server).say("look", "again")
        bodies = [request.body for request in server.requests]
    assert len(bodies) == 4
    for before, after in pairwise(bodies):
        begin, end = before.index(b'"messages":['), before.index(b'],"stream"')
        assert after[begin:].startswith(before[begin:end])


def test_a_small_model_calls_a_tool_through_a_schema_and_then_answers() -> None:
    replies = [openai_answer('{"tool": "ls", "arguments": {"path": "."}}'), openai_answer('{"answer": "a.txt"}')]
    with FakeServer(strict(*replies)) as server:
        talk = Talk(server, {"compat": {"toolCallFormat": "json-schema"}})
        assert talk.say("look").text == "a.txt"
    assert talk.ran == [{"path": "."}]
    assert [message["role"] for message in talk.bodies[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert all("tools" not in body for body in talk.bodies)
    assert "a.txt" in talk.bodies[1]["messages"][-1]["content"]


# Histories of other models


def signed(field: str = "reasoning_content", **fields: Any) -> list[Message]:
    answer = said(
        ThinkingContent("think", field), ToolCall("c|1", "ls", {"path": "."}), stop_reason="toolUse", **fields
    )
    return [SYSTEM, USER, answer, result("c|1"), UserMessage(content="go on", timestamp=9)]


@pytest.mark.parametrize(
    ("other", "goes_back"),
    [
        ({}, True),
        ({"model": "other"}, False),
        ({"provider": "other"}, False),
        ({"api": "anthropic-messages"}, False),
        ({"api": "openai-responses", "provider": "openai", "model": "gpt"}, False),
    ],
)
def test_thinking_goes_back_to_the_model_that_thought_it_only(other: dict[str, str], goes_back: bool) -> None:
    asked = ask(strict_reply(openai_answer("fine")), messages=signed(**other))
    assert asked.message.text == "fine"
    assert ("think" in json.dumps(asked.body)) is goes_back


@pytest.mark.parametrize("signature", ["EqQBCkYIBxgCKkD", '{"type":"reasoning","id":"rs_1"}', "[broken", ""])
def test_a_signature_of_another_kind_is_never_a_field(signature: str) -> None:
    asked = ask(strict_reply(openai_answer("fine")), messages=signed(signature))
    assert asked.message.text == "fine"
    assert set(asked.body["messages"][2]) == {"role", "content", "tool_calls"}


HISTORIES: dict[str, list[Message]] = {
    "a call without a result": [said(ToolCall("c", "ls", {}), stop_reason="toolUse")],
    "a result without a call": [result("ghost")],
    "a result that comes late": [said(ToolCall("c", "ls", {}), stop_reason="toolUse"), USER, result("c")],
    "two results for a call": [said(ToolCall("c", "ls", {}), stop_reason="toolUse"), result("c"), result("c")],
    "an id that was used before": [
        said(ToolCall("c", "ls", {}), stop_reason="toolUse"),
        result("c"),
        said(ToolCall("c", "ls", {}), stop_reason="toolUse"),
        result("c"),
    ],
    "an empty id": [said(ToolCall("", "ls", {}), stop_reason="toolUse"), result("")],
    "an empty answer": [said()],
    "a blank answer": [said(TextContent(" \n"))],
    "an answer of thinking only": [said(ThinkingContent("hm", "reasoning_content"))],
    "a failed answer with a call": [said(ToolCall("c", "ls", {}), stop_reason="error"), result("c")],
    "an aborted answer with a call": [said(TextContent("x"), ToolCall("c", "ls", {}), stop_reason="aborted")],
    "a cut answer with a call": [said(ToolCall("c", "ls", {}), stop_reason="length"), result("c")],
    "a system message between a call and its result": [
        said(ToolCall("c", "ls", {}), stop_reason="toolUse"),
        SystemMessage(content="note", timestamp=3),
        result("c"),
    ],
    "a long id of another service": [
        said(ToolCall(f"call_{'x' * 60}|fc_{'y' * 60}", "ls", {}), stop_reason="toolUse", api="openai-responses"),
        result(f"call_{'x' * 60}|fc_{'y' * 60}"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", HISTORIES)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_strict_server_takes_a_history_with(kind: str, in_place: bool) -> None:
    messages: list[Message] = [SYSTEM, USER, *HISTORIES[kind], UserMessage(content="go on", timestamp=9)]
    fields = {"compat": {"supportsMidConvoSystemMessages": in_place}}
    asked = ask(strict_reply(openai_answer("fine")), messages=messages, fields=fields)
    assert asked.message.text == "fine", asked.message.error_message


def test_half_a_surrogate_pair_is_sent_as_a_replacement_in_every_place() -> None:
    messages: list[Message] = [
        SystemMessage(content="s\ud83d", timestamp=0, tools_added=[LS]),
        UserMessage(content=[TextContent("u\ude48")], timestamp=1),
        said(TextContent("a\ud83d"), ToolCall("c", "ls", {"path": "p\ud83d"}), stop_reason="toolUse"),
        result("c", TextContent("r\ud83d")),
    ]
    system, user, answer, outcome = ask(openai_answer("fine"), messages=messages).body["messages"]
    assert (system["content"], user["content"][0]["text"]) == ("s\ufffd", "u\ufffd")
    assert (answer["content"], outcome["content"]) == ("a\ufffd", "r\ufffd")
    assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {"path": "p\ufffd"}


def test_a_model_that_reads_text_only_is_told_that_an_image_was_left_out() -> None:
    messages: list[Message] = [
        SYSTEM,
        UserMessage(content=[TextContent("see"), IMAGE], timestamp=1),
        said(ToolCall("c", "ls", {}), stop_reason="toolUse"),
        result("c", IMAGE),
    ]
    blind = ask(openai_answer("fine"), messages=messages).body
    assert "AAAA" not in json.dumps(blind)
    assert all("left out" in json.dumps(blind["messages"][place]) for place in (1, 3))
    seeing = ask(openai_answer("fine"), messages=messages, fields={"input": ["text", "image"]}).body
    assert json.dumps(seeing).count("data:image/png;base64,AAAA") == 2


def test_a_refused_image_is_left_out_and_the_request_is_sent_again() -> None:
    forget_refused_images()
    replies = [error_reply(400, "could not process the image"), openai_answer("fine")]
    messages: list[Message] = [SYSTEM, UserMessage(content=[TextContent("see"), IMAGE], timestamp=1)]
    try:
        asked = ask(*replies, messages=messages, fields={"input": ["text", "image"]})
    finally:
        forget_refused_images()
    assert asked.message.text == "fine"
    assert ["AAAA" in json.dumps(request.json) for request in asked.requests] == [True, False]


# Limits, credentials, repeats


@pytest.mark.parametrize("chars", [0, 20_000, 60_000, 75_000])
def test_the_output_limit_fits_the_room_that_is_left(chars: int) -> None:
    fields = {"context_window": 32_000, "max_tokens": 32_000}
    messages: list[Message] = [SYSTEM, UserMessage(content="x" * chars, timestamp=1)]
    limit = ask(openai_answer("ok"), messages=messages, fields=fields).body["max_tokens"]
    assert 256 <= limit <= 32_000 - chars // 4


def test_a_conversation_beyond_the_window_is_not_sent_and_reads_as_an_overflow() -> None:
    fields = {"context_window": 32_000, "max_tokens": 32_000}
    asked = ask(openai_answer("x"), messages=[SYSTEM, UserMessage(content="x" * 200_000, timestamp=1)], fields=fields)
    assert asked.requests == []
    assert is_context_overflow(asked.message, 32_000)


def test_a_header_may_sign_the_request_in_place_of_a_key() -> None:
    asked = ask(openai_answer("ok"), api_key=None, headers={"cf-aig-authorization": "Bearer gate"})
    assert asked.message.text == "ok"
    assert asked.requests[0].headers["cf-aig-authorization"] == "Bearer gate"
    assert "authorization" not in asked.requests[0].headers
    assert (asked.requests[0].method, asked.requests[0].path) == ("POST", "/v1/chat/completions")


def test_a_base_url_may_end_in_a_slash() -> None:
    with FakeServer([openai_answer("ok")]) as server:
        stream = API.stream(model(f"{server.url}/v1/"), [USER], StreamOptions(api_key=KEY))
        asyncio.run(stream.result())
        assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_failing_server_is_asked_as_often_as_the_caller_allows(status: int) -> None:
    failing = error_reply(status, "busy", retry_after_ms="1")
    asked = ask(failing, failing, openai_answer("ok"), max_retries=2)
    assert (asked.message.text, len(asked.requests)) == ("ok", 3)
    assert len({request.body for request in asked.requests}) == 1
    given_up = ask(failing, failing, openai_answer("never"), max_retries=1)
    assert (given_up.message.stop_reason, len(given_up.requests)) == ("error", 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_repeated(status: int) -> None:
    asked = ask(error_reply(status, "no"), max_retries=3)
    assert len(asked.requests) == 1
    assert f"{status}" in str(asked.message.error_message)


def test_a_wait_beyond_the_limit_fails_at_once() -> None:
    asked = ask(error_reply(429, "slow down", retry_after="9999"), openai_answer("never"), max_retries=3)
    assert (asked.message.stop_reason, len(asked.requests)) == ("error", 1)


def test_a_hook_may_replace_the_body() -> None:
    asked = ask(openai_answer("ok"), on_payload=lambda body, _: {**body, "seed": 7, "user": "\ud83d"})
    assert (asked.body["seed"], asked.body["user"]) == (7, "\ufffd")


def test_a_stream_that_fails_on_the_way_is_not_repeated_by_the_adapter() -> None:
    half = call_reply(fragment('{"path":', "ls", id="c"), reason=None)
    asked = ask(half, openai_answer("never"), max_retries=3)
    assert (asked.message.stop_reason, len(asked.requests)) == ("error", 1)
    assert final_message(asked.events).tool_calls[0].name == "ls"
