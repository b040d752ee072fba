"""The Agent Client Protocol: an editor, played by the protocol's own client library, on the real command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process, text_block
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block
from tests.cli.command import Home, conversation

from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer
from pinyon.testing.fake_server import FakeServer, Reply, Stall

TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Editor:
    """The client side; keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.told = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        self.told.set()

    def text(self, kind: type[Any] = schema.AgentMessageChunk) -> str:
        return "".join(update.content.text for update in self.updates if isinstance(update, kind))

    def on_connect(self, conn: Any) -> None:
        return


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer("fine")]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path, server.url)


@contextlib.asynccontextmanager
async def connected(home: Home, editor: Editor) -> AsyncIterator[Any]:
    env = {"HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir), "PI_OFFLINE": "1"}
    command = ("-m", "pinyon", "acp", "--model", "fake/m")
    async with spawn_agent_process(editor, sys.executable, *command, env=env, cwd=home.path) as (agent, _):  # type: ignore[arg-type]
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        yield agent


def run(home: Home, work: Callable[[Any, Editor], Awaitable[None]]) -> None:
    async def scenario() -> None:
        editor = Editor()
        async with connected(home, editor) as agent:
            await work(agent, editor)

    asyncio.run(scenario())


def test_an_editor_gets_text_thoughts_and_tool_rows(home: Home, server: FakeServer) -> None:
    write = call("write", {"path": "a.txt", "content": "one\n"})
    edit = call("edit", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]})
    server.play([openai_answer("Let me.", reasoning="Hm.", calls=[write, edit]), openai_answer("Done.")])

    async def work(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("make a.txt")])
        assert answer.stop_reason == "end_turn"
        assert editor.text() == "Let me.Done."
        assert editor.text(schema.AgentThoughtChunk) == "Hm."
        starts: list[Any] = [update for update in editor.updates if isinstance(update, schema.ToolCallStart)]
        assert [(start.title, start.kind) for start in starts] == [("write a.txt", "edit"), ("edit a.txt", "edit")]
        assert starts[0].locations[0].path == str(home.project / "a.txt")
        assert (starts[1].content[0].old_text, starts[1].content[0].new_text) == ("one", "two")
        ends = [update.status for update in editor.updates if isinstance(update, schema.ToolCallProgress)]
        assert ends.count("completed") == 2
        assert (home.project / "a.txt").read_text() == "two\n"

    run(home, work)


def test_pictures_files_and_links_reach_the_model(home: Home, server: FakeServer) -> None:
    (home.agent_dir / "models.json").write_text(
        (home.agent_dir / "models.json").read_text().replace('"id": "m"', '"id": "m", "input": ["text", "image"]')
    )

    async def work(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        embedded = resource_block(embedded_text_resource("file:///p/my%20file.py", "x = 1"))
        blocks = [
            text_block("look"),
            image_block(TINY_PNG, "image/png"),
            embedded,
            resource_link_block("b", "file:///p/b.py"),
        ]
        await agent.prompt(session_id=session.session_id, prompt=blocks)
        sent = server.requests[-1].json["messages"][-1]["content"]
        text = next(part["text"] for part in sent if part["type"] == "text")
        assert text == 'look\n<file name="/p/my file.py">\nx = 1\n</file>\n@/p/b.py'
        assert [part["type"] for part in sent] == ["text", "image_url"]

    run(home, work)


def test_a_stored_conversation_is_listed_loaded_and_continued(home: Home, server: FakeServer) -> None:
    server.play([openai_answer("", calls=[call("bash", {"command": "echo hi"})]), openai_answer("first answer")])
    ids: list[str] = []

    async def first(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        ids.append(session.session_id)
        await agent.prompt(session_id=session.session_id, prompt=[text_block("first question")])

    async def second(agent: Any, editor: Editor) -> None:
        listed = await agent.list_sessions(cwd=str(home.project))
        assert [(each.session_id, each.title) for each in listed.sessions] == [(ids[0], "first question")]
        await agent.load_session(cwd=str(home.project), session_id=ids[0])
        assert editor.text(schema.UserMessageChunk) == "first question"
        assert editor.text() == "first answer"
        kinds = [type(update).__name__ for update in editor.updates]
        assert kinds == ["UserMessageChunk", "ToolCallStart", "ToolCallProgress", "AgentMessageChunk"]
        await agent.prompt(session_id=ids[0], prompt=[text_block("second question")])
        asked = [text for role, text in conversation(server.requests[-1]) if role == "user"]
        assert asked == ["first question", "second question"]

    run(home, first)
    server.play([openai_answer("fine")])
    run(home, second)


def test_cancelling_ends_the_prompt_as_cancelled(home: Home, server: FakeServer) -> None:
    server.play([Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])])

    async def work(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        waiting = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("go")]))
        await editor.told.wait()
        await agent.cancel(session_id=session.session_id)
        assert (await waiting).stop_reason == "cancelled"
        assert editor.text() == "half"

    run(home, work)


def test_failures_are_answered_as_errors_that_say_why(home: Home, server: FakeServer) -> None:
    server.play([error_reply(400, "no such thing")])

    async def work(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        for request, said in (
            (agent.prompt(session_id=session.session_id, prompt=[text_block("go")]), "no such thing"),
            (agent.prompt(session_id="nobody", prompt=[text_block("go")]), "nobody"),
            (agent.new_session(cwd="relative"), "absolute path"),
            (agent.load_session(cwd=str(home.project), session_id="nobody"), "nobody"),
            (agent.set_config_option(config_id="model", session_id=session.session_id, value="fake/none"), "fake/none"),
        ):
            with pytest.raises(RequestError) as caught:
                await request
            assert said in str(caught.value.data) + str(caught.value)

    run(home, work)


def test_the_model_can_be_chosen(home: Home, server: FakeServer) -> None:
    models = {"baseUrl": server.url + "/v1", "api": "openai-completions", "apiKey": "k"}
    thinker = {"id": "t", "name": "Thinker", "reasoning": True}
    home.write(home.agent_dir / "models.json", {"providers": {"fake": {**models, "models": [{"id": "m"}, thinker]}}})

    async def work(agent: Any, editor: Editor) -> None:
        session = await agent.new_session(cwd=str(home.project))
        assert [option.id for option in session.config_options] == ["model"]
        assert session.config_options[0].current_value == "fake/m"
        changed = await agent.set_config_option(config_id="model", session_id=session.session_id, value="fake/t")
        assert [option.id for option in changed.config_options] == ["model", "thinking"]
        changed = await agent.set_config_option(config_id="thinking", session_id=session.session_id, value="low")
        assert changed.config_options[1].current_value == "low"
        await agent.prompt(session_id=session.session_id, prompt=[text_block("go")])
        assert server.requests[-1].json["model"] == "t"

    run(home, work)


@pytest.mark.parametrize(
    ("arguments", "said"), [(("hello",), "takes no prompt"), (("--bogus",), "--bogus"), (("@x",), "'@x'")]
)
def test_prompts_on_the_command_line_are_refused(home: Home, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = home.run("acp", *arguments, model=None)
    assert (code, out) == (1, "")
    assert said in err


def test_help_says_how_an_editor_starts_it(home: Home) -> None:
    code, out, _ = home.run("acp", "--help", model=None)
    assert code == 0
    assert "agent_servers" in out
