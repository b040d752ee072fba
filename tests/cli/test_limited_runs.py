"""Runs that a limit ends, and sessions that another process has open, with the real command."""

import json
from pathlib import Path

import pytest
from tests.cli.command import Home, conversation
from tests.session.samples import answer_line, user_line

from pinyon.modes.print_mode import EXIT_LIMIT
from pinyon.session.lease import SessionLease
from pinyon.testing.fake_openai import call, openai_answer, strict_reply
from pinyon.testing.fake_server import FakeServer


def test_a_limit_ends_the_run_with_its_own_exit_code_and_the_session_goes_on(tmp_path: Path) -> None:
    replies = [
        openai_answer(calls=[call("ls", {"path": "."})]),
        openai_answer("fine"),
    ]
    with FakeServer([strict_reply(reply) for reply in replies]) as server:
        home = Home(tmp_path, server.url)
        code, output, errors = home.run("--max-turns", "1", "-p", "go", "and this")
        assert (code, output) == (EXIT_LIMIT, "")
        assert "turns" in errors
        assert len(server.requests) == 1
        code, output, errors = home.run("-c", "-p", "go on")
        assert (code, output) == (0, "fine\n"), errors
        assert [role for role, _ in conversation(server.requests[-1])] == ["user", "assistant", "tool", "user"]


def test_json_mode_tells_of_the_limit(tmp_path: Path) -> None:
    with FakeServer([strict_reply(openai_answer(calls=[call("ls", {"path": "."})]))]) as server:
        home = Home(tmp_path, server.url)
        code, output, _ = home.run("--max-turns", "1", "--mode", "json", "go")
        assert code == EXIT_LIMIT
        events = [json.loads(line) for line in output.splitlines()]
        told = [event for event in events if event["type"] == "limit_reached"]
        assert [(event["limit"], event["stopping"], event["allowed"]) for event in told] == [
            ("turns", False, 1),
            ("turns", True, 1),
        ]
        assert events[-1]["type"] == "agent_settled"


@pytest.fixture
def busy(tmp_path: Path) -> tuple[Path, SessionLease]:
    """A session file, and the right to write it that somebody else has."""
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": str(tmp_path / "project")}
    path.write_text("\n".join([json.dumps(header), user_line("a", None), answer_line("b", "a"), ""]))
    lease = SessionLease()
    lease.acquire(path)
    return path, lease


def test_a_session_in_use_is_refused_and_free_again_later(tmp_path: Path, busy: tuple[Path, SessionLease]) -> None:
    path, lease = busy
    before = path.read_bytes()
    with FakeServer([strict_reply(openai_answer("fine"))]) as server:
        home = Home(tmp_path, server.url)
        code, output, errors = home.run("--session", str(path), "-p", "next")
        assert (code, output) == (1, "")
        assert "in use" in errors
        assert "--if-in-use fork" in errors
        assert (server.requests, path.read_bytes()) == ([], before)
        lease.release()
        code, output, errors = home.run("--session", str(path), "-p", "next")
        assert (code, output) == (0, "fine\n"), errors


def test_a_session_in_use_is_copied_if_so_asked(tmp_path: Path, busy: tuple[Path, SessionLease]) -> None:
    path, lease = busy
    before = path.read_bytes()
    with FakeServer([strict_reply(openai_answer("fine"))]) as server:
        home = Home(tmp_path, server.url)
        code, output, errors = home.run("--session", str(path), "--if-in-use", "fork", "-p", "next")
        assert (code, output) == (0, "fine\n")
        assert "copy" in errors
        assert [text for _, text in conversation(server.requests[0])] == ["a", "b", "next"]
        [copy] = home.session_files()
        assert json.loads(copy.read_text().splitlines()[0])["parentSession"] == str(path)
    assert path.read_bytes() == before
    lease.release()


def test_a_session_in_use_that_is_only_read_answers_no_prompt(tmp_path: Path, busy: tuple[Path, SessionLease]) -> None:
    path, lease = busy
    before = path.read_bytes()
    with FakeServer([]) as server:
        home = Home(tmp_path, server.url)
        code, _, errors = home.run("--session", str(path), "--if-in-use", "read-only", "-p", "next")
        assert code == 1
        assert "reading only" in errors
    assert path.read_bytes() == before
    lease.release()
