"""The transcript: one widget that draws all blocks, of which it measures and renders only those that are seen.

The cost of a change is that of the block that changed and of the lines of the screen, whatever the length of the
conversation. Changes are gathered and drawn at most about thirty times a second; lines that look the same are not
drawn again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from pinyon.tui.block.block import Block
from pinyon.tui.canvas import blank
from pinyon.tui.highlight import marked
from pinyon.tui.picture import Placement, placements
from pinyon.tui.scroll import BlockList
from pinyon.tui.scroll_bar import with_bar, with_label
from pinyon.tui.tone import Tone
from pinyon.tui.wheel import Wheel
from pinyon.tui.word import paragraph_rows, word_columns

_FRAME_S = 1 / 30
_SOONEST_S = 0.001
_MIN_BAR_COLUMNS = 12


class Transcript(Widget, can_focus=False):
    """Draws a `BlockList`. Add and change blocks; everything else follows."""

    DEFAULT_CSS = "Transcript { height: 1fr; }"

    class Selected(Message):
        """A click selected a word or a paragraph."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.list = BlockList()
        self.bottom_hint = ""
        self.query_text = ""
        self.scrollbar = "auto"
        self.wheel = Wheel()
        self.on_pictures: Callable[[list[Placement]], None] | None = None
        """Is told where images belong, in lines and columns of the screen, after each drawing with or after some."""
        self._has_pictures = False
        self._lines: list[Strip] = []
        self._places: list[tuple[int, int]] = []
        self._last_draw = 0.0
        self._frame: Timer | None = None
        self._is_dragging_thumb = False
        self._tone = Tone()

    # Blocks.

    @property
    def tone(self) -> Tone:
        """What the rendering depends on."""
        return self._tone

    @tone.setter
    def tone(self, tone: Tone) -> None:
        self._tone = self.list.tone = tone
        self.draw_soon()

    @property
    def blocks(self) -> list[Block]:
        """All blocks, oldest first."""
        return [slot.block for slot in self.list.slots]

    @property
    def last_block(self) -> Block | None:
        """The newest block."""
        return self.list.slots[-1].block if self.list.slots else None

    def add(self, block: Block, before: Block | None = None) -> None:
        """Add a block at the end, or before another."""
        block.on_change = self._on_block_change
        self.list.slot(block, self.list.index(before) if before is not None else None)
        self.draw_soon()

    def extend(self, blocks: Iterable[Block]) -> None:
        """Add many blocks at the end."""
        for block in blocks:
            block.on_change = self._on_block_change
            self.list.slot(block)
        self.draw_soon()

    def prepend(self, blocks: list[Block]) -> None:
        """Put older blocks in front of all others."""
        for block in blocks:
            block.on_change = self._on_block_change
        self.list.prepend(blocks)
        self.draw_soon()

    def remove_block(self, block: Block) -> None:
        """Take a block out."""
        self.list.remove(block)
        self.draw_soon()

    def clear(self) -> None:
        """Take all blocks out."""
        self.list.clear()
        self.draw_soon()

    def _on_block_change(self, block: Block) -> None:
        del block
        self.draw_soon()

    def set_expanded(self, expanded: bool) -> None:
        """Unfold or fold every block, keeping what is in the middle of the screen where it is."""
        places = self._places
        at = len(places) // 2
        anchor = places[at] if places and not self.list.follow else None
        for slot in self.list.slots:
            slot.block.set_expanded(expanded)
        if anchor is not None:
            number, row = anchor
            height = len(self.list.rows(number))
            self.list.show(number, min(row, max(0, height - 1)), at=at)
        self.draw_soon()

    # Drawing.

    def draw_soon(self) -> None:
        """Draw within one frame."""
        if self._frame is not None or not self.is_mounted:
            return
        wait = max(_SOONEST_S, _FRAME_S - (time.monotonic() - self._last_draw))
        self._frame = self.set_timer(wait, self._draw_frame)

    def _draw_frame(self) -> None:
        self._frame = None
        self.draw()

    def draw(self) -> None:
        """Draw now: lines that changed are refreshed, the others stay."""
        self._last_draw = time.monotonic()
        size = self.size
        if not size.width or not size.height:
            return
        old = self._lines
        self._lines = self._screen_lines(size.width, size.height)
        changed = [
            Region(0, y, size.width, 1)
            for y, line in enumerate(self._lines)
            if y >= len(old) or (line is not old[y] and line != old[y])
        ]
        if changed:
            self.refresh(*changed)
        self._place_pictures()

    def _place_pictures(self) -> None:
        numbers = {number for number, _ in self._places}
        pictures = {picture.number: picture for n in numbers for picture in self.list.slots[n].block.pictures}
        if self.on_pictures is None or not (pictures or self._has_pictures):
            return
        self._has_pictures = bool(pictures)
        offset = self.content_region.offset
        found = [replace(p, x=p.x + offset.x, y=p.y + offset.y) for p in placements(self._lines, pictures)]
        self.call_after_refresh(self.on_pictures, found)

    def _screen_lines(self, width: int, height: int) -> list[Strip]:
        blocks = self.list
        has_column = self.scrollbar == "always" and width > _MIN_BAR_COLUMNS
        blocks.width, blocks.height = width - has_column, height
        self._places = blocks.visible()
        lines = [blocks.rows(number)[row] for number, row in self._places]
        if self.query_text:
            style = self.tone.style("searchMatchText", "searchMatchBg") + Style(underline=True)
            lines = [marked(line, self.query_text, style) for line in lines]
        lines += [blank(blocks.width)] * (height - len(lines))
        is_away = not blocks.follow and height > 2
        if has_column or (is_away and self.scrollbar == "auto"):
            lines = with_bar(lines, blocks, width, self.tone)
        if is_away:
            lines[-1] = with_label(lines[-1], self.bottom_hint, width, self.tone)
        return lines

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        if y >= len(self._lines) or self._lines[y].cell_length != width:
            self._lines = self._screen_lines(width, self.size.height)
        line = self._lines[y] if y < len(self._lines) else blank(width)
        return self._selected(line, y).apply_offsets(0, y)

    def on_resize(self) -> None:
        """Lay everything out anew."""
        self._lines = []
        self.draw()

    # Moving.

    def scroll_rows(self, rows: int) -> None:
        """Scroll by rows, down when positive."""
        self.list.scroll(rows)
        self.draw_soon()

    def scroll_page(self, pages: float) -> None:
        """Scroll by pages, two rows less than the screen."""
        self.scroll_rows(int((self.size.height - 2) * pages) or (1 if pages > 0 else -1))

    def to_start(self) -> None:
        """Go to the first row."""
        self.list.to_start()
        self.draw_soon()

    def to_end(self) -> None:
        """Go to the last row and follow."""
        self.list.to_end()
        self.draw_soon()

    @property
    def is_following(self) -> bool:
        """Whether the end stays in sight."""
        return self.list.follow

    def jump_to_prompt(self, direction: int) -> None:
        """Go to the prompt before or after the one that is at the top."""
        slots, top = self.list.slots, self.list.top
        if direction < 0:
            first = top if self.list.offset > 1 else top - 1
            numbers = range(min(first, len(slots) - 1), -1, -1)
        else:
            numbers = range(top + 1, len(slots))
        for number in numbers:
            if slots[number].block.is_prompt:
                self.list.show(number, 1 if number else 0)
                self.draw_soon()
                return
        if direction > 0:
            self.to_end()

    # Searching.

    def search(self, query: str, direction: int = -1, *, skip_current: bool = False) -> tuple[int, int] | None:
        """Show the next place of `query` in a direction; returns its number and how many blocks have one."""
        self.query_text = query.lower()
        self.draw_soon()
        if not query:
            return None
        hits = [
            number for number, slot in enumerate(self.list.slots) if self.query_text in slot.block.plain_text().lower()
        ]
        if not hits:
            return None
        current = self._places[0][0] if self._places else len(self.list.slots)
        if self.list.follow and not skip_current:
            current = len(self.list.slots)
        chosen = self._chosen_hit(hits, current, direction, skip_current=skip_current)
        self._show_hit(hits[chosen])
        return chosen + 1, len(hits)

    @staticmethod
    def _chosen_hit(hits: list[int], current: int, direction: int, *, skip_current: bool) -> int:
        if direction < 0:
            earlier = [i for i, hit in enumerate(hits) if hit < current or (hit == current and not skip_current)]
            return earlier[-1] if earlier else len(hits) - 1
        later = [i for i, hit in enumerate(hits) if hit > current or (hit == current and not skip_current)]
        return later[0] if later else 0

    def _show_hit(self, number: int) -> None:
        rows = self.list.rows(number)
        row = next((index for index, strip in enumerate(rows) if self.query_text in strip.text.lower()), 0)
        self.list.show(number, row, at=0 if row <= 1 else min(3, row))
        if row <= 1:
            self.list.show(number, 0)

    def end_search(self) -> None:
        """Remove the marks of the search."""
        self.query_text = ""
        self.draw_soon()

    # The mouse.

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up; with Alt five times as far."""
        self.scroll_rows(self.wheel.step(-1, is_far=event.meta))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        self.scroll_rows(self.wheel.step(1, is_far=event.meta))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the scroll bar."""
        if self._is_on_bar(event.x):
            self._is_dragging_thumb = True
            self.capture_mouse()
            self._drag_to(event.y)
            event.stop()

    def _is_on_bar(self, x: int) -> bool:
        has_bar = self.scrollbar == "always" or (self.scrollbar == "auto" and not self.list.follow)
        return has_bar and x == self.size.width - 1

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the scroll bar."""
        if self._is_dragging_thumb:
            self._drag_to(event.y)

    def on_mouse_up(self) -> None:
        """Let go of the scroll bar."""
        if self._is_dragging_thumb:
            self._is_dragging_thumb = False
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        self.list.to_fraction(y / max(1, self.size.height - 1))
        self.draw_soon()

    def on_click(self, event: events.Click) -> None:
        """Open a link, fold or unfold the block under the mouse, or go to the end by the label; twice takes the word,
        three times the paragraph.
        """
        event.prevent_default()
        if self._is_dragging_thumb or self._is_on_bar(event.x):
            return
        if event.chain > 1:
            self._select_at(event.x, event.y, is_paragraph=event.chain > 2)
        elif self.text_selection is not None:
            return
        elif not self.list.follow and event.y == self.size.height - 1:
            self.to_end()
        elif (link := event.style.link) and link.startswith(("http://", "https://")):
            self.app.open_url(link)
        elif 0 <= event.y < len(self._places):
            block = self.list.slots[self._places[event.y][0]].block
            block.set_expanded(not block.is_expanded)

    def _select_at(self, x: int, y: int, *, is_paragraph: bool) -> None:
        lines = [line.text.rstrip() for line in self._lines]
        if not 0 <= y < len(lines):
            return
        if is_paragraph:
            rows = paragraph_rows(lines, y)
            span = (Offset(0, rows[0]), Offset(cell_len(lines[rows[1]]), rows[1])) if rows is not None else None
        else:
            columns = word_columns(lines[y], x)
            span = (Offset(columns[0], y), Offset(columns[1], y)) if columns is not None else None
        if span is not None:
            self.screen.selections = {self: Selection(*span)}
            self.post_message(self.Selected())

    # What the mouse selects.

    def _selected(self, line: Strip, y: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return line
        start, end = span
        stop = line.cell_length if end < 0 else end
        chosen = line.crop(start, stop).apply_style(Style(reverse=True))
        return Strip.join([line.crop(0, start), chosen, line.crop(stop, line.cell_length)])

    def get_selection(self, selection: object) -> tuple[str, str] | None:
        """The selected text of the lines on the screen, without trailing blanks."""
        extract = getattr(selection, "extract", None)
        if extract is None:
            return None
        text = "\n".join(line.text.rstrip() for line in self._lines)
        return extract(text), "\n"

    def selection_updated(self, selection: object) -> None:
        """Show what is selected."""
        del selection
        self.refresh()
