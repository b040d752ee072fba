"""What is easy to get wrong in the protocol, with the real command as a child process."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home, texts
from tests.modes.rpc_process import Line, RpcProcess

from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer
from pinyon.testing.fake_server import FakeServer, Reply, Stall

FINE = openai_answer("fine")
HALF = Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([FINE]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path.resolve(), server.url)


@pytest.fixture
def rpc(home: Home) -> Iterator[RpcProcess]:
    with RpcProcess(home) as rpc:
        yield rpc


def kinds(rpc: RpcProcess) -> list[str]:
    return [line["type"] for line in rpc.lines]


def of(rpc: RpcProcess, kind: str) -> list[Line]:
    return [line for line in rpc.lines if line["type"] == kind]


def test_what_commands_and_their_children_print_stays_out_of_the_protocol(home: Home) -> None:
    with RpcProcess(home, program=[sys.executable, "-m", "tests.modes.asking_server"]) as rpc:
        (answer,) = rpc.exchange({"id": "p", "type": "prompt", "message": "/print"})
        assert answer["data"] == {"disposition": "handled"}
        code, errors = rpc.close()
    assert (code, len(rpc.lines)) == (0, 1)
    assert "printed by a command" in errors
    assert "printed by a child" in errors


ASKING = [sys.executable, "-m", "tests.modes.asking_server", "--ask"]


def test_a_question_at_the_start_can_be_answered_and_commands_wait_for_it(home: Home) -> None:
    with RpcProcess(home, program=ASKING) as rpc:
        rpc.send({"id": "s", "type": "get_state"})
        asked = rpc.next(type="extension_ui_request", method="confirm")
        rpc.send({"type": "extension_ui_response", "id": asked["id"], "confirmed": True})
        assert rpc.next(type="session_info_changed")["name"] == "True"
        assert rpc.next(type="response", id="s")["data"]["sessionName"] == "True"
        rpc.send({"id": "n", "type": "new_session"})
        asked = rpc.next(type="extension_ui_request", method="confirm")
        assert asked["message"] == "new"
        rpc.send({"type": "extension_ui_response", "id": asked["id"], "confirmed": False})
        rpc.next(type="response", id="n")
        assert rpc.data({"type": "get_state"})["sessionName"] == "False"
        assert rpc.close() == (0, "")


def test_a_question_at_the_start_does_not_outlive_the_input(home: Home) -> None:
    with RpcProcess(home, program=ASKING) as rpc:
        rpc.send({"id": "s", "type": "get_state"})
        assert rpc.close() == (0, "")
    assert rpc.lines[-1]["data"]["sessionName"] == "False"


def test_responses_come_before_or_behind_what_they_start(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([HALF])
    rpc.send({"id": "p", "type": "prompt", "message": "go"})
    rpc.next(type="message_update")
    assert kinds(rpc)[:2] == ["response", "agent_start"]
    before = len(rpc.lines)
    rpc.send({"id": "s", "type": "steer", "message": "later"})
    rpc.send({"id": "x", "type": "abort"})
    rpc.next(type="response", id="x")
    order = kinds(rpc)[before:]
    assert order.index("queue_update") < order.index("response")
    assert order[-2:] == ["agent_settled", "response"]
    assert rpc.exchange({"id": "b", "type": "bash", "command": "echo a; echo b"})[-1]["type"] == "response"


def test_an_abort_keeps_the_queue_and_the_next_prompt_delivers_it(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([HALF, FINE, FINE, FINE])
    rpc.send({"type": "prompt", "message": "go"})
    rpc.next(type="message_update")
    for command in ({"type": "steer", "message": "steered"}, {"type": "follow_up", "message": "followed"}):
        assert rpc.ask(command)["success"]
    rpc.data({"id": "x", "type": "abort"})
    state = rpc.data({"type": "get_state"})
    assert (state["pendingMessageCount"], state["isStreaming"]) == (2, False)
    rpc.run("next")
    assert rpc.data({"type": "get_state"})["pendingMessageCount"] == 0
    said = [text for text in texts(server.requests[-1].json["messages"]) if text in ("next", "steered", "followed")]
    assert said == ["next", "steered", "followed"]
    assert kinds(rpc).count("agent_settled") == 2


def test_updates_carry_deltas_and_runs_their_own_messages(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([openai_answer("Looking.", calls=[call("bash", {"command": "echo one"})]), FINE, FINE])
    rpc.run("first")
    rpc.run("second")
    for update in of(rpc, "message_update"):
        assert set(update) == {"type", "usage", "assistantMessageEvent"}
        assert "partial" not in update["assistantMessageEvent"]
    (start,) = [
        each["assistantMessageEvent"]
        for each in of(rpc, "message_update")
        if each["assistantMessageEvent"]["type"] == "toolcall_start"
    ]
    assert set(start) == {"type", "contentIndex", "id", "toolName"}
    first, second = ([message["role"] for message in end["messages"]] for end in of(rpc, "agent_end"))
    assert first == ["system", "user", "assistant", "toolResult", "assistant"]
    assert second == ["user", "assistant"]


def test_each_started_prompt_settles_once_behind_its_retries_and_a_handled_one_never(
    home: Home, server: FakeServer
) -> None:
    server.play([error_reply(503, "later"), error_reply(503, "later"), FINE])
    with RpcProcess(home) as rpc:
        rpc.run("go")
        assert rpc.data({"type": "get_state"})["isStreaming"] is False
    assert (kinds(rpc).count("agent_start"), kinds(rpc).count("agent_settled")) == (3, 1)
    assert [end["willRetry"] for end in of(rpc, "agent_end")] == [True, True, False]
    with RpcProcess(home, program=[sys.executable, "-m", "tests.modes.asking_server"]) as rpc:
        rpc.exchange({"id": "s", "type": "prompt", "message": "/show"})
        assert rpc.close()[0] == 0
    assert "agent_settled" not in kinds(rpc)


def test_models_and_levels_leave_the_settings_alone(rpc: RpcProcess, home: Home) -> None:
    settings = home.agent_dir / "settings.json"
    before = settings.read_bytes()
    rpc.data({"type": "set_model", "provider": "fake", "modelId": "m"})
    rpc.data({"type": "set_thinking_level", "level": "high"})
    assert rpc.data({"type": "set_thinking_level", "level": "no such level"}) is None
    assert rpc.close()[0] == 0
    assert settings.read_bytes() == before


def test_the_end_of_the_input_during_a_run_saves_what_was_said_and_tells_nothing_more(
    home: Home, server: FakeServer
) -> None:
    server.play([HALF])
    with RpcProcess(home) as rpc:
        rpc.send({"type": "prompt", "message": "go"})
        rpc.next(
            type="message_update", assistantMessageEvent={"type": "text_delta", "contentIndex": 0, "delta": "half"}
        )
        before = len(rpc.lines)
        assert rpc.close() == (0, "")
    assert rpc.lines[before:] == []
    (path,) = home.session_files()
    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["message"]
    assert (last["stopReason"], texts(last["content"])[-1]) == ("aborted", "half")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs the signals of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_saves_what_was_said_and_takes_commands_along(
    home: Home, server: FakeServer, name: str, code: int
) -> None:
    server.play([HALF])
    with RpcProcess(home) as rpc:
        rpc.send({"type": "bash", "command": "echo begun; sleep 60; touch ended"})
        rpc.next(type="bash_execution_update")
        rpc.send({"type": "prompt", "message": "go"})
        rpc.next(type="message_update")
        rpc.process.send_signal(getattr(signal, name))
        assert rpc.process.wait(30) == code
    assert not (home.project / "ended").exists()
    (path,) = home.session_files()
    assert '"stopReason":"aborted"' in path.read_text(encoding="utf-8")


def test_a_session_of_another_folder_works_there_with_what_that_folder_brings(home: Home, server: FakeServer) -> None:
    other = home.path / "other"
    (other / ".pi/prompts").mkdir(parents=True)
    (other / ".pi/prompts/there.md").write_text("from there", encoding="utf-8")
    (home.project / ".pi/prompts").mkdir(parents=True)
    (home.project / ".pi/prompts/here.md").write_text("from here", encoding="utf-8")
    assert home.run("-p", "hi", cwd=other)[0] == 0
    (stored,) = home.session_files()
    with RpcProcess(home, "--approve", "--session", str(stored)) as rpc:
        check_folder(rpc, "there", other)
        rpc.data({"type": "export_html", "outputPath": "page.html"})
        assert (home.project / "page.html").exists()
    with RpcProcess(home, "--approve") as rpc:
        check_folder(rpc, "here", home.project)
        rpc.data({"type": "switch_session", "sessionPath": str(stored)})
        check_folder(rpc, "there", other)


def check_folder(rpc: RpcProcess, command: str, folder: Path) -> None:
    commands = rpc.data({"type": "get_commands"})["commands"]
    assert [each["name"] for each in commands] == [command]
    assert rpc.data({"type": "bash", "command": "pwd"})["output"] == f"{folder}\n"


def test_a_session_whose_folder_is_gone_is_refused_and_the_present_one_stays(rpc: RpcProcess, home: Home) -> None:
    gone = home.path / "gone"
    path = home.project / "lost.jsonl"
    header = {"type": "session", "version": 3, "id": "l", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(gone)}
    path.write_text(json.dumps(header) + "\n", encoding="utf-8")
    before = rpc.data({"type": "get_state"})
    (refused,) = rpc.exchange({"id": "sw", "type": "switch_session", "sessionPath": str(path)})
    assert not refused["success"]
    assert all(str(named) in refused["error"] for named in (gone, path, home.project))
    assert rpc.data({"type": "get_state"}) == before
    (refused,) = rpc.exchange({"id": "sw", "type": "switch_session", "sessionPath": str(home.project)})
    assert not refused["success"]
    assert rpc.data({"type": "switch_session", "sessionPath": "new.jsonl"}) == {"cancelled": False}
    assert rpc.data({"type": "get_state"})["sessionFile"] == str(home.project / "new.jsonl")


def test_without_any_model_the_process_works_and_prompts_say_what_to_do(home: Home) -> None:
    home.write(home.agent_dir / "models.json", {"providers": {}})
    with RpcProcess(home, model=None) as rpc:
        state = rpc.data({"type": "get_state"})
        assert (state["model"]["id"], state["model"]["provider"], state["thinkingLevel"]) == (
            "unknown",
            "unknown",
            "off",
        )
        refused = rpc.ask({"id": "p", "type": "prompt", "message": "hi"})
        assert not refused["success"]
        assert "--list-models" in refused["error"]
        assert rpc.data({"type": "cycle_model"}) is None
        assert rpc.data({"type": "get_available_thinking_levels"}) == {"levels": ["off"]}


def test_a_client_may_be_slow_to_read_its_answers(rpc: RpcProcess) -> None:
    """More answers than pipes hold wait in the process up to a limit, and all come when they are asked for."""
    assert len(rpc.data({"type": "bash", "command": "seq -f %025.0f 1500"})["output"]) == 39_000
    count = 200
    sent: list[dict[str, Any]] = [{"id": number, "type": "get_messages"} for number in range(count)]
    rpc.send(b"".join(json.dumps(line).encode() + b"\n" for line in sent))
    answers = [rpc.next(type="response") for _ in range(count)]
    assert [answer["id"] for answer in answers] == list(range(count))
