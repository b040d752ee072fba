"""Tool operations that work through an `ExecutionEnv`, so that a tool runs where the environment is."""

from __future__ import annotations

from pinyon.env.filesystem import FileKind
from pinyon.env.local import LocalEnv
from pinyon.env.shell import ExecutionEnv
from pinyon.tools.operations.local import LocalFindOperations, LocalGrepOperations
from pinyon.tools.operations.protocol import (
    DirectoryEntry,
    EditOperations,
    EntryStat,
    FindOperations,
    GrepOperations,
    LsOperations,
    ReadOperations,
    WriteOperations,
)


class EnvFileOperations:
    """Files of an environment as the tools ask for them."""

    def __init__(self, env: ExecutionEnv) -> None:
        self._env = env

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        return await self._env.read_binary_file(path)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create the file or replace its content."""
        await self._env.write_file(path, content)

    async def access(self, path: str) -> None:
        """Raise where nothing stands at `path`; environments have no finer question."""
        await self._env.stat(path)

    async def mkdir(self, path: str) -> None:
        """Nothing to do: writing a file creates the directories above it."""

    async def size(self, path: str) -> int:
        """Size of the file in bytes, links followed."""
        return (await self._env.stat(await self._env.canonical_path(path))).size

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`."""
        return await self._env.exists(path)

    async def is_directory(self, path: str) -> bool:
        """Whether `path` is a directory, links followed; raises where nothing is there."""
        info = await self._env.stat(path)
        if info.kind is FileKind.SYMLINK:
            info = await self._env.stat(await self._env.canonical_path(path))
        return info.kind is FileKind.DIRECTORY

    async def stat(self, path: str) -> EntryStat:
        """What stands at `path`, links followed."""
        return EntryStat(is_directory=await self.is_directory(path))

    async def readdir(self, path: str) -> list[str]:
        """Names of the direct children."""
        return [info.name for info in await self._env.list_dir(path)]

    async def list_entries(self, path: str) -> list[DirectoryEntry]:
        """The direct children with what a search asks of them."""
        return [
            DirectoryEntry(info.name, info.kind is FileKind.DIRECTORY, info.kind is FileKind.FILE)
            for info in await self._env.list_dir(path)
        ]


def env_read_operations(env: ExecutionEnv) -> ReadOperations:
    """Read operations on `env`."""
    return EnvFileOperations(env)


def env_edit_operations(env: ExecutionEnv) -> EditOperations:
    """Edit operations on `env`."""
    return EnvFileOperations(env)


def env_write_operations(env: ExecutionEnv) -> WriteOperations:
    """Write operations on `env`."""
    return EnvFileOperations(env)


def env_grep_operations(env: ExecutionEnv) -> GrepOperations:
    """Grep operations that search the files of `env`; those of this machine for a `LocalEnv`."""
    return LocalGrepOperations() if isinstance(env, LocalEnv) else EnvFileOperations(env)


def env_find_operations(env: ExecutionEnv) -> FindOperations:
    """Find operations that walk the files of `env`; those of this machine for a `LocalEnv`."""
    return LocalFindOperations() if isinstance(env, LocalEnv) else EnvFileOperations(env)


def env_ls_operations(env: ExecutionEnv) -> LsOperations:
    """Ls operations on `env`."""
    return EnvFileOperations(env)
