"""A widget that is as high as the rows that it has to show."""

from __future__ import annotations

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from pinyon.tui.canvas import blank, clamped


class RowsWidget(Widget, can_focus=False):
    """Subclasses build rows for a width. `update_rows` shows them: the height follows, and lines that look the same
    are not drawn again.
    """

    DEFAULT_CSS = "RowsWidget { height: 0; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self._shown: list[Strip] = []

    def build(self, width: int) -> list[Strip]:
        """The rows in `width` columns."""
        raise NotImplementedError

    def update_rows(self) -> None:
        """Build the rows and draw those that changed."""
        width = self.screen_width()
        if not width:
            return
        old, self._shown = self._shown, [clamped(row, width) for row in self.build(width)]
        if len(old) != len(self._shown):
            self.styles.height = len(self._shown)
            self.refresh()
            return
        changed = [Region(0, y, width, 1) for y, row in enumerate(self._shown) if row is not old[y] and row != old[y]]
        if changed:
            self.refresh(*changed)

    def screen_width(self) -> int:
        """The columns that there are, also before the first layout."""
        return self.size.width or self.app.size.width

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.size.width
        if self._shown and self._shown[0].cell_length != width:
            self._shown = [clamped(row, width) for row in self.build(width)]
        return self._shown[y] if y < len(self._shown) else blank(width)

    def on_resize(self) -> None:
        """Build anew for another width."""
        self._shown = []
        self.update_rows()

    def on_mount(self) -> None:
        """Show the first rows."""
        self.update_rows()
