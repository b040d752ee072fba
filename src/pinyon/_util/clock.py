"""Time as a seam: wall clock in integer milliseconds, a monotonic clock and sleep, so that tests own the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where code gets time from."""

    def now_ms(self) -> int:
        """Wall clock, integer Unix milliseconds."""
        ...

    def monotonic_ms(self) -> float:
        """Monotonic clock in milliseconds; only differences mean something."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Suspend the calling task for `delay_s` seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        """Wall clock, integer Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        """Monotonic clock in milliseconds."""
        return time.monotonic_ns() / 1_000_000

    async def sleep(self, delay_s: float) -> None:
        """Suspend the calling task for `delay_s` seconds."""
        import asyncio

        await asyncio.sleep(delay_s)


SYSTEM_CLOCK = SystemClock()


def now_ms() -> int:
    """Wall clock of the machine, integer Unix milliseconds."""
    return SYSTEM_CLOCK.now_ms()


def iso_from_ms(unix_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`, as session entries carry it."""
    stamp = datetime.fromtimestamp(unix_ms // 1000, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{unix_ms % 1000:03d}Z"


def ms_from_iso(text: str) -> int | None:
    """Unix milliseconds of an ISO 8601 text, None where it is not one."""
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        return None
    if stamp.tzinfo is None:
        stamp = stamp.replace(tzinfo=UTC)
    return round(stamp.timestamp() * 1000)
