"""Operations that run commands: on this machine, or through the shell of an `ExecutionEnv`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pinyon._util.abort import AbortSignal
from pinyon.env.shell import ExecutionEnv, ShellExecOptions
from pinyon.env.variable import command_environment
from pinyon.tools.operations.protocol import BashExecOptions, BashOperations
from pinyon.tools.session_variable import sessionless_environment


class LocalBashOperations:
    """Runs bash commands on this machine."""

    def __init__(self, shell_path: str | None = None) -> None:
        self._shell_path = shell_path

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        """Run `command` with bash."""
        from pinyon.env.shell_program import find_bash

        program = find_bash(self._shell_path)
        return await _run(program.argv(command), program.stdin(command), cwd, options, signal)


class LocalPowerShellOperations:
    """Runs PowerShell commands on this machine, which must run Windows."""

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        """Run `command` with the newest PowerShell."""
        from pinyon.env.shell_program import find_powershell, powershell_script

        program = find_powershell()
        return await _run(program.argv(powershell_script(command, program)), b"", cwd, options, signal)


async def _run(
    argv: list[str], stdin: bytes, cwd: str, options: BashExecOptions, signal: AbortSignal | None
) -> int | None:
    from pinyon.env.process import ProcessRequest, run_process

    stdout, stderr = WholeCharacters(options.on_data), WholeCharacters(options.on_data)
    try:
        end = await run_process(
            ProcessRequest(
                argv=argv,
                stdin=stdin,
                cwd=cwd,
                env=sessionless_environment() if options.env is None else options.env,
                on_stdout=stdout.feed,
                on_stderr=stderr.feed,
                timeout_seconds=options.timeout_seconds,
                signal=signal,
            )
        )
    finally:
        stdout.finish()
        stderr.finish()
    return end.exit_code


class WholeCharacters:
    """Passes bytes on up to the last whole UTF-8 character, so that two streams can be mixed without harm."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        self._sink = sink
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take a block in."""
        data = self._rest + data
        cut = len(data) - unfinished_bytes(data)
        self._rest = data[cut:]
        if cut:
            self._sink(data[:cut])

    def finish(self) -> None:
        """Pass on what never became a character."""
        rest, self._rest = self._rest, b""
        if rest:
            self._sink(rest)


def unfinished_bytes(data: bytes) -> int:
    """How many bytes at the end are the beginning of a UTF-8 character whose rest is missing."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
        return back if back < length else 0
    return 0


class EnvBashOperations:
    """Runs bash commands through the shell of an environment."""

    def __init__(self, env: ExecutionEnv) -> None:
        self._env = env

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        """Run `command` in the environment.

        The environment keeps its own variables. Only what the call changes against those of this process goes there.
        """

        def pass_on(text: str) -> None:
            options.on_data(text.encode("utf-8", "replace"))

        changed, removed = _changes(options.env)
        result = await self._env.exec(
            command,
            ShellExecOptions(
                cwd=cwd,
                env=changed,
                unset_env=removed,
                timeout_seconds=options.timeout_seconds,
                signal=signal,
                on_stdout=pass_on,
                on_stderr=pass_on,
                collect=False,
            ),
        )
        return result.exit_code


def _changes(variables: Mapping[str, str] | None) -> tuple[dict[str, str], tuple[str, ...]]:
    if variables is None:
        return {}, ()
    usual = command_environment()
    changed = {name: value for name, value in variables.items() if usual.get(name) != value}
    return changed, tuple(name for name in usual if name not in variables)


def create_local_bash_operations(shell_path: str | None = None) -> BashOperations:
    """Operations that run bash commands on this machine, with the shell at `shell_path` or the usual one."""
    return LocalBashOperations(shell_path)


def create_local_powershell_operations() -> BashOperations:
    """Operations that run PowerShell commands on this machine."""
    return LocalPowerShellOperations()


def env_bash_operations(env: ExecutionEnv) -> BashOperations:
    """Operations that run bash commands through the shell of `env`."""
    return EnvBashOperations(env)
