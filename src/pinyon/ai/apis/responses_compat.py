"""What a server of the OpenAI Responses API understands beyond the plain protocol.

Flags stand in a model's `compat` object under their camelCase names. Where a flag is absent or null, the default
follows from the wire API and from the server: fields and roles that only the vendor defines go to the vendor and to
services that are known to pass requests on to it, never to an unknown server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from pinyon.ai.model import Model

AffinityFormat = Literal["openai", "openai-nosession", "openrouter"]
CacheKeyMode = Literal["auto", "enabled", "disabled"]
Flavour = Literal["openai", "azure", "codex"]
"""Which of the wire APIs that share these messages and events is spoken."""

VENDOR_HOST = "api.openai.com"

_PASSING_HOSTS = (
    VENDOR_HOST,
    "openai.azure.com",
    "cognitiveservices.azure.com",
    "ai.azure.com",
    "chatgpt.com",
    "api.x.ai",
    "api.meta.ai",
    "githubcopilot.com",
    "opencode.ai",
    "gateway.ai.cloudflare.com",
    "openrouter.ai",
)
_PASSING_PROVIDERS = frozenset({
    "openai", "azure", "openai-codex", "xai", "meta", "github-copilot", "opencode", "opencode-go",
    "cloudflare-ai-gateway", "openrouter",
})  # fmt: skip


class ResponsesCompat(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """The flags of one model, under their names in `models.json`. The defaults here are those for unknown servers."""

    supports_developer_role: bool = False
    supports_mid_convo_system_messages: bool = False
    session_affinity_format: AffinityFormat = "openai"
    prompt_cache_key_mode: CacheKeyMode = "auto"
    supports_long_cache_retention: bool = False
    supports_explicit_prompt_cache_mode: bool = False
    supports_store: bool = True
    supports_strict_mode: bool = False
    supports_open_ai_grammar_tools: bool = msgspec.field(name="supportsOpenAIGrammarTools", default=False)
    supports_additional_tools: bool = False
    supports_tool_search: bool = False
    supports_mid_convo_effort: bool = False
    supports_max_output_tokens: bool = True

    @property
    def declares_all_tools_in_place(self) -> bool:
        """Whether every tool is declared by an item of the conversation."""
        return self.supports_mid_convo_system_messages and self.supports_additional_tools

    @property
    def loads_later_tools(self) -> bool:
        """Whether tools that are added later appear as the outcome of a tool search."""
        return (
            self.supports_mid_convo_system_messages and self.supports_tool_search and not self.supports_additional_tools
        )


def responses_compat(model: Model, flavour: Flavour) -> ResponsesCompat:
    """The flags of `model`: its own where they are set and of the right kind, else the defaults for its server."""
    flags: Mapping[str, Any] = model.compat or {}
    changes: dict[str, Any] = {}
    for field in msgspec.structs.fields(ResponsesCompat):
        value = flags.get(field.encode_name)
        if value is None:
            continue
        try:
            changes[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            continue  # a value that means nothing here leaves the default; the file's own checks report it
    return msgspec.structs.replace(default_compat(model, flavour), **changes)


def default_compat(model: Model, flavour: Flavour) -> ResponsesCompat:
    """The flags that hold for the model's server where the model sets none."""
    is_known = flavour != "openai" or reaches_vendor(model)
    return ResponsesCompat(
        supports_developer_role=is_known,
        session_affinity_format="openrouter" if _is_openrouter(model) else "openai",
        supports_long_cache_retention=is_known,
        # The vendor's API takes functions without the field for strict ones.
        supports_strict_mode=flavour != "openai" or is_vendor(model),
    )


def reaches_vendor(model: Model) -> bool:
    """Whether the server is the vendor's or known to speak its API with all fields; told by host or provider."""
    host = _host(model)
    is_passing = any(host == known or host.endswith(f".{known}") for known in _PASSING_HOSTS)
    return is_passing or model.provider in _PASSING_PROVIDERS


def is_vendor(model: Model) -> bool:
    """Whether the server is the vendor's own."""
    return model.provider == "openai" or _host(model) == VENDOR_HOST


def _is_openrouter(model: Model) -> bool:
    host = _host(model)
    return model.provider == "openrouter" or host == "openrouter.ai" or host.endswith(".openrouter.ai")


def _host(model: Model) -> str:
    return urlsplit(model.base_url).hostname or ""
