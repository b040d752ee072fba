"""A short, stable, non-cryptographic hash for identifiers that a provider limits in length."""

from __future__ import annotations

import struct

_MASK = 0xFFFF_FFFF
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def short_hash(text: str) -> str:
    """Two mixed 32-bit hashes of the UTF-16 units of `text` in base 36 (at most 14 characters)."""
    data = text.encode("utf-16-le", "surrogatepass")
    high, low = 0xDEADBEEF, 0x41C6CE57
    for (unit,) in struct.iter_unpack("<H", data):
        high = ((high ^ unit) * 2654435761) & _MASK
        low = ((low ^ unit) * 1597334677) & _MASK
    high = _mix(high, low)
    low = _mix(low, high)
    return _base36(low) + _base36(high)


def _mix(first: int, second: int) -> int:
    left = ((first ^ (first >> 16)) * 2246822507) & _MASK
    right = ((second ^ (second >> 13)) * 3266489909) & _MASK
    return left ^ right


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits
