"""`pinyon.models`: from a text to a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pinyon.models
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.models import AmbiguousModelError, ResolvedModel, UnknownModelError, resolve_model, resolve_model_pattern


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    (tmp_path / "models.json").write_text(
        json.dumps(
            {
                "providers": {
                    "one": {"baseUrl": "http://h", "api": "openai-completions", "models": [{"id": "same"}]},
                    "two": {"baseUrl": "http://h", "api": "openai-completions", "models": [{"id": "same"}]},
                }
            }
        )
    )
    return ModelRegistry.create(AuthStorage.in_memory(env={}), tmp_path / "models.json")


def test_an_empty_spec_is_the_default_model(registry: ModelRegistry) -> None:
    assert resolve_model(registry=registry).spec == "anthropic/claude-sonnet-4-5"
    assert resolve_model("  ", registry=registry).spec == "anthropic/claude-sonnet-4-5"


def test_a_spec_carries_its_level_and_warning(registry: ModelRegistry) -> None:
    found = resolve_model_pattern("anthropic/claude-opus-4-5:high", registry=registry)
    assert (found.model.id, found.thinking_level, found.warning) == ("claude-opus-4-5", "high", None)
    custom = resolve_model_pattern("anthropic/next:low", registry=registry)
    assert (custom.model.id, custom.thinking_level, custom.warning is not None) == ("next", "low", True)
    assert isinstance(custom, ResolvedModel)


def test_a_prefix_that_is_no_provider_is_part_of_the_id(registry: ModelRegistry) -> None:
    assert resolve_model("moonshotai/Kimi-K2.7-Code", registry=registry).provider in ("huggingface", "moonshotai")


def test_what_cannot_be_resolved_is_an_error(registry: ModelRegistry) -> None:
    with pytest.raises(AmbiguousModelError, match=r"one/same, two/same"):
        resolve_model("same", registry=registry)
    with pytest.raises(UnknownModelError):
        resolve_model("no-such-model", registry=registry)


def test_a_known_provider_whose_api_is_not_spoken_says_so(registry: ModelRegistry) -> None:
    silent = [name for name in registry.provider_ids() if not registry.models_of(name)]
    for provider in silent:
        with pytest.raises(UnknownModelError, match=f"{provider}.*wire API"):
            resolve_model(f"{provider}/anything", registry=registry)


def test_without_a_registry_the_users_own_files_count(tmp_path: Path) -> None:
    provider = {"baseUrl": "http://h", "api": "openai-completions", "models": [{"id": "m"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))
    code = "from pinyon.models import resolve_model; print(resolve_model('mine/m').spec)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PI_CODING_AGENT_DIR": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "mine/m\n"


def test_every_name_of_the_public_path_is_there() -> None:
    assert dir(pinyon.models) == pinyon.models.__all__
    assert all(getattr(pinyon.models, name) is not None for name in pinyon.models.__all__)


def test_importing_the_public_path_imports_no_model_code() -> None:
    code = "import sys, pinyon.models; print([name for name in sys.modules if name.startswith('pinyon.ai')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
