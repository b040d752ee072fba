"""The resources that packages bring into a session, from what is installed now; nothing is fetched here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.package.configured import ConfiguredPackage, configured_packages
from pinyon.resources.package.content import package_files
from pinyon.resources.package.manifest import PackageManifest, read_manifest
from pinyon.resources.package.place import installed_folder
from pinyon.resources.package.python_content import content_root
from pinyon.resources.resource_place import FoundResource, Owner
from pinyon.resources.source_info import SourceInfo


class PackageResources:
    """The packages of some owners, looked at once. `diagnostics` tells of entries, manifests and missing packages."""

    def __init__(self, owners: Sequence[Owner], failures: Mapping[str, str] | None = None) -> None:
        """`failures` are the problems of packages that could not be fetched, by identity."""
        self.diagnostics: list[ResourceDiagnostic] = []
        self.missing: list[ConfiguredPackage] = []
        self._found: list[tuple[ConfiguredPackage, Path, PackageManifest]] = []
        for package in configured_packages(owners, self.diagnostics):
            root = package_root(package)
            if root is None:
                self.missing.append(package)
                self.diagnostics.append(_missing(package, (failures or {}).get(package.entry.source.identity)))
            else:
                self._found.append((package, root, read_manifest(root, self.diagnostics)))

    def find(self, kind: ResourceKind, told: list[ResourceDiagnostic]) -> Iterator[FoundResource]:
        """The files of a kind, switched as the settings say."""
        for package, root, manifest in self._found:
            source = package.entry.source
            changelog = str(root / manifest.changelog) if manifest.changelog else None
            for path in package_files(kind, root, manifest, told, is_local=source.kind == "local"):
                info = SourceInfo(str(path), source.label, package.entry.scope, "package", str(root), changelog)
                yield FoundResource(path, info, package.is_on(kind, path, root))


def package_root(package: ConfiguredPackage) -> Path | None:
    """The folder (or single file) that a package's resources stand in; None where it is not installed."""
    source = package.entry.source
    folder = installed_folder(source, package.entry.base)
    if folder is None or source.kind != "pypi":
        return folder
    return content_root(folder, source.name)


def _missing(package: ConfiguredPackage, failure: str | None) -> ResourceDiagnostic:
    source, scope = package.entry.source, package.entry.scope
    command = f"{'-l ' if scope == 'project' else ''}{source.label}`"
    told = f"package {source.label!r} of the {scope} settings is not there: "
    if failure is not None:
        told += f"{failure}. `pinyon remove {command} takes it out of the settings"
    elif source.kind == "local":
        told += f"put it at {source.target!r}, or take it out with `pinyon remove {command}"
    else:
        told += f"`pinyon install {command} fetches it"
    return ResourceDiagnostic("warning", told)
