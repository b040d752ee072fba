"""What a server of the Anthropic Messages API says when the strict tools of a request are too many for it."""

from __future__ import annotations

from pinyon._util import json as _json
from pinyon.ai.http_error import HttpStatusError
from pinyon.ai.strict_limit import StrictLimits, names_strict_limit

STRICT_LIMITS = StrictLimits()


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
    return names_strict_limit(str(details.get("message") or ""))
