"""The difference that an edit will make, shown as soon as its arguments are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinyon.tui.block.tool import ToolBlock

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


class EditPreview:
    """Computes each difference once, in a task of the program."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app

    def look(self, blocks: Sequence[ToolBlock]) -> None:
        """Begin with the blocks that have none yet."""
        for block in blocks:
            block.call.diff_preview = ""
            self._app.start(self._compute(block))

    async def _compute(self, block: ToolBlock) -> None:
        from pinyon.tools.edit import compute_edits_diff

        edits = block.call.arguments.get("edits")
        path = block.call.argument("path", "file_path")
        if not path or not isinstance(edits, list):
            return
        result = await compute_edits_diff(path, edits, block.call.cwd)
        if block.call.state == "done":
            return
        block.call.diff_preview = result.get("diff", "")
        block.call.preview_error = result.get("error")
        block.changed()
