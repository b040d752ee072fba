"""The two lines at the bottom: where we are, what it cost, how full the context is, which model answers."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import clean, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.quantity import shown_tokens
from pinyon.tui.rows import RowsWidget
from pinyon.tui.tone import Tone
from pinyon.tui.widget_area import RowMaker

_GAP = 2


class FooterFacts(msgspec.Struct, kw_only=True):
    """What the footer tells. Tokens are counts over the whole session, cost US dollars, `percent` None if unknown."""

    place: str = ""
    branch: str = ""
    name: str = ""
    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cache_hit: float | None = None
    cost: float = 0
    is_subscription: bool = False
    percent: float | None = None
    window: int = 0
    is_auto_compaction: bool = True
    provider: str = ""
    model: str = ""
    level: str = ""
    has_model: bool = True
    statuses: dict[str, str] = msgspec.field(default_factory=dict)


class Footer(RowsWidget):
    """Draws the facts; parts that do not fit are left out, the least important first."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.facts = FooterFacts()
        self.tone = Tone()
        self.replacement: RowMaker | None = None

    def build(self, width: int) -> list[Strip]:
        """Place, numbers with the model, and what extensions have to say."""
        if self.replacement is not None:
            return self.replacement(width, self.tone)
        pad = 1 if width > 30 else 0
        room = max(1, width - 2 * pad)
        rows = [self._place(room), self._numbers(room)]
        if self.facts.statuses:
            rows.append(self._statuses(room))
        lines = []
        for row in rows:
            text = Text(" " * pad)
            text.append_text(row)
            lines.append(text_rows(text, width)[0])
        return lines

    def _place(self, width: int) -> Text:
        facts = self.facts
        text = facts.place + (f" ({facts.branch})" if facts.branch else "") + (f" • {facts.name}" if facts.name else "")
        return Text(fit(clean(text), width), style=self.tone.style("dim"), no_wrap=True)

    def _numbers(self, width: int) -> Text:
        left = self._left()
        for right in self._right_choices():
            if left.cell_len + _GAP + cell_len(right) <= width:
                return self._joined(left, right, width)
        right = self._right_choices()[-1]
        context = self._fullness()
        if context.cell_len + _GAP + cell_len(right) <= width:
            return self._joined(context, right, width)
        if context.cell_len + _GAP < width:
            return self._joined(context, fit(right, width - context.cell_len - _GAP), width)
        context.truncate(width)
        return context

    def _joined(self, left: Text, right: str, width: int) -> Text:
        text = left.copy()
        text.append(" " * (width - left.cell_len - cell_len(right)))
        text.append(right, self.tone.style("dim"))
        text.no_wrap = True
        return text

    def _left(self) -> Text:
        facts = self.facts
        parts = [
            f"{sign}{shown_tokens(count)}"
            for sign, count in (
                ("↑", facts.input),
                ("↓", facts.output),
                ("R", facts.cache_read),
                ("W", facts.cache_write),
            )
            if count
        ]
        if facts.cache_hit is not None and facts.cache_read:
            parts.append(f"CH{facts.cache_hit:.1f}%")
        if facts.cost or facts.is_subscription:
            parts.append(f"${facts.cost:.3f}" + (" (sub)" if facts.is_subscription else ""))
        text = Text(" ".join(parts), style=self.tone.style("dim"), no_wrap=True)
        if parts:
            text.append(" ")
        return text.append_text(self._fullness())

    def _fullness(self) -> Text:
        facts = self.facts
        if not facts.window:
            return Text(no_wrap=True)
        percent = "?" if facts.percent is None else f"{facts.percent:.1f}%"
        shown = f"{percent}/{shown_tokens(facts.window)}" + (" (auto)" if facts.is_auto_compaction else "")
        full = facts.percent or 0
        role = "error" if full > 90 else "warning" if full > 70 else "dim"
        return Text(shown, style=self.tone.style(role), no_wrap=True)

    def _right_choices(self) -> list[str]:
        """What can stand at the right, the longest first."""
        facts = self.facts
        if not facts.has_model:
            return ["no model, /login or /model", "no model"]
        model = facts.model
        level = "" if not facts.level else " • thinking off" if facts.level == "off" else f" • {facts.level}"
        choices = [f"({facts.provider}) {model}{level}"] if facts.provider else []
        short = model.rpartition("/")[2]
        return [*choices, model + level, short + level, short]

    def _statuses(self, width: int) -> Text:
        text = "  ".join(clean(value).replace("\n", " ") for _, value in sorted(self.facts.statuses.items()))
        return Text(fit(text, width), style=self.tone.style("muted"), no_wrap=True)
