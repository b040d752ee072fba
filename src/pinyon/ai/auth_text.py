"""The text of `auth.json`: a JSON object of entries by provider. Every change leaves the other entries as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.credential import Credential
from pinyon.ai.provider import canonical_id, find_provider
from pinyon.errors import AuthError


def parse_entries(text: str | None, name: str) -> dict[str, Any]:
    """The entries of a credentials text; an empty text has none. Raises `AuthError` with the position of a fault."""
    if text is None or not text.strip():
        return {}
    try:
        value = _json.decode(text)
    except _json.JsonError:
        raise AuthError(
            f"{name!r} is not valid JSON{_json.fault_position(text)}; mend or move the file, it was not changed"
        ) from None
    if not isinstance(value, dict):
        raise AuthError(f"{name!r} must hold a JSON object; mend or move the file, it was not changed")
    return value


def stored_name(entries: Mapping[str, Any], provider: str) -> str:
    """Under which name the entry of a provider stands: its present id, or a former one that the file still uses."""
    provider_id = canonical_id(provider)
    known = find_provider(provider_id)
    names = (provider_id, *(known.aliases if known else ()))
    return next((name for name in names if name in entries), provider_id)


def with_entry(text: str | None, name: str, provider: str, credential: Credential) -> str:
    """The text with the entry of a provider replaced; `name` is what errors call the store. Raises `AuthError`."""
    entries = parse_entries(text, name)
    entries[stored_name(entries, provider)] = credential.to_wire()
    return _json.encode_pretty(entries).decode()


def without_entry(text: str | None, name: str, provider: str) -> str | None:
    """The text without the entry of a provider; None where there is none. Raises `AuthError`."""
    entries = parse_entries(text, name)
    if entries.pop(stored_name(entries, provider), None) is None:
        return None
    return _json.encode_pretty(entries).decode()
