"""What a sign-in shows while it waits: the page to open, the code to enter there, how far it is."""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.ai.oauth import LoginNotice
from pinyon.tui.canvas import clean, text_rows
from pinyon.tui.overlay import Overlay

_KEPT_LINES = 4


class LoginPanel(Overlay):
    """The result is None when the user gives up. `open_page` opens an address, `copy` copies a text."""

    def __init__(self, title: str, *, open_page: Callable[[str], bool], copy: Callable[[str], None]) -> None:
        super().__init__(title)
        self._open_page = open_page
        self._copy = copy
        self.url = ""
        self.code = ""
        self._minutes = 0
        self._lines: list[str] = []

    def take(self, notice: LoginNotice) -> None:
        """Show a notice; a page without a code is opened at once."""
        if notice.message:
            self._lines = [*self._lines, notice.message][-_KEPT_LINES:]
        if notice.url is not None:
            self.url, self.code = notice.url, notice.user_code or ""
            self._minutes = (notice.expires_in_s or 0) // 60
            if not self.code and not self._open_page(self.url):
                self._lines.append("No browser can be opened here; open the address yourself.")
        if self.is_mounted:
            self.update_rows()

    def facts(self) -> str:
        """Page and code as text, for a question that stands in front of the panel."""
        return "\n".join(part for part in (self.url, f"Code: {self.code}" if self.code else "") if part)

    def handle(self, key: str, character: str | None) -> None:
        """Open the page, copy, or give up."""
        del character
        if self.keymap.is_bound(key, "tui.select.cancel"):
            self.finish(None)
        elif self.keymap.is_bound(key, "tui.select.confirm") and self.url:
            if self.code:
                self._copy(self.code)
            self._open_page(self.url)
        elif self.keymap.is_bound(key, "app.message.copy") and self.url:
            self._copy(self.url)

    def build(self, width: int) -> list[Strip]:
        """Lines, address, code, keys."""
        tone = self.tone
        rows: list[Strip] = []
        for line in self._lines:
            rows += text_rows(Text(f" {clean(line)}", style=tone.style("text")), width)
        if self.url:
            link = tone.style("mdLink") + (Style(link=self.url) if tone.hyperlinks else Style())
            rows += text_rows(Text(f" {clean(self.url)}", style=link), width)
        if self.code:
            text = Text(" Code: ", style=tone.style("text")).append(clean(self.code), tone.style("accent", bold=True))
            if self._minutes:
                text.append(f"  valid for {self._minutes} minutes", tone.style("dim"))
            rows += text_rows(text, width)
        return self.framed(rows, width, self._keys())

    def _keys(self) -> str:
        hint = self.keymap.hint
        parts = [f"{hint('tui.select.cancel')} gives up"]
        if self.url:
            opens = "copies the code and opens the page" if self.code else "opens the page again"
            parts = [
                f"{hint('tui.select.confirm')} {opens}",
                f"{hint('app.message.copy')} copies the address",
                *parts,
            ]
        return " · ".join(parts)
