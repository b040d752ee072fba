"""Runs the shell commands that stand for secrets in configuration files and takes what they print.

A command has no input, no terminal and a time limit. What it prints never appears in a problem text, and neither does
the command itself: people paste secrets into commands, so only the program that it starts is named.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal

import msgspec

COMMAND_TIMEOUT_S = 10.0
"""How long a command may take."""

OUTPUT_LIMIT_BYTES = 1 << 20
"""More output than this cannot be a secret."""

_GRACE_S = 0.5
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class CommandOutcome(msgspec.Struct, frozen=True):
    """What a command printed, trimmed, or the reason why there is nothing: one of the two is set."""

    text: str | None = None
    problem: str | None = None

    def __repr__(self) -> str:
        return f"CommandOutcome(text={'***' if self.text else None}, problem={self.problem!r})"


async def command_output(command: str, *, timeout_s: float = COMMAND_TIMEOUT_S) -> CommandOutcome:
    """Run `command` in the system's shell and take its standard output.

    Ends with the shell, whatever background processes keep the pipe open. Never raises for a command that fails;
    cancelling the caller ends the command with everything it started.
    """
    if not command.strip():
        return CommandOutcome(problem="the command after '!' is empty")
    try:
        run = _windows_output if os.name == "nt" else _posix_output
        code, output = await run(command, timeout_s)
    except TimeoutError:
        return CommandOutcome(problem=f"{_named(command)} did not finish within {timeout_s:g} s")
    except OSError as error:
        return CommandOutcome(problem=f"{_named(command)} could not be started: {error.strerror or error}")
    return _outcome(command, code, output)


def _outcome(command: str, code: int, output: bytes) -> CommandOutcome:
    if len(output) > OUTPUT_LIMIT_BYTES:
        return CommandOutcome(problem=f"{_named(command)} printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB")
    if code < 0:
        return CommandOutcome(problem=f"{_named(command)} was ended by signal {-code}")
    if code:
        hint = " (program not found)" if code == 127 else ""
        return CommandOutcome(problem=f"{_named(command)} ended with exit code {code}{hint}")
    try:
        text = output.decode("utf-8").strip()
    except UnicodeDecodeError:
        return CommandOutcome(problem=f"{_named(command)} printed bytes that are not UTF-8 text")
    return CommandOutcome(text=text) if text else CommandOutcome(problem=f"{_named(command)} printed nothing")


def _named(command: str) -> str:
    """`command 'op'`, or plain `its command` where the first word is no program of this machine."""
    import shlex
    import shutil

    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    program = next((word for word in words if not _ASSIGNMENT.match(word)), "")
    is_program = bool(program) and shutil.which(program) is not None
    return f"command {program!r}" if is_program else "its command"


async def _posix_output(command: str, timeout_s: float) -> tuple[int, bytes]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    try:
        try:
            process = await asyncio.create_subprocess_shell(
                command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        return await _collect(process, read_end, timeout_s)
    finally:
        os.close(read_end)


async def _collect(process: asyncio.subprocess.Process, read_end: int, timeout_s: float) -> tuple[int, bytes]:
    """Exit code and output. The pipe is ours, so that waiting for the shell does not wait for the pipe to close."""
    output = bytearray()
    loop = asyncio.get_running_loop()

    def receive() -> bool:
        try:
            chunk = os.read(read_end, 65536)
        except BlockingIOError:
            return False
        output.extend(chunk)
        if len(output) > OUTPUT_LIMIT_BYTES:
            _signal_group(process, signal.SIGKILL)
        if not chunk or len(output) > OUTPUT_LIMIT_BYTES:
            loop.remove_reader(read_end)
            return False
        return True

    loop.add_reader(read_end, receive)
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
        while receive():
            pass
        return code, bytes(output)
    except TimeoutError:
        await _end_politely(process)
        raise
    finally:
        loop.remove_reader(read_end)
        if process.returncode is None:
            _signal_group(process, signal.SIGKILL)
            await process.wait()


async def _end_politely(process: asyncio.subprocess.Process) -> None:
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    _signal_group(process, signal.SIGKILL)


def _signal_group(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _windows_output(command: str, timeout_s: float) -> tuple[int, bytes]:
    """The same where pipes cannot be watched by the event loop."""
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, output
