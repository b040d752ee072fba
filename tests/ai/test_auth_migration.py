"""Credentials of older versions move into `auth.json` once and are never lost."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.lock import lock_directory
from pinyon.ai.auth_migration import migrate_credentials
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential, OAuthCredential

CANARY = "sk-canary-0123456789abcdef"


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    write(tmp_path / "oauth.json", {"xai": {"access": "a", "refresh": "r", "expires": 5, "scope": "s"}, "odd": 1})
    write(tmp_path / "settings.json", {"theme": "dark", "apiKeys": {"groq": "k", "xai": "other", "bad": 5}})
    return tmp_path


def test_both_old_places_are_moved_and_cleared(old: Path) -> None:
    result = migrate_credentials(old)
    assert (result.providers, result.problems) == (["xai", "groq"], [])
    storage = AuthStorage.create(old / "auth.json")
    assert storage.get_all() == {
        "xai": OAuthCredential(access="a", refresh="r", expires=5, extra={"scope": "s"}),
        "groq": ApiKeyCredential(key="k"),
    }
    assert read(old / "settings.json") == {"theme": "dark"}
    assert not (old / "oauth.json").exists()
    assert read(old / "oauth.json.migrated")["odd"] == 1
    assert migrate_credentials(old).providers == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_the_new_file_is_private(old: Path) -> None:
    migrate_credentials(old)
    assert stat.S_IMODE((old / "auth.json").stat().st_mode) == 0o600


def test_an_existing_store_is_left_alone(old: Path) -> None:
    write(old / "auth.json", {})
    assert migrate_credentials(old).providers == []
    assert read(old / "auth.json") == {}
    assert (old / "oauth.json").exists()
    assert "apiKeys" in read(old / "settings.json")


def test_without_old_credentials_nothing_is_created(tmp_path: Path) -> None:
    write(tmp_path / "settings.json", {"theme": "dark"})
    result = migrate_credentials(tmp_path / "nowhere")
    assert (result.providers, result.problems) == ([], [])
    migrate_credentials(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_malformed_settings_are_left_to_whoever_uses_them_while_nothing_is_moved(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"apiKeys": {"groq": "' + CANARY)
    result = migrate_credentials(tmp_path)
    assert (result.providers, result.problems) == ([], [])
    write(tmp_path / "settings.json", {"apiKeys": {"groq": CANARY}})
    assert migrate_credentials(tmp_path).providers == ["groq"]


def test_a_malformed_old_file_is_reported_and_kept_while_the_other_is_moved(old: Path) -> None:
    (old / "settings.json").write_text('{"apiKeys": {"groq": "' + CANARY)
    result = migrate_credentials(old)
    assert result.providers == ["xai"]
    assert ["settings.json" in problem and CANARY not in problem for problem in result.problems] == [True]
    assert CANARY in (old / "settings.json").read_text()


def test_settings_that_stay_locked_keep_their_keys_and_this_is_reported(old: Path) -> None:
    lock_directory(old / "settings.json").mkdir()
    result = migrate_credentials(old)
    assert result.providers == ["xai", "groq"]
    assert "remove it by hand" in result.problems[0]
    assert "apiKeys" in read(old / "settings.json")


def test_a_folder_that_cannot_be_written_loses_nothing(old: Path) -> None:
    lock_directory(old / "auth.json").mkdir()
    result = migrate_credentials(old)
    assert result.providers == []
    assert "in use by another process" in result.problems[0]
    assert (old / "oauth.json").exists()
    assert "apiKeys" in read(old / "settings.json")
