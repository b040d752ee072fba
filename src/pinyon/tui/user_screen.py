"""The person in front of the screen, as code beside a session reaches them (`PiAgent.ui`)."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon._util.abort import AbortSignal
from pinyon.coding.user_interface import NoticeLevel, WidgetPlacement
from pinyon.tui.dialog import TextPrompt
from pinyon.tui.seam import AppSeam
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.text_editor import TextEditor

_SEARCHED_FROM = 10


class UserScreen:
    """A `UserInterface` on the dialogs and widgets of the interactive mode."""

    has_ui = True

    def __init__(self, seam: AppSeam) -> None:
        self._seam = seam

    async def select(
        self, title: str, options: Sequence[str], *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        """The chosen option; None by default."""
        choices = [Choice(option, option) for option in options]
        overlay = Selector(title, choices, is_searchable=len(options) > _SEARCHED_FROM)
        overlay.wraps = False
        answer = await self._seam.ask(overlay, timeout_s, signal)
        return answer if isinstance(answer, str) else None

    async def confirm(
        self, title: str, message: str, *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        """Whether the person agrees; False by default."""
        text = f"{title}\n{message}" if message else title
        overlay = Selector(text, [Choice(True, "Yes"), Choice(False, "No")], is_searchable=False)
        return await self._seam.ask(overlay, timeout_s, signal) is True

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout_s: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        """One line of text; None by default."""
        answer = await self._seam.ask(TextPrompt(title, placeholder=placeholder or ""), timeout_s, signal)
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, prefill: str | None = None) -> str | None:
        """A text of several lines; None by default."""
        answer = await self._seam.ask(TextEditor(title, prefill or ""))
        return answer if isinstance(answer, str) else None

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        """A line in the transcript."""
        self._seam.notify(message, level)

    def set_status(self, key: str, text: str | None) -> None:
        """An entry of the line under the footer."""
        self._seam.set_status(key, text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: WidgetPlacement = "aboveEditor") -> None:
        """Lines above or below the editor; a key stands in one place."""
        for where, name in (("aboveEditor", "above"), ("belowEditor", "below")):
            content = list(lines) if lines is not None and where == placement else None
            self._seam.set_widget(key, content, placement="above" if name == "above" else "below")

    def set_title(self, title: str) -> None:
        """The title of the window."""
        self._seam.set_title(title)

    def set_editor_text(self, text: str) -> None:
        """What stands in the editor."""
        self._seam.set_text(text)
