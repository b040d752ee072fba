"""One command of the bash and powershell tools: checked, run, shown while it runs, and reported."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal, OperationAbortedError
from pinyon._util.text import clean_surrogates
from pinyon.agent.tool import AgentToolResult, ToolContext, ToolUpdate
from pinyon.ai.content import TextContent
from pinyon.env.error import ShellAbortedError, ShellTimeoutError
from pinyon.env.shell import MAX_TIMEOUT_SECONDS
from pinyon.errors import ToolError
from pinyon.tools.command_output import CommandOutput, OutputView
from pinyon.tools.operations.protocol import BashExecOptions, BashOperations
from pinyon.tools.session_variable import session_variables, sessionless_environment
from pinyon.tools.truncate import with_notices

UPDATE_INTERVAL_S = 0.1
"""Shortest time between two updates of a running command."""

NO_OUTPUT = "(no output)"
"""Stands for the output of a command that printed nothing."""

_TIMEOUT_MESSAGE = re.compile(r"timeout:(\d+(?:\.\d+)?)")


class SpawnContext(msgspec.Struct, kw_only=True):
    """What is about to be run; a spawn hook may return another one."""

    command: str
    cwd: str
    env: dict[str, str]


SpawnHook = Callable[[SpawnContext], SpawnContext]
"""Sees every command directly before it starts and decides what really runs."""


class CommandSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the commands of a tool are run.

    `name` is the tool's, `prefix` a line put before every command. With `expose_session` commands are told of session
    and model.
    """

    name: str
    prefix: str | None = None
    expose_session: bool = True
    spawn_hook: SpawnHook | None = None


async def run_command(
    params: dict[str, Any],
    cwd: str,
    operations: BashOperations,
    settings: CommandSettings,
    signal: AbortSignal,
    on_update: ToolUpdate,
    ctx: ToolContext,
) -> AgentToolResult:
    """Run the command of one call.

    Raises `ToolError` with the output so far after an abort and after a timeout.
    """
    signal.raise_if_aborted()
    timeout = requested_timeout(params)
    spawn = _spawn_context(clean_surrogates(str(params.get("command", ""))), cwd, settings, ctx)
    output = CommandOutput(settings.name)
    updates = _Updates(output, on_update)
    started = time.monotonic()

    def receive(data: bytes) -> None:
        output.feed(data)
        updates.request()

    updates.begin()
    try:
        options = BashExecOptions(on_data=receive, timeout_seconds=timeout, env=spawn.env)
        exit_code = await operations.exec(spawn.command, spawn.cwd, options, signal)
    except Exception as error:
        status = _status(error)
        if status is None:
            raise
        output.finish()
        raise ToolError(_with_status(output.view(), status)) from error
    finally:
        output.finish()
        updates.end()
    return _result(output, exit_code, time.monotonic() - started)


def requested_timeout(params: dict[str, Any]) -> float | None:
    """The timeout of a call in seconds, None without one; raises `ToolError` for one that cannot be kept."""
    value = params.get("timeout")
    if value is None:
        return None
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ToolError(f"'timeout' must be a number of seconds above 0, got {value!r}. Leave it out for no limit.")
    if value > MAX_TIMEOUT_SECONDS:
        raise ToolError(
            f"'timeout' is {value!r} seconds, over the maximum of {MAX_TIMEOUT_SECONDS} seconds. "
            "It counts in seconds, not in milliseconds."
        )
    return value


def _spawn_context(command: str, cwd: str, settings: CommandSettings, ctx: ToolContext) -> SpawnContext:
    env = sessionless_environment()
    if settings.expose_session:
        env |= session_variables(ctx)
    prefixed = f"{settings.prefix}\n{command}" if settings.prefix else command
    spawn = SpawnContext(command=prefixed, cwd=cwd, env=env)
    return spawn if settings.spawn_hook is None else settings.spawn_hook(spawn)


def _result(output: CommandOutput, exit_code: int | None, wall_time_s: float) -> AgentToolResult:
    view = output.view()
    text = with_notices(view.text or NO_OUTPUT, view.notices())
    failed = exit_code is not None and exit_code != 0
    if failed:
        text += f"\n\nExit code: {exit_code}"
    structured: dict[str, Any] = {"output": output.beginning_and_end(), "truncated": output.is_cut_for_programs}
    if output.is_cut_for_programs and view.full_output_path is not None:
        structured["full_output_path"] = view.full_output_path
    if exit_code is not None:
        structured["exit_code"] = exit_code
    structured["wall_time_seconds"] = _tenths(wall_time_s)
    return AgentToolResult(
        [TextContent(text)],
        details=view.details() or UNSET,
        structured_content=structured,
        is_error=True if failed else UNSET,
    )


def _tenths(seconds: float) -> float:
    rounded = round(seconds, 1)
    return int(rounded) if rounded.is_integer() else rounded


def _with_status(view: OutputView, status: str) -> str:
    text = with_notices(view.text, view.notices())
    return f"{text}\n\n{status}" if text else status


def _status(error: Exception) -> str | None:
    """What the model is told of an abort or a timeout; None for every other error."""
    if isinstance(error, ShellAbortedError | OperationAbortedError) or str(error) == "aborted":
        return "Stopped: the command was aborted."
    if isinstance(error, ShellTimeoutError):
        return _timeout_status(error)
    match = _TIMEOUT_MESSAGE.fullmatch(str(error))
    return None if match is None else _timeout_status(ShellTimeoutError(float(match[1])))


def _timeout_status(error: ShellTimeoutError) -> str:
    status = f"Stopped: the timeout of {error.seconds:.15g} seconds is over."
    if error.exit_code is None or error.exited_after_seconds is None:
        return status
    return (
        f"{status} The shell itself had ended with exit code {error.exit_code} after {error.exited_after_seconds:.1f} "
        "seconds, but processes in the background kept the output open."
    )


class _Updates:
    """Sends the growing output on, at once when it was quiet and then not more often than the interval."""

    def __init__(self, output: CommandOutput, on_update: ToolUpdate) -> None:
        self._output = output
        self._on_update = on_update
        self._loop = asyncio.get_running_loop()
        self._last = -math.inf
        self._waiting: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Tell that the command starts."""
        self._on_update(AgentToolResult([]))

    def request(self) -> None:
        """Something new is there."""
        if self._waiting is not None:
            return
        wait_s = self._last + UPDATE_INTERVAL_S - self._loop.time()
        if wait_s <= 0:
            self._send()
        else:
            self._waiting = self._loop.call_later(wait_s, self._send)

    def end(self) -> None:
        """Send what still waits."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._send()

    def _send(self) -> None:
        self._waiting = None
        self._last = self._loop.time()
        view = self._output.view()
        self._on_update(AgentToolResult([TextContent(view.text)], details=view.details()))
