"""Extensions in TypeScript or JavaScript: named, so that nobody waits for what they would do."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.resource_place import FoundResource

_SUFFIXES = frozenset({".ts", ".js", ".mts", ".mjs", ".cts", ".cjs"})


def is_foreign(found: FoundResource) -> bool:
    """Whether a file is an extension for JavaScript programs."""
    return found.path.suffix in _SUFFIXES


def foreign_extensions(found: Sequence[FoundResource]) -> list[ResourceDiagnostic]:
    """One finding that names all extensions in use that cannot run here; nothing without any."""
    paths = [str(each.path) for each in found if each.is_enabled and is_foreign(each)]
    if not paths:
        return []
    kind = "extension is" if len(paths) == 1 else "extensions are"
    message = f"{len(paths)} TypeScript or JavaScript {kind} not loaded, extensions are Python here: {', '.join(paths)}"
    return [ResourceDiagnostic("info", message, paths[0])]
