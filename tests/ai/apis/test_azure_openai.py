"""Azure: addresses, deployments and keys of the Responses API and of chat completions."""

from typing import Any

import pytest
from tests.ai.apis.responses import KEY, exchange, model

from pinyon.ai.apis.azure_endpoint import azure_endpoint
from pinyon.ai.option import StreamOptions
from pinyon.errors import ModelError
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_responses import error_reply, message, responses_answer
from pinyon.testing.stream import final_message

AZURE = {"api": "azure-openai-responses", "provider": "azure"}
RESOURCE = "https://res.openai.azure.com/openai/v1"


def resolved(base_url: str = "", env: dict[str, str] | None = None, **extra: Any) -> tuple[str, str, str]:
    target = azure_endpoint(model(base_url, **AZURE), StreamOptions(env=env or {}, extra=extra))
    return target.base_url, target.api_version, target.deployment


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://res.openai.azure.com", RESOURCE),
        ("https://res.openai.azure.com/", RESOURCE),
        ("https://res.openai.azure.com/openai", RESOURCE),
        ("https://res.openai.azure.com/openai/v1/", RESOURCE),
        ("https://res.openai.azure.com/openai/v1/responses?api-version=preview", RESOURCE),
        ("https://res.cognitiveservices.azure.com", "https://res.cognitiveservices.azure.com/openai/v1"),
        ("https://res.services.ai.azure.com/openai", "https://res.services.ai.azure.com/openai/v1"),
        ("https://res.openai.azure.com/custom/path", "https://res.openai.azure.com/custom/path"),
        ("https://proxy.example/openai/", "https://proxy.example/openai"),
        ("https://openai.azure.com.evil.example", "https://openai.azure.com.evil.example"),
    ],
)
def test_addresses_of_resources_are_completed(url: str, expected: str) -> None:
    assert resolved(url)[0] == expected
    assert resolved(env={"AZURE_OPENAI_BASE_URL": url})[0] == expected
    assert resolved(azure_base_url=url)[0] == expected


def test_options_win_over_the_environment_and_that_over_the_model() -> None:
    env = {
        "AZURE_OPENAI_BASE_URL": "https://env.example",
        "AZURE_OPENAI_RESOURCE_NAME": "envres",
        "AZURE_OPENAI_API_VERSION": "2026-01-01",
    }
    assert resolved("https://model.example", env) == ("https://env.example", "2026-01-01", "fake-1")
    assert resolved("", env, azure_base_url="https://mine.example", azure_api_version="v2")[:2] == (
        "https://mine.example",
        "v2",
    )
    assert resolved("https://model.example", {"AZURE_OPENAI_RESOURCE_NAME": "res"}) == (RESOURCE, "v1", "fake-1")
    assert resolved("https://model.example", azure_resource_name="res")[0] == RESOURCE
    assert resolved("https://model.example/v1/")[0] == "https://model.example/v1"


def test_nothing_that_names_the_resource_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(ModelError, match="AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"):
        resolved()
    events, requests = exchange(responses_answer(message("x")), fields={**AZURE, "base_url": ""})
    assert requests == []
    assert "AZURE_OPENAI_BASE_URL" in str(final_message(events).error_message)


@pytest.mark.parametrize(
    ("mapping", "extra", "expected"),
    [
        ("", {}, "fake-1"),
        ("other=x, fake-1 = mine ,bad", {}, "mine"),
        ("fake-1=", {}, "fake-1"),
        ("fake-1=mine", {"azure_deployment_name": "own"}, "own"),
    ],
)
def test_a_deployment_stands_for_the_model(mapping: str, extra: dict[str, str], expected: str) -> None:
    assert resolved("https://x.example", {"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": mapping}, **extra)[2] == expected


def test_a_request_goes_to_the_deployment_with_the_key_in_its_header() -> None:
    events, requests = exchange(
        responses_answer(message("hi"), model="gpt-6-2026-10-01"),
        fields=AZURE,
        env={"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "fake-1=dep"},
        session_id="s" * 80,
        cache_retention="none",
    )
    request = requests[0]
    assert request.path == "/v1/responses?api-version=v1"
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.json["model"] == "dep"
    assert request.json["prompt_cache_key"] == "s" * 64
    assert not {name for name in request.json if name.startswith("prompt_cache_") and name != "prompt_cache_key"}
    assert request.json["tools"][0]["strict"] is True
    assert final_message(events).text == "hi"
    assert final_message(events).model == "fake-1"


def test_the_deployment_is_no_other_model() -> None:
    events, _ = exchange(
        responses_answer(message("hi")), fields=AZURE, env={"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "fake-1=dep"}
    )
    assert not final_message(events).response_model


def test_errors_name_azure() -> None:
    events, _ = exchange(error_reply(404, "no such deployment"), fields=AZURE)
    assert str(final_message(events).error_message).startswith("Azure OpenAI API error (404): ")


def test_chat_completions_find_the_same_resource_and_deployment() -> None:
    events, requests = exchange(
        openai_answer("hi"),
        fields={"api": "openai-completions", "provider": "azure"},
        env={"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "fake-1=dep"},
    )
    assert final_message(events).text == "hi"
    assert requests[0].path == "/v1/chat/completions"
    assert requests[0].json["model"] == "dep"
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
