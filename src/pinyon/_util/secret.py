"""Secrets kept out of what people read: masks for display, and texts cleaned of keys that a server echoed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MASK = "***"

MIN_SECRET_LENGTH = 6
"""Shorter values are not replaced in texts: they would match by chance and are not secrets."""

_MIN_PART_LENGTH = 12

_URL_PASSWORD = re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)")
_HEADER_SECRET = re.compile(
    r"""((?:authorization|api[-_]?key|x-goog-api-key|cookie)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"',;]+""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(Bearer\s+)(?=\S*\d)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)


def _without_parts(text: str, secret: str) -> str:
    """`text` without what a cut left of a long secret: its first half at least."""
    head = secret[: len(secret) // 2]
    start = text.find(head) if len(head) >= _MIN_PART_LENGTH else -1
    while start >= 0:
        end = start + len(head)
        while end - start < len(secret) and text[end : end + 1] == secret[end - start]:
            end += 1
        text = f"{text[:start]}{MASK}{text[end:]}"
        start = text.find(head, start + len(MASK))
    return text


def mask_secret(secret: str) -> str:
    """A stand-in that its owner recognises: the last four characters of a long secret, none of a short one."""
    return f"{MASK}{secret[-4:]}" if len(secret) >= 16 else MASK


def redact(text: str, secrets: Iterable[str | None] = ()) -> str:
    """`text` without the given secrets and without what looks like one: bearer tokens, key headers, URL passwords."""
    return _HEADER_SECRET.sub(rf"\g<1>{MASK}", redact_transcript(text, secrets))


def redact_json(value: Any, secrets: Iterable[str | None] = ()) -> Any:
    """A copy of a JSON value, `redact`ed in all its texts and keys."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, list):
        return [redact_json(item, secrets) for item in value]
    if isinstance(value, dict):
        return {redact(key, secrets): redact_json(item, secrets) for key, item in value.items()}
    return value


def redact_transcript(text: str, secrets: Iterable[str | None] = ()) -> str:
    """Like `redact`, for texts that are full of source code: what follows a header's name stays readable there."""
    for secret in sorted({secret for secret in secrets if secret and len(secret) >= MIN_SECRET_LENGTH}, key=len)[::-1]:
        text = _without_parts(text.replace(secret, MASK), secret)
    text = _URL_PASSWORD.sub(MASK, text)
    return _BEARER.sub(rf"\g<1>{MASK}", text)
