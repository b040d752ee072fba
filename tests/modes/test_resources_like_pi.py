"""A home and a project that pi understands give the same commands in both programs, where pi is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.resources.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Resources in every place, with names that collide, patterns, links and broken files."""
    found = Place(tmp_path.resolve())
    for folder in (found.agent / "skills", found.home / ".agents/skills", found.project / ".pi/skills"):
        found.skill(folder / "a/SKILL.md", f"{folder.parent.name.strip('.')}-a")
        found.skill(folder / "dup/SKILL.md", "dup", str(folder.parent.name))
        found.skill(folder / "loose.md", f"{folder.parent.name.strip('.')}-loose")
        found.skill(folder / "group/below.md", f"{folder.parent.name.strip('.')}-below")
        found.skill(folder / "node_modules/x/SKILL.md", "never")
    found.skill(found.work / ".agents/skills/up/SKILL.md", "up")
    found.skill(found.project / ".pi/skills/off/SKILL.md", "off")
    found.write(found.agent / "skills/.gitignore", "ignored/\n")
    found.skill(found.agent / "skills/ignored/SKILL.md", "ignored")
    found.write(found.agent / "skills/hidden/SKILL.md", "---\ndescription: d\ndisable-model-invocation: true\n---\n")
    found.write(found.agent / "skills/broken/SKILL.md", "---\n[\n---\n")
    found.write(found.agent / "skills/nothing/SKILL.md", "no front matter")
    found.write(found.agent / "skills/crlf/SKILL.md", "\ufeff---\r\nname: crlf\r\ndescription: yes\r\n---\r\nBody\r\n")
    found.skill("more/one/SKILL.md", "one")
    found.skill("more/two/SKILL.md", "two")
    found.write(found.agent / "prompts/t.md", "---\ndescription: T\nargument-hint: <x>\n---\nuser")
    found.write(found.agent / "prompts/both.md", "user")
    found.write(found.agent / "prompts/below/deep.md", "deep")
    found.write(found.project / ".pi/prompts/both.md", "\n\n" + "x" * 70)
    found.write("texts/below/nested.md", "nested")
    (found.agent / "prompts/link.md").symlink_to(found.home / "texts/below/nested.md")
    found.settings({"skills": [str(found.home / "more"), "!**/two"], "prompts": ["~/texts"]})
    found.settings({"skills": ["-skills/off"]}, of_project=True)
    model = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k", "models": [{"id": "m"}]}
    found.write(found.agent / "models.json", json.dumps({"providers": {"fake": model}}))
    return found


def commands(place: Place, program: list[str], *flags: str) -> list[dict[str, Any]]:
    """What a program says on `get_commands`, without the commands of extensions."""
    env = {"HOME": str(place.home), "PATH": os.environ["PATH"], "PI_OFFLINE": "1"}
    command = [*program, "--mode", "rpc", "--no-session", "--model", "fake/m", *flags]
    with subprocess.Popen(
        command, cwd=place.project, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id":"1","type":"get_commands"}\n')
        process.stdin.flush()
        deadline = time.monotonic() + 60
        answer: dict[str, Any] = {}
        while answer.get("command") != "get_commands" and time.monotonic() < deadline:
            answer = json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(30)
    found: list[dict[str, Any]] = answer["data"]["commands"]
    return [each for each in found if each["source"] != "extension"]


OURS = [sys.executable, "-m", "pinyon"]


@pytest.mark.skipif(shutil.which("pi") is None, reason="needs pi on PATH, whose resources are compared")
@pytest.mark.parametrize("flag", ["-a", "-na"])
def test_both_programs_find_the_same_in_the_same_order(place: Place, flag: str) -> None:
    place.skill("named/x/SKILL.md", "named")
    extra = ["--skill", str(place.home / "named"), "--prompt-template", str(place.home / "texts/below")]
    theirs = commands(place, ["pi"], flag, *extra)
    ours = commands(place, OURS, flag, *extra)
    assert [each["name"] for each in ours] == [each["name"] for each in theirs]
    assert ours == theirs


def test_an_untrusted_project_adds_no_commands(place: Place) -> None:
    found = commands(place, OURS)
    assert found
    assert {each["sourceInfo"]["scope"] for each in found} == {"user"}
    assert {"project"} <= {each["sourceInfo"]["scope"] for each in commands(place, OURS, "-a")}
