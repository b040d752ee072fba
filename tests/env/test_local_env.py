from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.env.conformance import EnvConformance, run

from pinyon.env import ExecutionEnv, ExecutionError, FileError, LocalEnv


@pytest.fixture
def env(tmp_path: Path) -> ExecutionEnv:
    return LocalEnv(str(tmp_path), env={"PINYON_TEST_BASE": "base"})


@pytest.fixture
def link(tmp_path: Path) -> Callable[[str, str], None]:
    return lambda path, target: (tmp_path / path).symlink_to(target)


class TestLocalEnv(EnvConformance):
    pass


def test_the_working_directory_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert LocalEnv().cwd == str(tmp_path)
    assert LocalEnv("sub").cwd == str(tmp_path / "sub")


def test_a_home_directory_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LocalEnv("~/x").cwd == str(tmp_path / "x")


def test_the_process_environment_is_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINYON_TEST_OUTER", "outer")
    assert run(LocalEnv(str(tmp_path)).exec("echo $PINYON_TEST_OUTER")).stdout == "outer\n"


def test_replacing_keeps_the_mode_of_a_file(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("x")
    script.chmod(0o755)
    run(LocalEnv(str(tmp_path)).write_file("run.sh", "y"))
    assert script.stat().st_mode & 0o777 == 0o755


def test_names_that_are_not_utf8_are_listed(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.txt")).write_text("x")
    (info,) = run(LocalEnv(str(tmp_path)).list_dir(""))
    assert os.fsencode(info.name) == b"bad\xff.txt"
    assert run(LocalEnv(str(tmp_path)).read_text_file(info.path)) == "x"


def test_pipes_are_of_another_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert run(LocalEnv(str(tmp_path)).stat("pipe")).kind.value == "other"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_a_permission_error(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    with pytest.raises(FileError) as caught:
        run(LocalEnv(str(tmp_path)).read_text_file("secret"))
    assert caught.value.code == "permission_denied"


def test_a_missing_shell_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="no-such-shell") as caught:
        run(LocalEnv(str(tmp_path), shell_path=str(tmp_path / "no-such-shell")).exec("echo hi"))
    assert caught.value.code == "shell_unavailable"


def test_reading_lines_stops_early(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.write(b"first\n")
        file.truncate(3_000_000_000)
    assert run(LocalEnv(str(tmp_path)).read_text_lines("big", 1)) == ["first"]
