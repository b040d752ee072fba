"""What a server of the OpenAI chat-completions API understands beyond the plain protocol.

Flags stand in a model's `compat` object under their camelCase names. Where a flag is absent or null, the default
follows from the provider's id or the host of its base URL. A server that is neither the vendor's own nor a known one
is asked for nothing that only the vendor understands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from pinyon.ai.model import Model

ThinkingFormat = Literal[
    "openai",
    "openrouter",
    "deepseek",
    "zai",
    "together",
    "qwen",
    "qwen-chat-template",
    "chat-template",
    "baseten",
    "string-thinking",
    "ant-ling",
]
"""How thinking is switched on and off; see `openai_thinking`."""

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
BudgetField = Literal["thinking_token_budget", "thinking_budget", "thinking_budget_tokens"]
AffinityFormat = Literal["openai", "openai-nosession", "openrouter"]
CacheKeyMode = Literal["auto", "enabled", "disabled"]
ToolCallFormat = Literal["native", "json-schema"]


class OpenAICompletionsCompat(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """The flags of one model, under their names in `models.json`. The defaults here are those for unknown servers.

    `tool_call_format` is for small local models that cannot call tools by themselves: with `json-schema` the request
    carries no tools but a `response_format` (JSON Schema, as llama.cpp, Ollama, vLLM and LM Studio take it) that admits
    a tool call or an answer, and the JSON that comes back becomes that call or answer.
    """

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = False
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    max_tokens_field: MaxTokensField = "max_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_non_null_assistant_content: bool = False
    requires_tools_with_tool_history: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    thinking_format: ThinkingFormat = "openai"
    chat_template_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    chat_template_args: dict[str, Any] = msgspec.field(default_factory=dict)
    thinking_token_budget_field: BudgetField | None = None
    supports_thinking_token_budget: bool = False
    open_router_routing: dict[str, Any] = msgspec.field(default_factory=dict)
    vercel_gateway_routing: dict[str, Any] = msgspec.field(default_factory=dict)
    zai_tool_stream: bool = False
    supports_strict_mode: bool = False
    supports_open_ai_grammar_tools: bool = msgspec.field(name="supportsOpenAIGrammarTools", default=False)
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_tool_additions: bool = False
    cache_control_format: Literal["anthropic"] | None = None
    send_session_affinity_headers: bool = False
    session_affinity_format: AffinityFormat = "openai"
    prompt_cache_key_mode: CacheKeyMode = "auto"
    supports_long_cache_retention: bool = False
    vllm_priority: int | float | None = None
    tool_call_format: ToolCallFormat = "native"

    @property
    def budget_field(self) -> BudgetField | None:
        """The field that takes a thinking budget, None where there is none."""
        if self.thinking_token_budget_field is not None:
            return self.thinking_token_budget_field
        return "thinking_token_budget" if self.supports_thinking_token_budget else None

    @property
    def declares_tools_in_place(self) -> bool:
        """Whether tools that are added later are declared by the message that adds them."""
        return self.supports_mid_convo_system_messages and self.supports_mid_convo_tool_additions


class _Server(msgspec.Struct, frozen=True):
    """A known server: ids of its providers (or their beginnings, with `*`) and parts of its host names."""

    name: str
    providers: tuple[str, ...]
    hosts: tuple[str, ...]


_SERVERS = (
    _Server("azure", ("azure",), (".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com")),
    _Server("nvidia", ("nvidia",), ("integrate.api.nvidia.com",)),
    _Server("cerebras", ("cerebras",), ("cerebras.ai",)),
    _Server("xai", ("xai",), ("api.x.ai",)),
    _Server("together", ("together",), ("api.together.ai", "api.together.xyz")),
    _Server("chutes", ("chutes",), ("chutes.ai",)),
    _Server("deepseek", ("deepseek",), ("deepseek.com",)),
    _Server("zai", ("zai", "zai-coding-cn"), ("api.z.ai", "open.bigmodel.cn")),
    _Server("moonshot", ("moonshotai", "moonshotai-cn"), ("api.moonshot.",)),
    _Server("opencode", ("opencode", "opencode-go"), ("opencode.ai",)),
    _Server("cloudflare-workers-ai", ("cloudflare-workers-ai",), ("api.cloudflare.com",)),
    _Server("cloudflare-ai-gateway", ("cloudflare-ai-gateway",), ("gateway.ai.cloudflare.com",)),
    _Server("ant-ling", ("ant-ling",), ("api.ant-ling.com",)),
    _Server("openrouter", ("openrouter",), ("openrouter.ai",)),
    _Server("github-copilot", ("github-copilot",), ("githubcopilot.com",)),
    _Server("groq", ("groq",), ("api.groq.com",)),
    _Server("huggingface", ("huggingface",), ("router.huggingface.co",)),
    _Server("fireworks", ("fireworks",), ("api.fireworks.ai",)),
    _Server("baseten", ("baseten",), ("baseten.co",)),
    _Server("kimi-coding", ("kimi-coding",), ("api.kimi.com",)),
    _Server("qwen", ("qwen-token-plan*",), ("qwencloudapi.com", "qianwenaiapi.com")),
    _Server("xiaomi", ("xiaomi*",), ("xiaomimimo.com",)),
    _Server("openai", ("openai",), ("api.openai.com",)),
)

_OWN_SERVERS = frozenset({"openai", "azure"})
_WITHOUT_EFFORT = frozenset({"xai", "zai", "moonshot", "together", "cloudflare-ai-gateway", "nvidia", "ant-ling"})
_OLD_MAX_TOKENS = frozenset({
    "chutes", "deepseek", "moonshot", "cloudflare-ai-gateway", "together", "nvidia", "ant-ling", "zai",
})  # fmt: skip
_THINKING_FORMATS: Mapping[str, ThinkingFormat] = {
    "deepseek": "deepseek",
    "zai": "zai",
    "together": "together",
    "ant-ling": "ant-ling",
    "openrouter": "openrouter",
}
_LONG_RETENTION = frozenset({"openai", "azure", "openrouter"})


def completions_compat(model: Model) -> OpenAICompletionsCompat:
    """The flags of `model`: its own where they are set and of the right kind, else the defaults for its server."""
    flags: Mapping[str, Any] = model.compat or {}
    changes: dict[str, Any] = {}
    for field in msgspec.structs.fields(OpenAICompletionsCompat):
        value = flags.get(field.encode_name)
        if value is None:
            continue
        try:
            changes[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            continue  # a value that means nothing here leaves the default; the file's own checks report it
    return msgspec.structs.replace(default_compat(model), **changes)


def default_compat(model: Model) -> OpenAICompletionsCompat:
    """The flags that hold for the model's server where the model sets none."""
    server = known_server(model)
    if server is None:
        return OpenAICompletionsCompat()
    is_openrouter = server == "openrouter"
    return OpenAICompletionsCompat(
        supports_store=server in _OWN_SERVERS,
        supports_developer_role=server in _OWN_SERVERS,
        supports_reasoning_effort=server not in _WITHOUT_EFFORT,
        max_tokens_field="max_tokens" if server in _OLD_MAX_TOKENS else "max_completion_tokens",
        requires_reasoning_content_on_assistant_messages=server == "deepseek",
        thinking_format=_THINKING_FORMATS.get(server, "openai"),
        cache_control_format="anthropic" if is_openrouter and model.id.startswith("anthropic/") else None,
        send_session_affinity_headers=is_openrouter,
        session_affinity_format="openrouter" if is_openrouter else "openai",
        supports_long_cache_retention=server in _LONG_RETENTION,
    )


def known_server(model: Model) -> str | None:
    """The name of the server behind a model, told by its host, else by its provider's id; None for an unknown one."""
    host = urlsplit(model.base_url).hostname or ""
    for server in _SERVERS:
        if any(part in host for part in server.hosts):
            return server.name
    for server in _SERVERS:
        if any(_is_named(model.provider, name) for name in server.providers):
            return server.name
    return None


def _is_named(provider: str, name: str) -> bool:
    return provider.startswith(name[:-1]) if name.endswith("*") else provider == name


def is_vendor_host(model: Model) -> bool:
    """Whether requests go to the vendor's own host."""
    return (urlsplit(model.base_url).hostname or "").endswith("api.openai.com")
