"""Where a viewport stands in a long list of blocks of which only few have been measured.

A position is a block and a row in it, not a distance from the start, so that blocks above may turn out larger than they
were thought without moving what is read. Blocks are measured when they come near the viewport.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from textual.strip import Strip

from pinyon.tui.block.block import Block
from pinyon.tui.canvas import blank, clamped
from pinyon.tui.tone import Tone

_KEPT_BLOCKS = 300


class Slot:
    """A block with its rows. `height` counts the blank row before it, and is a guess until the first measure."""

    __slots__ = ("block", "height", "key", "rows")

    def __init__(self, block: Block, height: int) -> None:
        self.block = block
        self.height = height
        self.rows: list[Strip] | None = None
        self.key: object = None


class BlockList:
    """The blocks with a viewport over them. `follow` keeps the viewport at the end."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.width = 80
        self.height = 24
        self.tone = Tone()
        self.follow = True
        self.top = 0
        self.offset = 0
        self._kept: OrderedDict[int, Slot] = OrderedDict()

    # What is in the list.

    def slot(self, block: Block, at: int | None = None) -> None:
        """Add a block, by default at the end. What is read stays where it is."""
        slot = Slot(block, block.estimate(self.width) + 1)
        if at is None or at >= len(self.slots):
            self.slots.append(slot)
            return
        self.slots.insert(at, slot)
        if not self.follow and at <= self.top:
            self.top += 1

    def prepend(self, blocks: Iterable[Block]) -> None:
        """Put older blocks in front."""
        slots = [Slot(block, block.estimate(self.width) + 1) for block in blocks]
        self.slots[:0] = slots
        if not self.follow:
            self.top += len(slots)

    def index(self, block: Block) -> int | None:
        """The place of a block; the newest are found first."""
        for number in range(len(self.slots) - 1, -1, -1):
            if self.slots[number].block is block:
                return number
        return None

    def remove(self, block: Block) -> None:
        """Take a block out."""
        at = self.index(block)
        if at is None:
            return
        self._kept.pop(id(self.slots[at]), None)
        del self.slots[at]
        if at < self.top:
            self.top -= 1

    def clear(self) -> None:
        """Take all blocks out."""
        self.slots.clear()
        self._kept.clear()
        self.follow, self.top, self.offset = True, 0, 0

    # Rows.

    def rows(self, number: int) -> list[Strip]:
        """The rows of a block with the blank row before it."""
        slot = self.slots[number]
        block = slot.block
        key = (block.version, self.width, self.tone, number == 0)
        if slot.rows is None or slot.key != key:
            rows = [clamped(row, self.width) for row in block.render(self.width, self.tone)]
            is_apart = rows and number > 0 and not block.is_tight
            slot.rows = [blank(self.width), *rows] if is_apart else rows
            slot.key, slot.height = key, len(slot.rows)
            self._keep(slot)
        return slot.rows

    def _keep(self, slot: Slot) -> None:
        """Forget the rows of blocks that were not drawn for long."""
        self._kept[id(slot)] = slot
        self._kept.move_to_end(id(slot))
        while len(self._kept) > _KEPT_BLOCKS:
            _, old = self._kept.popitem(last=False)
            old.rows = None

    def visible(self) -> list[tuple[int, int]]:
        """Block and row of each line of the viewport, settling where it stands."""
        if self.follow or not self.slots:
            self._stand_at_end()
        else:
            self._fit()
        lines: list[tuple[int, int]] = []
        number, offset = self.top, self.offset
        while number < len(self.slots) and len(lines) < self.height:
            count = len(self.rows(number))
            lines += [(number, row) for row in range(offset, min(count, offset + self.height - len(lines)))]
            number, offset = number + 1, 0
        return lines

    def _stand_at_end(self) -> None:
        self.top, self.offset = self._back_from(len(self.slots), 0, self.height)

    def _back_from(self, number: int, offset: int, rows: int) -> tuple[int, int]:
        """The position `rows` rows before another; the start of the list at the earliest."""
        offset -= rows
        while offset < 0 and number > 0:
            number -= 1
            offset += len(self.rows(number))
        return (number, max(0, offset)) if number < len(self.slots) else (0, 0)

    def _forward_from(self, number: int, offset: int, rows: int) -> tuple[int, int]:
        offset += rows
        while number < len(self.slots) - 1 and offset >= len(self.rows(number)):
            offset -= len(self.rows(number))
            number += 1
        return number, offset

    def _fit(self) -> None:
        """Bring the position back into the list; at the end, begin to follow again."""
        self.top = min(self.top, len(self.slots) - 1)
        self.offset = min(self.offset, max(0, len(self.rows(self.top)) - 1))
        end = self._back_from(len(self.slots), 0, self.height)
        if (self.top, self.offset) >= end:
            self.follow = True
            self.top, self.offset = end

    # Moving.

    def scroll(self, rows: int) -> None:
        """Move by rows, down when positive. Going up stops following; arriving at the end starts it."""
        if not self.slots:
            return
        self.visible()
        if rows < 0:
            end = (self.top, self.offset)
            self.top, self.offset = self._back_from(self.top, self.offset, -rows)
            self.follow = self.follow and (self.top, self.offset) == end
        elif not self.follow:
            self.top, self.offset = self._forward_from(self.top, self.offset, rows)
            self._fit()

    def to_start(self) -> None:
        """Show the first rows."""
        self.top, self.offset, self.follow = 0, 0, False

    def to_end(self) -> None:
        """Show the last rows and follow."""
        self.follow = True

    def show(self, number: int, row: int, *, at: int = 0) -> None:
        """Show a row of a block `at` lines below the top of the viewport."""
        self.follow = False
        self.top, self.offset = self._back_from(number, row, at)

    def to_fraction(self, fraction: float) -> None:
        """Show the place that far down, 0 the start and 1 the end, by what is known of the heights."""
        target = int(self.total() * min(1.0, max(0.0, fraction)))
        self.follow = False
        for number, slot in enumerate(self.slots):
            if target < slot.height:
                self.top, self.offset = number, target
                return
            target -= slot.height
        self.follow = True

    def total(self) -> int:
        """About how many rows there are in all."""
        return sum(slot.height for slot in self.slots)

    def before(self) -> int:
        """About how many rows there are above the viewport."""
        return sum(slot.height for slot in self.slots[: self.top]) + self.offset
