"""Sessions that a crash, an abort or a foreign program left behind, continued by the real command."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home, conversation
from tests.session.samples import answer_line, entry_line, user_line

from pinyon.testing.fake_openai import call, openai_answer, strict_reply
from pinyon.testing.fake_server import FakeServer, Reply

A = user_line("a", None).encode()
B = answer_line("b", "a").encode()
C = user_line("c", "b").encode()
D = answer_line("d", "c").encode()
TORN = user_line("z", "b", "what was lost").encode()
HISTORY = ["a", "b", "c", "d", "next"]


def header(cwd: Path) -> bytes:
    return json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": str(cwd)}).encode()


def message_line(entry_id: str, parent: str, message: dict[str, Any]) -> bytes:
    return entry_line("message", entry_id, parent, message=message).encode()


def continued(tmp_path: Path, *lines: bytes) -> tuple[list[tuple[str, str]], bytes]:
    """The conversation that a prompt in a session of these lines sends, and what was added to the file."""
    with FakeServer([strict_reply(openai_answer("fine"))]) as server:
        home = Home(tmp_path, server.url)
        path = tmp_path / "s.jsonl"
        before = b"\n".join([header(home.project), *lines])
        path.write_bytes(before)
        code, output, errors = home.run("--session", str(path), "-p", "next")
        assert (code, output) == (0, "fine\n"), errors
        after = path.read_bytes()
        assert after.startswith(before)
        return conversation(server.requests[-1]), after[len(before) :]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([A, B, TORN[:cut] + C, D, b""], id=f"torn at {cut}")
        for cut in (1, 2, 20, 50, len(TORN) - 20, len(TORN) - 1)
    ]
    + [
        pytest.param([A, B, TORN[:50] + TORN[:70] + C, D, b""], id="torn twice"),
        pytest.param([A, B, b'{"text":"\xe4\xbd' + C, D, b""], id="torn inside a character"),
        pytest.param([A, B, C + TORN[:50], D, b""], id="torn behind an entry"),
        pytest.param([A, B, C, D, TORN[:60]], id="torn at the end"),
        pytest.param([A, B, C, D], id="no last newline"),
        pytest.param([A, B, b"\0" * 300, C, D, b""], id="a line of NUL"),
        pytest.param([A, B, b"\0" * 300 + C, D, b""], id="NUL before an entry"),
    ],
)
def test_every_entry_around_a_torn_write_is_sent_and_the_file_only_grows(tmp_path: Path, lines: list[bytes]) -> None:
    sent, added = continued(tmp_path, *lines)
    assert [text for _, text in sent] == HISTORY
    assert [json.loads(line)["type"] for line in added.split(b"\n")[1:-1]][-2:] == ["message", "message"]
    assert added.endswith(b"\n")


def test_a_result_without_its_call_is_not_sent(tmp_path: Path) -> None:
    ghost = {"role": "toolResult", "toolCallId": "GHOST", "toolName": "ls", "content": [], "timestamp": 1}
    sent, _ = continued(tmp_path, A, message_line("b", "a", ghost), C, D, b"")
    assert [text for _, text in sent] == ["a", "c", "d", "next"]


def test_a_call_with_null_for_its_arguments_is_sent_with_an_object(tmp_path: Path) -> None:
    broken = answer_line("b", "a", content=[{"type": "toolCall", "id": "t", "name": "ls", "arguments": None}])
    result = {"role": "toolResult", "toolCallId": "t", "toolName": "ls", "content": [], "timestamp": 1}
    sent, _ = continued(tmp_path, A, broken.encode(), message_line("c", "b", result), D, b"")
    assert [role for role, _ in sent] == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill signal")
def test_a_prompt_survives_a_kill_before_its_answer(tmp_path: Path) -> None:
    with FakeServer([Reply.never()]) as server:
        home = Home(tmp_path, server.url)
        with home.start("-p", "hello") as process:
            server.wait_for_requests(1)
            process.kill()
        server.play([openai_answer("fine")])
        assert home.run("--continue", "-p", "again")[:2] == (0, "fine\n")
        assert conversation(server.requests[-1]) == [("user", "hello"), ("user", "again")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_every_call_of_an_interrupted_batch_has_its_result(tmp_path: Path) -> None:
    calls = [call("bash", {"command": f"touch started{n}; sleep 60"}) for n in range(2)]
    with FakeServer([openai_answer(calls=[*calls, call("read", {"path": "none"})])]) as server:
        home = Home(tmp_path, server.url)
        with home.start("-p", "go") as process:
            while not all((home.project / f"started{n}").exists() for n in range(2)):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
        assert process.returncode == 130
        server.play([strict_reply(openai_answer("fine"))])
        assert home.run("--continue", "-p", "more")[:2] == (0, "fine\n")
        roles = [role for role, _ in conversation(server.requests[-1])]
        assert roles == ["user", "assistant", "tool", "tool", "tool", "user"]


@pytest.mark.parametrize("content", [b'{"hello":1}', b"hello\n", b"[]\n", b'{"type":"message"}\n', b"\0\0", b"\n\n"])
def test_a_foreign_file_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path, server.url)
        notes = home.project / "notes.jsonl"
        notes.write_bytes(content)
        code, output, errors = home.run("--session", "notes.jsonl", "-p", "x")
    assert (code, output) == (1, "")
    assert str(notes) in errors
    assert notes.read_bytes() == content
    assert server.requests == []


def test_a_session_whose_folder_is_gone_is_refused_and_copied_nowhere(tmp_path: Path) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path, server.url)
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"\n".join([header(tmp_path / "gone"), A, B, b""]))
        code, output, errors = home.run("--session", str(path), "-p", "x")
    assert (code, output) == (1, "")
    assert str(tmp_path / "gone") in errors
    assert home.session_files() == []
    assert server.requests == []


def test_what_could_not_be_read_of_a_session_is_told(tmp_path: Path) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path, server.url)
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"\n".join([header(home.project), A, b"\0" * 300, B, b""]))
        code, output, errors = home.run("--session", str(path), "-p", "next")
    assert (code, output) == (0, "fine\n")
    assert errors == f"Warning: session file {str(path)!r}: line 3 is damaged and was skipped\n"


def test_more_damage_than_people_read_is_summed_up(tmp_path: Path) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path, server.url)
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"\n".join([header(home.project), A, *[b"{"] * 40, B, b""]))
        _, _, errors = home.run("--session", str(path), "-p", "next")
    lines = errors.splitlines()
    assert len(lines) == 6
    assert "has more damage" in lines[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no device files")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "fifo"])
def test_a_session_is_never_read_from_what_is_no_regular_file(tmp_path: Path, device: str) -> None:
    home = Home(tmp_path, "http://127.0.0.1:9")
    path = Path(device) if device != "fifo" else tmp_path / "pipe"
    if device == "fifo":
        os.mkfifo(path)
    code, output, errors = home.run("--session", str(path), "-p", "next")
    assert (code, output) == (1, "")
    assert errors == f"Error: {str(path)!r} is no file that can hold a session; name a regular file.\n"
