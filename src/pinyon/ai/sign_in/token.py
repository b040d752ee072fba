"""Token answers (RFC 6749 section 5.1) made into credentials, and claims read from tokens."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import OAuthError
from pinyon.ai.sign_in.endpoint import Answer

DEFAULT_LIFE_S = 3600.0


def credential_from_answer(
    answer: Answer, now_ms: int, doing: str, *, margin_ms: int = 0, present_refresh: str = ""
) -> OAuthCredential:
    """The credential of a successful token answer.

    `expires` is `margin_ms` before the token really runs out. A server that sends no refresh token keeps the present
    one valid. Raises `OAuthError` for an answer without an access token.
    """
    answer.require(doing)
    access, refresh = answer.text("access_token"), answer.text("refresh_token")
    if not is_token(access):
        raise OAuthError(f"{doing} failed: the answer holds no access token; try again")
    life_s = answer.number("expires_in")
    life_ms = round((DEFAULT_LIFE_S if life_s is None or life_s <= 0 else life_s) * 1000)
    kept = refresh if is_token(refresh) else present_refresh
    return OAuthCredential(access=access, refresh=kept, expires=now_ms + life_ms - margin_ms)


def is_token(text: str) -> bool:
    """Whether a text can be a token in a header: visible ASCII only."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def claims_of(token: str) -> dict[str, Any]:
    """The claims of a JSON Web Token, not verified: it came from its issuer directly. Empty for other texts."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        value = _json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, _json.JsonError):
        return {}
    return value if isinstance(value, dict) else {}
