"""Limits of what a run or a session may use: turns, tokens, cost and time.

A limit is a promise about the next request, not about the present one: what an answer costs is known when it is there.
When a limit is used up, the run ends after the turn, with every tool call answered; a time that is over aborts at once.
Either way the session can be gone on with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec

from pinyon._util.clock import Clock
from pinyon.ai.message import AssistantMessage, ToolResultMessage
from pinyon.ai.usage import Usage
from pinyon.coding.event import LimitName, LimitReached, LimitScope, SessionEvent
from pinyon.errors import PinyonError

WARNING_SHARE = 0.8
"""Share of a limit at which listeners are warned, once in a run."""


class LimitError(PinyonError):
    """Raised when a run is to start although a limit of the session is used up already."""

    def __init__(self, limit: LimitName, used: float, allowed: float, scope: LimitScope) -> None:
        self.limit = limit
        self.used = used
        self.allowed = allowed
        super().__init__(
            f"the limit of {allowed:g} {_UNITS[limit]} for {_SCOPES[scope]} is used up ({used:g}); "
            "raise it or start a new session"
        )


_UNITS: dict[LimitName, str] = {
    "turns": "turns",
    "tokens": "tokens",
    "cost": "US dollars",
    "wall_time": "seconds",
}
_SCOPES: dict[LimitScope, str] = {
    "run": "a run",
    "opened": "the session since it was opened",
    "session": "the whole session",
}


class Limits(msgspec.Struct, kw_only=True, frozen=True):
    """How much may be used; None is without limit. Cost is in US dollars, time in seconds.

    `max_tokens` counts everything that requests and answers took, cached input included. `scope` says what is counted:
    each `run` by itself, everything since the session was `opened` here, or the whole stored `session` (time: since it
    was opened). Summaries and tools that ask models count too.
    """

    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_wall_time_s: float | None = None
    scope: LimitScope = "run"

    def __bool__(self) -> bool:
        return any(allowed is not None for _, allowed in self.items())

    def items(self) -> Iterable[tuple[LimitName, float | None]]:
        """The limits by name."""
        return (
            ("turns", self.max_turns),
            ("tokens", self.max_tokens),
            ("cost", self.max_cost),
            ("wall_time", self.max_wall_time_s),
        )


class Totals(msgspec.Struct, kw_only=True):
    """What was used. A turn is an answer that did not fail."""

    turns: int = 0
    tokens: int | float = 0
    cost: float = 0.0
    wall_time_s: float = 0.0

    def add(self, usage: Usage) -> None:
        """Count a usage."""
        self.tokens += usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write
        self.cost += usage.cost.total

    def add_message(self, message: object) -> None:
        """Count a finished message."""
        if isinstance(message, AssistantMessage):
            self.turns += message.stop_reason not in ("error", "aborted")
            self.add(message.usage)
        elif isinstance(message, ToolResultMessage) and message.usage:
            self.add(message.usage)

    def of(self, limit: LimitName) -> float:
        """The total that a limit is about."""
        return {"turns": self.turns, "tokens": self.tokens, "cost": self.cost, "wall_time": self.wall_time_s}[limit]


class _Count(msgspec.Struct):
    """One set of limits with what counts towards it."""

    limits: Limits
    totals: Totals
    warned: set[LimitName] = msgspec.field(default_factory=set)

    def exhausted(self) -> tuple[LimitName, float] | None:
        for name, allowed in self.limits.items():
            if allowed is not None and self.totals.of(name) >= allowed:
                return name, allowed
        return None


class LimitGuard:
    """Counts what runs use and ends them at their limits.

    `stored` gives the totals of the entries that a session has already. `stop` aborts the run, for a time that is over.
    """

    def __init__(
        self,
        limits: Sequence[Limits],
        *,
        stored: Callable[[], Totals],
        emit: Callable[[SessionEvent], None],
        stop: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._stored = stored
        self._emit = emit
        self._stop = stop
        self._clock = clock
        self._lasting = [self._count(entry) for entry in limits if entry and entry.scope != "run"]
        self._run_limits = [entry for entry in limits if entry and entry.scope == "run"]
        self._counts: list[_Count] = list(self._lasting)
        self._timers: list[asyncio.TimerHandle] = []
        self._started_ms = 0.0
        self.totals = Totals()
        """What the present or last run used."""
        self.stopped_by: LimitName | None = None
        """The limit that ended the present or last run; None where it ended by itself."""

    def _count(self, limits: Limits) -> _Count:
        totals = self._stored() if limits.scope == "session" else Totals()
        return _Count(limits, totals)

    def require_room(self) -> None:
        """Raise `LimitError` where a limit that outlasts runs is used up."""
        for count in self._lasting:
            found = count.exhausted()
            if found is not None:
                raise LimitError(found[0], count.totals.of(found[0]), found[1], count.limits.scope)

    def start(self, extra: Limits | None = None) -> None:
        """A run begins, with limits of its own if given."""
        self.totals, self.stopped_by = Totals(), None
        own = [*self._run_limits, *([extra] if extra else [])]
        self._counts = [*self._lasting, *(_Count(limits, Totals()) for limits in own)]
        self._started_ms = self._clock.monotonic_ms()
        for count in self._counts:
            self._watch_time(count)

    def end(self) -> None:
        """The run is over."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        elapsed_s = self.elapsed_s
        self.totals.wall_time_s = elapsed_s
        for count in self._lasting:
            count.totals.wall_time_s += elapsed_s

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return (self._clock.monotonic_ms() - self._started_ms) / 1000

    def add_message(self, message: object) -> None:
        """Count a finished message and warn of limits that are close."""
        for totals in self._all_totals():
            totals.add_message(message)
        self._warn()

    def add_usage(self, usage: Usage) -> None:
        """Count what was spent beside the answers, such as on a summary."""
        for totals in self._all_totals():
            totals.add(usage)
        self._warn()

    @property
    def is_used_up(self) -> bool:
        """Whether no further request may be made; tells nobody."""
        return self.stopped_by is not None or any(count.exhausted() for count in self._counts)

    def is_over(self) -> bool:
        """Whether the run must end before another request; tells listeners of the limit, once."""
        if self.stopped_by is not None:
            return True
        for count in self._counts:
            found = count.exhausted()
            if found is not None:
                self._tell(count, *found, stopping=True)
                return True
        return False

    def _all_totals(self) -> list[Totals]:
        return [self.totals, *(count.totals for count in self._counts)]

    def _warn(self) -> None:
        for count in self._counts:
            for name, allowed in count.limits.items():
                if allowed is not None and name != "wall_time" and count.totals.of(name) >= allowed * WARNING_SHARE:
                    self._warn_once(count, name, allowed)

    def _warn_once(self, count: _Count, name: LimitName, allowed: float) -> None:
        if name not in count.warned:
            count.warned.add(name)
            self._tell(count, name, allowed, stopping=False)

    def _watch_time(self, count: _Count) -> None:
        allowed = count.limits.max_wall_time_s
        if allowed is None:
            return
        loop, used = asyncio.get_running_loop(), count.totals.wall_time_s
        warn_in_s, stop_in_s = allowed * WARNING_SHARE - used, allowed - used
        self._timers.append(loop.call_later(max(0, warn_in_s), self._warn_once, count, "wall_time", allowed))
        self._timers.append(loop.call_later(max(0, stop_in_s), self._time_is_over, count, allowed))

    def _time_is_over(self, count: _Count, allowed: float) -> None:
        if self.stopped_by is None:
            self._tell(count, "wall_time", allowed, stopping=True)
            self._stop()

    def _tell(self, count: _Count, name: LimitName, allowed: float, *, stopping: bool) -> None:
        if stopping:
            self.stopped_by = name
        used = count.totals.of(name) + (self.elapsed_s if name == "wall_time" else 0)
        self._emit(LimitReached(limit=name, used=used, allowed=allowed, stopping=stopping, scope=count.limits.scope))
