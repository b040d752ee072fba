"""From a text to a model for programs: the rules of `--model` on the models and credentials of this installation."""

from __future__ import annotations

from pinyon._util.config import DEFAULT_MODEL_SPEC
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.resolver import ResolvedModel


def resolve_model_pattern(spec: str, *, registry: ModelRegistry | None = None) -> ResolvedModel:
    """The model that `spec` names, the level behind its last colon, and a warning if the choice needs one.

    An empty text means `DEFAULT_MODEL_SPEC`. A prefix before a slash is a provider only if one of that name is known.
    Local servers are not asked: use `ModelRegistry.resolve_cli` for their models. Raises `UnknownModelError` or
    `AmbiguousModelError`. `registry` defaults to a new one over the user's own files.
    """
    if registry is None:
        registry = ModelRegistry.create(AuthStorage.create())
    return registry.resolve(spec.strip() or DEFAULT_MODEL_SPEC)


def resolve_model(spec: str = "", *, registry: ModelRegistry | None = None) -> Model:
    """The model that `spec` names; see `resolve_model_pattern`."""
    return resolve_model_pattern(spec, registry=registry).model
