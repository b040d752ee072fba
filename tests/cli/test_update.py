"""`pinyon update --models`, in a home of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home

from pinyon.testing.fake_server import FakeServer, Reply

ROW = {"id": "new-1", "contextWindow": 50_000, "maxTokens": 4000}
ONLINE = {"PI_OFFLINE": "", "GROQ_API_KEY": "k"}
LATER = {"last-modified": "Thu, 31 Dec 2099 00:00:00 GMT"}


def run(home: Home, *arguments: str, **env: str) -> tuple[int, str, str]:
    return home.run("update", *arguments, env={**ONLINE, **env}, model=None)


def test_newer_models_are_fetched_once_and_then_listed_without_network(tmp_path: Path) -> None:
    with FakeServer([Reply.json([ROW], headers=LATER)]) as server:
        home = Home(tmp_path, server.url)
        home.write(home.agent_dir / "settings.json", {"modelsUrl": server.url})
        code, out, err = run(home, "--models")
        assert (code, out, err) == (0, "groq: 1 models\n", "")
        assert [request.path for request in server.requests] == ["/providers/groq?types=chat"]
        code, out, _ = home.run("--list-models", "new-1", env={"GROQ_API_KEY": "k"}, model=None)
        assert code == 0
        assert out.splitlines()[1].split() == ["groq", "new-1", "50K", "4K", "no", "no"]
        assert len(server.requests) == 1
    assert "new-1" in (home.agent_dir / "models-store.json").read_text(encoding="utf-8")


def test_an_address_can_be_given_and_failures_are_told(tmp_path: Path) -> None:
    with FakeServer([Reply.text("gone", 410)]) as server:
        code, out, err = run(Home(tmp_path, server.url), "--models", "--url", f"{server.url}/x")
        assert [request.path for request in server.requests] == ["/x/providers/groq?types=chat"]
    assert (code, out) == (1, "")
    assert err == "Warning: groq: the server answered with status 410\n"


@pytest.mark.parametrize(
    ("arguments", "env", "told"),
    [
        (["--models"], {}, "set `modelsUrl`"),
        (["--models", "--url", "https://x.example"], {"PI_OFFLINE": "1"}, "offline"),
        (["--models", "--url", "https://x.example", "--offline"], {}, "offline"),
        (["--models", "--url"], {}, "needs one address"),
        (["--models", "--colour"], {}, "got '--colour'"),
        (["--models", "--url", "http://x.example"], {}, "give an https address"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], env: dict[str, Any], told: str
) -> None:
    home = Home(tmp_path, "http://127.0.0.1:9")
    code, out, err = run(home, *arguments, **env)
    assert (code, out) == (1, "")
    assert told in err
    assert not (home.agent_dir / "models-store.json").exists()


def test_a_project_cannot_choose_the_server(tmp_path: Path) -> None:
    home = Home(tmp_path, "http://127.0.0.1:9")
    (home.project / ".pi").mkdir()
    (home.project / ".pi" / "settings.json").write_text(json.dumps({"modelsUrl": "http://127.0.0.1:9"}))
    code, _, err = run(home, "--models")
    assert code == 1
    assert "set `modelsUrl`" in err


def test_help_is_shown(tmp_path: Path) -> None:
    code, out, _ = run(Home(tmp_path, "http://127.0.0.1:9"), "--help")
    assert code == 0
    assert "--models [--url <address>]" in out
