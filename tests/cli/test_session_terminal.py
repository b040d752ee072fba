"""What `--session` leaves open: asked on a terminal, an error without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Home

from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

CODE = """
import json, sys
from pathlib import Path
from pinyon.cli.args import parse_args
from pinyon.cli.session_terminal import settle_session
args = parse_args(sys.argv[1:])
print(json.dumps([settle_session(args, Path.cwd()), args.session, args.fork, args.session_cwd]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve(), "http://127.0.0.1:9")


def session_of(home: Home, folder: Path, session_id: str = "abc") -> Path:
    """A stored session of a project."""
    name = str(folder).strip("/").replace("/", "-")
    path = home.agent_dir / "sessions" / f"--{name}--" / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    time = "2026-01-01T00:00:00.000Z"
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": time, "cwd": str(folder)}
    message = {"role": "user", "content": "stored", "timestamp": 1}
    entry = {"type": "message", "id": "e1", "parentId": None, "timestamp": time, "message": message}
    path.write_text(json.dumps(header) + "\n" + json.dumps(entry) + "\n", encoding="utf-8")
    return path


def settled(home: Home, typed: str, *arguments: str) -> tuple[list[object], str]:
    """What is settled, and what was shown."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        input=typed,
        env={"HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir)},
        cwd=home.project,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), done.stderr


def test_a_session_of_another_project_is_copied_or_left(home: Home) -> None:
    other = home.path / "other"
    other.mkdir()
    path = session_of(home, other)
    said, shown = settled(home, "1\n", "--session", "ab")
    assert said == [True, None, str(path), None]
    assert repr(str(other)) in shown
    assert settled(home, "\n", "--session", "ab")[0] == [False, "ab", None, None]


@pytest.mark.parametrize("by", ["path", "id"])
def test_a_session_whose_folder_is_gone_goes_on_here_or_in_a_copy(home: Home, by: str) -> None:
    gone = home.path / "gone"
    path = session_of(home, gone)
    folder = session_of(home, home.project, "other").parent
    if by == "id":
        path = path.rename(folder / path.name)
    given = str(path) if by == "path" else "abc"
    assert settled(home, "1\n", "--session", given)[0] == [True, given, None, str(home.project)]
    assert settled(home, "2\n", "--session", given)[0] == [True, None, given, None]
    said, shown = settled(home, "7\n\n", "--session", given)
    assert said == [False, given, None, None]
    assert repr(str(gone)) in shown
    assert "'7'" in shown


@pytest.mark.parametrize("arguments", [(), ("--session", "none"), ("--session", "here"), ("--session", "new.jsonl")])
def test_nothing_is_asked_where_nothing_is_open(home: Home, arguments: tuple[str, ...]) -> None:
    session_of(home, home.project, "here")
    said, shown = settled(home, "", *arguments)
    assert (said[0], shown) == (True, "")


def test_without_a_terminal_both_are_errors_and_nothing_is_written(home: Home) -> None:
    other = home.path / "other"
    other.mkdir()
    session_of(home, other)
    gone = session_of(home, home.path / "gone", "gone")
    before = home.session_files()
    for argument, said in (("abc", repr(str(other))), (str(gone), repr(str(home.path / "gone")))):
        code, output, errors = home.run("-p", "hi", "--session", argument, typed=b"y\n")
        assert (code, output) == (1, "")
        assert said in errors
    assert home.session_files() == before


def test_the_session_list_needs_the_interactive_mode(home: Home) -> None:
    for arguments in (("-p", "hi"), ("--mode", "json"), ("--mode", "rpc"), ()):
        code, output, errors = home.run("--resume", *arguments)
        assert (code, output) == (1, "")
        assert "--continue" in errors


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_mode_text_alone_leaves_a_terminal_interactive(home: Home) -> None:
    from tests.cli.terminal import Terminal

    other = home.path / "other"
    other.mkdir()
    session_of(home, other)
    command = [sys.executable, "-m", "pinyon", "--mode", "text", "--session", "abc"]
    env = {"HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir), "PI_OFFLINE": "1", "TERM": "xterm"}
    with Terminal(command, env, home.project) as terminal:
        terminal.wait_for("belongs to another project")
        terminal.wait_for("leave: ")
        terminal.type("\n")
        assert terminal.process.wait(30) == 0


def test_the_stages_of_a_start_are_timed_on_request(tmp_path: Path) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path, server.url)
        code, output, errors = home.run("-p", "hi", env={"PI_TIMING": "1"})
        assert (code, output) == (0, "fine\n")
        stages = ("arguments", "modules", "services", "session", "model", "agent", "prompts", "together")
        assert [errors.count(f"{stage} ") for stage in stages] == [1] * len(stages)
        assert home.run("-p", "hi", env={"PI_TIMING": "0"}) == (0, "fine\n", "")


@pytest.mark.parametrize(
    ("arguments", "value", "seen"),
    [((), "1", "1 1"), ((), "TRUE", "1 1"), ((), "yes", "1 1"), ((), "0", "0 -"), ((), "", " -"),
     (("--offline",), "", "1 1"), (("--", "--offline"), "no", "1 1")],
)  # fmt: skip
def test_every_way_to_say_offline_reaches_child_processes(
    tmp_path: Path, arguments: tuple[str, ...], value: str, seen: str
) -> None:
    from pinyon.testing.fake_openai import call

    command = 'printf "%s %s %s" "$PI_OFFLINE" "${PI_SKIP_VERSION_CHECK:--}" "$AI_AGENT"'
    with FakeServer([openai_answer(calls=[call("bash", {"command": command})]), openai_answer("done")]) as server:
        home = Home(tmp_path, server.url)
        assert home.run("-p", "hi", *arguments, env={"PI_OFFLINE": value})[0] == 0
        (result,) = (each for each in server.requests[1].json["messages"] if each["role"] == "tool")
    assert f"{seen} pi" in str(result["content"])


def test_the_folder_of_a_named_session_is_the_one_to_ask_about(home: Home) -> None:
    other = home.path / "other"
    other.mkdir()
    code = CODE.replace("settle_session(args, Path.cwd())", "str(folder_of_session(args, Path.cwd()))")
    code = code.replace("import settle_session", "import folder_of_session")
    for argument, expected in (
        (str(session_of(home, other)), other),
        (str(session_of(home, home.project, "def")), home.project),
        ("missing", home.project),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, "--session", argument],
            env={"HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir)},
            cwd=home.project,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)[0] == str(expected)
