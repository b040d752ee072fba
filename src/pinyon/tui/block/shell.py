"""A shell command of the user (`!command`): the command, its output, how it ended."""

from __future__ import annotations

from rich.text import Text
from textual.strip import Strip

from pinyon.tui.block.block import Block, inner_width, padded
from pinyon.tui.canvas import clean, hard_rows, plain, text_rows
from pinyon.tui.quantity import counted
from pinyon.tui.tone import Tone

_SHOWN_ROWS = 20
_KEPT_CHARS = 200_000


class ShellBlock(Block):
    """The command and its output, which may still be coming. `is_private` keeps it from the model (`!!`)."""

    can_expand = True

    def __init__(self, command: str, *, is_private: bool = False) -> None:
        super().__init__()
        self.command = command
        self.is_private = is_private
        self.output = ""
        self.is_running = True
        self.notes: list[str] = []
        self.failed = False

    def add_output(self, text: str) -> None:
        """More output; of very much only the end is kept."""
        self.output = (self.output + text)[-_KEPT_CHARS:]
        self.changed()

    def finish(
        self, output: str, exit_code: float | None, *, cancelled: bool, truncated: bool, full_output_path: str | None
    ) -> None:
        """The command ended."""
        self.output, self.is_running = output, False
        self.failed = cancelled or bool(exit_code)
        if cancelled:
            self.notes.append("stopped")
        elif exit_code:
            self.notes.append(f"exit code {int(exit_code)}")
        if truncated:
            self.notes.append(f"output cut{f'; whole output: {full_output_path}' if full_output_path else ''}")
        self.changed()

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """Rule, command, output, notes, rule."""
        room = inner_width(width, tone)
        role = "dim" if self.is_private else "bashMode"
        rule = plain("─" * room, room, tone.style(role))
        title = Text().append("$ ", tone.style(role, bold=True))
        title.append(clean(self.command), tone.style("", bold=True))
        if self.is_private:
            title.append("  not sent to the model", tone.style("dim"))
        rows = [rule, *text_rows(title, room)]
        text = clean(self.output).strip("\n")
        output = hard_rows(text, room, tone.style("muted")) if text else []
        hidden = len(output) - _SHOWN_ROWS
        if hidden > 0 and not self.is_expanded:
            hint = f" ({tone.expand_hint} shows all)" if tone.expand_hint else ""
            rows.append(plain(f"… {counted(hidden, 'earlier line')}{hint}", room, tone.style("dim")))
            output = output[-_SHOWN_ROWS:]
        rows += output
        if self.is_running:
            rows.append(plain(f"running, {tone.cancel_hint} stops it", room, tone.style("dim")))
        for note in self.notes:
            rows += text_rows(Text(f"({note})", style=tone.style("error" if self.failed else "warning")), room)
        return padded([*rows, rule], tone)

    def plain_text(self) -> str:
        """Command and output."""
        return f"$ {self.command}\n{self.output}"
