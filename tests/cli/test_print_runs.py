"""Single prompts with the real command: what they print, what they say when something is wrong, and how they exit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home, conversation

from pinyon.testing.fake_anthropic import anthropic_answer
from pinyon.testing.fake_openai import call, delta_chunk, error_reply, openai_answer, strict_reply
from pinyon.testing.fake_server import Cut, FakeServer, Reply, ScriptedReply, Stall

FINE = openai_answer("fine")
NO_ROOM = "request (20000 tokens) exceeds the available context size (4096 tokens), try increasing it"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([FINE]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path, server.url)


def use_provider(home: Home, server: FakeServer, **fields: Any) -> None:
    """Describe the provider `fake` anew."""
    provider = {"baseUrl": server.url + "/v1", "api": "openai-completions", "apiKey": "k", "models": [{"id": "m"}]}
    home.write(home.agent_dir / "models.json", {"providers": {"fake": {**provider, **fields}}})


def last_answer(lines: Sequence[str]) -> dict[str, Any]:
    """The last answer in the lines of JSON mode."""
    events = [json.loads(line) for line in lines]
    ended = [event["message"] for event in events if event["type"] == "message_end"]
    answer: dict[str, Any] = [message for message in ended if message["role"] == "assistant"][-1]
    return answer


FAILURES: list[tuple[str, ScriptedReply, str]] = [
    ("refused", error_reply(401, "invalid key"), "invalid key"),
    ("no room", error_reply(400, NO_ROOM), "exceeds the available context size"),
    ("not found", error_reply(404, "no such model"), "no such model"),
    ("busy", error_reply(429, "slow down", retry_after="Wed, garbage"), "slow down"),
    ("busy for hours", error_reply(429, "slow down", retry_after="9999"), "slow down"),
    ("empty", openai_answer(counts={}), "without text"),
    ("a call was promised", openai_answer(finish_reason="tool_calls", counts={}), "without a tool call"),
    ("a page", Reply.text("<html>hello</html>", headers={"content-type": "text/html"}), "text/html"),
    ("a faulty page", Reply.text("<html>bad gateway</html>", 502), "bad gateway"),
    ("cut", Reply.sse([(None, delta_chunk({"content": "half"})), Cut(politely=True)]), "before the response"),
    ("garbled", Reply.sse([(None, "{{{")]), "not JSON"),
    ("no HTTP", Reply(raw=b"\0\xff nonsense\r\n\r\n"), "HTTP"),
]


@pytest.mark.parametrize("mode", ["text", "json"])
@pytest.mark.parametrize(("reply", "reason"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES])
def test_a_failed_run_tells_why_and_exits_with_1(
    home: Home, server: FakeServer, reply: ScriptedReply, reason: str, mode: str
) -> None:
    server.play([reply])
    code, output, errors = home.run("--mode", mode, "-p", "hi")
    assert code == 1
    assert reason in errors
    assert "Traceback" not in errors
    assert len(server.requests) <= 4
    if mode == "text":
        assert output == ""
    else:
        assert last_answer(output.splitlines())["stopReason"] == "error"
        assert reason in last_answer(output.splitlines())["errorMessage"]


def test_a_stop_for_tools_without_one_is_asked_again_a_few_times_then_told(home: Home, server: FakeServer) -> None:
    use_provider(home, server, api="anthropic-messages")
    server.play([anthropic_answer_without_content()])
    code, output, errors = home.run("-p", "hi")
    assert (code, output, len(server.requests)) == (1, "", 4)
    assert "without a tool call" in errors


def anthropic_answer_without_content() -> ScriptedReply:
    return anthropic_answer(stop_reason="tool_use")


def test_an_empty_answer_is_asked_again_and_never_sent_back(home: Home, server: FakeServer) -> None:
    server.play([openai_answer(counts={}), FINE])
    assert home.run("-p", "hi")[:2] == (0, "fine\n")
    server.play([openai_answer(counts={})])
    assert home.run("--continue", "-p", "again")[0] == 1
    server.play([strict_reply(FINE)])
    assert home.run("--continue", "-p", "more")[:2] == (0, "fine\n")
    roles = [role for role, _ in conversation(server.requests[-1])]
    assert roles == ["user", "assistant", "user", "user"]


def test_a_cut_answer_is_printed_with_a_warning_and_stays_in_the_conversation(home: Home, server: FakeServer) -> None:
    server.play([openai_answer("half of it", finish_reason="length")])
    code, output, errors = home.run("-p", "hi")
    assert (code, output) == (1, "half of it\n")
    assert "cut at the output limit" in errors
    server.play([FINE])
    assert home.run("--continue", "-p", "go on")[:2] == (0, "fine\n")
    assert ("assistant", "half of it") in conversation(server.requests[-1])


def test_keys_that_a_server_echoes_are_masked_everywhere(home: Home, server: FakeServer) -> None:
    key = "sk-test-0123456789abcdef"
    server.play([error_reply(401, f"wrong key {key}; sent: Authorization: Bearer {key}")])
    for mode in ("text", "json"):
        _, output, errors = home.run("--mode", mode, "--api-key", key, "-p", "hi")
        assert "wrong key" in errors
        assert key not in output + errors
    stored = [path.read_text(encoding="utf-8") for path in home.session_files()]
    assert [("wrong key" in text, key in text) for text in stored] == [(True, False)] * 2


def test_terminal_control_of_a_model_stays_out_of_the_output(home: Home, server: FakeServer) -> None:
    server.play([openai_answer("a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9b3Jd\x07")])
    assert home.run("-p", "hi") == (0, "abcd\n", "")


def test_json_mode_prints_nothing_but_events_whatever_they_hold(home: Home, server: FakeServer) -> None:
    command = "echo out; echo err >&2; printf '\\355\\240\\275\\033[2J'"
    server.play([openai_answer(calls=[call("bash", {"command": command})]), openai_answer("a\u2028b\u2029c\x85d")])
    code, output, errors = home.run("--mode", "json", "-p", "hi")
    assert (code, errors) == (0, "")
    lines = output.removesuffix("\n").split("\n")
    assert [json.loads(lines[at])["type"] for at in (0, -1)] == ["session", "agent_settled"]
    assert last_answer(lines)["content"][-1]["text"] == "a\u2028b\u2029c\x85d"
    assert not any("\x80" <= char <= "\x9f" or char < " " for line in lines for char in line)
    ((_, result),) = [sent for sent in conversation(server.requests[-1]) if sent[0] == "tool"]
    assert all(text in result for text in ("out\n", "err\n", "\ufffd"))


def test_a_prompt_may_begin_with_dashes(home: Home, server: FakeServer) -> None:
    assert home.run("-p", "---\nname: x\n---\nhello")[0] == 0
    assert conversation(server.requests[-1]) == [("user", "---\nname: x\n---\nhello")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-p", "@missing.txt"], "missing.txt"),
        (["-p", "@binary.bin", "look"], "binary"),
        (["-p", "@.", "look"], "folder"),
        (["-p", "@"], "'@' needs the path"),
        (["--session-id", "../../../evil", "-p", "hi"], "--session-id"),
        (["--session-id", "", "-p", "hi"], "--session-id"),
        (["--session", "none", "-p", "hi"], "none"),
        (["--name", " \n", "-p", "hi"], "--name"),
        (["--mode", "xml", "-p", "hi"], "xml"),
        (["--session-dir", "binary.bin", "-p", "hi"], "binary.bin"),
        (["-p", "hi", "--model"], "--model"),
        (["-p", "hi", "--bogus"], "--bogus"),
        (["-p", "hi", "-z"], "-z"),
    ],
)
def test_arguments_that_cannot_be_used_are_named_before_anything_is_sent(
    home: Home, server: FakeServer, arguments: list[str], reason: str
) -> None:
    (home.project / "binary.bin").write_bytes(b"\0\1\2\xff" * 20)
    code, output, errors = home.run(*arguments)
    assert (code, output) == (1, "")
    assert reason in errors
    assert "Traceback" not in errors
    assert server.requests == []
    assert home.session_files() == []
    assert sorted(path.name for path in home.path.iterdir()) == ["agent", "project"]


def test_a_provider_without_a_model_starts_no_other_one(home: Home, server: FakeServer) -> None:
    code, output, errors = home.run("--provider", "fake", "-p", "hi", model=None)
    assert (code, output, server.requests) == (1, "", [])
    assert "--provider needs --model" in errors


@pytest.mark.parametrize("arguments", [("--tools", "read,nope"), ("--tools", "+nope"), ("--exclude-tools", "nope")])
def test_tool_names_that_no_tool_has_are_told_with_those_that_there_are(home: Home, arguments: tuple[str, ...]) -> None:
    code, output, errors = home.run(*arguments, "-p", "hi")
    assert (code, output) == (0, "fine\n")
    assert [line.startswith("Warning: ") and "'nope'" in line and " grep" in line for line in errors.splitlines()] == [
        True
    ]


def test_settings_that_are_no_json_are_told_once(home: Home) -> None:
    (home.agent_dir / "settings.json").write_text('{"apiKeys": ', encoding="utf-8")
    code, output, errors = home.run("-p", "hi")
    assert (code, output, errors.count("settings.json")) == (0, "fine\n", 1)


def test_a_name_is_cleaned_of_line_ends_and_control_bytes(home: Home) -> None:
    assert home.run("--name", "a/b\n\x1b\x07c", "-p", "hi")[0] == 0
    (session,) = home.session_files()
    entries = [json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()]
    (name,) = [entry["name"] for entry in entries if entry["type"] == "session_info"]
    assert name.isprintable()


@pytest.mark.parametrize("key", ["$MISSING_KEY", "!echo TOP-SECRET >&2; exit 3"])
def test_a_key_that_cannot_be_found_is_named_and_nothing_is_sent(home: Home, server: FakeServer, key: str) -> None:
    use_provider(home, server, apiKey=key)
    code, output, errors = home.run("-p", "hi")
    assert (code, output, server.requests) == (1, "", [])
    assert "fake" in errors
    assert ("MISSING_KEY" in errors) == key.startswith("$")
    assert "TOP-SECRET" not in errors


def test_without_any_model_the_ways_to_one_are_told(home: Home, server: FakeServer) -> None:
    (home.agent_dir / "models.json").unlink()
    code, output, errors = home.run("-p", "hi", model=None)
    assert (code, output, server.requests) == (1, "", [])
    for way in ("API_KEY", "models.json", "ollama", "demo"):
        assert way in errors


def test_a_local_server_that_does_not_answer_is_named_with_its_address(home: Home) -> None:
    with FakeServer() as silent:
        address = silent.url
    code, output, errors = home.run("-p", "hi", model="ollama/qwen", env={"OLLAMA_HOST": address})
    assert (code, output) == (1, "")
    assert "Ollama" in errors
    assert address in errors


def test_piped_text_comes_before_the_prompt(home: Home, server: FakeServer) -> None:
    assert home.run("-p", "sum up", typed="\ufeffé 你\n".encode())[0] == 0
    ((_, sent),) = conversation(server.requests[-1])
    assert (sent.startswith("é 你"), sent.endswith("sum up")) == (True, True)


def test_piped_text_alone_is_a_prompt_and_none_at_all_is_no_failure(home: Home, server: FakeServer) -> None:
    assert home.run(typed=b"hello")[:2] == (0, "fine\n")
    assert home.run(typed=b"") == (0, "", "")
    assert len(server.requests) == 1


@posix_only
def test_a_prompt_does_not_wait_for_ever_on_a_silent_pipe(home: Home) -> None:
    with home.start("-p", "hi", env={"PINYON_STDIN_TIMEOUT": "0.1"}, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b"fine\n"
        assert b"standard input" in process.stderr.read()
    assert process.returncode == 0


@posix_only
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_ends_the_wait_for_piped_text(home: Home, number: str, code: int) -> None:
    env = {"PINYON_STDIN_TIMEOUT": "0"}
    with home.start("-p", env=env, stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"waiting" in process.stderr.readline()
        process.send_signal(getattr(signal, number))
        assert process.wait() == code


@posix_only
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_ends_a_stream_and_keeps_what_was_said(home: Home, server: FakeServer, number: str, code: int) -> None:
    server.play([Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])])
    with home.start("--mode", "json", "-p", "hi") as process:
        assert process.stdout is not None
        while b'"delta":"half"' not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(getattr(signal, number))
        process.communicate()
    assert process.returncode == code
    server.play([strict_reply(FINE)])
    assert home.run("--continue", "-p", "more")[:2] == (0, "fine\n")
    assert conversation(server.requests[-1])[0] == ("user", "hi")


@posix_only
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_takes_the_commands_of_tools_along(home: Home, server: FakeServer, number: str) -> None:
    command = "sleep 60 & echo $! > child; trap '' TERM HUP INT; wait; sleep 60"
    server.play([openai_answer(calls=[call("bash", {"command": command})])])
    child = home.project / "child"
    with home.start("-p", "hi") as process:
        while not (child.exists() and child.read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(getattr(signal, number))
        process.communicate()
    while is_alive(int(child.read_text())):
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@posix_only
@pytest.mark.parametrize("mode", ["text", "json"])
def test_a_reader_that_leaves_early_ends_the_run_quietly(home: Home, mode: str) -> None:
    with home.start("--mode", mode, "-p", "hi") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@posix_only
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--list-models"], ["-p", "hi"]])
def test_closed_standard_streams_are_no_fault(home: Home, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pinyon", "--model", "fake/m", *arguments]
    env = {"PATH": os.environ["PATH"], "HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir)}
    script = 'exec "$@" <&- >&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], cwd=home.project, env=env, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["--list-models"], ["-p", "hi"], ["--mode", "json", "-p", "hi"]]
)
def test_output_that_cannot_be_written_is_told(home: Home, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full, home.start(*arguments, stdout=full.fileno()) as process:
        assert process.stderr is not None
        errors = process.stderr.read().decode()
    assert process.returncode == 1
    assert errors.count("\n") == 1
    assert "No space left" in errors


def test_token_limits_that_are_none_are_told_before_anything_is_sent(home: Home, server: FakeServer) -> None:
    home.write(home.agent_dir / "settings.json", {"compaction": {"reserveTokens": -1}})
    code, output, errors = home.run("-p", "hi")
    assert (code, output, server.requests) == (1, "", [])
    assert "compaction.reserveTokens" in errors


@pytest.mark.skipif(sys.platform == "win32", reason="there are no device files")
@pytest.mark.parametrize("arguments", [("@/dev/zero", "-p", "hi"), ("--system-prompt", "/dev/zero", "-p", "hi")])
def test_a_file_that_never_ends_is_not_read_for_ever(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        _, _, errors = Home(tmp_path, server.url).run(*arguments)
    assert "MiB" in errors
    assert "Traceback" not in errors


DEAD_PROXY = "http://127.0.0.1:1"


@pytest.mark.parametrize(("variables", "expected"), [({}, 1), ({"HTTP_PROXY": ""}, 0)])
def test_the_proxy_of_the_settings_counts_where_the_environment_says_nothing(
    home: Home, server: FakeServer, variables: dict[str, str], expected: int
) -> None:
    home.write(home.agent_dir / "settings.json", {"httpProxy": DEAD_PROXY, "retry": {"enabled": False}})
    assert home.run("-p", "hi", env=variables)[0] == expected
    assert len(server.requests) == 1 - expected
