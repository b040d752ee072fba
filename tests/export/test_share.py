"""Sharing a session through a `gh` command that tests bring."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.export.recorded import stored_session
from tests.export.test_html_page import page_data

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.ai.tool import Tool
from pinyon.errors import SessionError
from pinyon.export import PageExtras, SharedSession, ShareError, share_as_gist
from pinyon.session.session import Session

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for gh is a script")

GIST = "https://gist.github.com/someone/0123abc"
FINE = f"""
if arguments[0] == "gist":
    page = pathlib.Path(arguments[-1])
    (log / "page.html").write_bytes(page.read_bytes())
    (log / "folder").write_text(f"{{page.parent}} {{page.parent.stat().st_mode & 0o777:o}}")
    print("- Creating gist session.html", file=sys.stderr)
    print("{GIST}")
"""
Gh = Callable[[str], Path]


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gh:
    """Puts a `gh` with a body of Python alone on the path; gives the folder of what it notes."""

    def install(body: str) -> Path:
        log, folder = tmp_path / "log", tmp_path / "bin"
        log.mkdir()
        folder.mkdir()
        script = folder / "gh"
        script.write_text(
            f"#!{sys.executable}\nimport json, pathlib, sys, time\narguments = sys.argv[1:]\n"
            f"log = pathlib.Path({str(log)!r})\n"
            f"with (log / 'calls').open('a') as file:\n    print(json.dumps(arguments), file=file)\n{body}"
        )
        script.chmod(0o755)
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        return log

    return install


def shared(tmp_path: Path, extras: PageExtras | None = None) -> tuple[SharedSession, list[str]]:
    told: list[str] = []
    session = Session.open(stored_session(tmp_path))
    return asyncio.run(share_as_gist(session, extras, tell=told.append)), told


def is_clean(tmp_path: Path) -> bool:
    return not list((tmp_path / "temporary").iterdir())


def test_the_branch_becomes_a_secret_gist_and_nothing_stays_behind(tmp_path: Path, gh: Gh) -> None:
    log = gh(FINE)
    extras = PageExtras(system_prompt="Be brief.", tools=[Tool("t", "d", {})], secrets=["w0"])
    result, told = shared(tmp_path, extras)
    assert result == SharedSession(gist_url=GIST, viewer_url="https://pi.dev/session/#0123abc")
    calls = [json.loads(line) for line in (log / "calls").read_text().splitlines()]
    assert [call[:-1] for call in calls] == [["auth"], ["gist", "create", "--public=false"]]
    data = page_data((log / "page.html").read_text())
    source = [json.loads(line) for line in stored_session(tmp_path).read_bytes().splitlines()]
    session = Session.open(stored_session(tmp_path))
    assert [entry["id"] for entry in data["entries"]] == [entry.id for entry in session.get_branch()]
    assert len(data["entries"]) < len(source) - 1
    assert (data["systemPrompt"], data["tools"][0]["name"]) == ("Be brief.", "t")
    assert (log / "folder").read_text().endswith(" 700")
    assert is_clean(tmp_path)
    assert len(told) == 3


def test_the_viewer_can_be_ones_own(tmp_path: Path, gh: Gh, monkeypatch: pytest.MonkeyPatch) -> None:
    gh(FINE)
    monkeypatch.setenv("PI_SHARE_VIEWER_URL", "https://pages.example/show")
    assert shared(tmp_path)[0].viewer_url == "https://pages.example/show#0123abc"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('no hosts', file=sys.stderr)\nsys.exit(1)", "gh auth login` first: no hosts"),
        ("if arguments[0] == 'gist':\n    print('\\x1b[31mHTTP 403\\x1b[0m', file=sys.stderr)\n    sys.exit(4)",
         "exit code 4): HTTP 403"),
        ("print('done')", "did not say where: done"),
    ],
)  # fmt: skip
def test_a_failure_says_why_and_leaves_nothing_behind(tmp_path: Path, gh: Gh, body: str, said: str) -> None:
    gh(body)
    with pytest.raises(ShareError) as caught:
        shared(tmp_path)
    assert said in str(caught.value)
    assert is_clean(tmp_path)


def test_without_gh_the_error_says_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ShareError, match="install it"):
        shared(tmp_path)


def test_a_session_without_entries_is_not_shared(tmp_path: Path, gh: Gh) -> None:
    log = gh(FINE)
    with pytest.raises(SessionError, match="nothing to share"):
        asyncio.run(share_as_gist(Session.create(tmp_path, tmp_path)))
    assert not (log / "calls").exists()


def test_an_abort_ends_gh_and_cleans_up(tmp_path: Path, gh: Gh) -> None:
    body = "if arguments[0] == 'gist':\n    (log / 'begun').touch()\n    time.sleep(60)\n    (log / 'ended').touch()"
    log = gh(body)

    async def scenario() -> None:
        controller = AbortController()
        work = asyncio.create_task(share_as_gist(Session.open(stored_session(tmp_path)), signal=controller.signal))
        while not (log / "begun").exists():  # noqa: ASYNC110 - what another process writes has no event
            await asyncio.sleep(0.01)
        controller.abort()
        with pytest.raises(OperationAbortedError):
            await work

    asyncio.run(scenario())
    assert not (log / "ended").exists()
    assert is_clean(tmp_path)
