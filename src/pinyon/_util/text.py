"""Text measured and cut the way the wire formats count it: in UTF-16 code units, never splitting a character."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNDECODED_BYTES = re.compile("[\udc80-\udcff]{2,}")


def utf16_len(text: str) -> int:
    """Length in UTF-16 code units; astral characters count two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if char > "\uffff")


def slice_head(text: str, limit: int) -> str:
    """The longest prefix of at most `limit` UTF-16 units that splits no character."""
    if len(text) <= limit and (text.isascii() or utf16_len(text) <= limit):
        return text
    if text.isascii():
        return text[:limit]
    used = 0
    for index, char in enumerate(text):
        used += 2 if char > "\uffff" else 1
        if used > limit:
            return text[:index]
    return text


def slice_tail(text: str, limit: int) -> str:
    """The longest suffix of at most `limit` UTF-16 units that splits no character."""
    if len(text) <= limit and (text.isascii() or utf16_len(text) <= limit):
        return text
    if text.isascii():
        return text[len(text) - limit :] if limit > 0 else ""
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += 2 if text[index] > "\uffff" else 1
        if used > limit:
            return text[index + 1 :]
    return text


def has_surrogate(text: str) -> bool:
    """Whether a lone UTF-16 surrogate stands in `text`, which makes it unencodable as UTF-8."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def clean_surrogates(text: str, replacement: str = "\ufffd") -> str:
    """Join what arrived in parts and replace surrogates that stay lone; other text is returned unchanged.

    Parts are the halves of surrogate pairs, and UTF-8 bytes that Python left undecoded (arguments and file names under
    a locale that is not UTF-8).
    """
    if not has_surrogate(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if not _SURROGATE.search(joined):
        return joined
    return _SURROGATE.sub(replacement, _UNDECODED_BYTES.sub(_decoded, joined))


def _decoded(match: re.Match[str]) -> str:
    return match[0].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
