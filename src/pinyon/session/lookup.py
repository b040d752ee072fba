"""What a session argument of the command line means: a path, or the id of a stored session or its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pinyon.session.naming import SESSION_SUFFIX, absolute_cwd


class SessionRef(msgspec.Struct, frozen=True):
    """A stored session by its header."""

    path: Path
    id: str
    cwd: str


class SessionLookup(msgspec.Struct, frozen=True):
    """What an argument stands for.

    `path`: a file, existing or not. `local`: a session of this working directory. `elsewhere`: a session of
    `other_cwd`, which may be forked into this one. `missing`: nothing; `path` is None.
    """

    kind: Literal["path", "local", "elsewhere", "missing"]
    argument: str
    path: Path | None = None
    other_cwd: str | None = None


def as_session_path(argument: str, cwd: str | Path) -> Path | None:
    """The path that an argument names, None where it is an id: paths hold a separator or end in `.jsonl`."""
    if "/" not in argument and "\\" not in argument and not argument.endswith(SESSION_SUFFIX):
        return None
    return Path(absolute_cwd(Path(cwd) / Path(argument).expanduser()))


def match_session(argument: str, candidates: Sequence[SessionRef]) -> SessionRef | None:
    """The session with this id, else the first whose id begins with it."""
    exact = (ref for ref in candidates if ref.id == argument)
    begins = (ref for ref in candidates if argument and ref.id.startswith(argument))
    return next(exact, None) or next(begins, None)


def resolve_session_argument(
    argument: str,
    *,
    cwd: str | Path,
    local: Callable[[], Sequence[SessionRef]],
    everywhere: Callable[[], Sequence[SessionRef]],
) -> SessionLookup:
    """What an argument stands for, given the sessions here and everywhere, newest first; asked for only when needed."""
    path = as_session_path(argument, cwd)
    if path is not None:
        return SessionLookup("path", argument, path)
    if found := match_session(argument, local()):
        return SessionLookup("local", argument, found.path)
    if found := match_session(argument, everywhere()):
        return SessionLookup("elsewhere", argument, found.path, found.cwd)
    return SessionLookup("missing", argument)
