import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.session.samples import HEADER, answer_line, texts, user, user_line, write_lines

from pinyon.session.error import SessionInUseError, SessionReadOnlyError
from pinyon.session.lease import SessionLease, find_writer, lock_path
from pinyon.session.local import LocalSessionManager
from pinyon.session.session import Session

HOLD = """
import sys
from pathlib import Path
from pinyon.session.lease import SessionLease
SessionLease().acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), answer_line("b", "a"))


def holder(path: Path) -> subprocess.Popen[bytes]:
    """Another process that has the right to write a file."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_the_writer_of_a_session_is_known_to_other_processes_until_it_ends(path: Path) -> None:
    with holder(path) as process:
        writer = find_writer(path)
        assert writer is not None
        assert writer.pid == process.pid
        with pytest.raises(SessionInUseError, match=str(process.pid)) as raised:
            SessionLease().acquire(path)
        assert raised.value.pid == process.pid
        process.communicate()
    assert find_writer(path) is None


def test_a_killed_writer_holds_nothing_though_its_lock_file_stays(path: Path) -> None:
    with holder(path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert lock_path(path).exists()
    lease = SessionLease()
    lease.acquire(path)
    writer = find_writer(path)
    assert writer is not None
    assert writer.pid == os.getpid()
    lease.release()
    assert not lock_path(path).exists()


def test_a_released_file_is_free_again_and_a_second_release_does_nothing(path: Path) -> None:
    first, second = SessionLease(), SessionLease()
    first.acquire(path)
    with pytest.raises(SessionInUseError):
        second.acquire(path)
    first.release()
    second.acquire(path)
    first.release()
    with pytest.raises(SessionInUseError):
        first.acquire(path)
    second.release()


def test_the_same_file_under_another_name_is_the_same_lock(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    lease = SessionLease()
    lease.acquire(link)
    assert find_writer(path) is not None
    lease.release()


def test_a_session_that_is_open_elsewhere_cannot_be_claimed_or_written(path: Path, tmp_path: Path) -> None:
    manager = LocalSessionManager(cwd="/nowhere", session_dir=tmp_path)
    first, second = manager._open(path), manager._open(path)
    first.claim()
    with pytest.raises(SessionInUseError):
        second.claim()
    before = path.read_bytes()
    with pytest.raises(SessionInUseError):
        second.append_message(user("lost"))
    assert path.read_bytes() == before
    assert texts(second) == ["a", "b"]
    first.append_message(user("kept"))
    first.close()
    second.claim()
    second.append_message(user("free"))
    assert b"kept" in path.read_bytes()
    assert b"free" in path.read_bytes()
    second.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.jsonl"]


def test_a_session_that_is_only_read_takes_no_entries_and_no_claim(path: Path) -> None:
    session = Session.open(path, lease=SessionLease)
    session.is_read_only = True
    session.claim()
    assert find_writer(path) is None
    with pytest.raises(SessionReadOnlyError, match=r"s\.jsonl"):
        session.append_message(user("lost"))
    assert texts(session) == ["a", "b"]


def test_a_folder_that_takes_no_lock_file_still_tells_what_is_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "no folder"
    file.write_bytes(b"")
    SessionLease().acquire(file / "s.jsonl")
    assert find_writer(file / "s.jsonl") is None
