"""`pinyon doctor`: it names what is used, ignored and broken with the mend, and changes nothing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home
from tests.resources.package_place import skill, write_tree

KEY = "sk-verysecret-1234567890"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "http://127.0.0.1:9")


def examine(home: Home, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    before = snapshot(home.path)
    code, out, err = home.run("doctor", "--json", *arguments, model=None)
    assert err == ""
    assert snapshot(home.path) == before
    value = json.loads(out)
    assert value["ok"] == (code == 0)
    assert KEY not in out
    return code, value["findings"]


def snapshot(root: Path) -> dict[str, Any]:
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            found[str(path)] = (status.st_mode, status.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


def of(findings: list[dict[str, Any]], area: str, status: str) -> list[dict[str, Any]]:
    return [each for each in findings if (each["area"], each["status"]) == (area, status)]


def test_a_sound_folder_is_well(home: Home) -> None:
    write_tree(home.agent_dir, {"skills/mine/SKILL.md": skill("mine"), "prompts/ask.md": "Ask."})
    auth = home.agent_dir / "auth.json"
    home.write(auth, {"openai": {"type": "api_key", "key": KEY}})
    auth.chmod(0o600)
    code, findings = examine(home)
    assert code == 0
    assert [each["message"] for each in of(findings, "credentials", "used")] == ["stored for openai (key)"]
    assert of(findings, "skills", "used")[0]["message"] == "1 loaded"
    assert of(findings, "models", "used")
    code, out, _ = home.run("doctor", model=None)
    assert code == 0
    assert out.splitlines()[-1] == "0 broken, 0 ignored"


@pytest.mark.parametrize(
    ("name", "text", "area"),
    [
        ("settings.json", '{"a": 1,}', "settings"),
        ("settings.json", '{"steeringMode": 3}', "settings"),
        ("auth.json", '{"openai": ', "credentials"),
        ("models.json", "[", "models"),
        ("trust.json", "[]", "trust"),
        ("keybindings.json", "[]", "keys"),
        ("keybindings.json", '{"app.interrupt": 3}', "keys"),
        ("skills/a/SKILL.md", "no front matter", "resources"),
        ("themes/a.json", '{"name": "a"}', "resources"),
    ],
)
def test_a_broken_file_is_named_with_its_mend(home: Home, name: str, text: str, area: str) -> None:
    write_tree(home.agent_dir, {name: text})
    (home.agent_dir / name).chmod(0o600)
    code, findings = examine(home)
    assert code == 1
    [finding] = of(findings, area, "broken")
    assert finding["path"] == str(home.agent_dir / name)
    assert finding["mend"]


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_credentials_that_others_can_read_are_told(home: Home) -> None:
    auth = home.agent_dir / "auth.json"
    home.write(auth, {"openai": {"type": "api_key", "key": KEY}, "odd": {"type": "x"}})
    auth.chmod(0o644)
    code, findings = examine(home)
    assert code == 1
    entry, mode = of(findings, "credentials", "broken")
    assert "odd" in entry["message"]
    assert mode["mend"] == f"chmod 600 {auth}"


def test_what_has_no_effect_is_told(home: Home) -> None:
    write_tree(
        home.agent_dir,
        {
            "extensions/plan.ts": "x",
            "skills/off/SKILL.md": skill("off"),
            "keybindings.json": json.dumps({"no.such.action": "ctrl+k"}),
        },
    )
    home.write(home.agent_dir / "settings.json", {"colour": 1, "skills": ["-skills/off"]})
    code, findings = examine(home)
    assert code == 0
    assert of(findings, "extensions", "ignored")[0]["path"] == str(home.agent_dir / "extensions/plan.ts")
    assert "colour" in of(findings, "settings", "ignored")[0]["message"]
    assert "skills/off/SKILL.md" in of(findings, "skills", "ignored")[0]["message"]
    assert "no.such.action" in of(findings, "keys", "ignored")[0]["message"]


def test_a_project_without_trust_is_not_looked_at(home: Home) -> None:
    write_tree(home.project, {".pi/settings.json": "{ broken", ".pi/skills/a/SKILL.md": "broken"})
    code, findings = examine(home)
    assert code == 0
    [finding] = of(findings, "project", "ignored")
    assert "settings.json, skills" in finding["message"]
    code, findings = examine(home, "--approve")
    assert code == 1
    assert of(findings, "settings", "broken")
    assert of(findings, "resources", "broken")


def test_packages_are_listed_and_missing_ones_are_broken(home: Home) -> None:
    write_tree(home.path / "pack", {"prompts/a.md": "A.", "package.json": '{"version": "1.2.3"}'})
    home.write(home.agent_dir / "settings.json", {"packages": ["../pack", "npm:gone", "git:h/../x"]})
    code, findings = examine(home)
    assert code == 1
    assert [each["message"] for each in of(findings, "packages", "used")] == ["../pack (user) 1.2.3"]
    assert [each["message"].split("`")[1] for each in of(findings, "resources", "broken")] == [
        "packages", "pinyon install npm:gone",
    ]  # fmt: skip


def test_damaged_sessions_and_left_over_locks_are_told(home: Home) -> None:
    header = json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": str(home.project)})
    write_tree(
        home.agent_dir / "sessions/--x--",
        {"torn.jsonl": header + '\n{"type":"mess\n', "none.jsonl": "hello\n", "good.jsonl": header + "\n"},
    )
    for name in ("settings.json.lock", "auth.json.lock"):
        (home.agent_dir / name).mkdir()
    write_tree(home.agent_dir / "auth.json.lock", {"x": ""})
    for name in ("settings.json.lock", "auth.json.lock"):
        os.utime(home.agent_dir / name, (time.time() - 3600,) * 2)
    code, findings = examine(home)
    assert code == 1
    assert [Path(each["path"]).name for each in of(findings, "sessions", "broken")] == ["none.jsonl"]
    assert [Path(each["path"]).name for each in of(findings, "sessions", "ignored")] == ["torn.jsonl"]
    assert "3 sessions, 2 damaged" in of(findings, "sessions", "used")[0]["message"]
    assert [Path(each["path"]).name for each in of(findings, "locks", "broken")] == ["auth.json.lock"]
    assert [Path(each["path"]).name for each in of(findings, "locks", "note")] == ["settings.json.lock"]


def test_nothing_at_all_is_no_fault(tmp_path: Path) -> None:
    home = Home(tmp_path, "http://127.0.0.1:9")
    code, out, err = home.run("doctor", env={"PI_CODING_AGENT_DIR": str(tmp_path / "nowhere")}, model=None)
    assert (code, err) == (0, "")
    assert "the first run makes it" in out
    assert not (tmp_path / "nowhere").exists()
