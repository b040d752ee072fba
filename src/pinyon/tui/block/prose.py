"""What people and models say: prompts, answers and thinking."""

from __future__ import annotations

from msgspec.structs import replace
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.block.block import Block, inner_width, margin, padded
from pinyon.tui.canvas import blank, clean, inset, plain, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.markdown.view import MarkdownView
from pinyon.tui.tone import Tone

_FOLDED_THINKING_ROWS = 12


class UserBlock(Block):
    """A prompt as Markdown on its own background, with list markers and backslashes as they were typed."""

    is_prompt = True

    def __init__(self, text: str, images: int = 0) -> None:
        super().__init__()
        self.text = text.strip("\n")
        self.images = images
        self._view = MarkdownView(self.text, is_final=True)

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The text behind a bar, with a row of background above and below where there is one."""
        style = tone.style("userMessageText", "userMessageBg")
        room = max(1, width - 3)
        rows = self._view.rows(room, replace(tone, as_typed=True), style)
        if self.images:
            note = f"[{self.images} image{'s' if self.images > 1 else ''}]"
            rows.append(plain(fit(note, room), room, tone.style("muted", "userMessageBg")))
        if tone.palette.has_panels:
            rows = [blank(room, style), *rows, blank(room, style)]
        side = plain("▌ ", 2, tone.style("accent", "userMessageBg")) if width > 3 else blank(2, style)
        return [Strip.join([side, row, blank(1, style)]).crop(0, width) for row in rows]

    def plain_text(self) -> str:
        """The text."""
        return self.text


class AnswerBlock(Block):
    """Text of a model, rendered as Markdown while it comes."""

    def __init__(self, text: str = "", *, is_final: bool = True) -> None:
        super().__init__()
        self._view = MarkdownView(text.strip(), is_final=is_final)

    def set_text(self, text: str) -> None:
        """Show more of the text."""
        self._view.set_text(text.lstrip("\n"))
        self.changed()

    def finish(self, text: str) -> None:
        """Show the complete text."""
        self._view.set_text(text.strip())
        self._view.finish()
        self.changed()

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The rendered Markdown."""
        side = margin(tone)
        return self._view.rows(inner_width(width, tone), tone, tone.style("text"), left=side, right=side)

    def plain_text(self) -> str:
        """The Markdown text."""
        return self._view.text


class ThinkingBlock(Block):
    """Thinking of a model: folded to its last rows while it comes and to one line when hidden."""

    can_expand = True

    def __init__(self, text: str = "", *, is_final: bool = True) -> None:
        super().__init__()
        self.is_final = is_final
        self.duration_ms: int | None = None
        self._view = MarkdownView(text.strip(), is_final=is_final)

    def set_text(self, text: str, *, is_final: bool = False) -> None:
        """Show more of the text."""
        self._view.set_text(text.strip())
        if is_final:
            self._view.finish()
        self.is_final = is_final
        self.changed()

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The text in italics behind a bar, or the label."""
        style = tone.style("thinkingText", italic=True)
        if not self._view.text.strip() and self.is_final:
            return []
        if tone.hide_thinking and not self.is_expanded:
            label = "Thought" if self.is_final else "Thinking…"
            return padded([plain(fit(label, inner_width(width, tone)), inner_width(width, tone), style)], tone)
        if width < 12:
            return self._view.rows(width, tone, style)
        side = margin(tone)
        bar = plain("│ ", 2, tone.style("borderMuted"))
        left = Strip.join([side, bar])
        return self._view.rows(inner_width(width, tone) - 2, tone, style, left=left, right=side)

    def plain_text(self) -> str:
        """The thinking."""
        return self._view.text


class SummaryBlock(Block):
    """A compaction or the summary of a branch that was left: one line, or the whole summary."""

    can_expand = True

    def __init__(self, label: str, headline: str, summary: str) -> None:
        super().__init__()
        self.label = label
        self.headline = headline
        self.summary = summary
        self._view = MarkdownView(summary.strip(), is_final=True)

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """A line on a background of its own, unfolded with the text under it."""
        style = tone.style("customMessageText", "customMessageBg")
        room = max(1, width - 2)
        head = Text(style=style)
        head.append(f"[{clean(self.label)}] ", tone.style("customMessageLabel", "customMessageBg", bold=True))
        head.append(clean(self.headline), tone.style("muted", "customMessageBg"))
        if not self.is_expanded and tone.expand_hint:
            head.append(f"  {tone.expand_hint} shows it", tone.style("dim", "customMessageBg"))
        rows = text_rows(head, room, style)
        if self.is_expanded:
            rows += [blank(room, style), *self._view.rows(room, tone, style)]
        return inset(rows, 1, 1, style)

    def plain_text(self) -> str:
        """Headline and summary."""
        return f"{self.headline}\n{self.summary}"


class CustomBlock(Block):
    """A message that a program or an extension put in, with its type as the label."""

    def __init__(self, label: str, text: str) -> None:
        super().__init__()
        self.label = label
        self._view = MarkdownView(text.strip(), is_final=True)

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """Label, blank row, text on a background."""
        style = tone.style("customMessageText", "customMessageBg")
        room = max(1, width - 2)
        label = tone.style("customMessageLabel", "customMessageBg", bold=True)
        rows = text_rows(Text(f"[{clean(self.label)}]", style=label), room, style)
        rows += [blank(room, style), *self._view.rows(room, tone, style)]
        return inset(rows, 1, 1, style)

    def plain_text(self) -> str:
        """Label and text."""
        return f"[{self.label}]\n{self._view.text}"


class ComponentBlock(Block):
    """Rows that somebody else makes, such as a renderer of an extension. One that raises shows why."""

    def __init__(self, make_rows: object) -> None:
        super().__init__()
        self._make_rows = make_rows

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """What the maker gives, clamped to the width."""
        from pinyon.tui.canvas import clamped

        assert callable(self._make_rows)
        try:
            rows = self._make_rows(width, tone)
        except Exception as error:  # noqa: BLE001 - the border between the screen and foreign renderers
            return padded(text_rows(Text(f"renderer failed: {error}", style=tone.style("error")), width, Style()), tone)
        return [clamped(row, width) for row in rows]
