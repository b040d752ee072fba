"""An execution environment in memory: files that touch no disk, and a shell that is whatever the caller says."""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon._util.ids import uuid4
from pinyon.env.error import ExecutionError, FileError, ShellAbortedError, ShellTimeoutError
from pinyon.env.filesystem import FileInfo
from pinyon.env.memory_tree import MemoryTree, Node
from pinyon.env.shell import ShellExecOptions, ShellResult, checked_timeout


class CommandCall(msgspec.Struct, frozen=True, kw_only=True):
    """One command that a handler runs: where, with which variables, and where its output goes."""

    command: str
    cwd: str
    env: Mapping[str, str]
    write_stdout: Callable[[str], None]
    write_stderr: Callable[[str], None]
    files: MemoryEnv


CommandHandler = Callable[[CommandCall], Awaitable[int]]
"""Runs a command and gives its exit code. It is cancelled at the timeout and at the abort."""


class MemoryEnv:
    """Files in memory, POSIX paths on every platform, and a shell that `run` stands for.

    `files` maps paths to contents. Without `run` a command is refused with `shell_unavailable`. Handlers see `env` as
    the variables to inherit, never those of this process.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        cwd: str = "/work",
        run: CommandHandler | None = None,
        env: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._cwd = posixpath.normpath(posixpath.join("/", cwd))
        self._tree = MemoryTree(self._now())
        self._tree.make_directories(self._cwd, self._now())
        self._run = run
        self._env = dict(env or {})
        self._temporary: list[str] = []
        self._running: set[asyncio.Task[int]] = set()
        for path, content in (files or {}).items():
            self._tree.write(self._absolute(path), _data(content), self._now())

    @property
    def cwd(self) -> str:
        """The absolute directory that relative paths count from."""
        return self._cwd

    async def absolute_path(self, path: str) -> str:
        """`path` made absolute and lexically normal."""
        return self._absolute(path)

    async def join_path(self, parts: Sequence[str]) -> str:
        """`parts` joined with `/`."""
        return posixpath.join(*parts) if parts else ""

    async def read_text_file(self, path: str) -> str:
        """The whole file as UTF-8; invalid bytes become U+FFFD."""
        return self._content(path).decode("utf-8", "replace")

    async def read_text_lines(self, path: str, max_lines: int = 0) -> list[str]:
        """The first `max_lines` lines without their line ends; 0 or less means all."""
        text = self._content(path).decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n") if text else []
        return [line.removesuffix("\r") for line in (lines[:max_lines] if max_lines > 0 else lines)]

    async def read_binary_file(self, path: str) -> bytes:
        """The whole file."""
        return self._content(path)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create or replace a file and the directories above it."""
        self._tree.write(self._absolute(path), _data(content), self._now())

    async def append_file(self, path: str, content: str | bytes) -> None:
        """Add to the end of a file, creating it and the directories above it."""
        before = self._content(path) if await self.exists(path) else b""
        self._tree.write(self._absolute(path), before + _data(content), self._now())

    async def rename_file(self, source: str, target: str) -> None:
        """Move `source` over `target` in one step."""
        origin, destination = self._absolute(source), self._absolute(target)
        node = self._tree.find(origin, follow=False)
        if destination == origin:
            return
        if destination.startswith(f"{origin}/"):
            raise FileError("invalid", f"Cannot move {origin!r} into itself", destination)
        self._tree.attach(destination, node)
        self._tree.detach(origin)

    async def stat(self, path: str) -> FileInfo:
        """What stands at `path`, a final link not followed."""
        absolute = self._absolute(path)
        return self._tree.find(absolute, follow=False).info(absolute)

    async def list_dir(self, path: str) -> list[FileInfo]:
        """The direct children of a directory by name, links not followed."""
        absolute = self._absolute(path)
        children = self._tree.find(absolute).children
        if children is None:
            raise FileError("not_directory", f"Not a directory: {absolute!r}", absolute)
        return [children[name].info(posixpath.join(absolute, name)) for name in sorted(children)]

    async def canonical_path(self, path: str) -> str:
        """The real path of something that exists."""
        return self._tree.canonical(self._absolute(path))

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`, links followed; only "not found" is False."""
        try:
            self._tree.find(self._absolute(path))
        except FileError as error:
            if error.code == "not_found":
                return False
            raise
        return True

    async def create_dir(self, path: str, *, recursive: bool = True) -> None:
        """Create a directory; with `recursive` its parents too, and an existing directory is fine."""
        absolute = self._absolute(path)
        if recursive:
            self._tree.make_directories(absolute, self._now())
        elif await self.exists(absolute):
            raise FileError("invalid", f"File exists: {absolute!r}", absolute)
        else:
            self._tree.attach(absolute, Node(self._now(), children={}))

    async def create_symlink(self, path: str, target: str) -> None:
        """Create a link at `path`; `target` is relative to the link's own directory."""
        self._tree.attach(self._absolute(path), Node(self._now(), target=target))

    async def remove(self, path: str, *, recursive: bool = False, force: bool = False) -> None:
        """Delete a file, link or empty directory, with `recursive` a tree; with `force` a missing path is fine."""
        absolute = self._absolute(path)
        try:
            node = self._tree.find(absolute, follow=False)
        except FileError as error:
            if force and error.code == "not_found":
                return
            raise
        if node.children and not recursive:
            raise FileError("invalid", f"Directory not empty: {absolute!r}", absolute)
        self._tree.detach(absolute)

    async def create_temp_dir(self, prefix: str = "tmp-") -> str:
        """A new empty directory below `/tmp`."""
        path = f"/tmp/{prefix}{uuid4()}"  # noqa: S108 - a path in memory
        self._tree.make_directories(path, self._now())
        self._temporary.append(path)
        return path

    async def create_temp_file(self, prefix: str = "tmp-", suffix: str = "") -> str:
        """A new empty file below `/tmp`."""
        path = f"/tmp/{prefix}{uuid4()}{suffix}"  # noqa: S108 - a path in memory
        self._tree.write(path, b"", self._now())
        self._temporary.append(path)
        return path

    async def exec(self, command: str, options: ShellExecOptions | None = None) -> ShellResult:
        """Let the handler run `command`; a non-zero exit code is a result."""
        options = options or ShellExecOptions()
        timeout = checked_timeout(options.timeout_seconds)
        if self._run is None:
            raise ExecutionError("shell_unavailable", "this environment has no shell; give it a command handler")
        if options.signal is not None and options.signal.aborted:
            raise ShellAbortedError
        cwd = self._absolute(options.cwd)
        if not await self.exists(cwd):
            raise ExecutionError("spawn_error", f"cannot run in {cwd!r}: no such directory")
        output = _Output(options)
        call = CommandCall(
            command=command,
            cwd=cwd,
            env=self._variables(options),
            write_stdout=output.write_stdout,
            write_stderr=output.write_stderr,
            files=self,
        )
        exit_code = await self._supervise(_run_handler(self._run, call), options, timeout)
        return ShellResult("".join(output.stdout), "".join(output.stderr), exit_code)

    async def cleanup(self) -> None:
        """Cancel every command that still runs and delete the temporary files; never raises."""
        for task in list(self._running):
            task.cancel()
        for path in self._temporary:
            with contextlib.suppress(FileError):
                await self.remove(path, recursive=True, force=True)
        self._temporary.clear()

    async def _supervise(self, work: Awaitable[int], options: ShellExecOptions, timeout: float | None) -> int:
        task = asyncio.ensure_future(work)
        self._running.add(task)

        def stop() -> None:
            task.cancel()

        remove = options.signal.add_listener(stop) if options.signal is not None else _nothing
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout)
            if not done:
                raise ShellTimeoutError(timeout or 0)
            if task.cancelled():
                raise ShellAbortedError
            return task.result()
        finally:
            remove()
            self._running.discard(task)
            task.cancel()

    def _variables(self, options: ShellExecOptions) -> dict[str, str]:
        if not options.inherit_env:
            return dict(options.env)
        kept = {name: value for name, value in self._env.items() if name not in options.unset_env}
        return {**kept, **options.env}

    def _content(self, path: str) -> bytes:
        absolute = self._absolute(path)
        node = self._tree.find(absolute)
        if node.children is not None:
            raise FileError("is_directory", f"Is a directory: {absolute!r}", absolute)
        return node.content

    def _absolute(self, path: str) -> str:
        if "\0" in path:
            raise FileError("invalid", f"A path cannot hold a NUL: {path!r}", path)
        return posixpath.normpath(posixpath.join(self._cwd, path))

    def _now(self) -> float:
        return self._clock.now_ms() / 1000


class _Output:
    """Keeps what a handler writes, if it is wanted, and passes it on."""

    def __init__(self, options: ShellExecOptions) -> None:
        self._options = options
        self.stdout: list[str] = []
        self.stderr: list[str] = []

    def write_stdout(self, text: str) -> None:
        self._write(text, self.stdout, self._options.on_stdout)

    def write_stderr(self, text: str) -> None:
        self._write(text, self.stderr, self._options.on_stderr)

    def _write(self, text: str, kept: list[str], listener: Callable[[str], None] | None) -> None:
        if self._options.collect:
            kept.append(text)
        if listener is None:
            return
        try:
            listener(text)
        except Exception as error:
            raise ExecutionError("callback_error", f"the receiver of the output failed: {error}") from error


async def _run_handler(handler: CommandHandler, call: CommandCall) -> int:
    return await handler(call)


def _data(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


def _nothing() -> None:
    """There is no listener to remove."""
