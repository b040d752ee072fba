"""The arguments of a finished tool call: strict JSON, one attempt at repair, else an error that shows the text."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util import json as _json
from pinyon._util.text import slice_head, slice_tail
from pinyon.ai.content import ToolCall

RECEIVED_LABEL = "Arguments as received:"
_LONGEST_SHOWN = 16_384  # UTF-16 units; a longer text is shown by its two ends

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_BAD_ESCAPE = re.compile(r'\\(?:(?P<good>["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_CONTROL_ESCAPES = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class ToolArguments(msgspec.Struct, frozen=True):
    """Parsed arguments: always an object; with an error it is empty, and the error says why and shows the text."""

    value: dict[str, Any]
    error: str | UnsetType = UNSET


def parse_tool_arguments(text: str) -> ToolArguments:
    """Parse the complete argument text of a call. A blank text means no arguments; nothing raises.

    A text that is not JSON is repaired once: raw control characters in strings are escaped, and a backslash that
    starts no valid escape is doubled. Integral floats become ints.
    """
    if not text.strip():
        return ToolArguments({})
    try:
        value = parse_with_repair(text)
    except _json.JsonError as error:
        return ToolArguments({}, _describe(str(error), text))
    if not isinstance(value, dict):
        return ToolArguments({}, _describe("Tool arguments must be a JSON object, not another kind of value.", text))
    return ToolArguments(_json.normalise_numbers(value))


def finish_tool_call(call: ToolCall, text: str) -> None:
    """Store the parsed argument text in the call."""
    parsed = parse_tool_arguments(text)
    call.arguments = parsed.value
    call.arguments_error = parsed.error


def parse_with_repair(text: str) -> _json.Json:
    """Parse JSON, repaired once where it must be; raises `JsonError` with the message of the unrepaired text."""
    try:
        return _decode(text)
    except _json.JsonError:
        repaired = repair_json(text)
        if repaired == text:
            raise
        try:
            return _decode(repaired)
        except _json.JsonError:
            pass
        raise


def _decode(text: str) -> _json.Json:
    try:
        return _json.decode(text)
    except RecursionError as error:
        raise _json.JsonError("the value is nested too deeply") from error


def repair_json(text: str) -> str:
    """Escape raw control characters inside strings and double backslashes that start no valid escape."""
    return _STRING.sub(lambda match: _repair_string(match.group()), text)


def _repair_string(literal: str) -> str:
    literal = _BAD_ESCAPE.sub(lambda match: match.group() if match["good"] else "\\\\", literal)
    return _CONTROL.sub(lambda match: _escape_control(match.group()), literal)


def _escape_control(char: str) -> str:
    return _CONTROL_ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _describe(problem: str, text: str) -> str:
    return f"{problem}\n\n{RECEIVED_LABEL}\n{_shown(text)}"


def _shown(text: str) -> str:
    head = slice_head(text, _LONGEST_SHOWN)
    if len(head) == len(text):
        return text
    half = _LONGEST_SHOWN // 2
    head, tail = slice_head(text, half), slice_tail(text, half)
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"
