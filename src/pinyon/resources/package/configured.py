"""Which packages the settings of a user and of a trusted project ask for, and what of each is used.

An entry of the list `packages` is a source, or an object with `source`, lists of patterns by kind that choose from what
the package brings, and `autoload`. The project's entry takes the place of the user's for the same package; with
`"autoload": false` it only adjusts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.package.manifest import KINDS
from pinyon.resources.package.source import PackageSource, PackageSourceError, parse_source
from pinyon.resources.resource_filter import ResourceEntries, is_switched_on, sort_entries
from pinyon.resources.resource_place import Owner
from pinyon.resources.source_info import SourceScope

Filters = dict[ResourceKind, list[str]]


class PackageEntry(msgspec.Struct, frozen=True):
    """One entry of a list `packages`: whose it is, and where that owner's packages are installed."""

    source: PackageSource
    scope: SourceScope
    base: Path
    filters: Filters = {}
    autoload: bool = True

    @property
    def is_filtered(self) -> bool:
        """Whether it chooses from what the package brings."""
        return bool(self.filters) or not self.autoload


class ConfiguredPackage(msgspec.Struct, frozen=True):
    """A package in use. `adjustment` is the project's entry that adjusts the user's `entry`."""

    entry: PackageEntry
    adjustment: PackageEntry | None = None

    def is_on(self, kind: ResourceKind, path: Path, root: Path) -> bool:
        """Whether a file of the package is used."""
        is_on = _chosen(self.entry, kind, path, root)
        return is_on if self.adjustment is None else _adjusted(self.adjustment, kind, path, root, is_on)


def read_entries(owner: Owner, told: list[ResourceDiagnostic]) -> list[PackageEntry]:
    """The entries of one owner; an unusable one is told and passed over."""
    listed = owner.settings.get("packages")
    if not isinstance(listed, list):
        return []
    found: list[PackageEntry] = []
    for number, value in enumerate(listed, 1):
        try:
            found.append(_entry(value, owner))
        except PackageSourceError as error:
            where = f"entry {number} of `packages` in the {owner.scope} settings"
            told.append(ResourceDiagnostic("warning", f"{where} is passed over: {error}"))
    return found


def configured_packages(owners: Sequence[Owner], told: list[ResourceDiagnostic]) -> list[ConfiguredPackage]:
    """The packages in use, the project's first, each once."""
    entries = [entry for owner in owners for entry in read_entries(owner, told)]
    users = {entry.source.identity: entry for entry in entries if entry.scope == "user"}
    found: dict[str, ConfiguredPackage] = {}
    for entry in entries:
        identity = entry.source.identity
        if identity in found:
            continue
        below = users.get(identity)
        if entry.scope == "project" and not entry.autoload and below is not None:
            found[identity] = ConfiguredPackage(below, entry)
        else:
            found[identity] = ConfiguredPackage(entry)
    return list(found.values())


def entry_source(value: Any) -> str | None:
    """The source in a value of the list; None where it has none."""
    source = value.get("source") if isinstance(value, dict) else value
    return source if isinstance(source, str) else None


def _entry(value: Any, owner: Owner) -> PackageEntry:
    text = entry_source(value)
    if text is None:
        raise PackageSourceError("it must be a source, or an object with a `source`")
    source = parse_source(text, owner.base)
    if not isinstance(value, dict):
        return PackageEntry(source, owner.scope, owner.base)
    filters: Filters = {}
    for kind in KINDS:
        listed = value.get(kind)
        if isinstance(listed, list):
            filters[kind] = [item for item in listed if isinstance(item, str)]
        elif listed is not None:
            raise PackageSourceError(f"{kind!r} of {source.label!r} must be a list of patterns")
    return PackageEntry(source, owner.scope, owner.base, filters, value.get("autoload") is not False)


def _chosen(entry: PackageEntry, kind: ResourceKind, path: Path, root: Path) -> bool:
    listed = entry.filters.get(kind)
    if not entry.autoload:
        return _adjusted(entry, kind, path, root, False)
    if listed is None:
        return True
    return bool(listed) and is_switched_on(path, root, _patterns(listed), with_includes=True)


def _adjusted(entry: PackageEntry, kind: ResourceKind, path: Path, root: Path, is_on: bool) -> bool:
    patterns = _patterns(entry.filters.get(kind, []))
    if not is_on and patterns.includes:
        is_on = is_switched_on(path, root, ResourceEntries(includes=patterns.includes), with_includes=True)
    return is_switched_on(path, root, patterns, with_includes=False, is_on=is_on)


def _patterns(listed: list[str]) -> ResourceEntries:
    """Without a mark every entry of a package's filter is a pattern, also one without wildcards."""
    entries = sort_entries(listed)
    return msgspec.structs.replace(entries, paths=(), includes=(*entries.paths, *entries.includes))
