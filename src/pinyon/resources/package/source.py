"""What names a package: `git:`, `npm:` and `pypi:` sources, git URLs, and paths of this machine.

A source that could lead a program astray (an option in place of a name, a path out of its folder, an encoded slash) is
refused before anything is run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from pinyon._util.config import expand_home
from pinyon._util.secret import redact_transcript
from pinyon.errors import ConfigError

SourceKind = Literal["git", "npm", "pypi", "local"]

_URL_SCHEMES = ("https://", "http://", "ssh://", "git://")
_HOSTED = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.IGNORECASE)
_PART = re.compile(r"[\w.~+][\w.~+-]*")
_SCP = re.compile(r"(?P<user>[\w.-]+)@(?P<host>[^@:/\s]+):(?P<path>.+)")
_REF = re.compile(r"[^\s\x00-\x1f\x7f~^:?*\[\\-][^\s\x00-\x1f\x7f~^:?*\[\\]*")
_NPM_NAME = re.compile(r"(?:@[a-z0-9~_][\w.~-]*/)?[a-z0-9~_][\w.~-]*", re.IGNORECASE)
_NPM_EXACT = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_NPM_SPEC = re.compile(r"[^\s\x00-\x1f-][^\x00-\x1f]*")
_PYPI = re.compile(
    r"(?P<name>[a-z0-9](?:[\w.-]*[a-z0-9])?)\s*(?P<extras>\[[\w\s,.-]*\])?\s*(?P<rest>.*)", re.IGNORECASE
)
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_SPECIFIER = re.compile(rf"{_CLAUSE}(?:\s*,\s*{_CLAUSE})*")


class PackageSourceError(ConfigError):
    """Raised for a text that names no package, or one that must not be followed."""


class PackageSource(msgspec.Struct, frozen=True):
    """A package as settings name it.

    `text` is the source as written. `name` is the npm name, the normalised Python name, `host/path` of a repository or
    an absolute path; `target` is what the installer gets: URL, npm spec or requirement. `ref` is a git ref. A source
    `is_pinned` that names one version.
    """

    text: str
    kind: SourceKind
    name: str
    target: str
    ref: str | None = None
    is_pinned: bool = False

    @property
    def identity(self) -> str:
        """The same for every version of the package."""
        return f"{self.kind}:{self.name}"

    @property
    def label(self) -> str:
        """The source for people, without a password in its URL."""
        return redact_transcript(self.text)


def parse_source(text: str, base: Path) -> PackageSource:
    """Understand a source; relative paths start from `base`. Raises `PackageSourceError`."""
    text = text.strip()
    if not text or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise PackageSourceError(f"{text!r} is no package source; give a path, or git:, npm: or pypi: and a name")
    prefix, _, rest = text.partition(":")
    match prefix:
        case "npm":
            return _npm(text, rest.strip())
        case "pypi" | "pip":
            return _pypi(text, rest.strip())
        case "builtin":
            raise PackageSourceError(f"{text!r} is part of the program; there is nothing to install")
        case "git" if not rest.startswith("//"):
            return _git(text, rest.strip())
        case "github" | "gitlab" | "bitbucket":
            return _git(text, text)
    if text.startswith(_URL_SCHEMES):
        return _git(text, text)
    if "://" in text:
        raise PackageSourceError(f"{prefix!r} URLs are no package sources; use https, ssh or git, or a plain path")
    path = os.path.abspath(base / expand_home(text))  # noqa: PTH100 - links stay as written
    return PackageSource(text, "local", path, path)


def suggested_prefix(text: str) -> str | None:
    """The prefix that may be missing where a text was taken for a path: `git:`, or nothing."""
    if _SCP.fullmatch(text):
        return "git:"
    host, _, rest = text.partition("/")
    return "git:" if "." in host.strip(".") and "/" in rest and not text.startswith((".", "~")) else None


def _git(text: str, body: str) -> PackageSource:
    hosted, _, rest = body.partition(":")
    if body.startswith(_URL_SCHEMES):
        return _git_url(text, body)
    if hosted in _HOSTED and not rest.startswith("//"):
        return _git_url(text, f"https://{_HOSTED[hosted]}/{rest.lstrip('/')}")
    scp = _SCP.fullmatch(body)
    if scp is not None:
        path, ref = _split_ref(text, scp["path"])
        name = _repository(text, scp["host"], path)
        return PackageSource(text, "git", name, f"{scp['user']}@{scp['host']}:{path}", ref, ref is not None)
    return _git_url(text, f"https://{body}")


def _git_url(text: str, url: str) -> PackageSource:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _refused(text, str(error)) from error
    raw = url.split("://", 1)[1].partition("/")[2]
    path, ref = _split_ref(text, raw)
    name = _repository(text, host, path)
    if parts.netloc.startswith("-"):
        raise _refused(text, "a host does not begin with a dash")
    if port is not None:
        name = name.replace("/", f"_{port}/", 1)
    return PackageSource(text, "git", name, f"{parts.scheme}://{parts.netloc}/{path}", ref, ref is not None)


def _split_ref(text: str, path: str) -> tuple[str, str | None]:
    at = min((index for index in (path.find("@"), path.find("#")) if index >= 0), default=-1)
    if at < 0:
        return path.rstrip("/"), None
    ref = path[at + 1 :]
    if not _REF.fullmatch(ref) or ".." in ref or ref.endswith(("/", ".lock")):
        raise _refused(text, f"{ref!r} is no git ref")
    return path[:at].rstrip("/"), ref


def _repository(text: str, host: str, path: str) -> str:
    if not _HOST.fullmatch(host):
        raise _refused(text, f"{host!r} is no host name")
    parts = path.split("/")
    parts[-1] = parts[-1].removesuffix(".git")
    if len(parts) < 2:
        raise _refused(text, "a repository has at least an owner and a name, such as git:github.com/owner/name")
    for part in parts:
        if not _PART.fullmatch(part) or part.strip(".") == "" or part.lower() in {".git", ".pinyon"}:
            raise _refused(text, f"{part!r} cannot be part of the path of a repository")
    return "/".join([host.lower(), *parts])


def _npm(text: str, body: str) -> PackageSource:
    at = body.find("@", 1)
    name, spec = (body, "") if at < 0 else (body[:at], body[at + 1 :])
    if not _NPM_NAME.fullmatch(name) or ".." in name:
        raise _refused(text, f"{name!r} is no npm package name")
    if at >= 0 and not _NPM_SPEC.fullmatch(spec):
        raise _refused(text, f"{spec!r} is no version")
    return PackageSource(text, "npm", name, body, None, _NPM_EXACT.fullmatch(spec) is not None)


def _pypi(text: str, body: str) -> PackageSource:
    found = _PYPI.fullmatch(body)
    if found is None:
        raise _refused(text, f"{body!r} is no name of a Python package")
    rest = found["rest"].strip()
    if rest.startswith("@"):
        raise _refused(text, f"a version is written with ==, as in pypi:{found['name']}==1.0")
    if rest and not _SPECIFIER.fullmatch(rest):
        raise _refused(text, f"{rest!r} is no version specifier such as ==1.0 or >=1,<2")
    name = re.sub(r"[-_.]+", "-", found["name"]).lower()
    is_pinned = rest.startswith("==") and "," not in rest and "*" not in rest
    return PackageSource(text, "pypi", name, f"{found['name']}{found['extras'] or ''}{rest}", None, is_pinned)


def _refused(text: str, detail: str) -> PackageSourceError:
    return PackageSourceError(f"package source {redact_transcript(text)!r} is refused: {redact_transcript(detail)}")
