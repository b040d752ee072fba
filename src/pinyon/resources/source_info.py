"""Where a resource comes from."""

from __future__ import annotations

from typing import Literal

import msgspec

SourceScope = Literal["user", "project", "temporary"]
SourceOrigin = Literal["top-level", "package"]


class SourceInfo(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A resource's file, and what brought it in.

    `source` is `auto` (a known folder), `local` (a settings entry), `cli`, `sdk`, `builtin`, `extension:<name>` or the
    text of a package source; `scope` says whose it is, `base_dir` the folder that its owner keeps such things in.
    """

    path: str
    source: str
    scope: SourceScope
    origin: SourceOrigin = "top-level"
    base_dir: str | None = None
    changelog_path: str | None = None

    def to_wire(self) -> dict[str, str]:
        """The camelCase object of protocols, with `origin` always in it."""
        wire = {"path": self.path, "source": self.source, "scope": self.scope, "origin": self.origin}
        return wire | ({"baseDir": self.base_dir} if self.base_dir is not None else {})
