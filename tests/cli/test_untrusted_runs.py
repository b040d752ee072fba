"""What the real command takes from a project that nobody has trusted: its context files and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import Home

from pinyon.testing.fake_openai import call, openai_answer
from pinyon.testing.fake_server import FakeServer

HIDDEN = ("SYSTEM-TEXT", "APPENDED-TEXT", "SKILL-TEXT", "TEMPLATE-TEXT")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer(calls=[call("bash", {"command": "echo hi"})]), openai_answer("fine")]) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FakeServer) -> Home:
    """A home whose project has everything that trust decides about, and leaves a mark where code of it runs."""
    home = Home(tmp_path, server.url)
    resources = home.project / ".pi"
    for folder in ("extensions", "skills/demo", "prompts"):
        (resources / folder).mkdir(parents=True)
    mark = tmp_path / "mark"
    (resources / "extensions" / "x.py").write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    (resources / "SYSTEM.md").write_text("SYSTEM-TEXT", encoding="utf-8")
    (resources / "APPEND_SYSTEM.md").write_text("APPENDED-TEXT", encoding="utf-8")
    (resources / "prompts" / "t.md").write_text("TEMPLATE-TEXT", encoding="utf-8")
    skill = "---\nname: demo\ndescription: SKILL-TEXT\n---\n"
    (resources / "skills" / "demo" / "SKILL.md").write_text(skill, encoding="utf-8")
    home.write(resources / "settings.json", {"shellCommandPrefix": f"touch '{mark}'", "shellPath": "/no/shell"})
    (home.project / "AGENTS.md").write_text("CONTEXT-TEXT", encoding="utf-8")
    return home


def check(home: Home, server: FakeServer, *arguments: str, cwd: Path | None = None) -> str:
    """Run a prompt; nothing of the project but its context file may show. Returns the errors."""
    code, _, errors = home.run(*arguments, cwd=cwd)
    assert code == 0, errors
    sent = json.dumps([request.json for request in server.requests])
    assert "CONTEXT-TEXT" in sent
    assert [text for text in HIDDEN if text in sent] == []
    assert not (home.path / "mark").exists()
    return errors


@pytest.mark.parametrize("arguments", [["-p", "go"], ["-p", "--mode", "json", "go"], ["-p", "/t"]])
def test_an_undecided_project_is_not_read(home: Home, server: FakeServer, arguments: list[str]) -> None:
    check(home, server, *arguments)


def test_a_link_to_the_project_and_a_folder_inside_of_it_are_no_way_around(home: Home, server: FakeServer) -> None:
    link, inside = home.path / "link", home.project / "inside"
    link.symlink_to(home.project)
    inside.mkdir()
    home.write(home.agent_dir / "trust.json", {str(link): True})
    check(home, server, "-p", "go", cwd=link)
    check(home, server, "-p", "go", cwd=inside)


def test_a_saved_no_counts_more_than_a_yes_for_a_folder_above(home: Home, server: FakeServer) -> None:
    home.write(home.agent_dir / "trust.json", {str(home.path): True, str(home.project): False})
    check(home, server, "-p", "go")


def test_decisions_that_cannot_be_read_trust_nobody_and_are_told(home: Home, server: FakeServer) -> None:
    (home.agent_dir / "trust.json").write_text("{broken", encoding="utf-8")
    assert "trust.json" in check(home, server, "-p", "go")


def test_listing_models_runs_nothing_of_the_project(home: Home) -> None:
    assert home.run("--list-models")[0] == 0
    assert not (home.path / "mark").exists()


def test_a_saved_yes_or_the_flag_opens_the_project(home: Home, server: FakeServer) -> None:
    (home.project / ".pi" / "settings.json").unlink()
    assert home.run("--approve", "-p", "go")[0] == 0
    home.write(home.agent_dir / "trust.json", {str(home.project): True})
    assert home.run("-p", "go")[0] == 0
    sent = [json.dumps(request.json) for request in server.requests]
    assert [("SYSTEM-TEXT" in body, "APPENDED-TEXT" in body) for body in sent] == [(True, True)] * 3


WATCHED = """
import os, sys
root, log = os.environ["WATCHED"], int(os.environ["LOG"])
def watch(event, arguments):
    if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    text = os.path.abspath(os.fsdecode(arguments[0]))
    if text.startswith(root) and any(name in text + "/" for name in ("/.pi/", "/.agents/")):
        os.write(log, (text + "\\n").encode())
sys.addaudithook(watch)
from pinyon.cli.entry import main
sys.exit(main())
"""


def opened(home: Home, arguments: list[str], typed: bytes = b"") -> set[str]:
    """The files and folders among the project's own resources that a run opens or lists."""
    log = home.path / "log"
    with log.open("wb") as file:
        subprocess.run(
            [sys.executable, "-c", WATCHED, *arguments],
            input=typed,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home.path),
                "PI_CODING_AGENT_DIR": str(home.agent_dir),
                "PI_OFFLINE": "1",
                "WATCHED": str(home.project),
                "LOG": str(file.fileno()),
            },
            cwd=home.project,
            capture_output=True,
            check=False,
            pass_fds=[file.fileno()],
        )
    return set(log.read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["-p", "go"], b""),
        (["--mode", "json", "go"], b""),
        (["--mode", "rpc"], b'{"type":"get_commands"}\n{"type":"get_state"}\n'),
        (["--list-models"], b""),
        (["--help"], b""),
        (["--export", "missing.jsonl"], b""),
        (["list"], b""),
        (["update", "--extensions"], b""),
        (["config"], b""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_file_of_an_untrusted_project_is_opened_and_no_folder_listed(
    home: Home, arguments: list[str], typed: bytes
) -> None:
    """The one file that is read before trust is the settings file, for its `sessionDir`."""
    skills = home.project / ".agents" / "skills" / "shared"
    skills.mkdir(parents=True)
    (skills / "SKILL.md").write_text("---\nname: shared\ndescription: SKILL-TEXT\n---\n", encoding="utf-8")
    (home.project / ".pi" / "commands").mkdir()
    assert opened(home, arguments, typed) <= {str(home.project / ".pi" / "settings.json")}


def test_of_a_trusted_project_they_are_opened(home: Home) -> None:
    assert str(home.project / ".pi" / "SYSTEM.md") in opened(home, ["-p", "--approve", "go"])
