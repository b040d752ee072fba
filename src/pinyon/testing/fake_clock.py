"""A clock that a test owns: sleeping moves it on at once and is recorded."""

from __future__ import annotations

import asyncio


class FakeClock:
    """Stands in for `pinyon._util.clock.Clock`. `sleeps_s` lists every sleep asked for, in seconds."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed_ms = 0.0
        self.sleeps_s: list[float] = []

    def now_ms(self) -> int:
        """Wall clock, integer Unix milliseconds."""
        return self._start_ms + round(self._elapsed_ms)

    def monotonic_ms(self) -> float:
        """Milliseconds since the clock was made."""
        return self._elapsed_ms

    def advance(self, delta_ms: float) -> None:
        """Let `delta_ms` milliseconds pass."""
        self._elapsed_ms += delta_ms

    async def sleep(self, delay_s: float) -> None:
        """Let the time pass and other tasks run once."""
        self.sleeps_s.append(delay_s)
        self.advance(delay_s * 1000)
        await asyncio.sleep(0)
