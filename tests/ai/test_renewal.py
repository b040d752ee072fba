"""Renewing sign-ins whose refresh tokens work once: by several processes at once, through kills and failures."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ai.renewing import storage_at

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential, OAuthCredential
from pinyon.ai.oauth import OAuthError
from pinyon.errors import AuthError
from pinyon.testing.fake_oauth import FakeOAuth
from pinyon.testing.fake_server import Reply, Stall

ROOT = Path(__file__).resolve().parents[2]
posix_only = pytest.mark.skipif(os.name == "nt", reason="SIGKILL and permissions of POSIX")
no_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")


@pytest.fixture
def fake() -> Iterator[FakeOAuth]:
    with FakeOAuth() as fake:
        yield fake


@pytest.fixture
def path(tmp_path: Path, fake: FakeOAuth) -> Path:
    """A store whose sign-in has run out."""
    path = tmp_path / "auth.json"
    entry = {"type": "oauth", "access": "old", "refresh": fake.issue_refresh_token(), "expires": 1, "plan": "kept"}
    path.write_text(json.dumps({"other": {"type": "api_key", "key": "k"}, "xai": entry}))
    return path


def stored(path: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(path.read_text())["xai"]
    return entry


def records(path: Path) -> list[str]:
    return sorted(sibling.name for sibling in path.parent.iterdir() if sibling.name != path.name)


def begin(path: Path, fake: FakeOAuth, *words: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.ai.renewing", str(path), fake.url, *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def renewed(storage: AuthStorage) -> OAuthCredential:
    return asyncio.run(storage.fresh_token("xai"))


def test_processes_that_renew_at_once_end_with_one_valid_token(path: Path, fake: FakeOAuth) -> None:
    processes = [begin(path, fake) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in processes]
    assert [errors for _, errors in answers] == [""] * 4
    assert {access.strip() for access, _ in answers} == {stored(path)["access"]}
    assert fake.refused == []
    assert fake.valid_refresh_tokens == [stored(path)["refresh"]]
    assert stored(path)["plan"] == "kept"
    assert records(path) == []


@posix_only
def test_a_kill_between_renewal_and_store_loses_no_token(path: Path, fake: FakeOAuth) -> None:
    before = path.read_bytes()
    process = begin(path, fake, "die")
    _, errors = process.communicate("\n", timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    assert path.read_bytes() == before
    assert len(fake.requests_to("/oauth2/token")) == 1
    (path.parent / "auth.json.lock").rmdir()  # the dead holder's lock, which waiting would remove too
    storage = storage_at(path, fake.url)
    credential = renewed(storage)
    assert len(fake.requests_to("/oauth2/token")) == 1
    assert credential.refresh == stored(path)["refresh"]
    assert fake.valid_refresh_tokens == [credential.refresh]
    assert stored(path)["plan"] == "kept"
    assert records(path) == []


@posix_only
def test_what_a_dead_process_left_is_private_and_may_have_run_out_too(path: Path, fake: FakeOAuth) -> None:
    fake.life_s = 100
    begin(path, fake, "die").communicate("\n", timeout=60)
    (path.parent / "auth.json.lock").rmdir()
    (left,) = path.parent.glob(".auth.json.*")
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    fake.life_s = 3600
    assert renewed(storage_at(path, fake.url)).refresh == fake.valid_refresh_tokens[0]
    assert fake.refused == []
    assert stored(path)["refresh"] == fake.valid_refresh_tokens[0]
    assert records(path) == []


@posix_only
def test_a_failed_renewal_of_a_recovered_token_keeps_it(path: Path, fake: FakeOAuth) -> None:
    fake.life_s = 100
    begin(path, fake, "die").communicate("\n", timeout=60)
    (path.parent / "auth.json.lock").rmdir()
    fake.plan("/oauth2/token", Reply.text("down", status=503))
    with pytest.raises(OAuthError, match="503"):
        renewed(storage_at(path, fake.url))
    fake.life_s = 3600
    assert renewed(storage_at(path, fake.url)).refresh == fake.valid_refresh_tokens[0]


@posix_only
def test_a_kill_while_the_server_answers_is_told_when_the_old_token_is_used_up(path: Path, fake: FakeOAuth) -> None:
    fake.hold_token_answers(Stall())
    process = begin(path, fake)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    fake.server.wait_for_requests(1)
    process.kill()
    process.communicate(timeout=60)
    fake.hold_token_answers()
    (path.parent / "auth.json.lock").rmdir()
    before = path.read_bytes()
    with pytest.raises(OAuthError, match=r"invalid_grant.*interrupted.*sign in again"):
        renewed(storage_at(path, fake.url))
    assert path.read_bytes() == before


@posix_only
@no_root
def test_a_folder_that_cannot_be_written_stops_the_renewal_before_the_token_is_spent(
    path: Path, fake: FakeOAuth
) -> None:
    path.parent.chmod(0o500)
    try:
        with pytest.raises(AuthError):
            renewed(storage_at(path, fake.url))
    finally:
        path.parent.chmod(0o700)
    assert fake.requests_to("/oauth2/token") == []


class FullDisk:
    """A store beside which nothing can be written when the answer is there."""

    def __init__(self, path: Path, fake: FakeOAuth) -> None:
        self.storage = storage_at(path, fake.url)
        self.path = path

    def block(self) -> None:
        """A folder in the way of the store's file: it cannot be replaced."""
        self.path.rename(self.path.with_name("saved"))
        self.path.mkdir()

    def clear(self) -> None:
        """Take the folder away."""
        self.path.rmdir()
        self.path.with_name("saved").rename(self.path)


def test_tokens_that_could_not_be_stored_are_stored_by_the_next_use(path: Path, fake: FakeOAuth) -> None:
    disk = FullDisk(path, fake)
    disk.storage.get("xai")

    def blocking(_: object) -> Reply:
        disk.block()
        return fake._answer(fake.server.requests[-1])

    fake.server.play([blocking, fake._answer])
    with pytest.raises(AuthError, match="cannot write"):
        renewed(disk.storage)
    disk.clear()
    assert renewed(storage_at(path, fake.url)).refresh == fake.valid_refresh_tokens[0]
    assert len(fake.requests_to("/oauth2/token")) == 1
    assert records(path) == []


def test_a_new_sign_in_and_a_sign_out_remove_what_was_left(path: Path, fake: FakeOAuth) -> None:
    ends: list[Callable[[AuthStorage], None]] = [
        lambda storage: storage.remove("xai"),
        lambda storage: asyncio.run(storage.delete("xai")),
        lambda storage: storage.set("xai", ApiKeyCredential(key="k")),
    ]
    for end in ends:
        original = path.read_bytes()
        storage = storage_at(path, fake.url)
        credential = storage.get("xai")
        assert isinstance(credential, OAuthCredential)
        assert storage._renewals._journal is not None
        storage._renewals._journal.keep("xai", credential, OAuthCredential(access="a", refresh="r", expires=1))
        assert len(records(path)) == 1
        end(storage)
        assert records(path) == []
        path.write_bytes(original)


def test_records_of_tokens_that_are_no_longer_stored_are_swept_and_others_stay(path: Path, fake: FakeOAuth) -> None:
    storage = storage_at(path, fake.url)
    other = OAuthCredential(access="a", refresh="other", expires=1)
    storage.set("meta", other)
    assert storage._renewals._journal is not None
    storage._renewals._journal.keep("meta", other, OAuthCredential(access="b", refresh="newer", expires=1))
    storage._renewals._journal.keep("xai", OAuthCredential(access="c", refresh="gone", expires=1), other)
    renewed(storage)
    assert len(records(path)) == 1
    assert storage._renewals._journal.has_record("meta", other)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"credential": 3}', '{"credential": {"type": "api_key", "key": "k"}}']
)
def test_a_torn_record_is_passed_over(text: str, path: Path, fake: FakeOAuth) -> None:
    storage = storage_at(path, fake.url)
    credential = storage.get("xai")
    assert isinstance(credential, OAuthCredential)
    assert storage._renewals._journal is not None
    storage._renewals._journal._record_path("xai", credential).write_text(text)
    assert renewed(storage).refresh == fake.valid_refresh_tokens[0]
    assert records(path) == []


def test_a_record_counts_also_while_the_stored_token_seems_valid(path: Path, fake: FakeOAuth) -> None:
    storage = storage_at(path, fake.url)
    valid = OAuthCredential(access="replaced", refresh="used-up", expires=4_000_000_000_000)
    newer = OAuthCredential(access="newer", refresh="good", expires=4_000_000_000_000)
    storage.set("xai", valid)
    assert storage._renewals._journal is not None
    storage._renewals._journal.keep("xai", valid, newer)
    assert renewed(storage_at(path, fake.url)) == newer
    assert stored(path)["refresh"] == "good"
    assert fake.server.requests == []
