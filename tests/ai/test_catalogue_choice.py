"""Choosing among the models that the package brings, by what people write."""

from __future__ import annotations

import asyncio

import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.provider import providers
from pinyon.ai.resolver import AmbiguousModelError, UnknownModelError

KEYS = {provider.id: provider.env[-1] for provider in providers().values() if provider.env}
AZURE = {"AZURE_OPENAI_RESOURCE_NAME": "res"}


def registry_with(*provider_ids: str) -> ModelRegistry:
    env = {KEYS[provider_id]: "k" for provider_id in provider_ids}
    return ModelRegistry.in_memory(AuthStorage.in_memory(env={**AZURE, **env}))


@pytest.mark.parametrize(
    ("text", "signed_in", "expected", "level"),
    [
        ("openai/gpt-6-sol", ["openrouter"], "openrouter/openai/gpt-6-sol", None),
        ("openai/gpt-6-sol", ["openrouter", "openai"], "openai/gpt-6-sol", None),
        ("zai/glm-5.3", [], "zai/glm-5.3", None),
        ("gpt-6-sol", ["azure"], "azure/gpt-6-sol", None),
        ("GPT-6-SOL:High ", ["openai"], "openai/gpt-6-sol", "high"),
        ("opus", ["anthropic"], "anthropic/claude-opus-5-5", None),
        ("sonnet:low", ["anthropic"], "anthropic/claude-sonnet-5-5", "low"),
        ("anthropic/sonnet", [], "anthropic/claude-sonnet-5-5", None),
        ("openrouter/anthropic/claude-opus-5.5:max", [], "openrouter/anthropic/claude-opus-5.5", "max"),
        ("azure-openai-responses/gpt-6-sol", ["azure"], "azure/gpt-6-sol", None),
        ("@cf/openai/gpt-oss-120b", [], "cloudflare-workers-ai/@cf/openai/gpt-oss-120b", None),
    ],
)
def test_what_people_write_finds_the_model(text: str, signed_in: list[str], expected: str, level: str | None) -> None:
    head, _, tail = text.partition("/")
    provider = head if head == "azure-openai-responses" else None
    found = registry_with(*signed_in).resolve(tail if provider else text, provider=provider)
    assert (found.model.spec, found.thinking_level, found.warning) == (expected, level, None)


@pytest.mark.parametrize(("signed_in", "told"), [([], "none of them"), (["openai", "azure"], "several of them")])
def test_an_id_of_several_providers_asks_which(signed_in: list[str], told: str) -> None:
    with pytest.raises(AmbiguousModelError, match=told) as raised:
        registry_with(*signed_in).resolve("gpt-6-sol")
    assert {"azure", "openai"} <= {model.provider for model in raised.value.candidates}


@pytest.mark.parametrize(
    ("text", "spec", "level", "reasons"),
    [
        ("anthropic/foo:bar", "anthropic/foo:bar", None, True),
        ("groq/of-tomorrow:high", "groq/of-tomorrow", "high", True),
        ("groq/of-tomorrow:off", "groq/of-tomorrow", "off", True),
        ("xai/grok-9", "xai/grok-9", None, True),
    ],
)
def test_an_unknown_id_of_a_known_provider_is_taken_as_it_is(
    text: str, spec: str, level: str | None, reasons: bool
) -> None:
    found = registry_with().resolve(text)
    assert (found.model.spec, found.model.name, found.thinking_level) == (spec, found.model.id, level)
    assert found.model.reasoning is reasons
    assert found.warning is not None


@pytest.mark.parametrize("text", ["sonnet:bogus", "no-such-model", "nobody/model"])
def test_what_nobody_offers_is_an_error(text: str) -> None:
    with pytest.raises(UnknownModelError, match="--list-models"):
        registry_with("anthropic").resolve(text)


@pytest.mark.parametrize(
    ("patterns", "specs"),
    [
        (["anthropic/claude-opus-5*"], ["anthropic/claude-opus-5", "anthropic/claude-opus-5-5"]),
        (["claude-haiku-5-5:low", "*haiku-5-5"], ["anthropic/claude-haiku-5-5"]),
        (["groq/openai/*"], ["groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b"]),
        (["gpt-oss-120b", "openai/gpt-oss-2?b"], ["groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b"]),
    ],
)
def test_scopes_pick_among_the_signed_in(patterns: list[str], specs: list[str]) -> None:
    scoped, remarks = registry_with("anthropic", "groq").resolve_scope(patterns)
    assert [item.model.spec for item in scoped] == specs
    assert remarks == []


@pytest.mark.parametrize("provider_id", sorted(KEYS.keys() - {"typesafe"}))
def test_every_provider_starts_with_its_default_model_when_it_alone_is_signed_in(provider_id: str) -> None:
    provider = providers()[provider_id]
    env = {KEYS[provider_id]: "k", **AZURE, "CLOUDFLARE_ACCOUNT_ID": "a"}
    env |= {"CLOUDFLARE_GATEWAY_ID": "g"} if provider_id == "cloudflare-ai-gateway" else {}
    registry = ModelRegistry.in_memory(AuthStorage.in_memory(env=env))
    found = registry.initial_model()
    assert found is not None
    sharing = [other.id for other in providers().values() if KEYS.get(other.id) == KEYS[provider_id]]
    assert found.model.provider in sharing
    assert found.model.id == providers()[found.model.provider].default_model
    assert provider.default_model


@pytest.mark.parametrize(
    ("provider_id", "name"),
    [(provider.id, name) for provider in providers().values() for name in provider.key_variables],
)
def test_each_variable_of_a_provider_signs_its_requests(provider_id: str, name: str) -> None:
    env = {name: "the-key", **AZURE, "CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_GATEWAY_ID": "g"}
    registry = ModelRegistry.in_memory(AuthStorage.in_memory(env=env))
    assert registry.is_usable(provider_id)
    auth = asyncio.run(registry.resolve_auth(provider_id))
    signed = [auth.api_key, *auth.headers.values()]
    assert "the-key" in signed or "Bearer the-key" in signed
    assert auth.source == "environment"
    assert not ModelRegistry.in_memory(AuthStorage.in_memory(env={**env, name: ""})).is_usable(provider_id)
