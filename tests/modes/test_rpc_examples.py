"""Exchanges of the protocol as its documentation shows them, with the real command as a child process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home
from tests.modes.rpc_process import Line, RpcProcess

from pinyon.testing.fake_openai import delta_chunk, error_reply, openai_answer
from pinyon.testing.fake_server import FakeServer, Reply, Stall

HALF = Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer("w0 w1 w2")]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    home = Home(tmp_path, server.url)
    models = [
        {"id": "m1", "name": "Fake One", "reasoning": True, "input": ["text", "image"], "contextWindow": 128000,
         "maxTokens": 4096, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}},
        {"id": "m2", "name": "Fake Two"},
    ]  # fmt: skip
    provider = {"baseUrl": server.url + "/v1", "api": "openai-completions", "apiKey": "k", "models": models}
    home.write(home.agent_dir / "models.json", {"providers": {"fake": provider}})
    return home


@pytest.fixture
def rpc(home: Home) -> Iterator[RpcProcess]:
    with RpcProcess(home, model="fake/m1") as rpc:
        yield rpc


def done(identity: str, command: str, **data: Any) -> Line:
    """A response that says yes."""
    answer = {"id": identity, "type": "response", "command": command, "success": True}
    return answer | ({"data": data} if data else {})


def types(lines: list[Line]) -> list[str]:
    return [line["type"] for line in lines]


def test_state_models_and_levels(rpc: RpcProcess, server: FakeServer) -> None:
    (state,) = rpc.exchange({"id": "1", "type": "get_state"})
    model, session_id, path = (state["data"].pop(name) for name in ("model", "sessionId", "sessionFile"))
    assert model == {
        "id": "m1", "name": "Fake One", "api": "openai-completions", "provider": "fake",
        "baseUrl": server.url + "/v1", "reasoning": True, "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 128000, "maxTokens": 4096,
    }  # fmt: skip
    assert Path(path).name.endswith(f"_{session_id}.jsonl")
    assert state == done(
        "1", "get_state", thinkingLevel="medium", isStreaming=False, isCompacting=False, steeringMode="one-at-a-time",
        followUpMode="one-at-a-time", autoCompactionEnabled=True, messageCount=0, pendingMessageCount=0,
    )  # fmt: skip
    (available,) = rpc.exchange({"id": "2", "type": "get_available_models"})
    first, second = available["data"]["models"]
    assert (first, second["id"]) == (model, "m2")
    assert rpc.exchange({"id": "3", "type": "set_model", "provider": "fake", "modelId": "m2"}) == [
        {"type": "thinking_level_changed", "level": "off"},
        done("3", "set_model", **second),
    ]
    assert rpc.exchange({"id": "6", "type": "get_available_thinking_levels"}) == [
        done("6", "get_available_thinking_levels", levels=["off"])
    ]
    level = rpc.exchange({"id": "8", "type": "cycle_thinking_level"})
    assert level == [done("8", "cycle_thinking_level") | {"data": None}]
    assert rpc.exchange({"id": "5", "type": "cycle_model"})[-1] == done(
        "5", "cycle_model", model=first, thinkingLevel="off", isScoped=False
    )
    assert rpc.exchange({"id": "7", "type": "set_thinking_level", "level": "high"}) == [
        {"type": "thinking_level_changed", "level": "high"},
        done("7", "set_thinking_level"),
    ]
    levels = rpc.data({"id": "6", "type": "get_available_thinking_levels"})["levels"]
    assert levels == ["off", "minimal", "low", "medium", "high"]
    assert rpc.data({"id": "8", "type": "cycle_thinking_level"}) == {"level": "off"}
    unknown = {"type": "set_model", "provider": "fake", "modelId": "nope"}
    for wrong, named in ((unknown, "fake/nope"), ({"type": "bogus_cmd"}, "bogus_cmd")):
        (refused,) = rpc.exchange({"id": "4", **wrong})
        text = refused.pop("error")
        assert refused == {"id": "4", "type": "response", "command": wrong["type"], "success": False}
        assert named in text


def test_a_scope_is_what_models_are_cycled_through(home: Home) -> None:
    with RpcProcess(home, "--models", "fake/m2,fake/m1:low", model="fake/m2") as rpc:
        cycled = rpc.data({"type": "cycle_model"})
        assert (cycled["model"]["id"], cycled["thinkingLevel"], cycled["isScoped"]) == ("m1", "low", True)
    with RpcProcess(home, "--models", "fake/m2", model="fake/m2") as rpc:
        assert rpc.data({"type": "cycle_model"}) is None


def test_messages_are_prompted_queued_stopped_and_cleared(rpc: RpcProcess, server: FakeServer) -> None:
    assert rpc.exchange({"id": "last", "type": "get_last_assistant_text"})[-1]["data"] == {}
    assert rpc.exchange({"id": "x", "type": "abort"}) == [done("x", "abort")]
    server.play([HALF, openai_answer("w0 w1 w2")])
    assert rpc.exchange({"id": "p", "type": "prompt", "message": "hello"}) == [
        done("p", "prompt", disposition="started")
    ]
    rpc.next(type="message_update")
    assert rpc.exchange({"id": "c", "type": "steer", "message": "steered"})[-1]["success"]
    assert rpc.exchange({"id": "d", "type": "steer", "message": "steer two"}) == [
        {"type": "queue_update", "steering": ["steered", "steer two"], "followUp": []},
        done("d", "steer", disposition="queued"),
    ]
    assert rpc.exchange({"id": "e", "type": "follow_up", "message": "follow one"})[-1] == done(
        "e", "follow_up", disposition="queued"
    )
    (refused,) = rpc.exchange({"id": "again", "type": "prompt", "message": "and now?"})
    assert not refused["success"]
    *ended, settled, answer = rpc.exchange({"id": "x", "type": "abort"})
    assert (settled, answer) == ({"type": "agent_settled", "aborted": True}, done("x", "abort"))
    assert types(ended)[-3:] == ["message_end", "turn_end", "agent_end"]
    assert rpc.data({"type": "get_state"})["pendingMessageCount"] == 3
    assert rpc.exchange({"id": "cq", "type": "clear_queue"}) == [
        {"type": "queue_update", "steering": [], "followUp": []},
        done("cq", "clear_queue", steering=["steered", "steer two"], followUp=["follow one"]),
    ]
    rpc.run("hello again")
    assert rpc.exchange({"id": "last", "type": "get_last_assistant_text"}) == [
        done("last", "get_last_assistant_text", text="w0 w1 w2")
    ]


def test_shell_commands_stream_their_output(rpc: RpcProcess) -> None:
    command = "echo hi; sleep 0.2; echo err >&2; exit 3"
    *output, answer = rpc.exchange({"id": "b1", "type": "bash", "command": command})
    assert all(line["type"] == "bash_execution_update" and line["id"] == "b1" for line in output)
    assert "".join(line["delta"] for line in output) == "hi\nerr\n"
    assert answer == done("b1", "bash", output="hi\nerr\n", exitCode=3, cancelled=False, truncated=False)
    (recorded,) = rpc.data({"id": "gm", "type": "get_messages"})["messages"]
    assert isinstance(recorded.pop("timestamp"), int)
    assert recorded == {
        "role": "bashExecution", "command": command, "output": "hi\nerr\n", "exitCode": 3, "cancelled": False,
        "truncated": False,
    }  # fmt: skip
    assert rpc.exchange({"id": 7, "type": "bash", "command": "echo n"})[0]["id"] == 7
    rpc.send({"id": "b3", "type": "bash", "command": "echo begun; sleep 30"})
    rpc.next(type="bash_execution_update", id="b3")
    rpc.send({"id": "ab", "type": "abort_bash"})
    answers = {line["command"]: line for line in (rpc.next(type="response"), rpc.next(type="response"))}
    assert answers["abort_bash"] == done("ab", "abort_bash")
    assert answers["bash"] == done("b3", "bash", output="begun\n", cancelled=True, truncated=False)


def test_sessions_are_forked_cloned_exported_and_switched(rpc: RpcProcess, home: Home) -> None:
    for command in ("export_html", "clone"):
        assert not rpc.exchange({"id": "u", "type": command})[-1]["success"]
    rpc.run("first question")
    first = rpc.data({"type": "get_state"})["sessionFile"]
    rpc.run("second question")
    messages = rpc.data({"id": "fm", "type": "get_fork_messages"})["messages"]
    assert [message["text"] for message in messages] == ["first question", "second question"]
    since = messages[1]["entryId"]
    entries = rpc.data({"id": "ge2", "type": "get_entries", "since": since})
    assert [entry["parentId"] for entry in entries["entries"]] == [since]
    assert entries["leafId"] == entries["entries"][-1]["id"]
    tree = rpc.data({"id": "14", "type": "get_tree"})
    assert tree["leafId"] == entries["leafId"]
    (root,) = tree["tree"]
    assert (root["entry"]["type"], root["entry"]["parentId"], len(root["children"])) == ("model_change", None, 1)
    stats = rpc.data({"id": "s", "type": "get_session_stats"})
    assert (stats["sessionFile"], stats["userMessages"], stats["assistantMessages"]) == (first, 2, 2)
    assert stats["contextUsage"]["contextWindow"] == 128000
    page = rpc.data({"id": "ex2", "type": "export_html"})["path"]
    assert page.startswith("pi-session-")
    assert (home.project / page).is_file()
    assert rpc.exchange({"id": "fk", "type": "fork", "entryId": since})[-1] == done(
        "fk", "fork", text="second question", cancelled=False
    )
    assert rpc.data({"type": "get_state"})["messageCount"] == 3
    assert rpc.exchange({"id": "cl", "type": "clone"})[-1] == done("cl", "clone", cancelled=False)
    cloned = rpc.data({"type": "get_state"})["sessionFile"]
    assert json.loads(Path(cloned).read_text(encoding="utf-8").split("\n")[0])["parentSession"]
    assert rpc.exchange({"id": "sw", "type": "switch_session", "sessionPath": first})[-1] == done(
        "sw", "switch_session", cancelled=False
    )
    assert rpc.data({"type": "get_state"})["messageCount"] == 5
    assert rpc.exchange({"id": "ns", "type": "new_session", "parentSession": first})[-1] == done(
        "ns", "new_session", cancelled=False
    )
    assert rpc.data({"type": "get_state"})["messageCount"] == 0
    for unknown in ("nope", entries["leafId"]):
        assert not rpc.exchange({"type": "fork", "entryId": unknown})[-1]["success"]


def test_history_is_compacted(home: Home, server: FakeServer) -> None:
    settings = home.agent_dir / "settings.json"
    home.write(settings, {"compaction": {"keepRecentTokens": 1}})
    with RpcProcess(home, model="fake/m1") as rpc:
        assert not rpc.exchange({"id": "cp", "type": "compact"})[-1]["success"]
        rpc.run("one")
        rpc.run("two")
        server.play([openai_answer("a summary")])
        start, end, answer = rpc.exchange({"id": "cp", "type": "compact", "customInstructions": "be brief"})
        result = answer["data"]
        assert start == {"type": "compaction_start", "reason": "manual"}
        assert end == {
            "type": "compaction_end", "reason": "manual", "result": result, "aborted": False, "willRetry": False
        }  # fmt: skip
        assert answer == done("cp", "compact", **result)
        assert {"summary", "firstKeptEntryId", "tokensBefore", "estimatedTokensAfter", "usage", "details"} == set(
            result
        )
        assert result["details"] == {"readFiles": [], "modifiedFiles": []}
        assert rpc.data({"type": "get_session_stats"})["contextUsage"]["tokens"] is None


def test_settings_and_the_pause_before_a_retry(home: Home, server: FakeServer) -> None:
    home.write(home.agent_dir / "settings.json", {"retry": {"baseDelayMs": 60_000}})
    with RpcProcess(home, model="fake/m1") as rpc:
        commands: dict[str, Line] = {
            "9": {"type": "set_steering_mode", "mode": "all"},
            "10": {"type": "set_follow_up_mode", "mode": "all"},
            "24": {"type": "set_auto_compaction", "enabled": True},
            "22": {"type": "set_auto_retry", "enabled": True},
            "ar": {"type": "abort_retry"},
            "ab": {"type": "abort_bash"},
        }
        for identity, fields in commands.items():
            assert rpc.exchange({"id": identity, **fields}) == [done(identity, fields["type"])]
        assert rpc.exchange({"id": "21", "type": "set_session_name", "name": " My run "}) == [
            {"type": "session_info_changed", "name": "My run"},
            done("21", "set_session_name"),
        ]
        server.play([error_reply(503, "try later")])
        rpc.send({"type": "prompt", "message": "x"})
        waiting = rpc.next(type="auto_retry_start")
        assert (waiting["attempt"], waiting["maxAttempts"], waiting["delayMs"]) == (1, 3, 60_000)
        rpc.send({"id": "ar", "type": "abort_retry"})
        ended = rpc.next(type="auto_retry_end")
        assert (ended["success"], ended["attempt"], type(ended["finalError"])) == (False, 1, str)
        settled, answer = rpc.next(type="agent_settled"), done("ar", "abort_retry")
        assert (settled["aborted"], answer in rpc.lines) == (False, True)
        assert rpc.close()[0] == 0
    stored = json.loads((home.agent_dir / "settings.json").read_text(encoding="utf-8"))
    assert (stored["steeringMode"], stored["compaction"]["enabled"], stored["retry"]["enabled"]) == ("all", True, True)


def test_commands_are_templates_and_skills_with_where_they_come_from(home: Home) -> None:
    for path, text in {
        home.project / ".pi/prompts/fix.md": "---\ndescription: Fix it\n---\nFix $1",
        home.project / ".pi/skills/sk/SKILL.md": "---\nname: sk\ndescription: A skill\n---\nDo it",
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    with RpcProcess(home, "--approve", model="fake/m1") as rpc:
        commands = rpc.data({"id": "g", "type": "get_commands"})["commands"]
        described = [(each["name"], each["description"], each["source"]) for each in commands]
        assert described == [("fix", "Fix it", "prompt"), ("skill:sk", "A skill", "skill")]
        assert commands[0]["sourceInfo"] == {
            "path": str(home.project / ".pi/prompts/fix.md"), "source": "auto", "scope": "project",
            "origin": "top-level", "baseDir": str(home.project / ".pi"),
        }  # fmt: skip


def test_questions_and_what_is_shown(home: Home) -> None:
    with RpcProcess(home, program=[sys.executable, "-m", "tests.modes.asking_server"]) as rpc:
        rpc.send({"id": "a", "type": "prompt", "message": "/ask"})
        for asked, given in (
            ({"method": "select", "title": "Pick", "options": ["A", "B"]}, {"value": "B"}),
            ({"method": "confirm", "title": "Sure?", "message": "Really do it"}, {"confirmed": True}),
            ({"method": "input", "title": "Name", "placeholder": "placeholder"}, {"cancelled": True}),
            ({"method": "editor", "title": "Edit", "prefill": "prefill\ntext"}, {"value": "edited"}),
        ):
            request = rpc.next(type="extension_ui_request")
            identity = request.pop("id")
            assert request == {"type": "extension_ui_request", **asked}
            rpc.send({"type": "extension_ui_response", "id": "unknown", **given})
            rpc.send({"type": "extension_ui_response", "id": identity, **given})
        told = rpc.next(type="extension_ui_request", method="notify")
        assert (json.loads(told["message"]), told["notifyType"]) == (["B", True, None, "edited"], "info")
        assert rpc.next(type="response") == done("a", "prompt", disposition="handled")
        *shown, answer = rpc.exchange({"id": "s", "type": "prompt", "message": "/show"})
        assert all(line.pop("type") == "extension_ui_request" and line.pop("id") for line in shown)
        assert shown == [
            {"method": "setStatus", "statusKey": "k", "statusText": "running"},
            {"method": "setStatus", "statusKey": "k"},
            {"method": "setWidget", "widgetKey": "w", "widgetLines": ["l1", "l2"], "widgetPlacement": "belowEditor"},
            {"method": "setWidget", "widgetKey": "w", "widgetPlacement": "aboveEditor"},
            {"method": "setTitle", "title": "T!"},
            {"method": "set_editor_text", "text": "text"},
        ]
        assert answer == done("s", "prompt", disposition="handled")
        rpc.send({"id": "t", "type": "prompt", "message": "/late"})
        timed = rpc.next(type="extension_ui_request", method="select")
        assert timed["timeout"] == 50
        assert json.loads(rpc.next(method="notify")["message"]) == [None, None, False]
        rpc.send({"type": "extension_ui_response", "id": timed["id"], "value": "X"})
        assert rpc.ask({"id": "end", "type": "get_state"})["id"] in ("t", "end")
