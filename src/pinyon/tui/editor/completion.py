"""Where completions come from: slash commands and their arguments, files by name (`@`), and folders by prefix."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pinyon._util.fuzzy import fuzzy_score
from pinyon.tui.command.command import CommandTable
from pinyon.tui.editor.menu import Completion, Completions

_MAX_SHOWN = 20
_MAX_FILES = 60_000
_FILES_FRESH_S = 10.0
_AT_TOKEN = re.compile(r"""(?:^|[\s"'=(\[{<`，。、：；])@("[^"\n]*|[^\s"'=]*)$""")
_PATH_TOKEN = re.compile(r"""(?:^|[\s"'=(\[{<`])((?:\./|\.\./|~/|/)[^\s"'=]*)$""")
_WORD_TOKEN = re.compile(r"""([^\s"'=(\[{<`]*)$""")
_COMMAND = re.compile(r"^/([^\s/]*)$")
_ARGUMENT = re.compile(r"^/(\S+) (.*)$", re.DOTALL)


class CommandSource:
    """Slash commands at the start of the message, then what their arguments can be."""

    def __init__(self, commands: CommandTable) -> None:
        self._commands = commands

    async def complete(self, text: str, cursor: int, *, is_forced: bool) -> Completions | None:
        """Commands by fuzzy name, or arguments by prefix."""
        del is_forced
        head = text[:cursor]
        if "\n" in head:
            return None
        if match := _COMMAND.match(head):
            return self._names(match[1])
        if match := _ARGUMENT.match(head):
            return self._arguments(match[1], match[2])
        return None

    def _names(self, typed: str) -> Completions | None:
        scored = []
        for order, command in enumerate(self._commands.listed()):
            bare = command.name.removeprefix("skill:")
            score = fuzzy_score(typed, bare) if typed else 0.0
            if score is not None:
                detail = f"{command.argument_hint}  {command.doc}".strip()
                scored.append((score, order, Completion(f"/{command.name} ", f"/{command.name}", detail)))
        scored.sort(key=lambda item: item[:2])
        items = tuple(item for _, _, item in scored)
        return Completions(0, items, "command") if items else None

    def _arguments(self, name: str, typed: str) -> Completions | None:
        command = self._commands.get(name)
        if command is None or command.complete is None:
            return None
        items = tuple(command.complete(typed))
        return Completions(len(name) + 2, items, "argument") if items else None


class FileSource:
    """`@name`: files and folders of the project, by how well their name or path matches. Ignore files are honoured."""

    def __init__(self, cwd: Callable[[], Path]) -> None:
        self._cwd = cwd
        self._files: tuple[Path, float, list[str]] | None = None

    async def complete(self, text: str, cursor: int, *, is_forced: bool) -> Completions | None:
        """The best matches for the token that begins with `@`."""
        del is_forced
        match = _AT_TOKEN.search(text[:cursor])
        if match is None:
            return None
        typed = match[1].lstrip('"')
        paths = await self._paths()
        found = await asyncio.to_thread(best_paths, typed, paths)
        items = tuple(Completion(_quoted(path), path) for path in found)
        return Completions(match.start(1) - 1, items, "path") if items else None

    async def _paths(self) -> list[str]:
        cwd = self._cwd()
        if self._files is not None and self._files[0] == cwd and time.monotonic() - self._files[1] < _FILES_FRESH_S:
            return self._files[2]
        paths = await list_project_paths(cwd)
        self._files = (cwd, time.monotonic(), paths)
        return paths


class FolderSource:
    """Paths by prefix: after `./`, `../`, `~/` or `/`, and for any word when Tab asks."""

    def __init__(self, cwd: Callable[[], Path]) -> None:
        self._cwd = cwd

    async def complete(self, text: str, cursor: int, *, is_forced: bool) -> Completions | None:
        """The entries of the folder that the token names, folders first."""
        head = text[:cursor]
        match = _PATH_TOKEN.search(head)
        if match is None and is_forced:
            match = _WORD_TOKEN.search(head)
        if match is None or (head.startswith("/") and match.start(1) == 0 and "/" not in head[1:]):
            return None
        token = match[1]
        names = await asyncio.to_thread(list_folder, self._cwd(), token)
        items = tuple(Completion(value, label) for value, label in names[:100])
        return Completions(match.start(1), items, "path", is_single_direct=True) if items else None


def _quoted(path: str) -> str:
    end = "" if path.endswith("/") else " "
    return f'@"{path}"{end}' if re.search(r"[\s\"'=]", path) else f"@{path}{end}"


def _is_offered(name: str, prefix: str) -> bool:
    return name.lower().startswith(prefix.lower()) and (prefix.startswith(".") or not name.startswith("."))


def list_folder(cwd: Path, token: str) -> list[tuple[str, str]]:
    """Value and label of the entries that `token` is the beginning of."""
    folder, _, prefix = token.rpartition("/")
    base = Path(folder + "/").expanduser() if "/" in token else cwd
    try:
        with os.scandir(base if base.is_absolute() else cwd / base) as entries:
            found = [(not entry.is_dir(), entry.name) for entry in entries if _is_offered(entry.name, prefix)]
    except OSError:
        return []
    start = token[: len(token) - len(prefix)]
    return [
        (start + name + ("" if is_file else "/"), name + ("" if is_file else "/")) for is_file, name in sorted(found)
    ]


def best_paths(typed: str, paths: Sequence[str]) -> list[str]:
    """The paths that match best, at most 20."""
    wanted = typed.lower()
    scored = []
    for path in paths:
        score = path_score(wanted, path)
        if score is not None:
            scored.append((-score, path.count("/"), len(path), path))
    scored.sort()
    return [path for *_, path in scored[:_MAX_SHOWN]]


def path_score(wanted: str, path: str) -> float | None:
    """How well a path matches: by its name before its folders, whole before part; None where it does not."""
    is_folder = path.endswith("/")
    lowered = path.lower().rstrip("/")
    name = lowered.rpartition("/")[2]
    if not wanted:
        score = 0.0
    elif name == wanted or lowered == wanted:
        score = 100.0
    elif name.startswith(wanted):
        score = 80.0
    elif wanted in name:
        score = 50.0
    elif wanted in lowered:
        score = 30.0
    elif (fuzzy := fuzzy_score(wanted, lowered)) is not None:
        score = max(1.0, 20.0 - max(0.0, fuzzy) / 10)
    else:
        return None
    return score + (10 if is_folder else 0)


async def list_project_paths(cwd: Path) -> list[str]:
    """Files below `cwd` that no ignore file leaves out, and their folders with a final `/`, hidden ones included."""
    from pinyon.tools.ripgrep import find_ripgrep

    program = await asyncio.to_thread(find_ripgrep)
    files = await _ripgrep_files(program, cwd) if program is not None else await asyncio.to_thread(_walk, cwd)
    return with_folders(files)


async def _ripgrep_files(program: str, cwd: Path) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        str(program),
        "--files",
        "--hidden",
        "--no-require-git",
        "--glob=!.git",
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    files: list[str] = []
    try:
        async for line in process.stdout:
            files.append(os.fsdecode(line.rstrip(b"\r\n")).replace(os.sep, "/"))
            if len(files) >= _MAX_FILES:
                break
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return files


def _walk(cwd: Path) -> list[str]:
    files: list[str] = []
    for folder, names, entries in os.walk(cwd):
        names[:] = sorted(name for name in names if name != ".git")
        base = os.path.relpath(folder, cwd).replace(os.sep, "/")
        files += [name if base == "." else f"{base}/{name}" for name in sorted(entries)]
        if len(files) >= _MAX_FILES:
            break
    return files[:_MAX_FILES]


def with_folders(files: Iterable[str]) -> list[str]:
    """Files and every folder that holds one."""
    folders: dict[str, None] = {}
    kept = list(files)
    for path in kept:
        at = path.find("/")
        while at >= 0:
            folders[path[: at + 1]] = None
            at = path.find("/", at + 1)
    return [*folders, *kept]
