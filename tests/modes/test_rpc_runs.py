"""The real command in RPC mode: odd lines, odd texts, ends of input, and files that commands must not reach."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home, conversation
from tests.modes.rpc_process import RpcProcess

from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer, strict_reply
from pinyon.testing.fake_server import FakeServer, Reply, Stall

FINE = openai_answer("fine")
HALF = Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])
LINE_ENDS = "a\u2028b\u2029c\x85d\r\ne"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([FINE]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path, server.url)


@pytest.fixture
def rpc(home: Home) -> Iterator[RpcProcess]:
    with RpcProcess(home) as rpc:
        yield rpc


def answers(rpc: RpcProcess) -> list[dict[str, Any]]:
    """The answers of the model, as their ends told them."""
    ended = [line["message"] for line in rpc.lines if line["type"] == "message_end"]
    return [message for message in ended if message["role"] == "assistant"]


BAD_LINES: list[tuple[bytes, dict[str, Any], str]] = [
    (b'{"id":"1","type":"bogus"}', {"id": "1", "command": "bogus"}, "bogus"),
    (b"not json", {"command": "parse"}, "JSON"),
    (b'{"id":"2","type":"prompt"', {"command": "parse"}, "JSON"),
    (b"", {"command": "parse"}, "JSON"),
    (b"\0\0\0", {"command": "parse"}, "JSON"),
    (b'{"type":"\xff"}', {"command": "parse"}, "JSON"),
    (b'{"a":' * 5000, {"command": "parse"}, "JSON"),
    (b"[1,2]", {}, "object"),
    (b'"x"', {}, "object"),
    (b"null", {}, "object"),
    (b'{"id":3}', {"id": 3}, "'type'"),
    (b'{"id":"4","type":7}', {"id": "4"}, "'type'"),
    (b'{"id":"5","type":"prompt"}', {"id": "5", "command": "prompt"}, "'message'"),
    (b'{"id":{"a":[1]},"type":"prompt","message":null}', {"id": {"a": [1]}, "command": "prompt"}, "'message'"),
    (b'{"id":"6","type":"prompt","message":"a","streamingBehavior":"x"}', {"id": "6"}, "'streamingBehavior'"),
    (b'{"id":"7","type":"bash","command":["ls"]}', {"id": "7", "command": "bash"}, "'command'"),
    (b'{"id":"8","type":"switch_session"}', {"id": "8", "command": "switch_session"}, "'sessionPath'"),
    (b'{"id":"9","type":"__class__"}', {"id": "9", "command": "__class__"}, "__class__"),
]


def test_every_bad_line_gets_one_answer_and_none_ends_the_process(rpc: RpcProcess) -> None:
    for line, fields, reason in BAD_LINES:
        refused = rpc.ask(line + b"\n")
        assert not refused["success"]
        assert refused.items() >= fields.items()
        assert ("id" in refused) == ("id" in fields)
        assert reason in refused["error"]
    assert rpc.ask({"id": "end", "type": "get_state"})["id"] == "end"
    assert len(rpc.lines) == len(BAD_LINES) + 1
    assert rpc.close() == (0, "")


def test_lines_end_at_the_line_feed_alone_and_the_last_needs_none(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([openai_answer(LINE_ENDS)])
    prompt = json.dumps({"id": "1", "type": "prompt", "message": LINE_ENDS}, ensure_ascii=False).encode()
    rpc.send(prompt + b"\r\n")
    rpc.next(type="agent_settled")
    assert answers(rpc)[-1]["content"][-1]["text"] == LINE_ENDS
    assert conversation(server.requests[-1]) == [("user", LINE_ENDS)]
    rpc.send(b'{"id":"2","type":"get_last_assistant_text"}')
    assert rpc.close() == (0, "")
    assert rpc.lines[-1]["data"] == {"text": LINE_ENDS}


def test_a_line_may_be_long(rpc: RpcProcess, server: FakeServer) -> None:
    message = "你" * 300_000
    server.play([openai_answer(message)])
    rpc.run(message)
    assert conversation(server.requests[-1]) == [("user", message)]
    assert answers(rpc)[-1]["content"][-1]["text"] == message


def test_commands_of_tools_have_an_empty_input_and_eat_no_protocol_line(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([openai_answer(calls=[call("bash", {"command": "cat; echo rc=$?"})]), FINE])
    rpc.send({"type": "prompt", "message": "go"})
    rpc.send({"id": "9", "type": "get_state"})
    assert rpc.next(type="response", id="9")["success"]
    rpc.next(type="agent_settled")
    assert [text for role, text in conversation(server.requests[-1]) if role == "tool"] == ["rc=0\n"]
    shell = rpc.ask({"id": "10", "type": "bash", "command": "cat; echo rc=$?"})
    assert shell["data"]["output"] == "rc=0\n"


def test_lone_surrogates_become_replacement_characters_everywhere(
    rpc: RpcProcess, server: FakeServer, home: Home
) -> None:
    command = "printf '\\355\\240\\275'; touch \"$(printf 'n\\377m')\"; ls"
    escaped = json.dumps(delta_chunk({"content": "x\ud83d y \ud83d\ude00"}, "stop"))
    server.play([openai_answer(calls=[call("bash", {"command": command})]), Reply.sse([(None, escaped)])])
    rpc.send(b'{"type":"prompt","message":"x\\ud83d y \\ud83d\\ude00"}\n')
    rpc.next(type="agent_settled")
    (_, prompt), _, (_, result) = conversation(server.requests[-1])
    assert prompt == "x\ufffd y 😀"
    assert "\ufffd" in result
    assert answers(rpc)[-1]["content"][-1]["text"] == "x\ufffd y 😀"
    rpc.close()
    (session,) = home.session_files()
    assert "\\ud8" not in session.read_text(encoding="utf-8")
    assert all(b"\\ud8" not in request.body for request in server.requests)


def test_output_is_utf8_under_every_locale(home: Home, server: FakeServer) -> None:
    server.play([openai_answer("✓ ➜ 你好")])
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk"}
    with RpcProcess(home, env=env) as rpc:
        rpc.send(json.dumps({"type": "prompt", "message": "中文"}, ensure_ascii=False).encode() + b"\n")
        rpc.next(type="agent_settled")
        assert answers(rpc)[-1]["content"][-1]["text"] == "✓ ➜ 你好"
    assert conversation(server.requests[-1]) == [("user", "中文")]


def test_input_that_ends_behind_a_prompt_is_answered_saved_and_told_as_aborted(home: Home, server: FakeServer) -> None:
    server.play([Reply.never()])
    with RpcProcess(home) as rpc:
        rpc.send({"id": "1", "type": "prompt", "message": "hi"})
        assert rpc.close() == (0, "")
    assert rpc.lines[0] == {
        "id": "1", "type": "response", "command": "prompt", "success": True, "data": {"disposition": "started"}
    }  # fmt: skip
    assert not any(line["type"] == "agent_settled" and not line["aborted"] for line in rpc.lines)
    (session,) = home.session_files()
    messages = [json.loads(line).get("message") for line in session.read_text(encoding="utf-8").splitlines()]
    roles = [(message["role"], message.get("stopReason")) for message in messages if message]
    assert roles[-2:] == [("user", None), ("assistant", "aborted")]


def test_the_last_text_passes_over_an_aborted_answer(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([openai_answer("whole"), HALF])
    rpc.run("a")
    rpc.send({"type": "prompt", "message": "b"})
    rpc.next(type="message_update")
    assert rpc.ask({"type": "abort"})["success"]
    assert answers(rpc)[-1]["stopReason"] == "aborted"
    rpc.send({"id": "t", "type": "get_last_assistant_text"})
    assert rpc.next(type="response", id="t")["data"] == {"text": "whole"}


def test_every_call_of_an_aborted_batch_has_its_result_in_order(rpc: RpcProcess, server: FakeServer) -> None:
    calls = [call("bash", {"command": "sleep 60"}), call("bash", {"command": "sleep 60"}), call("read", {"path": "x"})]
    server.play([openai_answer(calls=calls), strict_reply(FINE)])
    rpc.send({"type": "prompt", "message": "go"})
    rpc.next(type="tool_execution_start")
    assert rpc.ask({"type": "abort"})["success"]
    rpc.run("more")
    sent = [message.get("tool_call_id") for message in server.requests[-1].json["messages"]]
    assert [call_id for call_id in sent if call_id] == [each.id for each in calls]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill signal")
def test_a_prompt_survives_a_kill_before_its_answer(home: Home, server: FakeServer) -> None:
    server.play([Reply.never()])
    with RpcProcess(home) as rpc:
        rpc.send({"type": "prompt", "message": "hello"})
        server.wait_for_requests(1)
        rpc.process.send_signal(signal.SIGKILL)
        rpc.process.wait()
    server.play([FINE])
    with RpcProcess(home, "--continue") as rpc:
        assert [message["role"] for message in rpc.ask({"type": "get_messages"})["data"]["messages"]][-1] == "user"
        rpc.run("again")
    assert conversation(server.requests[-1]) == [("user", "hello"), ("user", "again")]


def test_a_refused_key_is_told_in_the_answer_and_the_process_goes_on(rpc: RpcProcess, server: FakeServer) -> None:
    server.play([error_reply(401, "invalid key"), FINE])
    rpc.run("a")
    assert (answers(rpc)[-1]["stopReason"], "invalid key" in answers(rpc)[-1]["errorMessage"]) == ("error", True)
    rpc.run("b")
    assert answers(rpc)[-1]["stopReason"] == "stop"


@pytest.mark.parametrize("path", ["foreign.jsonl", "", ".", "/", "a\0b", "/dev/null"])
def test_a_session_that_is_none_is_refused_and_nothing_changes(rpc: RpcProcess, home: Home, path: str) -> None:
    foreign = home.project / "foreign.jsonl"
    foreign.write_bytes(b'{"hello":1}')
    before = rpc.ask({"type": "get_state"})["data"]["sessionId"]
    refused = rpc.ask({"id": "1", "type": "switch_session", "sessionPath": path})
    assert (refused["id"], refused["success"]) == ("1", False)
    assert "internal fault" not in refused["error"]
    assert rpc.ask({"type": "get_state"})["data"]["sessionId"] == before
    assert foreign.read_bytes() == b'{"hello":1}'


def test_a_name_is_cleaned_of_line_ends_and_control_characters(rpc: RpcProcess) -> None:
    assert rpc.ask({"type": "set_session_name", "name": "a/b\n\x1b]0;x\x07"})["success"]
    assert rpc.ask({"type": "get_state"})["data"]["sessionName"].isprintable()


def test_arguments_that_cannot_be_used_end_it_before_the_first_line(home: Home) -> None:
    for arguments in (["@file"], ["--session", "none"], ["--session-id", "../evil"]):
        code, output, errors = home.run("--mode", "rpc", *arguments)
        assert (code, output) == (1, "")
        assert errors.startswith("Error: ")


def test_export_html_answers_with_the_path_and_refuses_an_unsaved_session(rpc: RpcProcess, home: Home) -> None:
    refused = rpc.ask({"id": "e", "type": "export_html", "outputPath": "early.html"})
    assert refused["success"] is False
    assert "nothing is saved" in refused["error"]
    rpc.run("hello")
    assert rpc.ask({"id": "f", "type": "export_html", "outputPath": "p.html"})["data"] == {"path": "p.html"}
    assert "session-data" in (home.project / "p.html").read_text()
    name = rpc.ask({"id": "g", "type": "export_html"})["data"]["path"]
    assert name.startswith("pi-session-")
    assert (home.project / name).exists()


def test_modes_and_switches_are_stored_in_the_users_settings(rpc: RpcProcess, home: Home) -> None:
    before = json.loads((home.agent_dir / "settings.json").read_text())
    for command in (
        {"type": "set_steering_mode", "mode": "all"},
        {"type": "set_follow_up_mode", "mode": "all"},
        {"type": "set_auto_compaction", "enabled": False},
        {"type": "set_auto_retry", "enabled": False},
        {"type": "set_thinking_level", "level": "high"},
    ):
        assert rpc.ask(command)["success"] is True
    state = rpc.ask({"type": "get_state"})["data"]
    assert (state["steeringMode"], state["followUpMode"], state["autoCompactionEnabled"]) == ("all", "all", False)
    assert rpc.ask({"type": "set_steering_mode", "mode": "sometimes"})["success"] is False
    assert rpc.close()[0] == 0
    assert json.loads((home.agent_dir / "settings.json").read_text()) == {
        **before,
        "steeringMode": "all",
        "followUpMode": "all",
        "compaction": {"enabled": False},
        "retry": {**before["retry"], "enabled": False},
    }
