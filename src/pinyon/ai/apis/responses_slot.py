"""Output items of a Responses API stream: their texts, and tool calls whose arguments still arrive."""

from __future__ import annotations

import os
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.strict_schema import GrammarInput


def new_call_id() -> str:
    """A random id for a call that the server gave none."""
    return f"call_{os.urandom(12).hex()}"


class CallSlot:
    """The arguments of one call, in the pieces they arrive in.

    With `input_property` the call is one of a custom tool, whose free text becomes that argument. `whole` is the full
    text once the server has repeated it.
    """

    def __init__(self, input_property: str | None) -> None:
        self._grammar = None if input_property is None else GrammarInput(input_property)
        self._pieces: list[str] = []
        self.whole: str | None = None

    def text_of(self, item: dict[str, Any]) -> str:
        """The argument text that an item holds; objects, which some servers send, as JSON."""
        value = item.get("arguments" if self._grammar is None else "input")
        if isinstance(value, str):
            return value
        return "" if value is None else _json.encode_clean(value).decode()

    def append(self, text: str) -> str:
        """The JSON fragment that `text` adds to the arguments."""
        if self._grammar is not None:
            return self._grammar.append(text) if text else ""
        self._pieces.append(text)
        return text

    def close(self, item: dict[str, Any]) -> tuple[str, str | None]:
        """The last fragment, and the authoritative argument text where it is another than what was streamed.

        Raises `SamplingError` when the final text of a custom tool does not continue what was streamed.
        """
        final = self.text_of(item) or self.whole
        if self._grammar is not None:
            return self._grammar.close(final or None), None
        streamed = "".join(self._pieces)
        if final is None or final == streamed:
            return "", None
        return (final[len(streamed) :] if final.startswith(streamed) else ""), final


def thinking_text(item: dict[str, Any]) -> str:
    """The text of a reasoning item: its summaries, else its content, with blank lines between the parts."""
    for name in ("summary", "content"):
        text = "\n\n".join(_texts(item.get(name), "text"))
        if text:
            return text
    return ""


def item_text(item: dict[str, Any]) -> str | None:
    """The text of a message item, refusals included; None where it has no content."""
    parts = item.get("content")
    if not isinstance(parts, list) or not parts:
        return None
    return "".join(_texts(parts, "text", "refusal"))


def _texts(parts: Any, *names: str) -> list[str]:
    found = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return [next((text for name in names if isinstance(text := part.get(name), str)), "") for part in found]
