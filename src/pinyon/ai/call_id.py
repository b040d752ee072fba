"""Ids of tool calls as the wire APIs accept them.

Every function maps an id of another model to one that an API takes, the same way each time, so that a call and its
result stay paired and a history reads the same on every request.
"""

from __future__ import annotations

import re

from pinyon.ai.short_hash import short_hash

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")
_ID_LIMIT = 64
_COMPLETIONS_LIMIT = 40
_MISTRAL_LENGTH = 9
_RESPONSES_PROVIDERS = frozenset({"openai", "openai-codex", "opencode"})


def safe_id(call_id: str) -> str:
    """An id of letters, digits, `_` and `-`, at most 64 characters: Anthropic, Bedrock and Google."""
    return _FOREIGN.sub("_", call_id)[:_ID_LIMIT]


def completions_id(call_id: str, provider: str) -> str:
    """An id for chat completions: at most 40 characters where it came from the Responses API or goes to OpenAI.

    Ids of the Responses API have two parts, `call|item`; a long pair is cut to its call part and a hash of the whole.
    """
    if "|" in call_id:
        whole = safe_text(call_id)
        if len(whole) <= _COMPLETIONS_LIMIT:
            return whole
        digest = short_hash(call_id)[:8]
        call_part = safe_text(call_id.split("|", 1)[0])
        return f"{call_part[: _COMPLETIONS_LIMIT - len(digest) - 1]}_{digest}"
    return call_id[:_COMPLETIONS_LIMIT] if provider == "openai" else call_id


def safe_text(text: str) -> str:
    """`text` with everything but letters, digits, `_` and `-` replaced by `_`."""
    return _FOREIGN.sub("_", text)


def responses_id(call_id: str, provider: str, *, same_provider: bool, azure: bool = False) -> str:
    """An id for the Responses API, `call|item`, where the target provider checks them.

    `same_provider` tells whether provider and API of the model that made the call are those of the target; only then
    the item part can mean something to it, else it is replaced by a hash.
    """
    if provider not in _RESPONSES_PROVIDERS and not (azure and provider.startswith("azure")):
        return _trimmed(safe_text(call_id))
    if "|" not in call_id:
        return _trimmed(safe_text(call_id))
    call_part, item_part = call_id.split("|", 1)
    if not same_provider:
        return f"{_trimmed(safe_text(call_part))}|fc_{short_hash(item_part)}"
    item = safe_text(item_part)
    if not item.startswith("fc_"):
        item = f"fc_{item}"
    return f"{_trimmed(safe_text(call_part))}|{_trimmed(item)}"


def _trimmed(text: str) -> str:
    return text[:_ID_LIMIT].rstrip("_")


class MistralIds:
    """Ids of exactly nine letters and digits, one for each id of a request and never the same for two."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def __call__(self, call_id: str) -> str:
        """The nine characters that stand for `call_id` in this request."""
        if call_id in self._given:
            return self._given[call_id]
        attempt = 0
        while (short := _mistral_candidate(call_id, attempt)) in self._owners:
            attempt += 1
        self._owners[short] = call_id
        self._given[call_id] = short
        return short


def _mistral_candidate(call_id: str, attempt: int) -> str:
    plain = _NOT_ALPHANUMERIC.sub("", call_id)
    if attempt == 0 and len(plain) == _MISTRAL_LENGTH:
        return plain
    seed = f"{plain or call_id}:{attempt}" if attempt else plain or call_id
    return _NOT_ALPHANUMERIC.sub("", short_hash(seed))[:_MISTRAL_LENGTH]


def distinct_id(call_id: str, number: int) -> str:
    """A new id for the `number`-th use of an id, short and plain enough for every API but Mistral's."""
    candidate = f"{call_id}_{number}"
    if len(candidate) <= _COMPLETIONS_LIMIT and not _FOREIGN.search(candidate):
        return candidate
    return f"call_{short_hash(f'{call_id}:{number}')}"
