"""Credentials: reading, locked writing, what survives, and renewal of sign-ins."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.lock import lock_directory
from pinyon.ai.auth_backend import FileBackend, MemoryBackend
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential, Credential, CredentialInfo, OAuthCredential
from pinyon.ai.oauth import LoginInteraction, OAuthError, TokenAuth
from pinyon.errors import AuthError

CANARY = "sk-canary-0123456789abcdef"
FAR = 4_000_000_000_000
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")


def storage_at(path: Path, env: dict[str, str] | None = None) -> AuthStorage:
    return AuthStorage.create(path, env=env or {})


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "auth.json"


@posix_only
def test_the_first_write_creates_a_private_file_in_a_private_folder_whatever_the_umask(path: Path) -> None:
    old = os.umask(0o022)
    try:
        storage_at(path).set("openai", ApiKeyCredential(key="k"))
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {"openai": {"type": "api_key", "key": "k"}}


@posix_only
@pytest.mark.parametrize("use_async", [False, True])
def test_later_writes_keep_the_mode_that_an_administrator_chose(path: Path, use_async: bool) -> None:
    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))
    path.chmod(0o640)
    if use_async:
        asyncio.run(storage.modify("a", lambda _: ApiKeyCredential(key="2")))
    else:
        storage.set("a", ApiKeyCredential(key="2"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert storage.get("a") == ApiKeyCredential(key="2")


def test_nothing_is_created_by_reading(path: Path) -> None:
    storage = storage_at(path)
    assert storage.get("openai") is None
    assert storage.list() == []
    storage.remove("openai")
    assert not path.parent.exists()


def test_other_entries_and_unknown_fields_survive_every_write(path: Path) -> None:
    path.parent.mkdir()
    before = {
        "openai-codex": {"type": "oauth", "access": "a", "refresh": "r", "expires": FAR, "accountId": "x", "n": [1.5]},
        "future": {"type": "hologram", "data": {"é": "ü"}},
        "odd": "text",
        "groq": {"type": "api_key", "key": "k", "env": {"A": "1"}, "note": "mine"},
    }
    write(path, before)
    storage = storage_at(path)
    storage.set("xai", ApiKeyCredential(key="new"))
    asyncio.run(storage.modify("groq", lambda current: current))
    assert json.loads(path.read_text()) == {**before, "xai": {"type": "api_key", "key": "new"}}
    assert path.read_text().startswith('{\n  "openai-codex": {\n    "type": "oauth"')
    asyncio.run(storage.delete("xai"))
    assert json.loads(path.read_text()) == before


def test_what_is_stored_can_be_listed_and_read(path: Path) -> None:
    path.parent.mkdir()
    write(
        path,
        {
            "groq": {"type": "api_key", "key": "$GROQ", "env": {"GROQ": "from credential"}},
            "xai": {"type": "oauth", "access": "a", "refresh": "r", "expires": FAR},
            "broken": {"type": "oauth", "access": 1},
            "x": {"type": "api_key", "key": "!echo from command"},
        },
    )
    storage = storage_at(path, {"GROQ": "from process"})
    assert storage.list() == [
        CredentialInfo("groq", "api_key"),
        CredentialInfo("xai", "oauth"),
        CredentialInfo("x", "api_key"),
    ]
    assert set(storage.get_all()) == {"groq", "xai", "x"}
    assert storage.get("groq") == ApiKeyCredential(key="$GROQ", env={"GROQ": "from credential"})
    read = asyncio.run(storage.read("groq"))
    assert isinstance(read, ApiKeyCredential)
    assert read.key == "from credential"
    assert asyncio.run(storage.get_api_key("x")) == "from command"


def test_changes_by_others_are_seen(path: Path) -> None:
    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))
    storage_at(path).set("b", ApiKeyCredential(key="2"))
    assert storage.get("b") == ApiKeyCredential(key="2")
    path.unlink()
    assert storage.get("a") is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"a": {"type": "api_key", "key": "' + CANARY.encode() + b'"},}', "line 1, column"),
        (b"{\n  oops\n}", "line 2, column 3"),
        (b"[1]", "must hold a JSON object"),
        (b"\xff\xfe{", "not UTF-8"),
        (b'{"a": NaN}', "not valid JSON"),
    ],
)
def test_a_malformed_file_is_reported_and_never_overwritten(path: Path, content: bytes, complaint: str) -> None:
    storage = storage_at(path)
    storage.set("good", ApiKeyCredential(key="k"))
    assert storage.has("good")
    path.write_bytes(content)
    assert storage.get("good") == ApiKeyCredential(key="k"), "what was read last stays in use"
    attempts: list[Callable[[], object]] = [
        lambda: storage.set("b", ApiKeyCredential(key="x")),
        lambda: storage.remove("good"),
        lambda: asyncio.run(storage.modify("b", lambda _: ApiKeyCredential(key="x"))),
        lambda: asyncio.run(storage.delete("good")),
    ]
    for attempt in attempts:
        with pytest.raises(AuthError, match=complaint) as caught:
            attempt()
        assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert path.read_bytes() == content
    assert [complaint in str(error) for error in storage.drain_errors()] == [True]
    assert storage.drain_errors() == []
    assert complaint in str(storage.problem)


@pytest.mark.parametrize(
    "content", [b"", b"  \n", b"\xef\xbb\xbf{}", b'\xef\xbb\xbf{"a":{"type":"api_key","key":"k"}}']
)
def test_empty_files_and_byte_order_marks_are_tolerated(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    storage = storage_at(path)
    assert storage.problem is None
    storage.set("b", ApiKeyCredential(key="x"))
    assert storage.has("b")
    assert storage.has("a") == (b"api_key" in content)


def test_a_file_that_is_a_folder_is_an_error_not_an_empty_store(path: Path) -> None:
    path.mkdir(parents=True)
    storage = storage_at(path)
    assert "cannot read" in str(storage.problem)
    with pytest.raises(AuthError):
        storage.set("a", ApiKeyCredential(key="k"))


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AuthError, match="cannot write"):
        storage_at(tmp_path / "file" / "auth.json").set("a", ApiKeyCredential(key=CANARY))


def test_a_lock_that_stays_taken_is_an_error_and_the_file_is_as_it_was(path: Path) -> None:
    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))
    lock_directory(path).mkdir()
    with pytest.raises(AuthError, match="in use by another process"):
        storage.set("a", ApiKeyCredential(key="2"))
    assert storage.get("a") == ApiKeyCredential(key="1")
    then = time.time() - 60
    os.utime(lock_directory(path), (then, then))
    storage.set("a", ApiKeyCredential(key="3"))
    assert storage.get("a") == ApiKeyCredential(key="3")


def test_a_change_whose_lock_was_lost_is_not_written(path: Path) -> None:
    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))

    async def change(_: Credential | None) -> Credential:
        lock_directory(path).rmdir()
        return ApiKeyCredential(key="2")

    with pytest.raises(AuthError, match="lost the lock"):
        asyncio.run(storage.modify("a", change))
    assert storage.get("a") == ApiKeyCredential(key="1")


def test_a_change_that_fails_leaves_everything_as_it_was(path: Path) -> None:
    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))

    def change(_: Credential | None) -> Credential:
        raise ConnectionError("no network")

    with pytest.raises(ConnectionError):
        asyncio.run(storage.modify("a", change))
    assert storage.get("a") == ApiKeyCredential(key="1")
    assert not lock_directory(path).exists()


@posix_only
def test_a_full_disk_is_an_error_and_loses_nothing(path: Path) -> None:
    import resource

    storage = storage_at(path)
    storage.set("a", ApiKeyCredential(key="1"))
    before = path.read_bytes()
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, old_limit[1]))
    try:
        with pytest.raises(AuthError, match=r"cannot write .*the file is as it was"):
            storage.set("b", ApiKeyCredential(key=CANARY))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["auth.json"]


WRITER = """
import asyncio, sys
from pathlib import Path
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential

async def run(storage, name):
    for number in range(10):
        def add(current):
            count = int(current.key) if current else 0
            return ApiKeyCredential(key=str(count + 1))
        await storage.modify("shared", add)
        await storage.modify(name, lambda _: ApiKeyCredential(key=str(number)))

asyncio.run(run(AuthStorage.create(Path(sys.argv[1])), sys.argv[2]))
"""


def test_processes_that_write_at_once_lose_no_update(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    keys = {name: credential.to_wire()["key"] for name, credential in storage_at(path).get_all().items()}
    assert keys == {"shared": "20", "one": "9", "two": "9"}
    assert [entry.name for entry in path.parent.iterdir()] == ["auth.json"]


def test_the_former_id_of_a_provider_still_finds_its_credential(path: Path) -> None:
    path.parent.mkdir()
    write(path, {"azure-openai-responses": {"type": "api_key", "key": "old"}})
    storage = storage_at(path)
    assert storage.get("azure") == ApiKeyCredential(key="old")
    storage.set("azure", ApiKeyCredential(key="new"))
    assert list(json.loads(path.read_text())) == ["azure-openai-responses"]
    assert storage.get("azure") == ApiKeyCredential(key="new")


def test_keys_come_from_this_run_then_the_store_then_the_environment_then_the_fallback() -> None:
    storage = AuthStorage.in_memory(
        {"openai": {"type": "api_key", "key": "stored"}, "groq": {"type": "api_key", "key": "$NOWHERE"}},
        env={"OPENAI_API_KEY": "env", "GROQ_API_KEY": "env", "XAI_API_KEY": "env"},
    )
    storage.set_fallback_resolver(lambda provider: "fallback" if provider == "acme" else None)

    def key(provider: str) -> str | None:
        return asyncio.run(storage.get_api_key(provider))

    assert [key(name) for name in ("openai", "groq", "xai", "acme", "cerebras")] == [
        "stored",
        "env",
        "env",
        "fallback",
        None,
    ]
    storage.set_runtime_api_key("openai", "run")
    assert key("openai") == "run"
    assert [storage.has_auth(name) for name in ("openai", "groq", "xai", "acme", "cerebras")] == [True] * 4 + [False]
    storage.remove("openai")
    assert key("openai") == "env"
    storage.set_runtime_api_key("openai", "run")
    storage.remove_runtime_api_key("openai")
    assert key("openai") == "env"


def test_without_a_home_credentials_stay_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    storage = AuthStorage.create(env={"PI_CODING_AGENT_DIR": str(tmp_path / "dir")})
    storage.set("a", ApiKeyCredential(key="k"))
    assert (tmp_path / "dir" / "auth.json").exists()


def test_a_storage_on_a_backend_of_ones_own_works() -> None:
    storage = AuthStorage.from_storage(MemoryBackend('{"a":{"type":"api_key","key":"k"}}'))
    assert storage.has("a")


class ScriptedFlow:
    """A sign-in whose renewals are counted; `gate` holds them back."""

    name = "Scripted"

    def __init__(self, *, expires: int = FAR, error: Exception | None = None) -> None:
        self.expires = expires
        self.error = error
        self.renewals = 0
        self.started: asyncio.Event | None = None
        self.gate: asyncio.Event | None = None

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        return OAuthCredential(access="fresh", refresh="r0", expires=self.expires)

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        self.renewals += 1
        if self.started is not None:
            self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return OAuthCredential(access=f"access {self.renewals}", refresh="rotated", expires=self.expires)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        return TokenAuth(api_key=credential.access)


def signed_in(path: Path, expires: int, flow: ScriptedFlow | None) -> AuthStorage:
    path.parent.mkdir(exist_ok=True)
    write(path, {"x": {"type": "oauth", "access": "old", "refresh": "r", "expires": expires, "accountId": "kept"}})
    return AuthStorage(FileBackend(path), env={}, oauth_providers={"x": flow} if flow else None)


def test_a_token_with_time_left_is_used_as_it_is(path: Path) -> None:
    flow = ScriptedFlow()
    storage = signed_in(path, FAR, flow)
    assert asyncio.run(storage.get_api_key("x")) == "old"
    assert flow.renewals == 0


def test_a_token_near_its_end_is_renewed_once_and_stored_with_the_providers_fields(path: Path) -> None:
    flow = ScriptedFlow()
    storage = signed_in(path, int(time.time() * 1000) + 200_000, flow)

    async def ask() -> list[str | None]:
        return list(await asyncio.gather(*(storage.get_api_key("x") for _ in range(4))))

    assert asyncio.run(ask()) == ["access 1"] * 4
    assert flow.renewals == 1
    stored = json.loads(path.read_text())["x"]
    assert stored == {"type": "oauth", "access": "access 1", "refresh": "rotated", "expires": FAR, "accountId": "kept"}


def test_a_token_that_another_process_renewed_meanwhile_is_not_renewed_again(path: Path) -> None:
    flow = ScriptedFlow()
    storage = signed_in(path, 0, flow)
    assert storage.has("x")
    lock_directory(path).mkdir()

    async def run() -> str | None:
        asking = asyncio.create_task(storage.get_api_key("x"))
        await asyncio.sleep(0.03)
        write(path, {"x": {"type": "oauth", "access": "theirs", "refresh": "r2", "expires": FAR}})
        lock_directory(path).rmdir()
        return await asking

    assert asyncio.run(run()) == "theirs"
    assert flow.renewals == 0


@pytest.mark.parametrize("error", [OAuthError("refused: rt-12345678"), ConnectionError("refused rt-12345678")])
def test_a_failed_renewal_is_an_error_without_the_token_and_keeps_the_credential(path: Path, error: Exception) -> None:
    storage = signed_in(path, 0, ScriptedFlow(error=error))
    path.write_text(path.read_text().replace('"r"', '"rt-12345678"'))
    before = path.read_text()
    with pytest.raises(OAuthError, match="refused") as caught:
        asyncio.run(storage.get_api_key("x"))
    assert "rt-12345678" not in "".join(traceback.format_exception(caught.value))
    assert path.read_text() == before


def test_a_renewal_that_has_begun_is_stored_although_its_caller_was_cancelled(path: Path) -> None:
    flow = ScriptedFlow()
    storage = signed_in(path, 0, flow)

    async def run() -> None:
        flow.started, flow.gate = asyncio.Event(), asyncio.Event()
        asking = asyncio.create_task(storage.get_api_key("x"))
        await flow.started.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        flow.gate.set()
        await storage.flush()

    asyncio.run(run())
    assert json.loads(path.read_text())["x"]["refresh"] == "rotated"


def test_a_longer_validity_than_the_provider_gives_is_an_error(path: Path) -> None:
    soon = int(time.time() * 1000) + 600_000
    storage = signed_in(path, soon, ScriptedFlow(expires=soon))
    assert asyncio.run(storage.fresh_token("x")).access == "old"
    with pytest.raises(OAuthError, match="valid for less than 1800 s"):
        asyncio.run(storage.fresh_token("x", min_validity_ms=1_800_000))


def test_a_sign_in_without_a_flow_is_used_while_it_lasts_and_then_named(path: Path) -> None:
    assert asyncio.run(signed_in(path, FAR, None).get_api_key("x")) == "old"
    with pytest.raises(OAuthError, match="cannot be renewed by this program"):
        asyncio.run(signed_in(path, 0, None).get_api_key("x"))


def test_signing_in_stores_the_tokens(path: Path) -> None:
    storage = AuthStorage(FileBackend(path), env={}, oauth_providers={"x": ScriptedFlow()})
    asyncio.run(storage.login("x", None))  # type: ignore[arg-type] # the scripted flow asks nothing
    assert storage.get("x") == OAuthCredential(access="fresh", refresh="r0", expires=FAR)
    with pytest.raises(AuthError, match="has no sign-in here"):
        asyncio.run(storage.login("y", None, "oauth"))  # type: ignore[arg-type]
    storage.logout("x")
    assert not storage.has("x")


def test_no_representation_shows_a_secret() -> None:
    shown = [
        ApiKeyCredential(key=CANARY, env={"NAME": CANARY}, extra={"x": CANARY}),
        OAuthCredential(access=CANARY, refresh=CANARY, expires=1, extra={"accountId": CANARY}),
        TokenAuth(api_key=CANARY, headers={"authorization": CANARY}),
        AuthStorage.in_memory({"a": {"type": "api_key", "key": CANARY}}),
    ]
    assert CANARY not in f"{shown!r} {[str(item) for item in shown]}"


def test_an_entry_that_is_no_credential_is_told_and_the_others_are_used(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"good": {"type": "api_key", "key": "k"}, "odd": 5, "new": {"type": "passkey", "key": "s3cret"}}')
    storage = AuthStorage(FileBackend(path), env={})
    assert asyncio.run(storage.get_api_key("good")) == "k"
    told = [str(error) for error in storage.drain_errors()]
    assert [name in text for name, text in zip(("'odd'", "'new'"), told, strict=True)] == [True, True]
    assert "s3cret" not in "".join(told)
