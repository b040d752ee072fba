"""The list of settings: each with its value, which Enter changes at once or asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pinyon.resources import setting
from pinyon.resources.setting import SETTINGS, Setting
from pinyon.tui.selector import Choice, Selector

FIRST: tuple[Setting[Any], ...] = (
    setting.THEME,
    setting.COMPACTION_ENABLED,
    setting.HIDE_THINKING_BLOCK,
    setting.STEERING_MODE,
    setting.FOLLOW_UP_MODE,
    setting.DOUBLE_ESCAPE_ACTION,
    setting.TREE_FILTER_MODE,
    setting.QUIET_STARTUP,
    setting.TUI_MODE,
    setting.FULLSCREEN_EXIT_OUTPUT,
    setting.EDITOR_PADDING_X,
    setting.OUTPUT_PAD,
    setting.AUTOCOMPLETE_MAX_VISIBLE,
    setting.TERMINAL_NOTIFICATIONS,
    setting.TERMINAL_SHOW_TERMINAL_PROGRESS,
    setting.TERMINAL_TITLE,
    setting.TERMINAL_HYPERLINKS,
    setting.IMAGES_AUTO_RESIZE,
    setting.IMAGES_BLOCK_IMAGES,
    setting.DEFAULT_PROJECT_TRUST,
    setting.TRANSPORT,
)
"""What people change most, in the order of the list."""

_HIDDEN = frozenset(
    {
        "trackingId",
        "deviceId",
        "lastChangelogVersion",
        "enableInstallTelemetry",
        "enableAnalytics",
        "defaultProvider",
        "defaultModel",
    }
)
_FIXED_VALUES: dict[str, tuple[Any, ...]] = {
    "editorPaddingX": (0, 1, 2, 3),
    "autocompleteMaxVisible": (3, 5, 7, 10, 15, 20),
    "terminal.imageWidthCells": (60, 80, 120),
}


def listed_settings() -> list[Setting[Any]]:
    """The settings that the list shows: those that are one value."""
    rest = [item for item in SETTINGS if item not in FIRST and item.key not in _HIDDEN and is_single(item)]
    return [*FIRST, *rest]


def is_single(item: Setting[Any]) -> bool:
    """Whether a setting is one value, not a list or a table."""
    return item.kind.schema.get("type") not in ("array", "object")


def values_of(item: Setting[Any]) -> tuple[Any, ...]:
    """The values to go through; empty where any text or number will do."""
    if item.key == setting.THEME.key:
        return ()
    return _FIXED_VALUES.get(item.key) or tuple(_values(item.kind.schema))


def _values(schema: dict[str, Any]) -> Iterable[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return [False, True]
    parts = [list(_values(part)) for part in schema.get("anyOf", ())]
    return [value for part in parts for value in part] if parts and all(parts) else []


def next_value(item: Setting[Any], current: Any) -> Any:
    """The value after the present one."""
    values = values_of(item)
    same = [at for at, value in enumerate(values) if type(value) is type(current) and value == current]
    return values[(same[0] + 1) % len(values)] if same else values[0]


def typed_value(item: Setting[Any], text: str) -> Any:
    """What a typed text means as a value; None for an empty one, which takes the setting out of the file."""
    text = text.strip()
    if not text:
        return None
    parts = item.kind.schema.get("anyOf", [item.kind.schema])
    is_number = any(part.get("type") in ("number", "integer") for part in parts)
    if is_number:
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if math.isfinite(number) and number == int(number) else number
    return text


def shown_value(value: Any) -> str:
    """A value for people."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "–" if value is None or value == "" else str(value)


class SettingList(Selector):
    """The result is a setting that has to be asked for, or None. `read` gives its present value, `change` keeps another
    one, `source` says which file has it.
    """

    def __init__(
        self,
        *,
        read: Callable[[Setting[Any]], Any],
        change: Callable[[Setting[Any], Any], None],
        source: Callable[[Setting[Any]], str],
        query: str = "",
        selected: Setting[Any] | None = None,
    ) -> None:
        self._read = read
        self._change = change
        self._source = source
        self._items: Sequence[Setting[Any]] = listed_settings()
        super().__init__("Settings", self._rows(), query=query)
        if selected is not None:
            self.select(selected)

    def _rows(self) -> list[Choice]:
        return [self._choice(item) for item in self._items]

    def _choice(self, item: Setting[Any]) -> Choice:
        value, default = self._read(item), shown_value(item.default)
        more = "" if values_of(item) else "…"
        detail = f"{item.key}: {item.kind.label} · default {default}{self._source(item)}"
        doc = (item.doc[:1].upper() + item.doc[1:]).replace("`", "")
        return Choice(item, doc, note=shown_value(value) + more, search=item.key, detail=detail)

    def handle(self, key: str, character: str | None) -> None:
        """Space changes a value as Enter does, unless something is searched for."""
        if key == "space" and not self.field.text and self.chosen is not None:
            self.accept(self.chosen)
            self.update_rows()
        else:
            super().handle(key, character)

    def accept(self, choice: Choice) -> None:
        """Go to the next value, or ask for one."""
        if not values_of(choice.value):
            self.finish(choice.value)
            return
        self._change(choice.value, next_value(choice.value, self._read(choice.value)))
        self.replace_choices(self._rows())

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        return f"{hint('tui.select.confirm')} changes · type to search · {hint('tui.select.cancel')} closes"
