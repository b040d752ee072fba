"""Text and thinking of an answer as they alternate, for wire APIs whose deltas do not say where a block begins or ends.

Each change from one kind to the other, and whatever else comes between, ends the open block.
"""

from __future__ import annotations

from pinyon.ai.content import TextContent, ThinkingContent
from pinyon.ai.event import UpdateEvent
from pinyon.ai.live import LiveAnswer


class TextFlow:
    """Writes the text and thinking blocks of one answer; at most one is open."""

    def __init__(self, answer: LiveAnswer) -> None:
        self._answer = answer
        self._index: int | None = None
        self._is_thinking = False

    def add(self, delta: str, *, is_thinking: bool, signature: str = "") -> list[UpdateEvent]:
        """More of a block, opened where none of this kind is; a signature stays until another one replaces it.

        Nothing at all opens no block, so that it does not part what belongs together.
        """
        if not delta and not signature:
            return []
        events = self._turn_to(is_thinking)
        assert self._index is not None
        if delta:
            grow = self._answer.thinking_delta if is_thinking else self._answer.text_delta
            events.append(grow(self._index, delta))
        if signature:
            self._sign(self._index, signature)
        return events

    def end(self) -> list[UpdateEvent]:
        """Close the open block, if there is one."""
        index, self._index = self._index, None
        return [] if index is None else [self._answer.end_block(index)]

    def _turn_to(self, is_thinking: bool) -> list[UpdateEvent]:
        if self._index is not None and self._is_thinking == is_thinking:
            return []
        events = self.end()
        start = self._answer.thinking_start() if is_thinking else self._answer.text_start()
        self._index, self._is_thinking = start.content_index, is_thinking
        return [*events, start]

    def _sign(self, index: int, signature: str) -> None:
        block = self._answer.block(index)
        if isinstance(block, ThinkingContent):
            block.thinking_signature = signature
        elif isinstance(block, TextContent):
            block.text_signature = signature
