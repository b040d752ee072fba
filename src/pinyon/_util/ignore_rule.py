"""Ignore files: what their lines mean and which entries of a tree they leave out.

The rules are those of gitignore(5) as the `ignore` crate applies them: the last matching line of a file decides, the
nearest file of a kind wins over those above it, and kinds have a fixed order: a program's own files, `.ignore`,
`.gitignore`, `.git/info/exclude`, the user's global excludes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from pinyon._util.glob import InvalidGlobError, compile_glob

_PLAIN_NAME = re.compile(r"[^*?\[\]{}\\/]+")
_PLAIN_ENDING = re.compile(r"\*(\.[^*?\[\]{}\\/.]+)")


class _Rule(msgspec.Struct, frozen=True):
    """One line: its place in the file, and whether it applies to directories only and takes entries back in."""

    order: int
    directories_only: bool
    keeps: bool
    pattern: re.Pattern[str] | None = None


class IgnoreRules:
    """The lines of one ignore file. Lines that make no sense are passed over."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._names: dict[str, list[_Rule]] = {}
        self._endings: dict[str, list[_Rule]] = {}
        self._name_globs: list[_Rule] = []
        self._path_globs: list[_Rule] = []
        for order, line in enumerate(lines):
            self._add(order, line)
        self.is_empty = not (self._names or self._endings or self._name_globs or self._path_globs)
        self._any_name = _any_of(self._name_globs)
        self._any_path = _any_of(self._path_globs)

    @classmethod
    def parse(cls, data: bytes) -> IgnoreRules:
        """Rules of a file's content."""
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        return cls(line.removesuffix("\r") for line in text.split("\n"))

    def ignores(self, path: str, name: str, is_directory: bool) -> bool | None:
        """Whether an entry is left out: None when no line speaks of it.

        `path` is relative to the folder of the file, with `/`, and ends in `name`.
        """
        hits: list[_Rule] = []
        if self._names:
            hits += self._names.get(name, ())
        if self._endings and (dot := name.rfind(".")) >= 0:
            hits += self._endings.get(name[dot:], ())
        if self._any_name is not None and self._any_name.fullmatch(name):
            hits += [rule for rule in self._name_globs if rule.pattern and rule.pattern.fullmatch(name)]
        if self._any_path is not None and self._any_path.fullmatch(path):
            hits += [rule for rule in self._path_globs if rule.pattern and rule.pattern.fullmatch(path)]
        if not hits:
            return None
        usable = [rule for rule in hits if is_directory or not rule.directories_only]
        return not max(usable, key=lambda rule: rule.order).keeps if usable else None

    def _add(self, order: int, line: str) -> None:
        line = _without_trailing_blanks(line)
        if not line or line.startswith("#"):
            return
        keeps = line.startswith("!")
        line = line[1:] if keeps else line
        line = line[1:] if line.startswith(("\\!", "\\#")) else line
        directories_only = line.endswith("/")
        line = line.removesuffix("/")
        if not line:
            return
        self._place(line, _Rule(order, directories_only, keeps))

    def _place(self, glob: str, rule: _Rule) -> None:
        if "/" not in glob:
            if _PLAIN_NAME.fullmatch(glob):
                self._names.setdefault(glob, []).append(rule)
            elif match := _PLAIN_ENDING.fullmatch(glob):
                self._endings.setdefault(match[1], []).append(rule)
            else:
                self._compile(glob, rule, self._name_globs)
            return
        glob = glob.removeprefix("/")
        # What stands below a folder is meant, not the folder.
        self._compile(f"{glob}/*" if glob.endswith("/**") else glob, rule, self._path_globs)

    def _compile(self, glob: str, rule: _Rule, target: list[_Rule]) -> None:
        try:
            pattern = compile_glob(glob)
        except InvalidGlobError:
            return  # one bad line leaves the others alone
        target.append(_Rule(rule.order, rule.directories_only, rule.keeps, pattern))


def _any_of(rules: list[_Rule]) -> re.Pattern[str] | None:
    patterns = [rule.pattern.pattern for rule in rules if rule.pattern is not None]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.DOTALL) if patterns else None


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip()
    return f"{stripped} " if stripped.endswith("\\") and len(stripped) < len(line) else stripped


class PlacedRules(msgspec.Struct, frozen=True):
    """Rules of a file with where its folder is, seen from the root of a walk.

    `above` is the path from the folder down to the root when it lies above it, `below` the length of the path from the
    root to the folder when it lies within.
    """

    rules: IgnoreRules
    above: str = ""
    below: int = 0

    def ignores(self, path: str, name: str, is_directory: bool) -> bool | None:
        """Whether the entry at `path` below the root is left out; None when no line speaks of it."""
        return self.rules.ignores(self.above + path[self.below :], name, is_directory)


class IgnoreFiles(msgspec.Struct, kw_only=True):
    """What one folder has: the content of its ignore files, and whether it is the root of a repository."""

    own: bytes = b""
    ignore: bytes = b""
    git: bytes = b""
    exclude: bytes = b""
    is_repository: bool = False


class IgnoreScope:
    """All rules that hold in one folder, nearest first within each kind."""

    def __init__(
        self,
        own: tuple[PlacedRules, ...] = (),
        ignore: tuple[PlacedRules, ...] = (),
        git: tuple[PlacedRules, ...] = (),
        exclude: tuple[PlacedRules, ...] = (),
        user: tuple[PlacedRules, ...] = (),
    ) -> None:
        self._own, self._ignore, self._git, self._exclude, self._user = own, ignore, git, exclude, user
        self._all = (*own, *ignore, *git, *exclude, *user)

    def enter(self, files: IgnoreFiles, *, above: str = "", below: int = 0) -> IgnoreScope:
        """The rules within a folder that has `files`; a repository starts anew with the rules of git."""

        def placed(content: bytes) -> tuple[PlacedRules, ...]:
            rules = IgnoreRules.parse(content) if content else None
            return () if rules is None or rules.is_empty else (PlacedRules(rules, above, below),)

        fresh = files.is_repository
        return IgnoreScope(
            placed(files.own) + self._own,
            placed(files.ignore) + self._ignore,
            placed(files.git) + (() if fresh else self._git),
            placed(files.exclude) + (() if fresh else self._exclude),
            self._user,
        )

    def with_user_rules(self, content: bytes, *, above: str = "") -> IgnoreScope:
        """The same with the user's global excludes; `above` is the path from the repository down to the root."""
        rules = IgnoreRules.parse(content)
        user = () if rules.is_empty else (PlacedRules(rules, above),)
        return IgnoreScope(self._own, self._ignore, self._git, self._exclude, user)

    def ignores(self, path: str, name: str, is_directory: bool) -> bool:
        """Whether the entry at `path` below the root of the walk is left out."""
        for rules in self._all:
            decision = rules.ignores(path, name, is_directory)
            if decision is not None:
                return decision
        return False
