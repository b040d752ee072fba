"""Signing in with keys: what is asked and what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.config_value import expand, layered
from pinyon.ai.credential import ApiKeyCredential
from pinyon.ai.key_login import literal
from pinyon.ai.oauth import LoginCancelledError, LoginNotice, LoginPrompt
from pinyon.errors import AuthError


class ScriptedUser:
    """Answers prompts in order and keeps them."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[LoginPrompt] = []

    async def prompt(self, prompt: LoginPrompt) -> str:
        self.prompts.append(prompt)
        if not self.answers:
            raise LoginCancelledError("login cancelled")
        return self.answers.pop(0)

    def notify(self, notice: LoginNotice) -> None:
        raise AssertionError("nothing to show")


def signed_in(provider: str, user: ScriptedUser, env: Mapping[str, str] | None = None) -> ApiKeyCredential:
    storage = AuthStorage.in_memory(env=env or {})
    credential = asyncio.run(storage.login(provider, user, "api_key"))
    assert storage.get(provider) == credential
    assert isinstance(credential, ApiKeyCredential)
    return credential


def test_most_providers_ask_for_one_secret() -> None:
    user = ScriptedUser("  sk-1\n")
    assert signed_in("groq", user) == ApiKeyCredential(key="sk-1")
    assert [(prompt.type, prompt.message) for prompt in user.prompts] == [("secret", "API key for Groq")]


@pytest.mark.parametrize("typed", ["!rm -rf x", "a$HOME", "$KEY", "$$", "!"])
def test_a_typed_key_stands_for_itself(typed: str) -> None:
    storage = AuthStorage.in_memory(env={"HOME": "/h", "KEY": "other"})
    asyncio.run(storage.login("groq", ScriptedUser(typed)))
    assert asyncio.run(storage.get_api_key("groq")) == typed


@given(st.text(min_size=1))
def test_every_text_can_be_written_literally(text: str) -> None:
    assert not literal(text).startswith("!")
    assert expand(literal(text), layered()).value == text


@pytest.mark.parametrize(
    ("provider", "answers", "credential"),
    [
        ("amazon-bedrock", ["bearer", "tok"], ApiKeyCredential(key="tok")),
        ("amazon-bedrock", ["profile", "work"], ApiKeyCredential(env={"AWS_PROFILE": "work"})),
        ("amazon-bedrock", ["chain"], ApiKeyCredential()),
        ("google-vertex", ["key", "k"], ApiKeyCredential(key="k")),
        (
            "google-vertex",
            ["default", "p", "eu"],
            ApiKeyCredential(env={"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "eu"}),
        ),
        (
            "google-vertex",
            ["file", "/sa.json", "p", "eu"],
            ApiKeyCredential(
                env={
                    "GOOGLE_APPLICATION_CREDENTIALS": "/sa.json",
                    "GOOGLE_CLOUD_PROJECT": "p",
                    "GOOGLE_CLOUD_LOCATION": "eu",
                }
            ),
        ),
        (
            "cloudflare-ai-gateway",
            ["k", "acc", "gw"],
            ApiKeyCredential(key="k", env={"CLOUDFLARE_ACCOUNT_ID": "acc", "CLOUDFLARE_GATEWAY_ID": "gw"}),
        ),
    ],
)
def test_some_providers_ask_for_more(provider: str, answers: list[str], credential: ApiKeyCredential) -> None:
    assert signed_in(provider, ScriptedUser(*answers)) == credential


def test_a_variable_of_the_environment_needs_no_answer_and_a_missing_one_does() -> None:
    env = {"CLOUDFLARE_ACCOUNT_ID": "acc"}
    assert signed_in("cloudflare-workers-ai", ScriptedUser("k", ""), env) == ApiKeyCredential(key="k")
    with pytest.raises(AuthError, match="CLOUDFLARE_ACCOUNT_ID"):
        signed_in("cloudflare-workers-ai", ScriptedUser("k", ""))


@pytest.mark.parametrize(
    ("provider", "answers", "reason"),
    [
        ("groq", [""], "nothing was given"),
        ("groq", ["a\x00b"], "control character"),
        ("groq", [], "cancelled"),
        ("openai-codex", ["k"], "takes no API key"),
        ("amazon-bedrock", ["elsewhere"], "must be one of"),
    ],
)
def test_answers_that_cannot_work_store_nothing(provider: str, answers: list[str], reason: str) -> None:
    storage = AuthStorage.in_memory(env={})
    with pytest.raises(AuthError, match=reason):
        asyncio.run(storage.login(provider, ScriptedUser(*answers), "api_key"))
    assert storage.list() == []


def test_a_subscription_token_is_no_api_key() -> None:
    storage = AuthStorage.in_memory(env={})
    with pytest.raises(AuthError, match="works in its own client only"):
        asyncio.run(storage.login("anthropic", ScriptedUser("sk-ant-oat01-secret")))
    assert storage.get("anthropic") is None
