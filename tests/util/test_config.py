"""Folders and switches of the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinyon._util import config


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _unknown_user)


def _unknown_user(uid: int) -> object:
    raise KeyError(uid)


@pytest.mark.parametrize(
    ("override", "expected"),
    [(None, "{home}/.pi/agent"), ("", "{home}/.pi/agent"), ("~", "{home}"), ("~/x", "{home}/x"), ("/y", "/y")],
)
def test_the_agent_folder_follows_its_variable(home: Path, override: str | None, expected: str) -> None:
    env = {} if override is None else {"PI_CODING_AGENT_DIR": override}
    assert config.agent_dir(env) == Path(expected.format(home=home))


def test_skills_of_all_agents_lie_in_the_home_folder(home: Path) -> None:
    assert config.agents_skills_dir() == home / ".agents" / "skills"


@pytest.mark.skipif(os.name == "nt", reason="POSIX finds the home folder in the user table")
@pytest.mark.usefixtures("no_home")
def test_without_a_home_there_is_no_folder_instead_of_a_relative_one() -> None:
    assert config.home_dir() is None
    assert config.agent_dir({}) is None
    assert config.agents_skills_dir() is None
    assert config.expand_home("~/x") == Path("~/x")
    assert config.agent_dir({"PI_CODING_AGENT_DIR": "/y"}) == Path("/y")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("true", True), ("YES", True), ("True", True), ("0", False), ("", False), ("no", False)],
)
def test_offline_is_one_of_three_words_in_any_case(value: str, expected: bool) -> None:
    assert config.is_offline({"PI_OFFLINE": value}) is expected


def test_without_the_variable_the_network_may_be_used() -> None:
    assert not config.is_offline({})


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("true", False), ("", False)])
def test_experimental_features_need_exactly_one(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("PI_EXPERIMENTAL", value)
    assert config.are_experimental_features_enabled() is expected
