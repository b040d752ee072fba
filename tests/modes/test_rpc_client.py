"""`RpcClient` and `SyncRpcClient` with the real server behind them."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.cli.command import Home
from tests.modes.rpc_process import RpcProcess

from pinyon.agent.event import MessageUpdate, ToolExecutionEnd
from pinyon.ai.message import UserMessage
from pinyon.coding.event import AgentSettled, BashExecutionUpdate, QueueUpdate
from pinyon.modes.rpc.client import RpcClient
from pinyon.modes.rpc.client_event import RpcEvent, UiRequest, UnknownLine, decode_event
from pinyon.modes.rpc.client_tree import tree_of_entries
from pinyon.modes.rpc.command import COMMANDS
from pinyon.modes.rpc.connection import RpcError
from pinyon.modes.rpc.sync_client import SyncRpcClient
from pinyon.testing.fake_openai import call, openai_answer
from pinyon.testing.fake_server import FakeServer

Value = TypeVar("Value")
ASKING = [sys.executable, str(Path(__file__).with_name("asking_server.py"))]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer("fine")]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path, server.url)


def environment(home: Home) -> dict[str, str]:
    return {"HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir), "PI_OFFLINE": "1"}


def client_of(home: Home, **more: Any) -> RpcClient:
    return RpcClient(cwd=home.project, env=environment(home), model="fake/m", **more)


def run(home: Home, work: Callable[[RpcClient], Awaitable[Value]]) -> Value:
    async def scenario() -> Value:
        async with client_of(home) as client:
            return await work(client)

    return asyncio.run(scenario())


def test_a_prompt_is_answered_with_typed_events(home: Home, server: FakeServer) -> None:
    server.play([openai_answer(calls=[call("bash", {"command": "echo one"})]), openai_answer("done")])

    async def work(client: RpcClient) -> tuple[list[RpcEvent], str | None]:
        events = await client.prompt_and_wait("go")
        return events, await client.get_last_assistant_text()

    events, text = run(home, work)
    assert text == "done"
    assert isinstance(events[-1], AgentSettled)
    assert [event.is_error for event in events if isinstance(event, ToolExecutionEnd)] == [False]
    deltas = [event.assistant_message_event for event in events if isinstance(event, MessageUpdate)]
    assert "done" in "".join(getattr(delta, "delta", "") for delta in deltas)


def test_state_statistics_messages_and_entries_are_structs(home: Home) -> None:
    async def work(client: RpcClient) -> None:
        before = await client.get_state()
        assert (before.is_streaming, before.message_count, before.steering_mode) == (False, 0, "one-at-a-time")
        assert before.model is not None
        assert before.model.key == ("fake", "m") or before.model.id == "m"
        await client.prompt_and_wait("hello")
        await client.set_session_name("My run")
        state, stats = await client.get_state(), await client.get_session_stats()
        assert state.session_name == "My run"
        assert (stats.user_messages, stats.assistant_messages) == (1, 1)
        asked = [message for message in await client.get_messages() if isinstance(message, UserMessage)]
        assert [message.text for message in asked] == ["hello"]
        entries, leaf = await client.get_entries()
        later, _ = await client.get_entries(since=entries[0]["id"])
        assert later == entries[1:]
        assert leaf == entries[-1]["id"]
        tree, _ = await client.get_tree()
        assert tree[0]["entry"] == entries[0]

    run(home, work)


def test_queues_are_told_and_cleared(home: Home) -> None:
    async def work(client: RpcClient) -> None:
        heard: list[RpcEvent] = []
        end = client.subscribe(heard.append)
        assert await client.steer("one") == "queued"
        assert await client.follow_up("two") == "queued"
        assert await client.clear_queue() == (["one"], ["two"])
        end()
        assert await client.steer("three") == "queued"
        updates = [(event.steering, event.follow_up) for event in heard if isinstance(event, QueueUpdate)]
        assert updates == [(["one"], []), (["one"], ["two"]), ([], [])]

    run(home, work)


def test_sessions_are_forked_cloned_switched_and_exported(home: Home) -> None:
    async def work(client: RpcClient) -> None:
        await client.prompt_and_wait("first question")
        first = (await client.get_state()).session_file
        assert first is not None
        messages = await client.get_fork_messages()
        assert [message.text for message in messages] == ["first question"]
        assert await client.fork(messages[0].entry_id) == ("first question", False)
        assert (await client.get_state()).session_file != first
        assert await client.switch_session(first) is False
        assert await client.clone() is False
        page = await client.export_html("p.html")
        assert (home.project / page).exists()
        assert await client.new_session() is False
        assert (await client.get_state()).message_count == 0

    run(home, work)


def test_the_tree_of_a_long_conversation_is_whole(home: Home) -> None:
    lines = [header(home)]
    for number in range(3000):
        lines.append(user_line(f"e{number}", f"e{number - 1}" if number else None, f"text {number}", number))
    lines.append(user_line("branch", "e1", "another", 1))
    label = {"type": "label", "id": "l", "parentId": "e2999", "timestamp": TIME, "targetId": "e1", "label": "here"}
    path = home.project / "long.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in [*lines, label]) + "\n", encoding="utf-8")

    async def work(client: RpcClient) -> None:
        await client.switch_session(path)
        tree, leaf_id = await client.get_tree()
        assert leaf_id != "e2999"  # the model and level in force were noted behind it
        depth, (node,) = 0, tree
        while node["children"]:
            depth, node = depth + 1, node["children"][-1 if depth != 1 else 0]
        assert depth >= 3000 - 2
        assert [child["entry"]["id"] for child in tree[0]["children"][0]["children"]] == ["e2", "branch"]
        assert tree[0]["children"][0]["label"] == "here"

    run(home, work)
    with RpcProcess(home, "--session", str(path)) as rpc:
        rpc.send({"id": "t", "type": "get_tree"})
        assert rpc.process.stdout is not None
        line = rpc.process.stdout.readline()
        assert line.startswith(b'{"id":"t","type":"response","command":"get_tree","success":true,"data":{"tree":[')
        assert line.count(b'"children":[') == len(rpc.data({"type": "get_entries"})["entries"])
        assert (line.count(b"["), line.count(b"{")) == (line.count(b"]"), line.count(b"}"))


TIME = "2026-11-30T20:00:00.000Z"


def header(home: Home) -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": "long", "timestamp": TIME, "cwd": str(home.project)}


def user_line(entry_id: str, parent: str | None, text: str, number: int) -> dict[str, Any]:
    message = {"role": "user", "content": text, "timestamp": number}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": TIME, "message": message}


@pytest.mark.parametrize(
    ("entries", "shape"),
    [
        ([("a", None), ("b", "a"), ("c", "a")], [["a", [["b", []], ["c", []]]]]),
        ([("a", None), ("b", "lost")], [["a", [["b", []]]]]),
        ([("a", None), ("b", None)], [["a", []], ["b", []]]),
        ([], []),
    ],
)
def test_entries_become_a_tree_as_the_server_makes_it(entries: list[tuple[str, str | None]], shape: list[Any]) -> None:
    def ids(nodes: list[dict[str, Any]]) -> list[Any]:
        return [[node["entry"]["id"], ids(node["children"])] for node in nodes]

    assert ids(tree_of_entries([user_line(entry_id, parent, "", 0) for entry_id, parent in entries])) == shape


def test_models_and_thinking_levels_are_chosen(home: Home) -> None:
    async def work(client: RpcClient) -> None:
        models = await client.get_available_models()
        assert "m" in [model.id for model in models]
        assert (await client.set_model("fake", "m")).id == "m"
        assert await client.get_available_thinking_levels() == ["off"]
        assert await client.cycle_thinking_level() is None
        await client.set_thinking_level("high")
        assert (await client.get_state()).thinking_level == "off"
        with pytest.raises(RpcError, match="fake/nope"):
            await client.set_model("fake", "nope")

    run(home, work)


def test_shell_commands_answer_with_their_output(home: Home) -> None:
    async def work(client: RpcClient) -> None:
        done = await client.bash("echo hi; exit 3")
        assert (done.output, done.exit_code, done.cancelled) == ("hi\n", 3, False)
        started = asyncio.Event()
        client.subscribe(lambda event: started.set() if isinstance(event, BashExecutionUpdate) else None)
        waiting = asyncio.create_task(client.bash("echo on; sleep 30"))
        await started.wait()
        await client.abort_bash()
        assert (await waiting).cancelled

    run(home, work)


def test_the_end_of_the_server_fails_what_waits_and_what_follows(home: Home) -> None:
    async def scenario() -> None:
        client = client_of(home)
        await client.start()
        waiting = asyncio.create_task(client.bash("kill -9 $PPID; sleep 30"))
        with pytest.raises(RpcError, match="signal 9"):
            await waiting
        with pytest.raises(RpcError, match="signal 9"):
            await client.get_state()
        await client.stop()

    asyncio.run(scenario())


def test_a_server_that_ends_says_why(home: Home) -> None:
    async def scenario() -> None:
        client = client_of(home, args=["--bogus"])
        await client.start()
        await client.get_state()

    with pytest.raises(RpcError, match="--bogus"):
        asyncio.run(scenario())


def test_a_server_that_cannot_start_or_was_not_started_is_told() -> None:
    with pytest.raises(RpcError, match="cannot start 'no-such-program'"):
        asyncio.run(RpcClient(["no-such-program"]).start())
    with pytest.raises(RpcError, match="not started"):
        asyncio.run(RpcClient().get_state())


def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        silent = [
            sys.executable,
            "-c",
            "import sys; print('warming up', file=sys.stderr, flush=True); sys.stdin.read()",
        ]
        async with RpcClient(silent, timeout_s=0.3) as client:
            with pytest.raises(RpcError, match=r"no answer to 'get_state' within 0\.3 s\nwarming up"):
                await client.get_state()

    asyncio.run(scenario())


def test_closing_the_input_ends_the_server_with_success(home: Home) -> None:
    async def scenario() -> int:
        client = client_of(home)
        await client.start()
        await client.get_state()
        return await client.close()

    assert asyncio.run(scenario()) == 0


Asked = asyncio.Queue[UiRequest]


def everything(asked: Asked) -> list[UiRequest]:
    return [asked.get_nowait() for _ in range(asked.qsize())]


def asking(work: Callable[[RpcClient, Asked], Awaitable[None]]) -> None:
    async def scenario() -> None:
        async with RpcClient(ASKING) as client:
            asked: Asked = asyncio.Queue()
            client.subscribe(lambda event: asked.put_nowait(event) if isinstance(event, UiRequest) else None)
            await work(client, asked)

    asyncio.run(scenario())


def test_questions_are_answered_over_the_protocol() -> None:
    async def work(client: RpcClient, asked: Asked) -> None:
        prompt = asyncio.create_task(client.prompt("/ask"))
        select = await asked.get()
        assert (select.method, select.title, list(select.options)) == ("select", "Pick", ["A", "B"])
        await client.respond_ui("nobody", value="A")
        await client.respond_ui(select, value="B")
        confirm = await asked.get()
        assert (confirm.title, confirm.message) == ("Sure?", "Really do it")
        await client.respond_ui(confirm, confirmed=True)
        await client.respond_ui(confirm, confirmed=False)  # too late
        line = await asked.get()
        assert (line.method, line.placeholder) == ("input", "placeholder")
        await client.respond_ui(line, cancelled=True)
        text = await asked.get()
        assert (text.method, text.prefill) == ("editor", "prefill\ntext")
        await client.respond_ui(text, value="edited")
        assert await prompt == "handled"
        notice = await asked.get()
        assert json.loads(notice.message or "") == ["B", True, None, "edited"]
        assert notice.notify_type == "info"

    asking(work)


def test_questions_that_time_out_or_are_aborted_get_their_default() -> None:
    async def work(client: RpcClient, asked: Asked) -> None:
        assert await client.prompt("/late") == "handled"
        requests = everything(asked)
        assert [(request.method, request.timeout) for request in requests] == [
            ("select", 50),
            ("input", None),
            ("notify", None),
        ]
        assert json.loads(requests[-1].message or "") == [None, None, False]
        assert requests[-1].notify_type == "warning"

    asking(work)


def test_everything_that_is_shown_reaches_the_client() -> None:
    async def work(client: RpcClient, asked: Asked) -> None:
        assert await client.prompt("/show") == "handled"
        requests = everything(asked)
        shown = [
            (request.method, request.status_key, request.status_text, request.widget_lines) for request in requests
        ]
        assert shown == [
            ("setStatus", "k", "running", None),
            ("setStatus", "k", None, None),
            ("setWidget", None, None, ["l1", "l2"]),
            ("setWidget", None, None, None),
            ("setTitle", None, None, None),
            ("set_editor_text", None, None, None),
        ]
        assert not any(request.wants_answer for request in requests)
        assert requests[-1].text == "text"

    asking(work)


def test_the_client_without_an_event_loop_does_the_same(home: Home) -> None:
    with SyncRpcClient(cwd=home.project, env=environment(home), model="fake/m") as client:
        events = client.prompt_and_wait("hello")
        assert isinstance(events[-1], AgentSettled)
        assert client.get_last_assistant_text() == "fine"
        with pytest.raises(RpcError, match="bogus"):
            client.request("bogus")
        assert client.get_state().is_streaming is False
    client.stop()


def test_both_clients_have_a_method_for_every_command() -> None:
    methods = {
        name for name, _ in inspect.getmembers(RpcClient, inspect.iscoroutinefunction) if not name.startswith("_")
    }
    assert set(COMMANDS) | {"prompt"} <= methods
    assert methods - {"start", "stop"} <= set(vars(SyncRpcClient))


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b'{"type":"agent_settled","aborted":false}', AgentSettled(aborted=False)),
        (b'{"type":"from_tomorrow","x":1}', UnknownLine({"type": "from_tomorrow", "x": 1})),
        (b'{"type":"agent_settled"}', UnknownLine({"type": "agent_settled"})),
        (b"Traceback (most recent call last):", None),
        (b"[1]", None),
        (b"\xff", None),
    ],
)
def test_lines_become_events_whatever_they_hold(line: bytes, event: RpcEvent | None) -> None:
    assert decode_event(line) == event
