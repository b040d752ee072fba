"""The input items of a request: the conversation's messages with prompts, tools and effort where they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.apis.responses_item import ItemWriter
from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.apis.responses_tool import wire_tools
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.short_hash import short_hash
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import system_text, update_text
from pinyon.ai.transform import is_same_model

MORE_TOOLS = (
    "More tools follow. Tools that were declared before stay usable unless you were told that they are gone. "
    "A tool that is declared anew is usable again, as its newest declaration describes it."
)
STILL_GONE = "Not usable at present: "
TOOLS_GONE = "These tools are gone; do not call them:"


class InputBuilder:
    """Builds the input of one request. System messages from index `in_place_from` on declare their own tools."""

    def __init__(self, request: ResponsesRequest, writer: ItemWriter, in_place_from: int) -> None:
        self._request = request
        self._writer = writer
        self._in_place_from = in_place_from
        self._items: list[bytes] = []
        self._has_declared = False
        self._gone: dict[str, None] = {}

    def build(self, messages: Sequence[Message]) -> list[bytes]:
        """All items, in order; `messages` come from the hand-over."""
        first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
        for index, message in enumerate(messages):
            if isinstance(message, SystemMessage):
                self._write_system(message, index)
                continue
            items = self._writer.items(message, index - first)
            if items and isinstance(message, AssistantMessage) and self._request.marks_effort:
                self._write_recorded_effort(message)
            self._items += items
        if self._request.marks_effort:
            self._write_effort(self._request.effort or "")
        return self._items

    def _add(self, item: dict[str, Any]) -> None:
        self._items.append(_json.encode_clean(item))

    def _write_recorded_effort(self, message: AssistantMessage) -> None:
        if message.provider_thinking_level and is_same_model(message, self._request.model):
            self._write_effort(message.provider_thinking_level)

    def _write_effort(self, effort: str) -> None:
        self._add({"type": "configuration_update", "reasoning": {"effort": effort}})

    def _write_system(self, message: SystemMessage, index: int) -> None:
        text = system_text(message) if index == 0 else update_text(message)
        if self._request.compat.declares_all_tools_in_place:
            removed = self._apply_changes(message)
            self._declare(message.tools_added or [])
            text = "\n\n".join(part for part in (text, _removal_text(removed)) if part)
        elif index >= self._in_place_from and message.tools_added:
            self._load(message.tools_added)
        self._write_text(text)

    def _write_text(self, text: str) -> None:
        if text.strip():
            is_developer = self._request.compat.supports_developer_role and self._request.model.reasoning
            self._add({"role": "developer" if is_developer else "system", "content": text})

    def _apply_changes(self, message: SystemMessage) -> list[str]:
        """Note what a message takes away and gives back; returns the tools that it takes away for good."""
        added = {tool.name for tool in message.tools_added or ()}
        removed = [tool.name for tool in message.tools_removed or () if tool.name not in added]
        self._gone.update(dict.fromkeys(removed))
        for name in added:
            self._gone.pop(name, None)
        return removed

    def _declare(self, tools: Sequence[Tool]) -> None:
        if not tools:
            return
        if self._has_declared:
            still_gone = f"\n{STILL_GONE}{', '.join(self._gone)}." if self._gone else ""
            self._write_text(MORE_TOOLS + still_gone)
        self._has_declared = True
        self._add({"type": "additional_tools", "role": "developer", "tools": wire_tools(self._request, tools)})

    def _load(self, tools: Sequence[Tool]) -> None:
        """Tools that come later, as what a search of the model's own had found."""
        declared = wire_tools(self._request, tools)
        call_id = f"pi_tool_load_{short_hash(_json.encode_clean(declared).decode())}"
        query = {"query": " ".join(tool.name for tool in tools), "limit": len(tools)}
        head = {"call_id": call_id, "execution": "client", "status": "completed"}
        self._add({"type": "tool_search_call", **head, "arguments": query})
        deferred = [tool | {"defer_loading": True} for tool in declared]
        self._add({"type": "tool_search_output", **head, "tools": deferred})


def _removal_text(names: Sequence[str]) -> str:
    return "\n".join([TOOLS_GONE, *(f"- {name}" for name in names)]) if names else ""
