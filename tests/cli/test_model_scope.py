"""Which model a new session takes: the scope of `--models` and of the settings, and defaults on local servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home

from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply

SCOPE = {"enabledModels": ["fake/c*:low"]}


def home_with(tmp_path: Path, url: str, **settings: Any) -> Home:
    home = Home(tmp_path, url)
    models = [{"id": name, "reasoning": True} for name in ("alpha", "beta", "charlie")]
    fake: dict[str, Any] = {"baseUrl": url + "/v1", "api": "openai-completions", "apiKey": "k", "models": models}
    fake["compat"] = {"supportsReasoningEffort": True}
    home.write(home.agent_dir / "models.json", {"providers": {"fake": fake}})
    home.write(home.agent_dir / "settings.json", settings)
    return home


@pytest.mark.parametrize(
    ("arguments", "settings", "model", "effort"),
    [
        (["--models", "beta,alpha"], {}, "beta", "medium"),
        (["--models", "beta,alpha:high"], {"defaultProvider": "fake", "defaultModel": "alpha"}, "alpha", "high"),
        (["--models", "b*:low"], {"defaultProvider": "fake", "defaultModel": "alpha"}, "beta", "low"),
        (["--models", "beta:low", "--thinking", "high"], {}, "beta", "high"),
        ([], SCOPE, "charlie", "low"),
        (["--models", "beta"], SCOPE, "beta", "medium"),
        (["--model", "alpha"], SCOPE, "alpha", "medium"),
    ],
)
def test_a_new_session_begins_in_the_scope(
    tmp_path: Path, arguments: list[str], settings: dict[str, Any], model: str, effort: str
) -> None:
    with FakeServer([openai_answer("Hello.")]) as server:
        home = home_with(tmp_path, server.url, **settings)
        code, out, err = home.run(*arguments, "-p", "hi", model=None)
        assert (code, out, err) == (0, "Hello.\n", "")
        body = server.requests[0].json
    assert (body["model"], body["reasoning_effort"]) == (model, effort)


def test_a_continued_session_keeps_its_model(tmp_path: Path) -> None:
    with FakeServer([openai_answer("Hello.")]) as server:
        home = home_with(tmp_path, server.url)
        assert home.run("--model", "alpha", "-p", "hi", model=None)[0] == 0
        assert home.run("--models", "beta", "-c", "-p", "again", model=None)[0] == 0
        assert [request.json["model"] for request in server.requests] == ["alpha", "alpha"]


def test_a_scope_that_matches_nothing_is_a_warning(tmp_path: Path) -> None:
    with FakeServer([openai_answer("Hello.")]) as server:
        home = home_with(tmp_path, server.url)
        code, out, err = home.run("--models", "nobody*", "-p", "hi", model=None)
    assert (code, out) == (0, "Hello.\n")
    assert err == "Warning: the model pattern 'nobody*' matches no model with credentials\n"


def test_a_default_on_a_local_server_is_asked_for(tmp_path: Path) -> None:
    def reply(request: RecordedRequest) -> Reply:
        if request.path == "/v1/models":
            return Reply.json({"data": [{"id": "local-1"}]})
        answer = openai_answer("Local.")
        return answer(request) if callable(answer) else answer

    with FakeServer([reply]) as server:
        home = home_with(tmp_path, server.url, defaultProvider="vllm", defaultModel="local-1")
        code, out, err = home.run("-p", "hi", model=None, env={"VLLM_BASE_URL": server.url})
        assert (code, out, err) == (0, "Local.\n", "")
        code, out, _ = home.run("--models", "vllm/*", "-p", "hi", model=None, env={"VLLM_BASE_URL": server.url})
        assert (code, out) == (0, "Local.\n")
        asked = [request.json["model"] for request in server.requests if request.method == "POST"]
    assert asked == ["local-1", "local-1"]
