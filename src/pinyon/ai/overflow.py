"""Recognising that a request did not fit into the model's context, from what each kind of server says about it."""

from __future__ import annotations

import re
from functools import lru_cache

from pinyon.ai.message import AssistantMessage

_NUMBER = r"[\d,._]+"

_OVERFLOWS = (
    # Anthropic, Z.AI, Ollama
    r"prompt (?:is )?too long",
    r"prompt exceeds max length",
    r"prompt too long; exceeded (?:max )?context length",
    r"request_too_large",
    # Bedrock
    r"input is too long for requested model",
    # OpenAI
    r"exceeds the context window",
    # LiteLLM and compatible servers
    rf"exceeds (?:the )?(?:model'?s )?maximum context length(?: of {_NUMBER} tokens|\s*\({_NUMBER}\))?",
    r"context window exceeded",
    # Google
    r"input token count.*exceeds the maximum",
    # xAI
    rf"maximum prompt length is {_NUMBER}",
    # Groq
    r"reduce the length of the messages",
    # OpenRouter
    rf"maximum context length is {_NUMBER} tokens",
    rf"exceeds (?:the )?maximum allowed input length of {_NUMBER} tokens",
    # Together
    rf"input \({_NUMBER} tokens\) is longer than the model'?s context length \({_NUMBER} tokens\)",
    # GitHub Copilot
    rf"exceeds the limit of {_NUMBER}",
    # llama.cpp, LM Studio
    r"exceeds the available context size",
    r"greater than the context length",
    # MiniMax, Kimi
    r"context window exceeds limit",
    r"exceeded model token limit",
    # Mistral
    rf"too large for model with {_NUMBER} maximum context length",
    # DS4
    rf"prompt has {_NUMBER} tokens, but the configured context size is {_NUMBER} tokens",
    # Z.AI as a finish reason
    r"model_context_window_exceeded",
    # Qwen
    r"range of input length should be",
    # anybody
    r"context[_ ]length[_ ]exceeded",
    r"too many tokens",
    r"token limit exceeded",
)
_TOO_LARGE_STATUS = r"\A(?:413(?:[\s:]|\Z)|[\w.() -]{1,80} API error \(413\):)"
_OTHER_FAILURES = r"\A(?:Throttling error:|Service unavailable:)|rate limit|too many requests"
_BODYLESS = r"\A(?:400|413)\b.*\(no body\)"

_FULL_SHARE = 0.99
"""An empty answer that hit the limit with this share of the window used had no room to answer."""


@lru_cache(maxsize=8)
def _pattern(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(texts), re.IGNORECASE | re.DOTALL)


def is_overflow_error_text(text: str, provider: str = "") -> bool:
    """Whether an error text says that the request was larger than the model's context."""
    if _pattern(_OTHER_FAILURES).search(text):
        return False
    if provider == "cerebras" and _pattern(_BODYLESS).search(text):
        return True
    return _pattern(*_OVERFLOWS, _TOO_LARGE_STATUS).search(text) is not None


def is_context_overflow(message: AssistantMessage, context_window: int | None = None) -> bool:
    """Whether the request of this answer did not fit.

    Either the server said so, or it cut the request silently: a normal stop with more input than the window of
    `context_window` tokens, or an empty answer at the output limit with the window full.
    """
    if message.stop_reason == "error":
        text = message.error_message or ""
        return bool(text) and is_overflow_error_text(text, message.provider)
    if not context_window or context_window <= 0:
        return False
    input_tokens = message.usage.input + message.usage.cache_read
    if message.stop_reason == "stop":
        return input_tokens > context_window
    is_empty = message.stop_reason == "length" and message.usage.output == 0
    return is_empty and input_tokens >= _FULL_SHARE * context_window


def is_recoverable_length(message: AssistantMessage, desired_max_tokens: int) -> bool:
    """Whether the answer was cut although it is shorter than the caller wanted to allow, for want of room.

    `desired_max_tokens` is the output limit before it was clamped to the context. Making room and asking again helps.
    """
    return message.stop_reason == "length" and message.usage.output < desired_max_tokens
