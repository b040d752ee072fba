"""The table of providers and their built-in models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pinyon.ai.api import api_names
from pinyon.ai.catalogue import all_models, catalogue_models, get_model
from pinyon.ai.config_value import layered
from pinyon.ai.model import THINKING_LEVELS, Model, supported_levels
from pinyon.ai.provider import (
    DATA_FOLDER,
    canonical_id,
    default_models,
    display_name,
    environment_source,
    fill_placeholders,
    find_provider,
    list_order,
    missing_variables,
    providers,
)

FILES = sorted((DATA_FOLDER / "models").glob("*.json"))


def test_every_provider_row_is_complete() -> None:
    assert len(providers()) == 43
    for provider in providers().values():
        assert provider.name
        assert provider.apis
        assert provider.env or provider.auth == ("oauth",)
        assert provider.base_url or provider.id in ("azure", "amazon-bedrock")


@pytest.mark.parametrize(
    ("provider_id", "name"),
    [("xai", "xAI"), ("zai-coding-cn", "Z.AI Coding CN"), ("opencode", "OpenCode Zen"), ("mine", "mine")],
)
def test_providers_have_display_names(provider_id: str, name: str) -> None:
    assert display_name(provider_id) == name


def test_lists_show_two_providers_first_and_the_rest_by_name() -> None:
    ordered = sorted(providers().values(), key=lambda provider: list_order(provider.id, provider.name))
    assert [provider.id for provider in ordered[:4]] == ["radius", "openrouter", "amazon-bedrock", "ant-ling"]
    assert ordered[-1].id == "zai-coding-cn"


def test_start_up_tries_default_models_in_table_order() -> None:
    assert default_models()[:4] == [
        ("amazon-bedrock", "us.anthropic.claude-opus-5-5"),
        ("ant-ling", "Ring-2.6-1T"),
        ("anthropic", "claude-opus-5-5"),
        ("openai", "gpt-6.2-sol"),
    ]


def test_a_former_id_leads_to_the_provider() -> None:
    assert canonical_id("azure-openai-responses") == "azure"
    assert find_provider("azure-openai-responses") is providers()["azure"]
    assert find_provider("nobody") is None


@pytest.mark.parametrize(
    ("provider_id", "env", "source"),
    [
        ("openai", {"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY"),
        ("openai", {"OPENAI_API_KEY": ""}, None),
        ("anthropic", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, "ANTHROPIC_AUTH_TOKEN"),
        ("qwen-token-plan", {"QWEN_TOKEN_PLAN_API_KEY": "k"}, "QWEN_TOKEN_PLAN_API_KEY"),
        ("amazon-bedrock", {"AWS_ACCESS_KEY_ID": "a"}, None),
        (
            "amazon-bedrock",
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
            "AWS_ACCESS_KEY_ID+AWS_SECRET_ACCESS_KEY",
        ),
        ("google-vertex", {"GOOGLE_APPLICATION_CREDENTIALS": "f"}, None),
        (
            "google-vertex",
            {"GOOGLE_APPLICATION_CREDENTIALS": "f", "GCLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"},
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        ("openai-codex", {"OPENAI_API_KEY": "k"}, None),
    ],
)
def test_the_environment_signs_a_provider_in(provider_id: str, env: dict[str, str], source: str | None) -> None:
    provider = find_provider(provider_id)
    assert provider is not None
    assert environment_source(provider, layered(env)) == source


def test_default_credentials_of_the_cloud_tool_count_with_project_and_location(tmp_path: Path) -> None:
    env = {"CLOUDSDK_CONFIG": str(tmp_path), "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}
    provider = providers()["google-vertex"]
    assert environment_source(provider, layered(env)) is None
    (tmp_path / "application_default_credentials.json").write_text("{}")
    assert environment_source(provider, layered(env)) == "application default credentials"


def test_variables_that_are_needed_beside_the_key_are_named() -> None:
    assert missing_variables(providers()["cloudflare-ai-gateway"], layered({"CLOUDFLARE_ACCOUNT_ID": "a"})) == [
        "CLOUDFLARE_GATEWAY_ID"
    ]
    assert missing_variables(providers()["azure"], layered()) == ["AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"]
    assert missing_variables(providers()["azure"], layered({"AZURE_OPENAI_RESOURCE_NAME": "r"})) == []


def test_placeholders_of_addresses_are_filled() -> None:
    url = providers()["cloudflare-workers-ai"].base_url
    assert "/accounts/acc/ai" in fill_placeholders(url, layered({"CLOUDFLARE_ACCOUNT_ID": "acc"}))
    assert fill_placeholders(url, layered()) == url
    assert fill_placeholders("https://{location}-x", layered({"location": "y"})) == "https://{location}-x"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_data_file_describes_sound_models_of_its_provider(path: Path) -> None:
    provider = providers()[path.stem]
    rows = json.loads(path.read_text("utf-8"))
    known = set(Model.__struct_encode_fields__)
    assert provider.default_model in rows
    for model_id, row in rows.items():
        base = {"provider": provider.id, "api": provider.apis[0], "baseUrl": provider.base_url}
        model = msgspec.convert({**base, **row, "id": model_id}, Model)
        assert set(row) <= known - {"id", "provider"}
        assert model.api in provider.apis
        assert 0 < model.max_tokens <= model.context_window
        assert supported_levels(model)
        assert set(row.get("thinkingLevelMap", ())) <= set(THINKING_LEVELS)


def test_every_provider_with_a_default_model_has_a_data_file() -> None:
    assert {path.stem for path in FILES} == {provider_id for provider_id, _ in default_models()}


def test_only_models_whose_api_is_spoken_are_offered() -> None:
    spoken = set(api_names())
    models = all_models()
    assert {model.api for model in models} <= spoken
    assert {model.provider for model in models} == {path.stem for path in FILES}
    assert len(models) == sum(len(json.loads(path.read_text("utf-8"))) for path in FILES)
    assert len({model.key for model in models}) == len(models)
    assert catalogue_models("nobody") == ()


def test_one_model_is_found_by_provider_and_id_and_is_a_copy() -> None:
    model = get_model("anthropic", "claude-opus-4-5")
    assert model is not None
    assert (model.context_window, model.max_tokens, model.cost.input, model.input) == (
        200_000,
        64_000,
        5,
        ["text", "image"],
    )
    model.name = "changed"
    again = get_model("anthropic", "claude-opus-4-5")
    assert again is not None
    assert again.name == "Claude Opus 4.5"
    assert get_model("anthropic", "nope") is None


OPENED = """
import sys

opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry

registry = ModelRegistry.in_memory(AuthStorage.in_memory(env={"GROQ_API_KEY": "k"}))
registry.resolve("groq/openai/gpt-oss-20b")
registry.initial_model()
registry.get_available()
print(*sorted({path.rpartition("/")[2] for path in opened if "/data/models/" in path}))
"""


def test_only_the_files_of_the_providers_in_question_are_read() -> None:
    done = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["groq.json"]


@pytest.mark.parametrize("blank", ["", " ", "\n", "\t "])
def test_a_blank_variable_counts_as_not_set(blank: str) -> None:
    assert environment_source(providers()["groq"], layered({"GROQ_API_KEY": blank})) is None
    assert layered({"A": blank}, {"A": "below"})("A") == "below"
