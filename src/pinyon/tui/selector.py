"""A list to choose from, with a line that searches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

_TAIL = 9
"""Rows below the list: its count, three of details, keys and rule, and the footer."""
_CRAMPED_TAIL = 6
_SHORT_NOTE = 16
"""Columns of a note that are kept even where the label has to be cut for it."""


class Choice(msgspec.Struct, frozen=True):
    """One row: what choosing it gives, what is shown, a note at the right, and what searching looks at besides.

    `detail` is told below the list while the row is chosen, `role` is the colour of the label.
    """

    value: Any
    label: str
    note: str = ""
    is_current: bool = False
    search: str = ""
    detail: str = ""
    role: str = ""


class Selector(Overlay):
    """The result is the `value` of the chosen row, None when closed.

    `actions` maps ids of the key table to functions that get the chosen row, such as saving or deleting; one that
    returns a value closes the list with it. Lists of their own override `matches`, `accept`, `moved` and `head`.
    """

    wraps = True
    """Whether moving on from one end leads to the other."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        selected: int | None = None,
        query: str = "",
        is_searchable: bool = True,
        hint: str = "",
        actions: Mapping[str, Callable[[Choice], Any]] | None = None,
    ) -> None:
        super().__init__(title)
        self.choices = list(choices)
        self.is_searchable = is_searchable
        self.more_hint = hint
        self.actions = dict(actions or {})
        self.field = TextField(query)
        self.shown: list[Choice] = []
        self.at = 0
        self._first = 0
        self.head_rows = 0
        self.refilter()
        if not query:
            current = next((n for n, choice in enumerate(self.shown) if choice.is_current), 0)
            self.at = current if selected is None else max(0, min(selected, len(self.shown) - 1))

    def replace_choices(self, choices: Sequence[Choice]) -> None:
        """Show other rows and stay on the one with the same value."""
        chosen = self.chosen
        self.choices = list(choices)
        self.refilter()
        if chosen is not None:
            self.select(chosen.value)
        self.update_rows()

    def select(self, value: Any) -> None:
        """Stand on the row with a value, where it is shown."""
        self.at = next((n for n, choice in enumerate(self.shown) if choice.value == value), self.at)

    @property
    def chosen(self) -> Choice | None:
        """The row that Enter would choose."""
        return self.shown[self.at] if self.at < len(self.shown) else None

    def matches(self, query: str) -> list[Choice]:
        """The rows that a query finds, the best first; all rows for none."""
        if not query:
            return list(self.choices)
        scored = []
        for order, choice in enumerate(self.choices):
            score = fuzzy_score(query, f"{choice.label} {choice.search or choice.note}")
            if score is not None:
                scored.append((score, order, choice))
        scored.sort(key=lambda item: item[:2])
        return [choice for _, _, choice in scored]

    def refilter(self) -> None:
        """Search anew."""
        self.shown = self.matches(self.field.text.strip())
        self.at = 0

    # Keys and the mouse.

    def handle(self, key: str, character: str | None) -> None:
        """Move, choose, close, act or search."""
        action = self.keymap.first(key, (*_MOVES, *self.actions))
        before = self.chosen
        if action in self.actions:
            self.act(action)
        elif action == "tui.select.confirm":
            if self.chosen is not None:
                self.accept(self.chosen)
        elif action == "tui.select.cancel":
            self.cancel()
        elif action is not None:
            self._move(action)
        elif self.is_searchable:
            self._search(key, character)
        elif character in ("j", "k"):
            self._move("tui.select.down" if character == "j" else "tui.select.up")
        if self.chosen is not before:
            self.moved()
        self.update_rows()

    def _search(self, key: str, character: str | None) -> None:
        before = self.field.text
        self.field.handle(key, character, self.keymap)
        if self.field.text != before:
            self.refilter()

    def accept(self, choice: Choice) -> None:
        """What Enter and a click do."""
        self.finish(choice.value)

    def cancel(self) -> None:
        """What Escape does."""
        self.finish(None)

    def moved(self) -> None:
        """Called when another row was chosen."""

    def act(self, action: str) -> None:
        """Run one of the actions."""
        if self.chosen is not None:
            result = self.actions[action](self.chosen)
            if result is not None:
                self.finish(result)

    def _move(self, action: str) -> None:
        count = len(self.shown)
        if not count:
            return
        page = self.list_rows()
        match action:
            case "tui.select.up":
                self.at = (self.at - 1) % count if self.wraps else max(0, self.at - 1)
            case "tui.select.down":
                self.at = (self.at + 1) % count if self.wraps else min(count - 1, self.at + 1)
            case "tui.select.pageUp":
                self.at = max(0, self.at - page)
            case _:
                self.at = min(count - 1, self.at + page)

    def paste(self, text: str) -> None:
        """Search for a pasted text."""
        if self.is_searchable:
            self.field.paste(text)
            self.refilter()
            self.update_rows()

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        row = event.y - self.head_rows + self._first
        if event.y >= self.head_rows and 0 <= row < min(len(self.shown), self._first + self.list_rows()):
            self.at = row
            self.moved()
            self.accept(self.shown[row])
            self.update_rows()

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self._wheel(-1)

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self._wheel(1)

    def _wheel(self, rows: int) -> None:
        self.at = max(0, min(len(self.shown) - 1, self.at + rows))
        self.moved()
        self.update_rows()

    # Rows.

    def list_rows(self) -> int:
        """How many rows of the list are shown."""
        return self.max_rows(reserved=self.head_rows + (_CRAMPED_TAIL if self.is_cramped else _TAIL))

    def nothing(self) -> str:
        """What an empty list says."""
        return "nothing matches"

    def head(self, width: int) -> list[Strip]:
        """Rows over the search line."""
        del width
        return []

    def hints(self) -> str:
        """The line of keys."""
        return self.select_hint(self.more_hint)

    def detail_of(self, choice: Choice) -> str:
        """What is told of the chosen row below the list."""
        return choice.detail

    def build(self, width: int) -> list[Strip]:
        """Title, search line, the window of the list around the chosen row."""
        top = self.head(width)
        if self.is_searchable:
            top.append(self.field.row(width, self.tone, " › "))
        title_rows = len(self.framed([], width, "")) - 2
        self.head_rows = 1 + title_rows + len(top)
        body = [*top, *self._window(width)]
        if self.chosen is not None and not self.is_cramped and (detail := self.detail_of(self.chosen)):
            body += text_rows(Text(f"   {clean(detail)}", style=self.tone.style("muted")), width)[:3]
        return self.framed(body, width, self.hints())

    def _window(self, width: int) -> list[Strip]:
        limit = self.list_rows()
        self._first = max(0, min(self.at - limit // 2, len(self.shown) - limit))
        window = self.shown[self._first : self._first + limit]
        rows = [self.row(choice, self._first + number, width) for number, choice in enumerate(window)]
        if not self.shown:
            rows.append(plain(f"   {clean(self.nothing())}", width, self.tone.style("dim")))
        if len(self.shown) > limit:
            rows.append(plain(f"   ({self.at + 1}/{len(self.shown)})", width, self.tone.style("dim")))
        return rows

    def _note(self, choice: Choice, room: int) -> str:
        """The note at the right; a long one gives way to the label."""
        note = clean(choice.note)
        left = room - cell_len(clean(choice.label))
        if cell_len(note) <= max(left, _SHORT_NOTE):
            return note
        return fit(note, left) if left >= _SHORT_NOTE else ""

    def row(self, choice: Choice, number: int, width: int) -> Strip:
        """One row of the list."""
        is_chosen = number == self.at
        sign = " → " if is_chosen else "   "
        check = "✓ " if choice.is_current else ""
        note = self._note(choice, width - cell_len(sign) - cell_len(check) - 3)
        room = width - cell_len(sign) - cell_len(check) - (cell_len(note) + 3 if note else 1)
        label = fit(clean(choice.label).replace("\n", " "), max(1, room))
        text = Text(no_wrap=True).append(sign, self.tone.style("accent"))
        text.append(check, self.tone.style("success"))
        text.append(label, self.tone.style("accent" if is_chosen else choice.role or "text", bold=is_chosen))
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
