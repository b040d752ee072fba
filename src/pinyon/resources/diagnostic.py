"""What loading a resource has to tell: never an exception, so that one bad file does not keep the others from use."""

from __future__ import annotations

from typing import Literal

import msgspec

ResourceKind = Literal["extensions", "skills", "prompts", "themes"]


class ResourceCollision(msgspec.Struct, rename="camel", frozen=True):
    """Two resources of one name: the one at `winner_path` is used, the one at `loser_path` is not."""

    resource_type: Literal["extension", "skill", "prompt", "theme"]
    name: str
    winner_path: str
    loser_path: str


class ResourceDiagnostic(msgspec.Struct, frozen=True):
    """One finding about a file or flag; `path` names the file where there is one.

    A `collision` tells of a resource that is not used because another one has its name; it counts as a warning.
    """

    type: Literal["info", "warning", "error", "collision"]
    message: str
    path: str | None = None
    collision: ResourceCollision | None = None

    @property
    def severity(self) -> Literal["info", "warning", "error"]:
        """How much it matters to people."""
        return "warning" if self.type == "collision" else self.type


def collision_of(
    kind: Literal["extension", "skill", "prompt", "theme"], name: str, winner: str, loser: str
) -> ResourceDiagnostic:
    """The finding that `loser` is not used because `winner` has the same name."""
    called = {"prompt": f"/{name}", "skill": f"/skill:{name}"}.get(kind, name)
    message = f"{kind} {called!r} in {loser!r} is not used: {winner!r} has the same name and comes first"
    return ResourceDiagnostic("collision", message, loser, ResourceCollision(kind, name, winner, loser))
