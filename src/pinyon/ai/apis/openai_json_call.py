"""Tool calls for models that cannot make them: the request carries a JSON Schema, the JSON answer is the call.

Small local models rarely produce a valid native call. Servers that sample by a schema (`response_format` of type
`json_schema`: llama.cpp, Ollama, vLLM, LM Studio) can hold them to one of two shapes::

    {"tool": "<name>", "arguments": {...}}
    {"answer": "<text>"}

The system prompt describes the shapes and the tools, past calls and results are written in the same shapes, and
`JsonCallReader` turns what streams back into the usual events. Schemas and shapes are those that these servers
document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.apis.openai_message import MessageWriter, image_part, result_text
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.event import UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.partial_json import PartialJson
from pinyon.ai.tool import Tool
from pinyon.ai.tool_arguments import parse_with_repair

SCHEMA_NAME = "next_step"

_INSTRUCTIONS = """\
Reply with exactly one JSON object and nothing around it.
To use a tool, reply {"tool": "<tool name>", "arguments": {<its arguments>}}. You then get its result as a message.
When no tool is needed, or you have what you need, reply {"answer": "<your text for the user>"}.

Tools:"""
_MARK = "`"
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_ARGUMENT_KEYS = ("arguments", "parameters", "args")


def offered_tools(tools: Sequence[Tool], choice: str | Mapping[str, Any] | None) -> list[Tool]:
    """The tools that a tool choice leaves: none for `none`, one where it names one, else all."""
    if choice == "none":
        return []
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, Mapping) else choice.get("name")
        return [tool for tool in tools if tool.name == name]
    return list(tools)


def may_answer(choice: str | Mapping[str, Any] | None) -> bool:
    """Whether the model may answer in text instead of calling a tool."""
    return choice not in ("required", "any") and not isinstance(choice, Mapping)


def json_call_instructions(system_prompt: str, tools: Iterable[Tool]) -> str:
    """The system prompt with the shapes of replies and the tools at its end."""
    lines = [_INSTRUCTIONS]
    for tool in tools:
        lines.append(f"- {tool.name}: {tool.description}")
        lines.append(f"  arguments: {_json.encode_clean(tool.parameters).decode()}")
    return "\n\n".join(part for part in (system_prompt, "\n".join(lines)) if part)


def json_call_fields(tools: Sequence[Tool], *, may_answer: bool) -> dict[str, Any]:
    """The `response_format` that admits a call of one of `tools`, or an answer."""
    is_alone = len(tools) == 1 and not may_answer
    variants = [_call_schema(tool, "#" if is_alone else f"#/anyOf/{index}") for index, tool in enumerate(tools)]
    if may_answer:
        variants.append(_object_schema({"answer": {"type": "string"}}))
    schema = variants[0] if is_alone else {"anyOf": variants}
    json_schema = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def _call_schema(tool: Tool, place: str) -> dict[str, Any]:
    arguments = _rebased(tool.parameters, f"{place}/properties/arguments")
    return _object_schema({"tool": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _rebased(schema: Any, root: str) -> Any:
    """A schema with the references into itself leading to where it stands now."""
    if isinstance(schema, list):
        return [_rebased(item, root) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    rebased = {name: _rebased(value, root) for name, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        rebased["$ref"] = root + reference[1:]
    return rebased


class JsonCallWriter(MessageWriter):
    """Writes past calls and results in the shapes that the model is held to.

    Results become user messages, joined with the user's own message after them, because many chat templates want the
    roles to alternate.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._results: list[ToolResultMessage] = []

    def write(self, message: Message) -> None:
        """See `MessageWriter.write`."""
        if isinstance(message, ToolResultMessage):
            self._results.append(message)
            return
        following = message if isinstance(message, UserMessage) else None
        if self._flush(following) and following is not None:
            return
        super().write(message)

    def add(self, message: dict[str, Any]) -> None:
        """See `MessageWriter.add`."""
        self._flush(None)
        super().add(message)

    def finish(self) -> list[bytes]:
        """See `MessageWriter.finish`."""
        self._flush(None)
        return super().finish()

    def answer(self, message: AssistantMessage) -> dict[str, Any] | None:
        """One JSON object for each call, after the text; an answer without calls in the shape of one."""
        text = "".join(block.text for block in message.content if isinstance(block, TextContent)).strip()
        steps = [_json.encode_clean({"tool": call.name, "arguments": call.arguments}) for call in message.tool_calls]
        if text and not steps:
            return {"role": "assistant", "content": _json.encode_clean({"answer": text}).decode()}
        lines = [*([text] if text else []), *(step.decode() for step in steps)]
        return {"role": "assistant", "content": "\n".join(lines)} if lines else None

    def _flush(self, following: UserMessage | None) -> bool:
        """Write the results so far as one user message, together with `following`; whether there were any."""
        if not self._results:
            return False
        results, self._results = self._results, []
        text = "\n\n".join(map(_result_line, results))
        images = [image_part(block) for result in results for block in _images(result.content)]
        if following is not None:
            text = "\n\n".join([text, *_texts(following)])
            images += [image_part(block) for block in _images(following.content)]
        content: Any = [{"type": "text", "text": text}, *images] if images else text
        self.messages.append(_json.encode_clean({"role": "user", "content": content}))
        return True


def _result_line(message: ToolResultMessage) -> str:
    word = "Error from" if message.is_error else "Result of"
    return f"{word} {message.tool_name}:\n{result_text(message)}"


def _images(content: Any) -> list[ImageContent]:
    return [] if isinstance(content, str) else [block for block in content if isinstance(block, ImageContent)]


def _texts(message: UserMessage) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [block.text for block in message.content if isinstance(block, TextContent) and block.text.strip()]


class JsonCallReader:
    """Turns the streamed JSON of one reply into events: an answer grows as text, a call appears when it is complete.

    A reply in neither shape, from a server that ignores the schema, is shown as the text it is.
    """

    def __init__(self, answer: LiveAnswer, tool_names: Iterable[str], new_id: Callable[[], str]) -> None:
        self._answer = answer
        self._tool_names = frozenset(tool_names)
        self._new_id = new_id
        self._pieces: list[str] = []
        self._parser: PartialJson | None = None
        self._index: int | None = None  # of the text block
        self._shown = ""

    def take(self, text: str) -> list[UpdateEvent]:
        """The events for a piece of the reply."""
        self._pieces.append(text)
        if self._parser is not None:
            self._parser.feed(text)
            return self._grown_answer(self._parser.snapshot())
        whole = text if self._index is not None else "".join(self._pieces)
        if not whole.strip() and self._index is None:
            return []
        if self._index is None and whole.lstrip()[0] in ("{", _MARK):
            self._parser = PartialJson()
            self._parser.feed(whole)
            return self._grown_answer(self._parser.snapshot())
        return self._show(whole)

    def finish(self) -> list[UpdateEvent]:
        """The events that the end of the reply decides; open blocks are left for the caller to close."""
        if self._parser is None:
            return []
        whole = "".join(self._pieces)
        fenced = _FENCE.match(whole)
        try:
            value = parse_with_repair(fenced[1] if fenced else whole)
        except _json.JsonError:
            return self._finish_broken(whole, self._parser.snapshot())
        call = self._call_in(value)
        if call is not None:
            return self._show_call(*call)
        if isinstance(value, dict) and isinstance(value.get("answer"), str):
            return self._grown_answer(value)
        return self._show(whole)

    def _finish_broken(self, whole: str, seen: dict[str, Any]) -> list[UpdateEvent]:
        """A reply that was cut or is no JSON: a call keeps its broken arguments, so that the model is told of them."""
        if "answer" in seen or not isinstance(seen.get("tool"), str):
            return self._grown_answer(seen) if "answer" in seen else self._show(whole)
        _, _, arguments = whole.partition('"arguments"')
        return self._show_call(seen["tool"], arguments.lstrip(" :\n\t") or "{")

    def _grown_answer(self, value: Mapping[str, Any]) -> list[UpdateEvent]:
        text = value.get("answer")
        if "tool" in value or not isinstance(text, str) or not text.startswith(self._shown):
            return []
        return self._show(text[len(self._shown) :])

    def _show(self, text: str) -> list[UpdateEvent]:
        if not text:
            return []
        events: list[UpdateEvent] = []
        if self._index is None:
            start = self._answer.text_start()
            self._index = start.content_index
            events.append(start)
        self._shown += text
        events.append(self._answer.text_delta(self._index, text))
        return events

    def _show_call(self, name: str, arguments: str) -> list[UpdateEvent]:
        start = self._answer.toolcall_start(self._new_id(), name)
        return [start, self._answer.toolcall_delta(start.content_index, arguments)]

    def _call_in(self, value: Any) -> tuple[str, str] | None:
        """Name and argument text of the call that a reply is; also in the shapes that models fall back to."""
        if not isinstance(value, dict):
            return None
        if isinstance(value.get("function"), dict):
            value = value["function"]
        key = "tool" if isinstance(value.get("tool"), str) else "name"
        name = value.get(key)
        if not isinstance(name, str) or (key == "name" and name not in self._tool_names):
            return None
        given = next((value[other] for other in _ARGUMENT_KEYS if other in value), None)
        if given is None:
            given = {other: item for other, item in value.items() if other != key and other not in _ARGUMENT_KEYS}
        return name, given if isinstance(given, str) else _json.encode_clean(given).decode()
