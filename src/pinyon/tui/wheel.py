"""How far one step of the mouse wheel goes."""

from __future__ import annotations

import time
from collections.abc import Callable

_FIRST_ROWS = 3
_MOST_ROWS = 6
_FAST_S = 0.06
_WITH_ALT = 5


class Wheel:
    """`rows` is a fixed number, or `auto`: three rows, and up to six while the wheel spins fast."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.rows: int | str = "auto"
        self._now = now
        self._last = 0.0
        self._direction = 0
        self._speed = _FIRST_ROWS

    def step(self, direction: int, *, is_far: bool) -> int:
        """The rows to scroll for one step, negative for up; `is_far` is the step with Alt held."""
        now = self._now()
        is_fast = now - self._last < _FAST_S and direction == self._direction
        self._speed = min(_MOST_ROWS, self._speed + 1) if is_fast else _FIRST_ROWS
        self._last, self._direction = now, direction
        rows = self.rows if isinstance(self.rows, int) else self._speed
        return direction * rows * (_WITH_ALT if is_far else 1)
