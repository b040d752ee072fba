"""Names of session files and folders, and of sessions themselves."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pinyon._util.config import agent_dir as default_agent_dir
from pinyon._util.text import clean_surrogates
from pinyon.session.header import SessionHeader

_SEPARATORS = re.compile(r"[/\\:]")
_LINE_BREAKS = re.compile(r"[\r\n\u2028\u2029\x85\x0b\x0c]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")

SESSION_SUFFIX = ".jsonl"


def absolute_cwd(cwd: str | os.PathLike[str]) -> str:
    """A working directory as an absolute path without `.` and `..`; links are not followed."""
    return os.path.abspath(cwd)  # noqa: PTH100 - pathlib would not drop `..`


def encode_cwd(cwd: str | os.PathLike[str]) -> str:
    """The folder name that stands for a working directory: separators and colons become dashes, nothing else."""
    path = absolute_cwd(cwd)
    path = path[1:] if path.startswith(("/", "\\")) else path
    return "--" + _SEPARATORS.sub("-", path) + "--"


def sessions_root(agent_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder that holds a folder of sessions for each working directory; None without a home."""
    base = default_agent_dir() if agent_dir is None else Path(agent_dir)
    return None if base is None else base / "sessions"


def default_session_dir(cwd: str | os.PathLike[str], agent_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder for the sessions of a working directory; None without a home. It need not exist."""
    root = sessions_root(agent_dir)
    return None if root is None else root / encode_cwd(cwd)


get_default_session_dir = default_session_dir


def session_file_name(header: SessionHeader) -> str:
    """The file name of a new session: its time and its id."""
    return f"{re.sub('[:.]', '-', header.timestamp)}_{header.id}{SESSION_SUFFIX}"


def clean_session_name(name: str) -> str:
    """A session name on one line: line breaks and tabs become a blank, other control characters go; trimmed."""
    text = _LINE_BREAKS.sub(" ", clean_surrogates(name)).replace("\t", " ")
    return _CONTROL.sub("", text).strip()
