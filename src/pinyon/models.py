"""Models, credentials and the ways to choose a model, as programs that embed Pinyon need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.catalogue import all_models, get_model
    from pinyon.ai.credential import ApiKeyCredential, OAuthCredential
    from pinyon.ai.model import Model, ModelCost, ThinkingLevel, clamp_level, supported_levels
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.ai.model_spec import resolve_model, resolve_model_pattern
    from pinyon.ai.oauth import (
        LoginCancelledError,
        LoginInteraction,
        LoginNotice,
        LoginPrompt,
        OAuthError,
        OAuthProvider,
        SelectOption,
        TokenAuth,
    )
    from pinyon.ai.resolver import (
        AmbiguousModelError,
        ResolvedModel,
        ScopeDiagnostic,
        ScopedModel,
        UnknownModelError,
        resolve_scope,
    )

__all__ = [
    "AmbiguousModelError",
    "ApiKeyCredential",
    "AuthStorage",
    "LoginCancelledError",
    "LoginInteraction",
    "LoginNotice",
    "LoginPrompt",
    "Model",
    "ModelCost",
    "ModelRegistry",
    "OAuthCredential",
    "OAuthError",
    "OAuthProvider",
    "ResolvedModel",
    "ScopeDiagnostic",
    "ScopedModel",
    "SelectOption",
    "ThinkingLevel",
    "TokenAuth",
    "UnknownModelError",
    "all_models",
    "clamp_level",
    "get_model",
    "resolve_model",
    "resolve_model_pattern",
    "resolve_scope",
    "supported_levels",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.ai.auth_storage": ("AuthStorage",),
        "pinyon.ai.catalogue": ("all_models", "get_model"),
        "pinyon.ai.credential": ("ApiKeyCredential", "OAuthCredential"),
        "pinyon.ai.model": ("Model", "ModelCost", "ThinkingLevel", "clamp_level", "supported_levels"),
        "pinyon.ai.model_registry": ("ModelRegistry",),
        "pinyon.ai.model_spec": ("resolve_model", "resolve_model_pattern"),
        "pinyon.ai.oauth": (
            "LoginCancelledError",
            "LoginInteraction",
            "LoginNotice",
            "LoginPrompt",
            "OAuthError",
            "OAuthProvider",
            "SelectOption",
            "TokenAuth",
        ),
        "pinyon.ai.resolver": (
            "AmbiguousModelError",
            "ResolvedModel",
            "ScopeDiagnostic",
            "ScopedModel",
            "UnknownModelError",
            "resolve_scope",
        ),
    },
)
