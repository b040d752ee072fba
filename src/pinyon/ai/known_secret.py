"""The secrets of this user that are known here: what must never stand in a page, log or bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential
from pinyon.ai.provider import providers

_REFERENCE_MARKS = ("$", "!")
"""A stored key that begins so names where the key is and is none itself."""


def known_secrets(auth: AuthStorage, env: Mapping[str, str] | None = None) -> set[str]:
    """Keys and tokens of `auth.json` and of the key variables in `env` (default: the process's). Runs no commands."""
    values: Mapping[str, str] = os.environ if env is None else env
    found = {values[name] for provider in providers().values() for name in provider.key_variables if values.get(name)}
    for credential in auth.get_all().values():
        if isinstance(credential, ApiKeyCredential):
            found.update(credential.env.values())
            found.update(_texts(credential.extra))
            if credential.key and not credential.key.startswith(_REFERENCE_MARKS):
                found.add(credential.key)
        else:
            found.update(filter(None, (credential.access, credential.refresh)))
    return found


def _texts(extra: Mapping[str, Any]) -> set[str]:
    return {value for name, value in extra.items() if isinstance(value, str) and _is_secret_name(name)}


def _is_secret_name(name: str) -> bool:
    return any(part in name.lower() for part in ("key", "token", "secret", "password"))
