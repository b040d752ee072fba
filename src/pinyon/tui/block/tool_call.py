"""One tool call as a screen knows it: what was asked, how far it is, what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pinyon.tui.picture import Picture

ToolState = Literal["arguments", "waiting", "running", "done"]
"""The call is still being written; complete; taken up; has its result."""


class ToolCallView(msgspec.Struct, kw_only=True):
    """What renderers of tool rows get. Times are seconds; `elapsed_s` grows while the tool runs."""

    name: str
    call_id: str = ""
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)
    cwd: str = ""
    state: ToolState = "arguments"
    text: str = ""
    pictures: Sequence[Picture] = ()
    details: Any = None
    is_error: bool = False
    elapsed_s: float | None = None
    diff_preview: str | None = None
    preview_error: str | None = None

    def argument(self, *names: str) -> str:
        """The first argument of these names that is a text; empty without any."""
        for name in names:
            value = self.arguments.get(name)
            if isinstance(value, str):
                return value
        return ""

    def number(self, name: str) -> int | None:
        """A whole-number argument, None where it is missing or something else."""
        value = self.arguments.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value)

    def detail(self, name: str) -> Any:
        """A value of the details, None where they have none."""
        return self.details.get(name) if isinstance(self.details, Mapping) else None
