"""What the Anthropic Messages API remembers about a session: server-side threads and the limit of strict tools."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from pinyon.ai.apis.anthropic_messages import API
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import forget_refused_images
from pinyon.ai.session_resource import SessionMemory, cleanup_session_resources, register_cleaner
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_anthropic import anthropic_answer, error_reply, text, thinking, tool_use
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply

_sessions = itertools.count()


@pytest.fixture
def session() -> Iterator[str]:
    name = f"session-{next(_sessions)}"
    yield name
    cleanup_session_resources(name)


def tool(name: str = "ls", **fields: Any) -> Tool:
    schema = {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}
    return Tool(name=name, description="d", parameters=schema, **fields)


class Conversation:
    """Turns of one session against a server, with the transcript that grows."""

    def __init__(self, server: FakeServer, session: str, compat: dict[str, Any] | None = None, **fields: Any) -> None:
        flags = {"supportsMessageThreads": True} | (compat or {})
        defaults: dict[str, Any] = {"id": "fake-1", "name": "F", "api": "anthropic-messages", "provider": "fake"}
        defaults |= {"base_url": server.url, "reasoning": True, "max_tokens": 8192, "compat": flags}
        self.model = Model(**(defaults | fields))
        self.server = server
        self.session = session
        self.messages: list[Message] = [SystemMessage(content="be brief", timestamp=0, tools_added=[tool()])]

    def ask(self, prompt: str | None = "go on", **options: Any) -> AssistantMessage:
        if prompt is not None:
            self.messages.append(UserMessage(content=prompt, timestamp=len(self.messages)))
        given = StreamOptions(**{"api_key": "k", "session_id": self.session, "reasoning": "low", **options})
        message = asyncio.run(API.stream(self.model, self.messages, given).result())
        if message.stop_reason != "error":
            self.messages.append(message)
        return message

    def answer_calls(self) -> None:
        last = self.messages[-1]
        assert isinstance(last, AssistantMessage)
        for call in last.tool_calls:
            content = [TextContent("done")]
            result = ToolResultMessage(
                tool_call_id=call.id, tool_name=call.name, content=[*content], is_error=False, timestamp=5
            )
            self.messages.append(result)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.json for request in self.server.requests]

    @property
    def threads(self) -> list[Any]:
        return [body.get("thread") for body in self.bodies]


def replies(*more: ScriptedReply) -> list[ScriptedReply]:
    return [
        anthropic_answer(thinking("hm"), tool_use("ls", {"p": "."}), message_id="msg_1"),
        anthropic_answer(text("two"), message_id="msg_2"),
        anthropic_answer(text("three"), message_id="msg_3"),
        *more,
    ]


def test_a_continued_thread_sends_only_what_is_new(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask("start")
        talk.answer_calls()
        talk.ask(None)
        talk.ask("more")
    assert talk.threads == [
        {"type": "create"},
        {"type": "continue", "previous_message_id": "msg_1"},
        {"type": "continue", "previous_message_id": "msg_2"},
    ]
    first, second, third = talk.bodies
    assert {"system", "tools"} <= set(first)
    assert {"system", "tools"}.isdisjoint(second)
    assert [message["content"][0]["type"] for message in second["messages"]] == ["tool_result"]
    assert [message["content"][0]["text"] for message in third["messages"]] == ["more"]
    assert third["thinking"] == first["thinking"]
    assert all("message-threads-2026-08-12" in r.headers["anthropic-beta"] for r in server.requests)


@pytest.mark.parametrize(
    "options",
    [
        {"session_id": None},
        {"cache_retention": "none"},
        {"disable_continuation": True},
    ],
)
def test_some_requests_use_no_thread(session: str, options: dict[str, Any]) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask(**options)
        talk.answer_calls()
        talk.ask(**options)
    assert talk.threads == [None, None]
    assert "message-threads" not in server.requests[0].headers.get("anthropic-beta", "")


def test_a_server_that_is_not_known_to_do_threads_is_not_asked_for_them(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session, compat={"supportsMessageThreads": None})
        talk.ask()
    assert talk.threads == [None]


def edit_history(talk: Conversation) -> None:
    talk.messages[1] = UserMessage(content="something else", timestamp=1)


def change_tools(talk: Conversation) -> None:
    talk.messages[0] = SystemMessage(content="be brief", timestamp=0, tools_added=[tool(), tool("more")])


def change_prompt(talk: Conversation) -> None:
    talk.messages[0] = SystemMessage(content="be long", timestamp=0, tools_added=[tool()])


def change_model(talk: Conversation) -> None:
    talk.model.id = "fake-2"


@pytest.mark.parametrize("change", [edit_history, change_tools, change_prompt, change_model])
def test_whatever_shapes_the_request_otherwise_begins_a_new_thread(session: str, change: Any) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask()
        talk.answer_calls()
        change(talk)
        talk.ask()
    assert talk.threads == [{"type": "create"}, {"type": "create"}]
    assert "system" in talk.bodies[1]


def test_another_thinking_level_begins_a_new_thread(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask()
        talk.answer_calls()
        talk.ask(reasoning=None)
    assert talk.threads[1] == {"type": "create"}


def test_a_failed_answer_is_not_continued(session: str) -> None:
    broken = anthropic_answer(text("x"), stop_reason="refusal")
    with FakeServer(
        [anthropic_answer(text("one"), message_id="msg_1"), broken, anthropic_answer(text("three"))]
    ) as server:
        talk = Conversation(server, session)
        talk.ask()
        assert talk.ask().stop_reason == "error"
        talk.ask()
    assert talk.threads[1] == talk.threads[2] == {"type": "continue", "previous_message_id": "msg_1"}


def test_an_answer_of_another_model_is_not_continued(session: str) -> None:
    with FakeServer([anthropic_answer(text("one"), model="stand-in"), anthropic_answer(text("two"))]) as server:
        talk = Conversation(server, session)
        talk.ask()
        talk.ask()
    assert talk.threads == [{"type": "create"}, {"type": "create"}]


def test_a_body_that_a_hook_changed_is_not_continued(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask(on_payload=lambda body, model: {**body, "metadata": {"user_id": "u"}})
        talk.answer_calls()
        talk.ask(on_payload=lambda body, model: None)
        talk.ask()
    assert [thread["type"] for thread in talk.threads] == ["create", "create", "continue"]


@pytest.mark.parametrize(
    "code",
    ["thread_not_found", "thread_already_continued", "thread_continue_in_flight", "thread_fingerprint_mismatch"],
)
def test_a_stale_thread_is_begun_anew_with_everything(session: str, code: str) -> None:
    refusal = error_reply(400, "invalid_request_error", "no such thread", error_code=code)
    with FakeServer([anthropic_answer(text("one")), refusal, anthropic_answer(text("two"))]) as server:
        talk = Conversation(server, session)
        talk.ask()
        message = talk.ask()
    assert [thread["type"] for thread in talk.threads] == ["create", "continue", "create"]
    assert len(talk.bodies[2]["messages"]) == 3
    assert message.text == "two"
    assert [diagnostic.type for diagnostic in message.diagnostics or ()] == ["anthropic_thread_fallback"]


@pytest.mark.parametrize(
    "refusal",
    [
        error_reply(400, "invalid_request_error", "unsupported here", error_code="thread_unsupported_request"),
        error_reply(400, "invalid_request_error", "thread: Extra inputs are not permitted"),
    ],
)
def test_a_server_without_threads_is_asked_without_for_the_rest_of_the_session(
    session: str, refusal: ScriptedReply
) -> None:
    with FakeServer([refusal, anthropic_answer(text("one")), anthropic_answer(text("two"))]) as server:
        talk = Conversation(server, session)
        message = talk.ask()
        talk.ask()
    assert talk.threads == [{"type": "create"}, None, None]
    assert message.text == "one"
    assert [diagnostic.type for diagnostic in message.diagnostics or ()] == ["anthropic_thread_fallback"]


@pytest.mark.parametrize(
    "refusal",
    [
        error_reply(400, "invalid_request_error", "max_tokens is wrong"),
        error_reply(400, "invalid_request_error", "x", error_code="thread_not_found"),
        error_reply(401, "authentication_error", "thread"),
    ],
)
def test_other_refusals_are_errors(session: str, refusal: ScriptedReply) -> None:
    with FakeServer([refusal]) as server:
        talk = Conversation(server, session)
        assert talk.ask().stop_reason == "error"
        assert len(server.requests) == 1


def test_a_session_that_ended_is_forgotten(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session)
        talk.ask()
        talk.answer_calls()
        cleanup_session_resources(session)
        talk.ask()
    assert talk.threads[1] == {"type": "create"}


def test_effort_inside_the_conversation_and_threads_go_together(session: str) -> None:
    with FakeServer(replies()) as server:
        talk = Conversation(server, session, compat={"supportsMidConvoEffort": True})
        assert talk.ask(reasoning="medium").provider_thinking_level == "medium"
        talk.answer_calls()
        talk.ask(None, reasoning="high")
    assert talk.threads[1] == {"type": "continue", "previous_message_id": "msg_1"}
    assert [message["role"] for message in talk.bodies[1]["messages"]] == ["user", "system"]
    assert talk.bodies[1]["messages"][1]["output_config"] == {"effort": "high"}


# Strict tools

LIMITS = [
    "The compiled grammar is too large, which would cause performance issues.",
    "Too many strict tools (21). The maximum is 20.",
    "Schemas contain too many parameters with union types (17 parameters).",
]
PREFER = JsonSchemaSampling(strict="prefer")
REQUIRE = JsonSchemaSampling(strict="require")


@pytest.mark.parametrize("limit", LIMITS)
def test_too_many_strict_tools_are_sent_again_with_fewer_and_so_for_the_rest_of_the_session(
    session: str, limit: str
) -> None:
    refusal = error_reply(400, "invalid_request_error", limit)
    with FakeServer([refusal, anthropic_answer(text("one")), anthropic_answer(text("two"))]) as server:
        talk = Conversation(server, session, compat={"supportsStrictTools": True, "supportsMessageThreads": False})
        tools = [tool("a", constrained_sampling=PREFER), tool("b", constrained_sampling=REQUIRE), tool("c")]
        talk.messages[0] = SystemMessage(content="s", timestamp=0, tools_added=tools)
        message = talk.ask()
        talk.ask()
    strict = [[declared.get("strict") for declared in body["tools"]] for body in talk.bodies]
    assert strict == [[True, True, None], [None, True, None], [None, True, None]]
    assert [diagnostic.type for diagnostic in message.diagnostics or ()] == ["anthropic_strict_tools_fallback"]


def test_a_second_refusal_is_an_error(session: str) -> None:
    with FakeServer([error_reply(400, "invalid_request_error", LIMITS[0])]) as server:
        talk = Conversation(server, session, compat={"supportsStrictTools": True, "supportsMessageThreads": False})
        talk.messages[0] = SystemMessage(content="s", timestamp=0, tools_added=[tool(constrained_sampling=PREFER)])
        assert talk.ask().stop_reason == "error"
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("sampling", "refusal"),
    [
        (REQUIRE, error_reply(400, "invalid_request_error", LIMITS[0])),
        (PREFER, error_reply(400, "invalid_request_error", "something else")),
        (PREFER, error_reply(500, "invalid_request_error", LIMITS[0])),
        (PREFER, error_reply(400, "other_error", LIMITS[0])),
    ],
)
def test_nothing_is_sent_again_where_that_would_not_help(
    session: str, sampling: JsonSchemaSampling, refusal: ScriptedReply
) -> None:
    with FakeServer([refusal]) as server:
        talk = Conversation(server, session, compat={"supportsStrictTools": True, "supportsMessageThreads": False})
        talk.messages[0] = SystemMessage(content="s", timestamp=0, tools_added=[tool(constrained_sampling=sampling)])
        assert talk.ask().stop_reason == "error"
        assert len(server.requests) == 1


# Images that the server refuses

BAD = ImageContent(data="YmFk", mime_type="image/png")
GOOD = ImageContent(data="Z29vZA==", mime_type="image/png")


@pytest.fixture
def _no_refused_images() -> Iterator[None]:
    forget_refused_images()
    yield
    forget_refused_images()


def images_in(body: dict[str, Any]) -> list[str]:
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    return [block["source"]["data"] for block in blocks if block["type"] == "image"]


def refuse_bad_image(request: RecordedRequest) -> Reply:
    if BAD.data in images_in(request.json):
        return error_reply(400, "invalid_request_error", "messages.0: Could not process image")
    reply = anthropic_answer(text("fine"))
    return reply if isinstance(reply, Reply) else reply(request)


@pytest.mark.usefixtures("_no_refused_images")
@pytest.mark.parametrize(
    ("prompts", "sent"),
    [
        ([[GOOD], [BAD], []], [["Z29vZA=="], ["Z29vZA==", "YmFk"], ["Z29vZA=="], ["Z29vZA=="]]),
        ([[BAD]], [["YmFk"], []]),
    ],
)
def test_a_refused_image_is_left_out_and_the_conversation_goes_on(
    session: str, prompts: list[list[ImageContent]], sent: list[list[str]]
) -> None:
    with FakeServer([refuse_bad_image]) as server:
        talk = Conversation(server, session, compat={"supportsMessageThreads": False}, input=["text", "image"])
        for number, images in enumerate(prompts):
            talk.messages.append(UserMessage(content=[TextContent("look"), *images], timestamp=number))
            assert talk.ask(None).text == "fine"
    assert [images_in(body) for body in talk.bodies] == sent
    assert "left out" in json.dumps(talk.bodies[-1]["messages"])


@pytest.mark.usefixtures("_no_refused_images")
def test_an_old_bad_image_of_a_resumed_session_is_found_when_the_newest_was_not_it(session: str) -> None:
    with FakeServer([refuse_bad_image]) as server:
        talk = Conversation(server, session, compat={"supportsMessageThreads": False}, input=["text", "image"])
        old = UserMessage(content=[BAD], timestamp=1)
        said = AssistantMessage(
            content=[TextContent("hm")],
            api="anthropic-messages",
            provider="fake",
            model="fake-1",
            usage=Usage(),
            stop_reason="stop",
            timestamp=2,
        )
        talk.messages += [old, said, UserMessage(content=[GOOD], timestamp=3)]
        message = talk.ask(None)
    assert message.text == "fine"
    assert [len(images_in(body)) for body in talk.bodies] == [2, 1, 0]
    assert [diagnostic.type for diagnostic in message.diagnostics or ()] == ["refused_images_fallback"] * 2
    assert old.content == [BAD]


@pytest.mark.usefixtures("_no_refused_images")
@pytest.mark.parametrize("status", [400, 500])
def test_a_refusal_that_has_nothing_to_do_with_images_drops_none(session: str, status: int) -> None:
    words = "an image of a server error" if status == 500 else "max_tokens is wrong"
    with FakeServer([error_reply(status, "api_error", words)]) as server:
        talk = Conversation(server, session, compat={"supportsMessageThreads": False}, input=["text", "image"])
        talk.messages.append(UserMessage(content=[GOOD], timestamp=1))
        assert talk.ask(None).stop_reason == "error"
        assert len(server.requests) == 1


# Session memory


def test_the_least_recently_used_session_is_dropped_first() -> None:
    memory: SessionMemory[int] = SessionMemory(limit=2)
    memory.set("a", 1)
    memory.set("b", 2)
    assert memory.get("a") == 1
    memory.set("c", 3)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)


def test_every_cleaner_runs_and_their_failures_are_raised_together() -> None:
    seen: list[str | None] = []

    def broken(session_id: str | None) -> None:
        raise LookupError("first")

    undo = [register_cleaner(broken), register_cleaner(seen.append)]
    try:
        with pytest.raises(ExceptionGroup) as caught:
            cleanup_session_resources("s")
    finally:
        for remove in undo:
            remove()
    assert seen == ["s"]
    assert [str(error) for error in caught.value.exceptions] == ["first"]
    cleanup_session_resources("s")
    assert seen == ["s"]
