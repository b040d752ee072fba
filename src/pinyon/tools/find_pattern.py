"""What the pattern of a find call accepts."""

from __future__ import annotations

import re
from collections.abc import Callable

from pinyon._util.glob import InvalidGlobError, compile_glob
from pinyon.errors import ToolError
from pinyon.tools.tree_walk import WalkEntry

_GIT_COMPONENT = re.compile(r"(?:^|[/\\])\.git(?:[/\\]|$)")


def entry_filter(pattern: str, root: str) -> Callable[[WalkEntry], bool]:
    """Whether an entry below `root` is meant.

    A pattern without `/` is matched against names, one with `/` against the path below `root`, an absolute one against
    the absolute path. A pattern without capitals matches in any case. Raises `ToolError` for a broken glob.
    """
    glob = re.sub(r"^(?:\./+)+", "", pattern)
    try:
        matches = compile_glob(glob, ignore_case=glob == glob.lower()).fullmatch
    except InvalidGlobError as error:
        raise ToolError(
            f"The pattern cannot be used: {error}. Put a backslash before a character that is meant as it is."
        ) from error
    if glob.startswith("/") or re.match(r"[A-Za-z]:[\\/]", glob):
        base = root.replace("\\", "/").rstrip("/")
        return lambda entry: matches(f"{base}/{entry.path}") is not None
    if "/" in glob:
        return lambda entry: matches(entry.path) is not None
    return lambda entry: matches(entry.name) is not None


def addresses_git_folder(text: str) -> bool:
    """Whether a path or a pattern names a `.git` folder, whose content is otherwise left out."""
    return _GIT_COMPONENT.search(text) is not None
