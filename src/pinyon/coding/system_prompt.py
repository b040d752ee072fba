"""The system prompt of a session: the sections that should hold, and the patch from those that the transcript has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pinyon.ai.message import AgentMessage, SystemMessage
from pinyon.ai.transcript import current_system_message
from pinyon.coding.prompt import diff_sections, render_sections

SectionSource = Callable[[], Mapping[str, str]]
"""Builds the sections as they should be now; called before each run, because tools may have changed."""


class SystemPrompt:
    """Compares the wanted sections with those of the transcript."""

    def __init__(self, sections: SectionSource) -> None:
        self._sections = sections

    def text(self) -> str:
        """The whole prompt as one text."""
        return render_sections(self._sections())

    def patch(self, messages: Sequence[AgentMessage], timestamp: int) -> SystemMessage | None:
        """The system message that brings the transcript's prompt up to date; None when it is."""
        current = current_system_message(messages)
        sections = (current.sections or {}) if current is not None else {}
        change = diff_sections(sections, self._sections())
        return SystemMessage(content="", sections=change, timestamp=timestamp) if change else None
