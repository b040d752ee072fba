"""Pipes, devices, folders, circles and impossible names where files are expected: a start goes on, and tells."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.resources.place import Place

from pinyon.coding.services import ResourceOptions, Services, create_services
from pinyon.resources.diagnostic import ResourceKind
from pinyon.resources.loader import ResourcePaths
from pinyon.resources.setting import SETTINGS
from pinyon.resources.settings import SettingsError, SettingsManager

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, devices and links of Unix")

FILES = (
    *("settings.json", "trust.json", "models.json", "models-store.json", "auth.json", "SYSTEM.md", "APPEND_SYSTEM.md"),
    *("AGENTS.md", "skills/a/SKILL.md", "skills/.gitignore", "prompts/a.md", "themes/a.json", "extensions/a.py"),
    *("skills", "prompts", "themes", "commands", "../../work/project/.pi", "../../work/project/.pi/settings.json"),
    *("../../work/project/.pi/SYSTEM.md", "../../work/project/.agents/skills", "../../work/project/.git"),
)


def make_socket(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


KINDS: dict[str, Callable[[Path], None]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to(os.devnull),
    "circle": lambda path: path.symlink_to(path),
    "link to nothing": lambda path: path.symlink_to(path.parent / "nowhere"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def started(place: Place, **options: object) -> Services:
    given = ResourceOptions(trust_override=True, **options)  # type: ignore[arg-type] # passed on as they are
    return create_services(place.project, agent_dir=place.agent, options=given)


@pytest.mark.parametrize("kind", [*KINDS, "socket"])
@pytest.mark.parametrize("name", FILES)
def test_whatever_stands_in_the_place_of_a_file_the_start_goes_on(place: Place, name: str, kind: str) -> None:
    path = Path(os.path.normpath(place.agent / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "socket" and not Path("/proc/self/fd").exists():
        pytest.skip("no way to a socket in a deep folder")
    (make_socket if kind == "socket" else KINDS[kind])(path)
    services = started(place)
    asyncio.run(services.reload())
    assert services.loader.get_skills().skills == []
    assert {each.severity for each in services.diagnostics} <= {"warning"}
    if kind in ("pipe", "endless device") and name in ("settings.json", "SYSTEM.md", "auth.json", "models.json"):
        assert any(path.name in each.message for each in started(place).diagnostics)
    assert path.is_symlink() or path.exists()


ENTRIES: list[Any] = [
    *("x" * 5000, "a\0b", "~nobody/x", "~", ".", "-", "+", "!", "!*", "*", "-" + "x" * 5000, "+\0", "![", "!{a"),
    *("\ud800", "a\nb", "!" + "*a" * 30 + "b", None, 1, [], {}),
]


@pytest.mark.parametrize("kind", ["skills", "prompts", "themes", "extensions", "packages"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_of_the_settings_breaks_the_start(place: Place, kind: str, entry: object) -> None:
    (place.agent / "settings.json").write_text(json.dumps({kind: [entry]}), encoding="utf-8")
    place.skill(place.agent / "skills" / ("a" * 60) / "SKILL.md", "kept")
    services = create_services(place.project, agent_dir=place.agent)
    assert {each.severity for each in services.diagnostics} <= {"warning", "info"}


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b", "\ud800", "a\nb", "/dev/zero", "/proc/self/mem"])
def test_no_path_of_a_flag_breaks_the_start(place: Place, text: str) -> None:
    kinds: tuple[ResourceKind, ...] = ("extensions", "skills", "prompts", "themes")
    paths = ResourcePaths(**{kind: [text] for kind in kinds})
    services = started(place, additional=paths, system_prompt=text, append_system_prompt=[text])
    assert services.diagnostics
    assert services.resources.append_system_prompt == [text]


def test_a_pipe_that_the_user_names_is_read_as_a_prompt(place: Place) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"from a pipe")
    os.close(writing)
    try:
        assert started(place, system_prompt=f"/dev/fd/{reading}").resources.system_prompt == "from a pipe"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    "value",
    [True, 0, -1, 1e300, 10**30, "x", "", "a\nb", [], [1], [None], [[]], {}, {"a": 1}, {"a": {"a": {}}}, [{}]],
    ids=repr,
)
def test_any_value_in_any_setting_is_told_or_used_and_never_breaks_a_getter(place: Place, value: object) -> None:
    tree: dict[str, object] = {}
    for setting in SETTINGS:
        at = tree
        for key in setting.path[:-1]:
            at = at.setdefault(key, {})  # type: ignore[assignment] # a dict, made here
        at[setting.path[-1]] = value
    for settings in (tree, {setting.path[0]: value for setting in SETTINGS}):
        text = json.dumps(settings)
        (place.agent / "settings.json").write_text(text, encoding="utf-8")
        manager = create_services(place.project, agent_dir=place.agent).settings
        for setting in SETTINGS:
            try:
                manager.get(setting)
            except SettingsError:
                assert setting.strict
        assert (place.agent / "settings.json").read_text(encoding="utf-8") == text


def test_folders_that_may_not_be_entered_give_nothing(place: Place) -> None:
    if not hasattr(os, "geteuid"):
        pytest.skip("modes of Unix")
    place.skill(place.agent / "skills/closed/SKILL.md", "closed")
    place.write(place.agent / "prompts/x.md", "text")
    place.write(place.project / ".pi/settings.json", "{}")
    for folder in (place.agent / "skills/closed", place.agent / "prompts", place.project / ".pi"):
        folder.chmod(0o000)
    place.project.chmod(0o755)
    user = os.geteuid()
    try:
        for folder in (*place.project.parents, place.agent):
            if user == 0 and folder.is_relative_to(place.home):
                os.chown(folder, 65534, -1)
        if user == 0:
            os.seteuid(65534)
        if not os.access(place.agent, os.R_OK):
            pytest.skip("another user cannot enter the temporary folder")
        manager = SettingsManager.create(place.project, place.agent, project_trusted=True)
        assert create_services(place.project, agent_dir=place.agent, settings=manager).resources.skills == []
    finally:
        if user == 0:
            os.seteuid(user)
        for folder in (place.agent / "skills/closed", place.agent / "prompts", place.project / ".pi"):
            folder.chmod(0o755)
