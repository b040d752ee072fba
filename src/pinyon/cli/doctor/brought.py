"""The doctor's look at what users and projects bring, from skills to packages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pinyon._util.config import CONFIG_DIR_NAME
from pinyon.cli.doctor.finding import Finding, Status
from pinyon.resources.foreign_extension import is_foreign
from pinyon.resources.loader import DefaultResourceLoader
from pinyon.resources.package.manager import PackageManager
from pinyon.resources.package.place import is_incomplete, place_of
from pinyon.resources.trust import GATED_NAMES, TrustDecision

_STATUS: dict[str, Status] = {"error": "broken", "warning": "broken", "collision": "ignored", "info": "ignored"}


def look_at_project(cwd: Path, decision: TrustDecision) -> Iterator[Finding]:
    """Whether the project's own resources count."""
    folder = cwd / CONFIG_DIR_NAME
    names = [name for name in GATED_NAMES if os.path.lexists(folder / name)]
    if decision.trusted:
        if names:
            yield Finding("project", "used", f"trusted ({decision.reason}): {', '.join(names)}", str(folder))
        return
    what = ", ".join(names) or "skills in .agents"
    mend = "start `pinyon` here and answer the question, or give --approve for one run"
    yield Finding("project", "ignored", f"not trusted ({decision.reason}): {what} are not looked at", str(folder), mend)


def look_at_resources(loader: DefaultResourceLoader) -> Iterator[Finding]:
    """What was loaded, what is switched off, and what is wrong with the rest."""
    counts = {
        "skills": len(loader.get_skills().skills),
        "prompts": len(loader.get_prompts().prompts),
        "themes": len(loader.get_themes().themes),
        "context files": len(loader.get_agents_files()),
    }
    for area, count in counts.items():
        if count:
            yield Finding(area, "used", f"{count} loaded")
    yield from _extensions(loader)
    for kind in ("extensions", "skills", "prompts", "themes"):
        off = [str(each.path) for each in loader.find(kind) if not each.is_enabled]
        if off:
            mend = f"`pinyon config enable {kind} <path>` switches one on"
            yield Finding(kind, "ignored", f"switched off: {', '.join(off)}", None, mend)
    for each in loader.diagnostics:
        if each.type != "info":
            mend = "rename one of them" if each.type == "collision" else "mend or remove what is named"
            yield Finding("resources", _STATUS[each.type], each.message, each.path, mend)


def _extensions(loader: DefaultResourceLoader) -> Iterator[Finding]:
    enabled = [each for each in loader.get_extension_files() if each.is_enabled]
    own = [each for each in enabled if not is_foreign(each)]
    if own:
        yield Finding(
            "extensions", "used", f"{len(own)} Python extensions: {', '.join(str(each.path) for each in own)}"
        )
    for each in enabled:
        if is_foreign(each):
            message = f"{each.path.name} is a TypeScript or JavaScript extension; extensions are Python here"
            mend = "ask its author for a Python version, or look at docs/packages.md for what can take its place"
            yield Finding("extensions", "ignored", message, str(each.path), mend)


async def look_at_packages(manager: PackageManager) -> list[Finding]:
    """The packages of both settings files, with version and place; missing ones are told with the resources."""
    found: list[Finding] = []
    for package in await manager.list_packages():
        entry = package.entry
        label = f"{entry.source.label} ({entry.scope})"
        if package.folder is None:
            continue
        if is_incomplete(place_of(entry.source, entry.base)):
            mend = f"`pinyon update {entry.source.label}` installs it again"
            found.append(
                Finding("packages", "broken", f"{label}: an update was not finished", str(package.folder), mend)
            )
            continue
        version = f" {package.version}" if package.version else ""
        found.append(Finding("packages", "used", f"{label}{version}", str(package.folder)))
    return found
