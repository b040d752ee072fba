"""A list to choose from, with a line that searches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.strip import Strip

from pinyon._util.fuzzy import fuzzy_score
from pinyon.tui.canvas import clean, plain, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.overlay import Overlay
from pinyon.tui.text_field import TextField


class Choice(msgspec.Struct, frozen=True):
    """One row: what choosing it gives, what is shown, a note at the right, and what searching looks at besides."""

    value: Any
    label: str
    note: str = ""
    is_current: bool = False
    search: str = ""
    detail: str = ""


class Selector(Overlay):
    """The result is the `value` of the chosen row, None when closed.

    `actions` maps ids of the key table to functions that get the chosen row, such as saving or deleting; one that
    returns a value closes the list with it.
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        selected: int | None = None,
        query: str = "",
        is_searchable: bool = True,
        hint: str = "",
        actions: dict[str, Callable[[Choice], Any]] | None = None,
    ) -> None:
        super().__init__(title)
        self.choices = list(choices)
        self.is_searchable = is_searchable
        self.more_hint = hint
        self.actions = actions or {}
        self.field = TextField(query)
        self.shown: list[Choice] = []
        self.at = 0
        self._first = 0
        self._filter()
        if not query:
            current = next((n for n, choice in enumerate(self.shown) if choice.is_current), 0)
            self.at = current if selected is None else max(0, min(selected, len(self.shown) - 1))

    def replace_choices(self, choices: Sequence[Choice]) -> None:
        """Show other rows and stay on the one with the same value."""
        chosen = self.chosen
        self.choices = list(choices)
        self._filter()
        if chosen is not None:
            self.at = next((n for n, choice in enumerate(self.shown) if choice.value == chosen.value), self.at)
        self.update_rows()

    @property
    def chosen(self) -> Choice | None:
        """The row that Enter would choose."""
        return self.shown[self.at] if self.at < len(self.shown) else None

    def _filter(self) -> None:
        query = self.field.text.strip()
        if not query:
            self.shown = list(self.choices)
        else:
            scored = []
            for order, choice in enumerate(self.choices):
                score = fuzzy_score(query, f"{choice.label} {choice.search or choice.note}")
                if score is not None:
                    scored.append((score, order, choice))
            scored.sort(key=lambda item: item[:2])
            self.shown = [choice for _, _, choice in scored]
        self.at = 0

    # Keys and the mouse.

    def handle(self, key: str, character: str | None) -> None:
        """Move, choose, close, act or search."""
        action = self.keymap.first(key, (*_MOVES, *self.actions))
        if action in self.actions:
            self._act(action)
        elif action == "tui.select.confirm":
            if self.chosen is not None:
                self.finish(self.chosen.value)
        elif action == "tui.select.cancel":
            self._cancel()
        elif action is not None:
            self._move(action)
        elif self.is_searchable:
            before = self.field.text
            self.field.handle(key, character, self.keymap)
            if self.field.text != before:
                self._filter()
        elif character in ("j", "k"):
            self._move("tui.select.down" if character == "j" else "tui.select.up")
        self.update_rows()

    def _cancel(self) -> None:
        self.finish(None)

    def _act(self, action: str) -> None:
        if self.chosen is not None:
            result = self.actions[action](self.chosen)
            if result is not None:
                self.finish(result)

    def _move(self, action: str) -> None:
        count = len(self.shown)
        if not count:
            return
        page = self._list_rows()
        match action:
            case "tui.select.up":
                self.at = (self.at - 1) % count
            case "tui.select.down":
                self.at = (self.at + 1) % count
            case "tui.select.pageUp":
                self.at = max(0, self.at - page)
            case _:
                self.at = min(count - 1, self.at + page)

    def paste(self, text: str) -> None:
        """Search for a pasted text."""
        if self.is_searchable:
            self.field.paste(text)
            self._filter()
            self.update_rows()

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        row = event.y - self._head_rows() + self._first
        if 0 <= row < len(self.shown) and event.y >= self._head_rows():
            self.at = row
            self.finish(self.shown[row].value)

    # Rows.

    def _head_rows(self) -> int:
        return 1 + (self.title.count("\n") + 1 if self.title else 0) + self.is_searchable

    def _list_rows(self) -> int:
        return self.max_rows(reserved=self._head_rows() + 7)

    def build(self, width: int) -> list[Strip]:
        """Title, search line, the window of the list around the chosen row."""
        limit = self._list_rows()
        body = [self.field.row(width, self.tone, " › ")] if self.is_searchable else []
        self._first = max(0, min(self.at - limit // 2, len(self.shown) - limit))
        window = self.shown[self._first : self._first + limit]
        body += [self._row(choice, self._first + number, width) for number, choice in enumerate(window)]
        if not self.shown:
            body.append(plain("   nothing matches", width, self.tone.style("dim")))
        if len(self.shown) > limit:
            body.append(plain(f"   ({self.at + 1}/{len(self.shown)})", width, self.tone.style("dim")))
        if self.chosen is not None and self.chosen.detail:
            body += text_rows(Text(f"   {clean(self.chosen.detail)}", style=self.tone.style("muted")), width)[:3]
        return self.framed(body, width, self.select_hint(self.more_hint))

    def _row(self, choice: Choice, number: int, width: int) -> Strip:
        is_chosen = number == self.at
        sign = " → " if is_chosen else "   "
        check = "✓ " if choice.is_current else ""
        note = fit(clean(choice.note), max(0, width // 2)) if choice.note else ""
        room = width - cell_len(sign) - cell_len(check) - (cell_len(note) + 3 if note else 1)
        label = fit(clean(choice.label).replace("\n", " "), max(1, room))
        text = Text(no_wrap=True).append(sign, self.tone.style("accent"))
        text.append(check, self.tone.style("success"))
        text.append(label, self.tone.style("accent" if is_chosen else "text", bold=is_chosen))
        if note:
            text.append(" " * max(2, width - text.cell_len - cell_len(note) - 1))
            text.append(note, self.tone.style("dim"))
        return text_rows(text, width)[0]


_MOVES = (
    "tui.select.up",
    "tui.select.down",
    "tui.select.pageUp",
    "tui.select.pageDown",
    "tui.select.confirm",
    "tui.select.cancel",
)
