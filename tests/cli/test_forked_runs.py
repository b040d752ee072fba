"""`--fork`: going on in a copy of a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import Home, conversation

from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer("fine")]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    return Home(tmp_path, server.url)


def test_a_fork_goes_on_in_a_copy_and_leaves_the_original_alone(home: Home, server: FakeServer) -> None:
    assert home.run("-p", "first")[0] == 0
    original = home.session_files()[0]
    before = original.read_bytes()
    assert home.run("--fork", str(original), "--session-id", "copy-1", "--name", "Copy", "-p", "second")[0] == 0
    assert original.read_bytes() == before
    copy = next(path for path in home.session_files() if path != original)
    lines = [json.loads(line) for line in copy.read_bytes().splitlines()]
    assert (lines[0]["id"], lines[0]["parentSession"]) == ("copy-1", str(original))
    assert len(lines) > len(before.splitlines())
    sent = conversation(server.requests[-1])
    assert [text for role, text in sent if role == "user"] == ["first", "second"]


def test_a_session_of_another_project_can_be_forked_by_the_beginning_of_its_id(home: Home) -> None:
    assert home.run("-p", "first")[0] == 0
    header = json.loads(home.session_files()[0].read_bytes().splitlines()[0])
    other = home.path / "other"
    other.mkdir()
    code, _, err = home.run("--session", header["id"][:13], "-p", "x", cwd=other)
    assert code == 1
    assert f"--fork {header['id'][:13]}" in err
    assert home.run("--fork", header["id"][:13], "-p", "x", cwd=other)[0] == 0
    assert len(home.session_files()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fork", "nobody"), "'nobody'"),
        (("--fork", "gone/x.jsonl"), "x.jsonl"),
        (("--fork", "notes.jsonl"), "notes.jsonl"),
    ],
)
def test_what_cannot_be_forked_is_named(home: Home, arguments: tuple[str, ...], said: str) -> None:
    (home.project / "notes.jsonl").write_text("hello\n")
    code, _, err = home.run(*arguments, "-p", "x")
    assert code == 1
    assert said in err
    assert home.session_files() == []
    assert (home.project / "notes.jsonl").read_text() == "hello\n"


def test_a_fork_does_not_take_an_id_that_is_in_use(home: Home) -> None:
    assert home.run("--session-id", "mine", "-p", "first")[0] == 0
    code, _, err = home.run("--fork", "mine", "--session-id", "mine", "-p", "x")
    assert code == 1
    assert "'mine'" in err
