"""The list of themes; the screen shows each while it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pinyon.tui.selector import Choice, Selector

_DOCS = {"system": "follows the terminal, dark or light", "dark": "built in", "light": "built in"}
PAIR = "pair"


class ThemeList(Selector):
    """The result is a name, `PAIR` to choose one for light and one for dark terminals, or None."""

    def __init__(
        self,
        names: Sequence[str],
        current: str,
        *,
        show: Callable[[str], None],
        title: str = "Theme",
        has_pair: bool = True,
    ) -> None:
        self._show = show
        rows = [Choice(name, name, note=_DOCS.get(name, ""), is_current=name == current) for name in names]
        if has_pair:
            pair = current if "/" in current else ""
            rows.append(Choice(PAIR, "One for light and one for dark terminals…", note=pair, is_current=bool(pair)))
        super().__init__(title, rows)

    def moved(self) -> None:
        """Show the theme."""
        if self.chosen is not None and self.chosen.value != PAIR:
            self._show(self.chosen.value)
