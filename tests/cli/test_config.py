"""`pinyon config`: what is listed, and what a switch writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home
from tests.resources.package_place import skill, write_tree


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, "http://127.0.0.1:9")
    write_tree(home.agent_dir, {"skills/mine/SKILL.md": skill("mine"), "prompts/ask.md": "Ask."})
    write_tree(tmp_path / "pack", {"skills/theirs/SKILL.md": skill("theirs"), "prompts/ask.md": "Ask."})
    home.write(home.agent_dir / "settings.json", {"packages": ["../pack"], "unknown": 1})
    return home


def run(home: Home, *arguments: str) -> tuple[int, str, str]:
    return home.run("config", *arguments, model=None)


def shown(home: Home, *arguments: str) -> list[str]:
    code, out, _ = run(home, *arguments)
    assert code == 0
    return [line.split("  (")[0].replace(str(home.path), "~") for line in out.splitlines() if line]


def stored(folder: Path) -> Any:
    return json.loads((folder / "settings.json").read_text(encoding="utf-8"))


def test_resources_are_listed_and_switched_off_and_on(home: Home) -> None:
    assert shown(home) == [
        "skills:", "  [x] ~/agent/skills/mine", "  [x] ~/pack/skills/theirs",
        "prompts:", "  [x] ~/agent/prompts/ask.md", "  [x] ~/pack/prompts/ask.md",
    ]  # fmt: skip
    code, out, _ = run(home, "disable", "skills", "mine", "theirs")
    assert (code, len(out.splitlines())) == (0, 2)
    assert shown(home)[1:3] == ["  [ ] ~/agent/skills/mine", "  [ ] ~/pack/skills/theirs"]
    packages = [{"source": "../pack", "skills": ["-skills/theirs"]}]
    assert stored(home.agent_dir) == {"packages": packages, "unknown": 1, "skills": ["-skills/mine"]}
    assert run(home, "enable", "skill", str(home.agent_dir / "skills/mine/SKILL.md"), "theirs")[0] == 0
    assert shown(home)[1:3] == ["  [x] ~/agent/skills/mine", "  [x] ~/pack/skills/theirs"]
    assert stored(home.agent_dir)["skills"] == ["+skills/mine"]
    assert stored(home.agent_dir)["packages"][0]["skills"] == ["+skills/theirs"]


def test_a_project_switches_for_itself_only(home: Home) -> None:
    before = (home.agent_dir / "settings.json").read_bytes()
    assert run(home, "disable", "skills", "theirs", "-l")[0] == 0
    assert stored(home.project / ".pi") == {
        "packages": [{"source": "../../pack", "autoload": False, "skills": ["-skills/theirs"]}]
    }
    assert run(home, "disable", "skills", "mine", "-l", "-a")[0] == 0
    assert shown(home, "-a")[1:3] == ["  [ ] ~/agent/skills/mine", "  [ ] ~/pack/skills/theirs"]
    assert shown(home)[1:3] == ["  [x] ~/agent/skills/mine", "  [x] ~/pack/skills/theirs"]
    assert (home.agent_dir / "settings.json").read_bytes() == before
    code, _, err = run(home, "enable", "skills", "theirs", "-l")
    assert code == 1
    assert "not trusted" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show"], "unexpected argument 'show'"),
        (["enable"], "needs a kind"),
        (["enable", "colours", "x"], "needs a kind"),
        (["enable", "skills"], "needs at least one path"),
        (["--all"], "unknown option '--all'"),
        (["enable", "skills", "nothing"], "no skill 'nothing' was found"),
        (["enable", "prompts", "ask"], "more than one prompt"),
    ],
)
def test_what_cannot_be_switched_is_told(home: Home, arguments: list[str], told: str) -> None:
    before = (home.agent_dir / "settings.json").read_bytes()
    code, out, err = run(home, *arguments)
    assert (code, out) == (1, "")
    assert told in err
    assert (home.agent_dir / "settings.json").read_bytes() == before
