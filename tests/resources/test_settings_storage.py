from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pinyon._util.lock import hold_lock
from pinyon.errors import ConfigError
from pinyon.resources.settings_storage import FileSettingsStorage, MemorySettingsStorage, SettingsStorage


@pytest.fixture(params=["file", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> SettingsStorage:
    if request.param == "memory":
        return MemorySettingsStorage()
    return FileSettingsStorage(tmp_path / "project", tmp_path / "agent")


def test_a_scope_without_text_reads_as_none(storage: SettingsStorage) -> None:
    assert storage.read("global") is None
    assert storage.read("project") is None


def test_an_update_sees_the_current_text_and_replaces_it(storage: SettingsStorage) -> None:
    seen: list[str | None] = []

    def append(text: str | None) -> str:
        seen.append(text)
        return (text or "") + "x"

    storage.with_lock("project", append)
    storage.with_lock("project", append)
    assert storage.read("project") == "xx"
    assert seen[-1] == "x"


def test_an_update_that_returns_none_writes_nothing(storage: SettingsStorage) -> None:
    storage.with_lock("global", lambda _: None)
    assert storage.read("global") is None
    storage.with_lock("global", lambda _: "a")
    storage.with_lock("global", lambda _: None)
    assert storage.read("global") == "a"


def test_folders_appear_only_with_a_write(tmp_path: Path) -> None:
    storage = FileSettingsStorage(tmp_path / "project", tmp_path / "agent")
    storage.read("project")
    storage.with_lock("project", lambda _: None)
    assert list(tmp_path.iterdir()) == []
    storage.with_lock("project", lambda _: "{}")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == [
        "project/.pi/settings.json"
    ]


def test_without_an_agent_folder_nothing_is_written_anywhere(tmp_path: Path) -> None:
    storage = FileSettingsStorage(tmp_path, None)
    assert storage.read("global") is None
    with pytest.raises(ConfigError, match="PI_CODING_AGENT_DIR"):
        storage.with_lock("global", lambda _: "{}")


def test_a_file_that_is_being_written_is_read_afterwards(tmp_path: Path) -> None:
    storage = FileSettingsStorage(tmp_path, tmp_path)
    path = tmp_path / "settings.json"
    path.write_text('{"half', encoding="utf-8")
    written = threading.Event()
    locked = threading.Event()

    def write_in_two_steps() -> None:
        with hold_lock(path):
            locked.set()
            written.wait(0.05)
            path.write_text('{"whole": 1}', encoding="utf-8")

    writer = threading.Thread(target=write_in_two_steps)
    writer.start()
    locked.wait()
    text = storage.read("global")
    writer.join()
    assert text == '{"whole": 1}'


def test_a_lock_that_is_never_released_does_not_keep_from_reading(tmp_path: Path) -> None:
    storage = FileSettingsStorage(tmp_path, tmp_path)
    (tmp_path / "settings.json").write_text("{}", encoding="utf-8")
    (tmp_path / "settings.json.lock").mkdir()
    assert storage.read("global") == "{}"


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from pinyon.resources.settings_storage import FileSettingsStorage\n"
        "storage = FileSettingsStorage(Path(sys.argv[1]), Path(sys.argv[1]))\n"
        "for _ in range(5): storage.with_lock('global', lambda text: (text or '') + sys.argv[2])\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), letter], stderr=subprocess.PIPE)
        for letter in "ab"
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    text = (tmp_path / "settings.json").read_text(encoding="utf-8")
    assert sorted(text) == list("aaaaabbbbb")
