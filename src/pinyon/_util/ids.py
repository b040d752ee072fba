"""Identifiers: UUIDv7 for sessions (RFC 9562, time-ordered), short hex ids for session entries."""

from __future__ import annotations

import os
from collections.abc import Container

from pinyon._util.clock import now_ms


def uuid7(unix_ms: int | None = None) -> str:
    """A UUID version 7 in its canonical text form, for `unix_ms` (default: now)."""
    stamp = now_ms() if unix_ms is None else unix_ms
    value = (stamp & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10))
    return _uuid_text(value, version=7)


def uuid4() -> str:
    """A random UUID version 4 in its canonical text form."""
    return _uuid_text(int.from_bytes(os.urandom(16)), version=4)


def _uuid_text(value: int, version: int) -> str:
    value = value & ~(0xF << 76) | version << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def entry_id(taken: Container[str]) -> str:
    """Eight random hex digits that are not in `taken`; a full UUID after 100 collisions."""
    for _ in range(100):
        candidate = os.urandom(4).hex()
        if candidate not in taken:
            return candidate
    return uuid4()
