"""Commands as an execution environment runs them, and the environment as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.env.error import ExecutionError
from pinyon.env.filesystem import FileSystem

MAX_TIMEOUT_SECONDS = 2_147_483.647
"""Longest timeout: a timer of 2**31 - 1 milliseconds."""


class ShellExecOptions(msgspec.Struct, kw_only=True):
    """How to run a command.

    `cwd` is relative to the environment's own. With `inherit_env` the command sees the process environment, over it
    the environment's base variables, over them `env`; `unset_env` names what it must not inherit. Without it the
    command sees only `env`. `timeout_seconds` of None, zero or less is no limit. `on_stdout` and `on_stderr` get
    decoded text as it arrives; what they raise ends the command with `callback_error`. Without `collect` the result
    holds no output, so that a command may print without end.
    """

    cwd: str = ""
    env: Mapping[str, str] = {}
    inherit_env: bool = True
    unset_env: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    signal: AbortSignal | None = None
    on_stdout: Callable[[str], None] | None = None
    on_stderr: Callable[[str], None] | None = None
    collect: bool = True


class ShellResult(msgspec.Struct, frozen=True):
    """Output and exit code of a finished command; death by signal n is 128 + n."""

    stdout: str
    stderr: str
    exit_code: int


class Shell(Protocol):
    """Runs command lines."""

    async def exec(self, command: str, options: ShellExecOptions | None = None) -> ShellResult:
        """Run `command` to its end; a non-zero exit code is a result.

        Raises `ShellTimeoutError`, `ShellAbortedError` or another `ExecutionError`.
        """
        ...

    async def cleanup(self) -> None:
        """End every command that still runs; never raises."""
        ...


class ExecutionEnv(FileSystem, Shell, Protocol):
    """Where tools work: files and a shell in one place, local, in a container or on another machine."""


def checked_timeout(seconds: float | None) -> float | None:
    """A usable timeout, None for no limit; raises `ExecutionError` (`timeout`) for one that no timer can hold."""
    if seconds is None or seconds <= 0:
        return None
    if not seconds <= MAX_TIMEOUT_SECONDS:  # NaN compares false with everything
        raise ExecutionError(
            "timeout", f"a timeout must be a number of seconds up to {MAX_TIMEOUT_SECONDS}, got {seconds!r}"
        )
    return seconds
