"""The person in front of the program, as code beside a session sees them: questions and things to show.

Each mode brings an implementation; without one, questions get their default answer at once and nothing is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from pinyon._util.abort import AbortSignal

NoticeLevel = Literal["info", "warning", "error"]
WidgetPlacement = Literal["aboveEditor", "belowEditor"]


class Dialogs(Protocol):
    """Questions. A question that is cancelled, aborted or not answered within `timeout_s` gives its default."""

    async def select(
        self, title: str, options: Sequence[str], *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        """The chosen option; None by default."""
        ...

    async def confirm(
        self, title: str, message: str, *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        """Whether the person agrees; False by default."""
        ...

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout_s: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        """One line of text; None by default."""
        ...

    async def editor(self, title: str, prefill: str | None = None) -> str | None:
        """A text of several lines; None by default."""
        ...


class Display(Protocol):
    """Things to show. Entries and widgets are kept by `key`; None takes one away."""

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        """Tell something once."""
        ...

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short entry in the status line."""
        ...

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: WidgetPlacement = "aboveEditor") -> None:
        """Show lines beside the editor."""
        ...

    def set_title(self, title: str) -> None:
        """Name the window."""
        ...

    def set_editor_text(self, text: str) -> None:
        """Replace what stands in the prompt editor."""
        ...


class UserInterface(Dialogs, Display, Protocol):
    """A person who can be asked and shown something; `has_ui` says whether there is one."""

    @property
    def has_ui(self) -> bool:
        """Whether questions reach a person."""
        ...


class NoInterface:
    """Nobody is there: questions get their default answer, nothing is shown."""

    has_ui = False

    async def select(
        self, title: str, options: Sequence[str], *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        """None."""
        del title, options, timeout_s, signal
        return None

    async def confirm(
        self, title: str, message: str, *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        """False."""
        del title, message, timeout_s, signal
        return False

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout_s: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        """None."""
        del title, placeholder, timeout_s, signal
        return None

    async def editor(self, title: str, prefill: str | None = None) -> str | None:
        """None."""
        del title, prefill
        return None

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        """Dropped."""

    def set_status(self, key: str, text: str | None) -> None:
        """Dropped."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: WidgetPlacement = "aboveEditor") -> None:
        """Dropped."""

    def set_title(self, title: str) -> None:
        """Dropped."""

    def set_editor_text(self, text: str) -> None:
        """Dropped."""
