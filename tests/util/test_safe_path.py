"""Paths that cannot be, and files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinyon._util.safe_path import is_file, is_folder, path_exists, read_file


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800", "missing/deep"])
def test_a_name_that_cannot_be_is_not_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert not path_exists(path)
    assert not is_file(path)
    assert not is_folder(path)


def test_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"data")
    assert [is_file(file), is_folder(file), path_exists(file)] == [True, False, True]
    assert [is_file(tmp_path), is_folder(tmp_path), path_exists(tmp_path)] == [False, True, True]


def test_content_is_read_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"data\r\n")
    assert read_file(file, 6) == b"data\r\n"
    with pytest.raises(OSError, match="larger"):
        read_file(file, 5)


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices of Unix")
def test_pipes_are_refused_and_devices_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        read_file(tmp_path / "pipe")
    with pytest.raises(OSError, match="larger"):
        read_file(Path("/dev/zero"), 1000)
    assert read_file(Path("/dev/null")) == b""
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
