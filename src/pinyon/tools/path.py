"""Paths as models and users write them: turned into absolute paths, compared, and shortened for display.

Every function takes the flavour of the paths (`posix` or `windows`), so that the rules of both can be tried anywhere;
the default is the machine's own. Nothing here confines a path to a folder.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Literal

from pinyon._util.os_text import file_name
from pinyon.errors import ToolError

Flavour = Literal["posix", "windows"]

NATIVE_FLAVOUR: Flavour = "windows" if os.name == "nt" else "posix"
"""The flavour of the machine that runs this program."""

_PLAIN_SPACES = dict.fromkeys([0x00A0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")


class PathError(ToolError):
    """Raised when a text cannot name a file."""


def expand_path(path: str, flavour: Flavour = NATIVE_FLAVOUR) -> str:
    """The path that a text means: odd blanks, a leading `@`, `~`, `file://` and Unix-style drives resolved.

    The result may still be relative. Raises `PathError` for a NUL or an unusable URL.
    """
    text = path if path.isascii() else path.translate(_PLAIN_SPACES)
    return _expand(text.removeprefix("@"), flavour)


def _expand(text: str, flavour: Flavour) -> str:
    if "\0" in text:
        raise PathError(f"Path {text!r} holds a NUL character; give the path without it.")
    text = file_name(text)
    if flavour == "windows":
        text = _native_drive(text)
    if text.startswith("file://"):
        return _path_from_url(text, flavour)
    return _expand_home(text, flavour)


def _native_drive(text: str) -> str:
    match = re.fullmatch(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?:/([^\\]*))?", text)
    if match is None:
        return text
    rest = (match[2] or "").replace("/", "\\")
    return f"{match[1].upper()}:\\{rest}"


def _expand_home(text: str, flavour: Flavour) -> str:
    separators = "/\\" if flavour == "windows" else "/"
    if text != "~" and not (text[:1] == "~" and text[1:2] and text[1] in separators):
        return text
    home = os.path.expanduser("~")  # noqa: PTH111 - texts, not Path objects, so that both flavours work anywhere
    if home == "~":
        return text
    return _rules(flavour).join(home, text[2:]) if len(text) > 2 else home


def _path_from_url(url: str, flavour: Flavour) -> str:
    from urllib.parse import unquote

    body = re.split("[?#]", url[len("file://") :], maxsplit=1)[0]
    host, slash, rest = body.partition("/")
    if re.search("%2f" + ("|%5c" if flavour == "windows" else ""), rest, re.IGNORECASE):
        raise PathError(f"The file URL {url!r} has an encoded separator in its path; write the path itself.")
    path = slash + file_name(unquote(rest, errors="surrogateescape"))
    if "\0" in path:
        raise PathError(f"The file URL {url!r} holds a NUL character; give the path without it.")
    if flavour == "posix":
        if host not in ("", "localhost"):
            raise PathError(f"The file URL {url!r} names the host {host!r}; only local files can be used.")
        return path or "/"
    return _windows_path_from_url(url, host, path)


def _windows_path_from_url(url: str, host: str, path: str) -> str:
    native = path.replace("/", "\\")
    if host not in ("", "localhost"):
        return f"\\\\{host}{native}"
    if not re.match(r"\\[A-Za-z]:", native):
        raise PathError(f"The file URL {url!r} names no drive; write it as file:///C:/...")
    return native[1:]


def resolve_to_cwd(path: str, cwd: str | os.PathLike[str], flavour: Flavour = NATIVE_FLAVOUR) -> str:
    """The absolute, lexically normalised path that `path` means in `cwd`; links are not resolved."""
    return _absolute(expand_path(path, flavour), cwd, flavour)


def _absolute(path: str, cwd: str | os.PathLike[str], flavour: Flavour) -> str:
    rules = _rules(flavour)
    base = _expand_home(os.fspath(cwd), flavour)
    if flavour == NATIVE_FLAVOUR:
        base = os.path.abspath(base)  # noqa: PTH100 - Path.resolve would follow links
    normal: str = rules.normpath(rules.join(base, path))
    return normal[1:] if flavour == "posix" and normal.startswith("//") else normal


def _rules(flavour: Flavour) -> ModuleType:
    return ntpath if flavour == "windows" else posixpath


def path_candidates(path: str, cwd: str | os.PathLike[str], flavour: Flavour = NATIVE_FLAVOUR) -> Iterator[str]:
    """Absolute paths that `path` may mean: the plain reading, and the text exactly as written where that differs.

    The second finds existing names that hold odd blanks or begin with `@`.
    """
    plain = resolve_to_cwd(path, cwd, flavour)
    yield plain
    as_written = _absolute(_expand(path, flavour), cwd, flavour)
    if as_written != plain:
        yield as_written


def read_path_candidates(path: str, cwd: str | os.PathLike[str], flavour: Flavour = NATIVE_FLAVOUR) -> Iterator[str]:
    """Absolute paths that `path` may mean for reading, likeliest first.

    After the plain reading come the spellings that file managers give to names (a narrow blank before AM/PM, decomposed
    accents, a curly apostrophe), then the text as written.
    """
    import unicodedata

    plain, *as_written = path_candidates(path, cwd, flavour)
    yield plain
    decomposed = unicodedata.normalize("NFD", plain)
    spellings = [
        re.sub(r" (AM|PM)\.", "\u202f\\1.", plain, flags=re.IGNORECASE),
        decomposed,
        plain.replace("'", "\u2019"),
        decomposed.replace("'", "\u2019"),
    ]
    others = dict.fromkeys([*map(file_name, spellings), *as_written])
    yield from (other for other in others if other != plain)


def resolve_read_path(path: str, cwd: str | os.PathLike[str]) -> str:
    """The first candidate of `read_path_candidates` that exists on this machine, else the plain reading."""
    for candidate in read_path_candidates(path, cwd):
        if os.path.exists(candidate):  # noqa: PTH110 - a text in, a text out
            return candidate
    return resolve_to_cwd(path, cwd)


def path_key(path: str | os.PathLike[str], flavour: Flavour = NATIVE_FLAVOUR) -> str:
    """A key under which two spellings of one absolute path are equal; Windows paths compare without case."""
    normal: str = _rules(flavour).normpath(os.fspath(path))
    if flavour == NATIVE_FLAVOUR:
        normal = os.path.abspath(normal)  # noqa: PTH100 - Path.resolve would follow links
    return normal.lower() if flavour == "windows" else normal


def is_path_within(
    parent: str | os.PathLike[str], child: str | os.PathLike[str], flavour: Flavour = NATIVE_FLAVOUR
) -> bool:
    """Whether `child` is `parent` or lies below it, by their names alone."""
    separator: str = _rules(flavour).sep
    outer, inner = path_key(parent, flavour), path_key(child, flavour)
    return inner == outer or inner.startswith(outer.rstrip(separator) + separator)


def shorten_home_path(path: str) -> str:
    """For display: the home directory at the beginning of `path` as `~`."""
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111 - see _expand_home
    if not home or home == "~":
        return path
    if path == home:
        return "~"
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path
