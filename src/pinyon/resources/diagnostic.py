"""What loading a resource has to tell: never an exception, so that one bad file does not keep the others from use."""

from __future__ import annotations

from typing import Literal

import msgspec


class ResourceDiagnostic(msgspec.Struct, frozen=True):
    """One finding about a file or flag; `path` names the file where there is one."""

    type: Literal["info", "warning", "error"]
    message: str
    path: str | None = None
