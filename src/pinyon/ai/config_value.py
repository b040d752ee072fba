"""Values of configuration files that may point elsewhere: `!command`, `$NAME` and `${NAME}`.

A value with a leading `!` is a shell command whose output counts. Otherwise `$NAME` and `${NAME}` are replaced by
variables, `$$` by `$` and `$!` by `!`; any other `$` is itself. A variable that is missing or empty leaves the whole
value unresolved. Problem texts name variables and programs, never values.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.config_command import CommandOutcome, command_output
from pinyon.errors import AuthError

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"\$(?:(?P<escape>[$!])|\{{(?P<braced>{_NAME})\}}|(?P<plain>{_NAME}))")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Lookup = Callable[[str], "str | None"]
"""Gives the value of a variable; None and the empty text both mean that it is missing."""

RunCommand = Callable[[str], Awaitable[CommandOutcome]]


class ConfigValueError(AuthError):
    """Raised when a value of a configuration file leads nowhere; names what it was for and the variable or program."""


class Resolution(msgspec.Struct, frozen=True):
    """The final value, or the reason why there is none: one of the two is set."""

    value: str | None = None
    problem: str | None = None

    def __repr__(self) -> str:
        return f"Resolution(value={'***' if self.value else None}, problem={self.problem!r})"


def layered(*layers: Mapping[str, str] | None) -> Lookup:
    """Look a variable up in `layers`, first hit wins; empty and blank values count as missing."""
    present = [layer for layer in layers if layer]

    def look_up(name: str) -> str | None:
        return next((value for layer in present if (value := layer.get(name)) and value.strip()), None)

    return look_up


def is_command(value: str) -> bool:
    """Whether `value` is a shell command."""
    return value.startswith("!")


def variable_names(value: str) -> list[str]:
    """The variables that `value` refers to, in order, each once; none for a command."""
    if is_command(value):
        return []
    names = (match["braced"] or match["plain"] for match in _REFERENCE.finditer(value))
    return list(dict.fromkeys(name for name in names if name))


def missing_names(value: str, look_up: Lookup) -> list[str]:
    """The variables that `value` needs and `look_up` does not have."""
    return [name for name in variable_names(value) if not look_up(name)]


def is_resolvable(value: str, look_up: Lookup) -> bool:
    """Whether `value` can be expected to resolve, without running anything: commands count as resolvable."""
    return bool(value) and (is_command(value) or not missing_names(value, look_up))


def expand(value: str, look_up: Lookup) -> Resolution:
    """Replace the variables of a value that is no command."""
    missing = missing_names(value, look_up)
    if missing:
        return Resolution(problem=_missing_text(missing))

    def replacement(match: re.Match[str]) -> str:
        return match["escape"] or look_up(match["braced"] or match["plain"]) or ""

    return Resolution(value=_REFERENCE.sub(replacement, value))


def _missing_text(names: list[str]) -> str:
    quoted = ", ".join(repr(name) for name in names)
    kind = "variable" if len(names) == 1 else "variables"
    return f"environment {kind} {quoted} {'is' if len(names) == 1 else 'are'} not set; set it or change the value"


class ConfigValues:
    """Resolves values and remembers what commands printed.

    Results are kept for `lifetime_s` seconds (None: for the life of this object); with `keep_failures` failures are
    remembered too. Tasks that ask for the same command at once share one run.
    """

    def __init__(
        self,
        *,
        lifetime_s: float | None = None,
        keep_failures: bool = True,
        run_command: RunCommand = command_output,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._lifetime_s = lifetime_s
        self._keep_failures = keep_failures
        self._run_command = run_command
        self._clock = clock
        self._outcomes: dict[str, tuple[float, CommandOutcome]] = {}
        self._running: dict[str, asyncio.Task[CommandOutcome]] = {}

    async def resolve(self, value: str, look_up: Lookup) -> Resolution:
        """The final value of `value`, running its command if it is one."""
        if not is_command(value):
            return expand(value, look_up)
        outcome = await self._outcome(value[1:])
        return Resolution(value=outcome.text, problem=outcome.problem)

    async def require(self, value: str, look_up: Lookup, target: str) -> str:
        """The final value, or `ConfigValueError` that names `target` (such as `API key for provider 'x'`)."""
        resolution = await self.resolve(value, look_up)
        if resolution.value is None:
            raise ConfigValueError(f"{target}: {resolution.problem}")
        if not resolution.value:
            raise ConfigValueError(f"{target}: the value is empty")
        if _CONTROL.search(resolution.value):
            raise ConfigValueError(f"{target}: the value contains a line break or another control character")
        return resolution.value

    async def _outcome(self, command: str) -> CommandOutcome:
        known = self._outcomes.get(command)
        if known is not None and (self._lifetime_s is None or self._clock.monotonic_ms() < known[0]):
            return known[1]
        running = self._running.get(command)
        if running is None or running.get_loop() is not asyncio.get_running_loop():
            return await self._run(command)
        await asyncio.wait([running])
        return await self._outcome(command) if running.cancelled() else running.result()

    async def _run(self, command: str) -> CommandOutcome:
        task = asyncio.ensure_future(self._run_command(command))
        self._running[command] = task
        try:
            outcome = await task
        finally:
            if self._running.get(command) is task:
                del self._running[command]
        if outcome.text is not None or self._keep_failures:
            expires_ms = self._clock.monotonic_ms() + (self._lifetime_s or 0) * 1000
            self._outcomes[command] = (expires_ms, outcome)
        return outcome
