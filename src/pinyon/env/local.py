"""The execution environment of this machine: its files and its shell."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from pinyon._util.config import expand_home
from pinyon.env.error import ExecutionError, FileError
from pinyon.env.filesystem import FileInfo, FileKind
from pinyon.env.process import LIVE_COMMANDS, LiveCommands, ProcessRequest, run_process
from pinyon.env.shell import ShellExecOptions, ShellResult, checked_timeout
from pinyon.env.shell_program import find_bash
from pinyon.env.variable import command_environment

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LocalEnv:
    """Files and commands of this machine.

    `dir` is where relative paths count from, the working directory of this process by default; `env` are variables
    that every command sees; `shell_path` names the shell.
    """

    def __init__(
        self,
        dir: str = "",  # noqa: A002 - the public name
        *,
        env: Mapping[str, str] | None = None,
        shell_path: str | None = None,
    ) -> None:
        self._cwd = os.path.abspath(expand_home(str(dir))) if dir else os.getcwd()  # noqa: PTH100, PTH109
        self._env = dict(env or {})
        self._shell_path = shell_path
        self._live = LiveCommands(LIVE_COMMANDS)
        self._temporary: list[str] = []

    @property
    def cwd(self) -> str:
        """The absolute directory that relative paths count from."""
        return self._cwd

    async def absolute_path(self, path: str) -> str:
        """`path` made absolute and lexically normal."""
        return self._absolute(path)

    async def join_path(self, parts: Sequence[str]) -> str:
        """`parts` joined by the rules of this machine."""
        return os.path.join(*parts) if parts else ""  # noqa: PTH118 - texts in, text out

    async def read_text_file(self, path: str) -> str:
        """The whole file as UTF-8; invalid bytes become U+FFFD."""
        return (await self.read_binary_file(path)).decode("utf-8", "replace")

    async def read_text_lines(self, path: str, max_lines: int = 0) -> list[str]:
        """The first `max_lines` lines without their line ends, read no further than needed; 0 or less means all."""
        return await self._in_thread(_read_lines, path, max_lines)

    async def read_binary_file(self, path: str) -> bytes:
        """The whole file."""
        return await self._in_thread(Path.read_bytes, path)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create or replace a file in place and the directories above it."""
        await self._in_thread(_write, path, content, "wb")

    async def append_file(self, path: str, content: str | bytes) -> None:
        """Add to the end of a file, creating it and the directories above it."""
        await self._in_thread(_write, path, content, "ab")

    async def rename_file(self, source: str, target: str) -> None:
        """Move `source` over `target` in one step."""
        destination = self._absolute(target)
        await self._in_thread(Path.replace, source, destination)

    async def stat(self, path: str) -> FileInfo:
        """What stands at `path`, a final link not followed."""
        return await self._in_thread(_file_info, path)

    async def list_dir(self, path: str) -> list[FileInfo]:
        """The direct children of a directory by name, links not followed."""
        return await self._in_thread(_list_dir, path)

    async def canonical_path(self, path: str) -> str:
        """The real path of something that exists."""
        return str(await self._in_thread(_real_path, path))

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`, links followed; only "not found" is False."""
        try:
            await self._in_thread(Path.stat, path)
        except FileError as error:
            if error.code == "not_found":
                return False
            raise
        return True

    async def create_dir(self, path: str, *, recursive: bool = True) -> None:
        """Create a directory; with `recursive` its parents too, and an existing directory is fine."""
        await self._in_thread(_create_dir, path, recursive)

    async def remove(self, path: str, *, recursive: bool = False, force: bool = False) -> None:
        """Delete a file, link or empty directory, with `recursive` a tree; with `force` a missing path is fine."""
        try:
            await self._in_thread(_remove, path, recursive)
        except FileError as error:
            if not (force and error.code == "not_found"):
                raise

    async def create_temp_dir(self, prefix: str = "tmp-") -> str:
        """A new empty directory in the system's folder for temporary files."""
        self._temporary.append(await asyncio.to_thread(tempfile.mkdtemp, prefix=prefix))
        return self._temporary[-1]

    async def create_temp_file(self, prefix: str = "tmp-", suffix: str = "") -> str:
        """A new empty file in the system's folder for temporary files."""
        descriptor, path = await asyncio.to_thread(tempfile.mkstemp, suffix, prefix)
        os.close(descriptor)
        self._temporary.append(path)
        return path

    async def exec(self, command: str, options: ShellExecOptions | None = None) -> ShellResult:
        """Run `command` with bash to its end; a non-zero exit code is a result."""
        options = options or ShellExecOptions()
        timeout = checked_timeout(options.timeout_seconds)
        stdout, stderr = (_TextOutput(sink, options.collect) for sink in (options.on_stdout, options.on_stderr))
        program = find_bash(self._shell_path)
        end = await run_process(
            ProcessRequest(
                argv=program.argv(command),
                stdin=program.stdin(command),
                cwd=self._absolute(options.cwd),
                env=self._variables(options),
                marked=options.inherit_env,
                on_stdout=stdout.feed,
                on_stderr=stderr.feed,
                timeout_seconds=timeout,
                signal=options.signal,
            ),
            live=self._live,
        )
        try:
            return ShellResult(stdout.finish(), stderr.finish(), end.exit_code)
        except Exception as error:
            raise ExecutionError("callback_error", f"the receiver of the output failed: {error}") from error

    async def cleanup(self) -> None:
        """Kill every command that still runs and delete the temporary files; never raises."""
        self._live.kill_all()
        for path in self._temporary:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(_remove, Path(path), True)
        self._temporary.clear()

    def _absolute(self, path: str) -> str:
        return os.path.abspath(os.path.join(self._cwd, path))  # noqa: PTH100, PTH118 - links must stay

    def _variables(self, options: ShellExecOptions) -> dict[str, str]:
        if not options.inherit_env:
            return dict(options.env)
        variables = {**command_environment(), **self._env}
        for name in options.unset_env:
            variables.pop(name, None)
        return {**variables, **options.env}

    async def _in_thread(
        self,
        work: Callable[Concatenate[Path, Parameters], Result],
        path: str,
        *args: Parameters.args,
        **kw: Parameters.kwargs,
    ) -> Result:
        absolute = self._absolute(path)
        try:
            return await asyncio.to_thread(work, Path(absolute), *args, **kw)
        except FileError:
            raise
        except OSError as error:
            raise FileError.from_os_error(error, absolute) from error
        except ValueError as error:  # a NUL in the name
            raise FileError("invalid", f"{error}: {absolute!r}", absolute) from error


class _TextOutput:
    """Decodes one stream as it comes, keeps the text if it is wanted, and passes it on."""

    def __init__(self, listener: Callable[[str], None] | None, collect: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._listener = listener
        self._collect = collect
        self._parts: list[str] = []

    def feed(self, data: bytes) -> None:
        """Take a block in."""
        self._take(self._decoder.decode(data))

    def finish(self) -> str:
        """Everything, including what an unfinished character left."""
        self._take(self._decoder.decode(b"", final=True))
        return "".join(self._parts)

    def _take(self, text: str) -> None:
        if not text:
            return
        if self._collect:
            self._parts.append(text)
        if self._listener is not None:
            self._listener(text)


def _read_lines(path: Path, max_lines: int) -> list[str]:
    lines = []
    with path.open("r", encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            lines.append(line.removesuffix("\n").removesuffix("\r"))
            if len(lines) == max_lines:
                break
    return lines


def _write(path: Path, content: str | bytes, mode: str) -> None:
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.write(data)


def _file_info(path: Path) -> FileInfo:
    return _info(str(path), path.name, path.lstat())


def _info(path: str, name: str, status: os.stat_result) -> FileInfo:
    return FileInfo(path, name, _kind(status.st_mode), status.st_size, status.st_mtime)


def _kind(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return FileKind.FILE
    if stat.S_ISDIR(mode):
        return FileKind.DIRECTORY
    return FileKind.SYMLINK if stat.S_ISLNK(mode) else FileKind.OTHER


def _list_dir(path: Path) -> list[FileInfo]:
    infos = []
    with os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # it went while we looked
                infos.append(_info(entry.path, entry.name, entry.stat(follow_symlinks=False)))
    return sorted(infos, key=lambda info: info.name)


def _real_path(path: Path) -> Path:
    return path.resolve(strict=True)


def _create_dir(path: Path, recursive: bool) -> None:
    path.mkdir(parents=recursive, exist_ok=recursive)


def _remove(path: Path, recursive: bool) -> None:
    if not stat.S_ISDIR(path.lstat().st_mode):
        path.unlink()
    elif recursive:
        shutil.rmtree(path)
    else:
        path.rmdir()
