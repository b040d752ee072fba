"""Arguments of the edit tool as models really send them, brought into the declared shape before they are validated."""

from __future__ import annotations

import re
from typing import Any

from pinyon._util import json as _json

_STRING_PIECES = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|\\|"|[\x00-\x1f]')


def prepare_edit_arguments(raw: Any) -> Any:
    """Repair the arguments of one call; what cannot be repaired stays as it is, for the validator to describe.

    Handled: `edits` or its items as JSON text (also with raw control characters and unknown escapes, and encoded
    twice), one object in place of the list, the list inside of another `edits`, and `oldText`/`newText` beside the
    path.
    """
    if not isinstance(raw, dict):
        return raw
    prepared = dict(raw)
    if "edits" in prepared:
        prepared["edits"] = _edit_list(prepared["edits"])
    return _with_top_level_edit(prepared)


def _edit_list(edits: Any) -> Any:
    parsed = _parsed(_parsed(edits))
    if isinstance(parsed, dict) and list(parsed) == ["edits"]:
        parsed = parsed["edits"]
    if _is_edit(parsed):
        return [parsed]
    if isinstance(parsed, list):
        return [item if not isinstance(item, str) else _parsed_edit(item) for item in parsed]
    return edits


def _parsed_edit(text: str) -> Any:
    parsed = _parsed(text)
    return parsed if _is_edit(parsed) else text


def _is_edit(value: Any) -> bool:
    return isinstance(value, dict) and "oldText" in value and "newText" in value


def _with_top_level_edit(prepared: dict[str, Any]) -> dict[str, Any]:
    old_text, new_text = prepared.get("oldText"), prepared.get("newText")
    edits = prepared.get("edits") or None
    if not isinstance(old_text, str) or not isinstance(new_text, str) or not isinstance(edits, list | None):
        return prepared
    rest = {name: value for name, value in prepared.items() if name not in ("oldText", "newText")}
    is_filler = bool(edits) and not old_text and not new_text
    rest["edits"] = edits if is_filler else [*(edits or []), {"oldText": old_text, "newText": new_text}]
    return rest


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for text in (value, escape_loose_characters(value)):
        try:
            return _json.decode(text)
        except _json.JsonError:
            continue
    return value


def escape_loose_characters(text: str) -> str:
    r"""JSON text whose strings have their raw control characters escaped and unknown escapes (`\<`) kept literally."""
    in_string = False

    def mend(match: re.Match[str]) -> str:
        nonlocal in_string
        piece = match[0]
        if piece == '"':
            in_string = not in_string
        elif in_string and piece == "\\":
            return "\\\\"
        elif in_string and piece < " ":
            return f"\\u{ord(piece):04x}"
        return piece

    return _STRING_PIECES.sub(mend, text)
