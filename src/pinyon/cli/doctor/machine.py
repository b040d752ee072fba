"""The doctor's look at the machine: Python, programs, extras and terminal."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from pinyon.cli.doctor.finding import Finding

_PROGRAMS = {
    "git": ("packages from repositories", "install git"),
    "gh": ("/share", "install the GitHub program gh, if you want to share sessions"),
    "npm": ("packages of npm", "install Node.js with npm, if you use npm: packages"),
}
_EXTRAS = {
    "acp": ("acp", "`pinyon acp`"),
    "bedrock": ("botocore", "signed requests to Bedrock"),
    "vertex": ("google.auth", "credentials of Google Cloud"),
    "web": ("textual_serve", "`pinyon web`"),
    "websocket": ("websockets", "answers over a WebSocket"),
}


def look_at_machine() -> Iterator[Finding]:
    """What is there, and what its lack means."""
    from pinyon._version import __version__

    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("program", "used", f"Pinyon {__version__}, {python}", sys.executable)
    yield from _programs()
    for extra, (module, purpose) in _EXTRAS.items():
        if _is_installed(module):
            yield Finding("extras", "used", f"{extra}: {purpose}")
        else:
            yield Finding(
                "extras", "note", f"{extra} is not installed ({purpose})", None, f"pip install 'pinyon[{extra}]'"
            )
    yield _terminal()


def _programs() -> Iterator[Finding]:
    from pinyon.tools.ripgrep import find_ripgrep

    ripgrep = find_ripgrep()
    if ripgrep is None:
        mend = "install ripgrep; searching works without it, but slower"
        yield Finding("programs", "note", "rg is not there", None, mend)
    else:
        yield Finding("programs", "used", "rg", ripgrep)
    for name, (purpose, mend) in _PROGRAMS.items():
        path = shutil.which(name)
        if path is None:
            yield Finding("programs", "note", f"{name} is not there ({purpose})", None, mend)
        else:
            yield Finding("programs", "used", name, path)
    installer = shutil.which("uv")
    if installer is None and find_spec("pip") is None:
        yield Finding("programs", "note", "neither uv nor pip is there (pypi: packages)", None, "install uv")
    else:
        yield Finding("programs", "used", "uv" if installer else "pip", installer)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", "note", "the output is no terminal")
    size = shutil.get_terminal_size()
    term, colors = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    message = f"{term or 'TERM is not set'}, {size.columns}x{size.lines}, colours {colors or 'as TERM says'}"
    if term in ("", "dumb"):
        return Finding("terminal", "note", message, None, "set TERM to what the terminal is, such as xterm-256color")
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        return Finding("terminal", "note", f"{message}, encoding {sys.stdout.encoding}", None, "use a UTF-8 locale")
    return Finding("terminal", "used", message)
