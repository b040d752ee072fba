"""Settings as they are written: only what was meant, beside other writers, and never over a broken file."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.errors import ConfigError
from pinyon.resources import setting as _setting
from pinyon.resources.setting import QueueMode
from pinyon.resources.settings import SettingsManager
from pinyon.resources.settings_merge import Settings
from pinyon.resources.settings_storage import MemorySettingsStorage
from pinyon.resources.settings_writer import REMOVED, with_value


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    project, agent = tmp_path / "project", tmp_path / "agent"
    project.mkdir()
    agent.mkdir()
    return project, agent


def manager(folders: tuple[Path, Path], *, trusted: bool = True) -> SettingsManager:
    return SettingsManager.create(*folders, project_trusted=trusted)


def stored(folders: tuple[Path, Path]) -> Any:
    return json.loads((folders[1] / "settings.json").read_text())


def test_a_change_counts_at_once_and_is_on_disk_after_a_flush(folders: tuple[Path, Path]) -> None:
    async def scenario() -> None:
        settings = manager(folders)
        settings.set(_setting.STEERING_MODE, "all")
        settings.set(_setting.COMPACTION_ENABLED, value=False)
        settings.set_entry(_setting.MODEL_THINKING_LEVELS, "fake/m", "high")
        assert settings.get_steering_mode() == "all"
        await settings.flush()

    asyncio.run(scenario())
    expected = {"steeringMode": "all", "compaction": {"enabled": False}, "modelThinkingLevels": {"fake/m": "high"}}
    assert stored(folders) == expected
    assert manager(folders).get_model_thinking_level("fake", "m") == "high"


def test_without_an_event_loop_a_change_is_written_at_once(folders: tuple[Path, Path]) -> None:
    manager(folders).set(_setting.DEFAULT_MODEL, "m")
    assert (folders[1] / "settings.json").read_text() == '{\n  "defaultModel": "m"\n}\n'


def test_only_the_changed_key_changes_and_order_indent_and_unknown_keys_stay(folders: tuple[Path, Path]) -> None:
    path = folders[1] / "settings.json"
    path.write_text(
        '{\n    "zeta": {"x": [1, 2.5]},\n    "theme": "dark",\n    "compaction": {"own": 1},\n    "a": null\n}'
    )
    manager(folders).set(_setting.COMPACTION_ENABLED, value=False)
    text = path.read_text()
    assert list(json.loads(text)) == ["zeta", "theme", "compaction", "a"]
    assert json.loads(text)["compaction"] == {"own": 1, "enabled": False}
    assert json.loads(text)["zeta"] == {"x": [1, 2.5]}
    assert text.startswith('{\n    "zeta"')
    assert not text.endswith("\n")


def test_none_takes_a_setting_out_of_the_file(folders: tuple[Path, Path]) -> None:
    settings = manager(folders)
    settings.set(_setting.DEFAULT_MODEL, "m")
    settings.set(_setting.DEFAULT_PROVIDER, "p")
    settings.set(_setting.DEFAULT_MODEL, None)
    assert stored(folders) == {"defaultProvider": "p"}
    assert settings.get_default_model() is None


def test_keys_that_another_program_wrote_meanwhile_stay(folders: tuple[Path, Path]) -> None:
    settings = manager(folders)
    (folders[1] / "settings.json").write_text('{"theirs": 1, "retry": {"maxRetries": 9}}')
    settings.set(_setting.RETRY_ENABLED, value=False)
    assert stored(folders) == {"theirs": 1, "retry": {"maxRetries": 9, "enabled": False}}


def test_old_names_are_stored_under_their_new_ones_with_the_next_change(folders: tuple[Path, Path]) -> None:
    (folders[1] / "settings.json").write_text('{"queueMode": "all"}')
    manager(folders).set(_setting.DEFAULT_MODEL, "m")
    assert stored(folders) == {"steeringMode": "all", "defaultModel": "m"}


@pytest.mark.parametrize("broken", ['{"a": 1,}', "[1]", "\ufffd{", '"x"', "{" * 3000])
def test_a_broken_file_is_told_and_left_as_it_is(folders: tuple[Path, Path], broken: str) -> None:
    path = folders[1] / "settings.json"
    path.write_text(broken)
    settings = manager(folders)
    settings.set(_setting.DEFAULT_MODEL, "m")
    assert settings.get_default_model() == "m"
    assert path.read_text() == broken
    assert [problem.path for problem in settings.drain_errors()] == [path]


def test_a_file_that_broke_after_it_was_read_is_told_and_left_as_it_is(folders: tuple[Path, Path]) -> None:
    settings = manager(folders)
    path = folders[1] / "settings.json"
    path.write_text("{oops")
    settings.set(_setting.DEFAULT_MODEL, "m")
    assert path.read_text() == "{oops"
    assert ["not stored" in problem.message for problem in settings.drain_errors()] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_cannot_be_written_is_told(folders: tuple[Path, Path]) -> None:
    settings = manager(folders)
    folders[1].chmod(0o500)
    try:
        settings.set(_setting.DEFAULT_MODEL, "m")
    finally:
        folders[1].chmod(0o700)
    assert ["not stored" in problem.message for problem in settings.drain_errors()] == [True]


def test_values_that_a_setting_cannot_have_are_refused(folders: tuple[Path, Path]) -> None:
    settings = manager(folders)
    with pytest.raises(ConfigError, match=r"'steeringMode'.*'sometimes'"):
        settings.set(_setting.STEERING_MODE, "sometimes")  # type: ignore[misc] # the fault under test
    with pytest.raises(ConfigError, match="modelThinkingLevels"):
        settings.set_entry(_setting.MODEL_THINKING_LEVELS, "p/m", "huge")
    assert not (folders[1] / "settings.json").exists()


def test_a_project_gets_its_own_file_only_when_it_is_trusted(folders: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match="not trusted"):
        manager(folders, trusted=False).set(_setting.DEFAULT_MODEL, "m", scope="project")
    assert not (folders[0] / ".pi").exists()
    settings = manager(folders)
    with pytest.raises(ConfigError, match="the user's own"):
        settings.set(_setting.CACHE_WARMING, "off", scope="project")
    settings.set(_setting.DEFAULT_MODEL, "m", scope="project")
    assert json.loads((folders[0] / ".pi" / "settings.json").read_text()) == {"defaultModel": "m"}


def test_a_link_to_the_file_stays_a_link(folders: tuple[Path, Path], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (folders[1] / "settings.json").symlink_to(real)
    manager(folders).set(_setting.DEFAULT_MODEL, "m")
    assert (folders[1] / "settings.json").is_symlink()
    assert json.loads(real.read_text()) == {"defaultModel": "m"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS: st.SearchStrategy[Settings] = st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=4)
PATHS = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3).map(tuple)


@given(OBJECTS, PATHS, JSON)
def test_a_value_lands_where_its_path_leads_and_nothing_beside_it_changes(
    settings: Settings, path: tuple[str, ...], value: Any
) -> None:
    before = json.dumps(settings)
    changed = with_value(settings, path, value)
    found: Any = changed
    for key in path:
        found = found[key]
    assert found == value
    assert json.dumps(settings) == before
    assert {key: item for key, item in changed.items() if key != path[0]} == {
        key: item for key, item in settings.items() if key != path[0]
    }
    gone = with_value(changed, path, REMOVED)
    parent: Any = gone
    for key in path[:-1]:
        parent = parent[key]
    assert path[-1] not in parent


MODES: st.SearchStrategy[QueueMode] = st.sampled_from(["all", "one-at-a-time"])


@given(OBJECTS, st.lists(st.tuples(MODES, st.booleans()), max_size=4))
def test_what_was_set_is_read_back_from_the_text(before: Settings, changes: list[tuple[QueueMode, bool]]) -> None:
    storage = MemorySettingsStorage({"global": json.dumps(before)})
    settings = SettingsManager.from_storage(storage)
    for mode, enabled in changes:
        settings.set(_setting.STEERING_MODE, mode)
        settings.set(_setting.RETRY_ENABLED, enabled)
    again = SettingsManager.from_storage(storage)
    assert again.get_settings() == settings.get_settings()
    if changes:
        assert (again.get_steering_mode(), again.get(_setting.RETRY_ENABLED)) == changes[-1]


WRITER = """
import sys
from pinyon.resources import setting
from pinyon.resources.settings import SettingsManager
project, agent, name, count = sys.argv[1:]
manager = SettingsManager.create(project, agent, project_trusted=True)
for number in range(int(count)):
    manager.set_entry(setting.MODEL_THINKING_LEVELS, f"{name}/{number}", "high")
    problems = manager.drain_errors()
    assert not problems, problems
"""


def start_writer(folders: tuple[Path, Path], name: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(folders[0]), str(folders[1]), name, str(count)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def start_pi(folders: tuple[Path, Path], command: str, value: str, count: int) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PI_CODING_AGENT_DIR": str(folders[1]), "PI_OFFLINE": "1"}
    process = subprocess.Popen(
        ["pi", "--mode", "rpc", "--no-session"],
        cwd=folders[0],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    for number in range(count):
        mode = value if number == count - 1 else ("one-at-a-time", "all")[number % 2]
        process.stdin.write(json.dumps({"type": command, "mode": mode}).encode() + b"\n")
        process.stdin.flush()
        time.sleep(0.002)
    return process


def test_four_processes_lose_no_change_of_each_other(folders: tuple[Path, Path]) -> None:
    (folders[1] / "settings.json").write_text('{"mine": [1]}')
    writers = [start_writer(folders, name, 50) for name in "abcd"]
    for writer in writers:
        _, errors = writer.communicate(timeout=100)
        assert writer.returncode == 0, errors.decode()
    assert stored(folders)["mine"] == [1]
    assert set(stored(folders)["modelThinkingLevels"]) == {f"{name}/{n}" for name in "abcd" for n in range(50)}


@pytest.mark.skipif(shutil.which("pi") is None, reason="needs pi on PATH, the other program that writes the file")
def test_changes_of_pi_and_ours_survive_each_other(folders: tuple[Path, Path]) -> None:
    (folders[1] / "settings.json").write_text('{"mine": [1]}')
    ours = [start_writer(folders, name, 200) for name in "ab"]
    theirs = [start_pi(folders, "set_steering_mode", "all", 200), start_pi(folders, "set_follow_up_mode", "all", 200)]
    for writer in ours:
        _, errors = writer.communicate(timeout=100)
        assert writer.returncode == 0, errors.decode()
    for process in theirs:
        process.communicate(timeout=100)
    values = stored(folders)
    assert values["mine"] == [1]
    assert set(values["modelThinkingLevels"]) == {f"{name}/{n}" for name in "ab" for n in range(200)}
    assert (values["steeringMode"], values["followUpMode"]) == ("all", "all")


def test_a_kill_at_any_moment_leaves_a_whole_file(folders: tuple[Path, Path]) -> None:
    path = folders[1] / "settings.json"
    path.write_text('{"mine": [1]}')
    for delay_s in (0.25, 0.3, 0.35, 0.4, 0.5):
        writer = start_writer(folders, "k", 10_000)
        time.sleep(delay_s)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert json.loads(path.read_text())["mine"] == [1]
