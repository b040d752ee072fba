"""The account that a ChatGPT access token belongs to.

The token is a JSON Web Token (RFC 7519) whose claims name the account; the service checks its signature, not we.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode

from pinyon._util import json as _json
from pinyon.errors import AuthError

CLAIM = "https://api.openai.com/auth"
ACCOUNT = "chatgpt_account_id"


def account_id(token: str) -> str:
    """The account in the claims of `token`. Raises `AuthError` for a token that names none."""
    claims = _claims(token)
    ours = claims.get(CLAIM)
    account = ours.get(ACCOUNT) if isinstance(ours, dict) else None
    if isinstance(account, str) and account:
        return account
    raise AuthError("the credential is no ChatGPT access token with an account; sign in to 'openai-codex' again")


def _claims(token: str) -> dict[str, object]:
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        value = _json.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
