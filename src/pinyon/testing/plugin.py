"""The pytest plugin: fixtures for agents on scripted models, recordings of real exchanges, and a ban on real requests.

pytest loads this module by itself where Pinyon is installed, so nothing of Pinyon is imported before a fixture or
option of it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pinyon.ai.apis.faux import FauxProvider
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.sync_session import SyncSession
    from pinyon.testing.cassette import Cassette

REQUESTS_VARIABLE = "PINYON_MODEL_REQUESTS"
RECORD_VARIABLE = "PINYON_RECORD"
_MODES = ("none", "once", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("pinyon", "agents under test")
    group.addoption(
        "--pinyon-record",
        choices=_MODES,
        help="none: recordings only answer; once: record what has no file yet; all: record anew",
    )
    parser.addini(
        "pinyon_requests",
        "'loopback' makes every request to a model beyond this machine an error of the test",
        default="",
    )
    parser.addini("pinyon_cassettes", "folder of recordings beside the test file", default="cassettes")


def pytest_configure(config: pytest.Config) -> None:
    """Forbid real requests for the whole run where the ini file says so."""
    wanted = str(config.getini("pinyon_requests") or "")
    if wanted not in ("", "all", "loopback"):
        raise pytest.UsageError(f"pinyon_requests is {wanted!r}; it must be 'loopback' or 'all'")
    if wanted == "loopback" or os.environ.get(REQUESTS_VARIABLE) == "loopback":
        config.pluginmanager.register(_RequestBan(), "pinyon-request-ban")


class _RequestBan:
    """Refuses real requests during the whole run and fails the tests that tried one."""

    def __init__(self) -> None:
        self._previous = os.environ.get(REQUESTS_VARIABLE)
        os.environ[REQUESTS_VARIABLE] = "loopback"

    def pytest_unconfigure(self) -> None:
        if self._previous is None:
            os.environ.pop(REQUESTS_VARIABLE, None)
        else:
            os.environ[REQUESTS_VARIABLE] = self._previous

    @pytest.fixture(autouse=True)
    def _pinyon_request_ban(self) -> Iterator[None]:
        yield from _failing_on_requests()


def _failing_on_requests() -> Iterator[None]:
    from pinyon.ai.destination import watch_blocked

    blocked: list[str] = []
    stop = watch_blocked(blocked.append)
    yield
    stop()
    if blocked:
        urls = ", ".join(dict.fromkeys(blocked))
        pytest.fail(f"the test sent a request to a real model server: {urls}", pytrace=False)


@pytest.fixture
def pinyon_block_requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every request to a model beyond this machine an error of this test, also in processes that it starts."""
    monkeypatch.setenv(REQUESTS_VARIABLE, "loopback")
    yield from _failing_on_requests()


@pytest.fixture
def pinyon_allow_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permit real requests in this test where they are forbidden."""
    monkeypatch.setenv(REQUESTS_VARIABLE, "all")


@pytest.fixture
def pinyon_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder, with a home and an agent folder of their own so that nothing of the user's is read."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".pi" / "agent").mkdir(parents=True)
    project.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / ".pi" / "agent"))
    return project


@pytest.fixture
def pinyon_model() -> FauxProvider:
    """The scripted model of `pinyon_agent` and `pinyon_session`; `append_responses` adds answers."""
    from pinyon.ai.apis.faux import FauxProvider

    return FauxProvider()


@pytest.fixture
def pinyon_agent(
    pinyon_project: Path, pinyon_model: FauxProvider
) -> Callable[..., AbstractAsyncContextManager[AgentSession]]:
    """Sessions in the scratch project; see `scripted_session`.

    Use it as `async with pinyon_agent("an answer", ...) as session:`.
    """
    from functools import partial

    from pinyon.testing.scripted import scripted_session

    return partial(scripted_session, cwd=pinyon_project, model=pinyon_model)


@pytest.fixture
def pinyon_session(pinyon_project: Path, pinyon_model: FauxProvider) -> Iterator[Callable[..., SyncSession]]:
    """Sessions for tests without an event loop, closed after the test.

    Use it as `session = pinyon_session("an answer", ...)`; it runs in the scratch project.
    """
    from pinyon.testing.scripted import scripted_sync_session

    made: list[SyncSession] = []

    def make(*answers: Any, **options: Any) -> SyncSession:
        session = scripted_sync_session(*answers, **{"cwd": pinyon_project, "model": pinyon_model, **options})
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture
def pinyon_cassette(
    request: pytest.FixtureRequest, pinyon_project: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cassette]:
    """Answer the model requests of this test from its recording, or record them as `--pinyon-record` says.

    The file is `cassettes/<test>.jsonl` beside the test. Where keys were set at the recording, stand-ins are set now.
    """
    from pinyon.ai.transport import standing_in
    from pinyon.testing.cassette import Cassette, CassetteError

    try:
        cassette = Cassette(
            _cassette_path(request), mode=_record_mode(request.config), replacements=_folders(request, pinyon_project)
        )
    except CassetteError as error:
        pytest.fail(f"{error} (pytest --pinyon-record=once)", pytrace=False)
    if cassette.is_recording:
        monkeypatch.setenv(REQUESTS_VARIABLE, "all")
    for name in cassette.header.key_variables:
        if not os.environ.get(name):
            monkeypatch.setenv(name, "recorded")
    with standing_in(cassette):
        yield cassette
    cassette.close()
    if cassette.faults:
        pytest.fail(f"{cassette.faults[0]} (pytest --pinyon-record=all)", pytrace=False)


def _folders(request: pytest.FixtureRequest, project: Path) -> dict[str, str]:
    """Folders that differ between machines, and what stands for them."""
    from pinyon._util.config import package_dir

    return {
        str(request.config.rootpath): "<root>",
        str(Path.cwd()): "<cwd>",
        str(package_dir()): "<package>",
        str(project.parent): "<scratch>",
        str(project): "<project>",
    }


def _record_mode(config: pytest.Config) -> Any:
    mode = config.getoption("--pinyon-record") or os.environ.get(RECORD_VARIABLE) or "none"
    if mode not in _MODES:
        raise pytest.UsageError(f"{RECORD_VARIABLE} is {mode!r}; it must be one of {', '.join(_MODES)}")
    return mode


def _cassette_path(request: pytest.FixtureRequest) -> Path:
    folder = request.path.parent / str(request.config.getini("pinyon_cassettes"))
    name = re.sub(r"[^\w.-]+", "-", f"{request.path.stem}.{request.node.name}").strip("-")
    return folder / f"{name}.jsonl"
