"""Strict tools that are too many for the server: it says so, and the request goes out again with fewer."""

from __future__ import annotations

from pinyon._util import json as _json
from pinyon.ai.http_error import HttpStatusError
from pinyon.ai.session_resource import SessionMemory

_LIMITS = (
    "compiled grammar is too large",
    "too many strict tools (",
    "too many parameters with union types (",
)

_limited: SessionMemory[bool] = SessionMemory()


def may_prefer_strict(session_id: str | None) -> bool:
    """Whether tools that only prefer strict sampling may ask for it: not after the server refused in this session."""
    return not session_id or not _limited.get(session_id)


def remember_limit(session_id: str | None) -> None:
    """Do without preferred strict tools for the rest of the session."""
    if session_id:
        _limited.set(session_id, True)


def is_strict_limit(error: HttpStatusError) -> bool:
    """Whether the server refused because the strict tools together are too much for it."""
    if error.status != 400:
        return False
    try:
        body = _json.decode(error.body)
    except _json.JsonError:
        return False
    details = body.get("error") if isinstance(body, dict) else None
    if not isinstance(details, dict) or details.get("type") != "invalid_request_error":
        return False
    message = str(details.get("message") or "").lower()
    return any(limit in message for limit in _LIMITS)
