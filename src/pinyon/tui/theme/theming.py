"""Which theme is used: the setting, what the terminal tells, the files of the user, and changes of all of these.

The file of the active theme in the agent folder is looked at while it is used. One that is broken is told about once,
and what was drawn last stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pinyon.resources.theme import BUILTIN_THEMES, Theme, load_theme, theme_name_for
from pinyon.tui.theme.palette import DARK, LIGHT, PLAIN, Palette, palette_of
from pinyon.tui.theme.system_theme import system_palette
from pinyon.tui.theme.terminal_color import TerminalColors

if TYPE_CHECKING:
    from pinyon.resources.diagnostic import ResourceDiagnostic

Tell = Callable[[str, Literal["warning", "error"]], None]
_BUILTIN = {"dark": DARK, "light": LIGHT}


class Theming:
    """Gives the palette for a setting. `tell` says what is wrong."""

    def __init__(self, agent_dir: Path | None, terminal: TerminalColors, tell: Tell) -> None:
        self.terminal = terminal
        self.themes: Sequence[Theme] | None = None
        """What the resources brought; None until they are read."""
        self._folder = agent_dir / "themes" if agent_dir is not None else None
        self._tell = tell
        self._file: Path | None = None
        self._seen: tuple[int, int] | None = None
        self._from_file: Theme | None = None
        self._last: Palette = PLAIN
        self._key: object = None
        self._missing: set[str] = set()

    @property
    def is_dark(self) -> bool:
        """Whether the terminal is dark, as far as it is known."""
        return self.terminal.is_dark

    @property
    def watches_file(self) -> bool:
        """Whether the theme is one of the user's own files."""
        return self._file is not None

    def names(self) -> list[str]:
        """The themes that can be chosen: the built-in ones, then those of the user and the project."""
        return [*BUILTIN_THEMES, *(theme.name for theme in self.themes or () if theme.name not in BUILTIN_THEMES)]

    def palette(self, setting: str) -> Palette:
        """The palette that a theme's name or a `light/dark` pair of names means now."""
        name = theme_name_for(setting, is_dark=self.is_dark) or "system"
        self._watch(name)
        theme = self._theme(name)
        key = (name, id(theme), self.is_dark, repr(self.terminal) if name == "system" or theme is None else "")
        if key != self._key:
            self._key, self._last = key, self._made(name, theme)
        return self._last

    def look(self) -> bool:
        """Read the watched file if it changed; True where something else is to be drawn."""
        if self._file is None or (now := _stamp(self._file)) == self._seen:
            return False
        self._seen = now
        if now is None:
            return False
        theme = self._read(self._file)
        if theme is None:
            return False
        self._from_file = theme
        return True

    def _theme(self, name: str) -> Theme | None:
        if self._from_file is not None:
            return self._from_file
        return next((theme for theme in self.themes or () if theme.name == name and name != "system"), None)

    def _made(self, name: str, theme: Theme | None) -> Palette:
        if theme is not None:
            self._missing.discard(name)
            return palette_of(theme, is_dark=self.is_dark)
        if name not in BUILTIN_THEMES and name not in self._missing and self.themes is not None:
            self._missing.add(name)
            known = ", ".join(self.names())
            self._tell(f"There is no usable theme {name!r}; 'system' stands in. There are: {known}", "error")
        return _BUILTIN.get(name) or system_palette(self.terminal)

    def _watch(self, name: str) -> None:
        """Look from now on at the file of this theme, which the user may be writing."""
        path = self._folder / f"{name}.json" if self._folder is not None and name not in BUILTIN_THEMES else None
        if path == self._file:
            return
        self._file, self._from_file, self._seen = path, None, None
        if path is not None:
            self._seen = _stamp(path)
            self._from_file = self._read(path) if self._seen is not None else None

    def _read(self, path: Path) -> Theme | None:
        told: list[ResourceDiagnostic] = []
        theme = load_theme(path, told)
        for problem in told:
            self._tell(problem.message, "error")
        return theme


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size
