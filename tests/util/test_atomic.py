"""Whole-file replacement: old content or new content, permissions kept, secrets never exposed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinyon._util.atomic import make_private_folder, replace_file

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask_022() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


def test_new_content_replaces_the_old_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


@posix_only
@pytest.mark.usefixtures("umask_022")
def test_a_new_private_file_is_0600_and_an_ordinary_one_follows_the_umask(tmp_path: Path) -> None:
    replace_file(tmp_path / "secret", b"x", private=True)
    replace_file(tmp_path / "plain", b"x")
    assert mode_of(tmp_path / "secret") == 0o600
    assert mode_of(tmp_path / "plain") == 0o644


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o644, 0o755])
@pytest.mark.parametrize("private", [True, False])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int, private: bool) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, b"new", private=private)
    assert mode_of(path) == mode


@posix_only
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
def test_an_existing_file_keeps_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    replace_file(path, b"new", private=True)
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (12345, 23456, 0o640)


@posix_only
@pytest.mark.usefixtures("umask_022")
@pytest.mark.parametrize("existing_mode", [None, 0o600, 0o640])
def test_the_temporary_file_is_never_wider_than_what_it_replaces(tmp_path: Path, existing_mode: int | None) -> None:
    path = tmp_path / "a"
    if existing_mode is not None:
        path.write_text("old")
        path.chmod(existing_mode)
    seen: list[int] = []

    def look() -> None:
        seen.extend(mode_of(entry) for entry in tmp_path.iterdir() if entry != path)

    replace_file(path, b"secret", private=True, before_publish=look)
    assert seen == [existing_mode or 0o600]


def test_a_refused_publication_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def refuse() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        replace_file(path, b"new", before_publish=refuse)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@posix_only
def test_a_symbolic_link_stays_one_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "real"
    real.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(real)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


@posix_only
def test_a_full_disk_leaves_the_old_content_and_no_temporary_file(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "a"
    path.write_bytes(b"old")
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old_limit[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            replace_file(path, b"x" * 5000, private=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that bind this user")
def test_a_write_protected_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="write-protected"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that bind this user")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            replace_file(folder / "a", b"x")
    finally:
        folder.chmod(0o700)


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(tmp_path / "a", b"x")


KILLED = """
import os, signal, sys
from pathlib import Path
from pinyon._util.atomic import replace_file
replace_file(Path(sys.argv[1]), b"new", private=True, before_publish=lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


@posix_only
def test_a_writer_killed_before_the_rename_leaves_the_old_content_and_its_leftover_is_removed_later(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert path.read_bytes() == b"old"
    (leftover,) = [entry for entry in tmp_path.iterdir() if entry != path]
    assert mode_of(leftover) == 0o600
    replace_file(path, b"next", private=True)
    assert leftover.exists(), "a young temporary file may belong to a living writer"
    then = time.time() - 7200
    os.utime(leftover, (then, then))
    replace_file(path, b"next", private=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_only_old_temporary_files_of_the_same_target_are_removed(tmp_path: Path) -> None:
    names = {".other.1.ab.tmp", ".a.1.ab.bak", "a.1.ab.tmp", ".a.1.ab.tmp"}
    then = time.time() - 7200
    for name in names:
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (then, then))
    replace_file(tmp_path / "a", b"plain")
    assert {entry.name for entry in tmp_path.iterdir()} == {"a", *names}
    replace_file(tmp_path / "a", b"secret", private=True)
    assert {entry.name for entry in tmp_path.iterdir()} == {"a", *names - {".a.1.ab.tmp"}}


KILLED_IN_THE_MIDDLE = """
import os, resource, signal, sys
from pathlib import Path
from pinyon._util.atomic import replace_file
os.umask(0o022)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
replace_file(Path(sys.argv[1]), b"x" * 5000)
"""


@posix_only
def test_what_replaces_a_private_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    ended = subprocess.run([sys.executable, "-c", KILLED_IN_THE_MIDDLE, str(path)], check=False)
    assert ended.returncode == -signal.SIGXFSZ
    (leftover,) = [entry for entry in tmp_path.iterdir() if entry != path]
    assert (leftover.stat().st_size, mode_of(leftover)) == (1000, 0o600)
    assert path.read_bytes() == b"old"


OUTSIDE_OF_THE_GROUP = """
import os, sys
from pathlib import Path
from pinyon._util.atomic import replace_file
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
replace_file(Path(sys.argv[1]), b"new")
"""


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become somebody else")
def test_another_group_does_not_inherit_the_rights_of_the_old_one() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "a"
        path.write_bytes(b"old")
        path.chmod(0o664)
        os.chown(path, 12345, 23456)
        subprocess.run([sys.executable, "-c", OUTSIDE_OF_THE_GROUP, str(path)], check=True)
        assert path.read_bytes() == b"new"
        assert (path.stat().st_gid, mode_of(path)) == (12345, 0o604)


@posix_only
@pytest.mark.usefixtures("umask_022")
def test_missing_folders_are_made_private_and_existing_ones_are_not_touched(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "one" / "two")
    assert [mode_of(tmp_path / name) for name in (".", "one", "one/two")] == [0o755, 0o700, 0o700]
