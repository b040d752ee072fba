"""One line of a session file: its head, its value, and the entries that can be recovered from a broken one.

A line is bytes without its newline. Reading a head checks that the whole line is JSON but builds nothing of its body.
Changing a line splices bytes where that is possible, so that everything else in it stays as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.errors import SessionError
from pinyon.session.kind import ENTRY_TYPES, entry_kind


class LineHead(msgspec.Struct, gc=False):
    """What places an entry in its tree. `id` is None where the line has none; `parent_id` None is a root."""

    type: str
    id: str | None
    parent_id: str | None
    kind: int


class MessageRole(msgspec.Struct, gc=False):
    """The role of a message whose other fields are passed over."""

    role: str = ""


class RawHead(msgspec.Struct, gc=False):
    """The head of a line in the words of the file."""

    type: str
    id: str
    parentId: str | None = None  # noqa: N815 - a rename costs the decoder nothing, but the name is read nowhere else
    message: MessageRole | None = None


decode_head = msgspec.json.Decoder(RawHead).decode
_encode = msgspec.json.Encoder().encode
_scanner = json.JSONDecoder()


def read_head(line: bytes) -> LineHead | None:
    """The head of a line that is a complete JSON object, None where it is not."""
    try:
        head = decode_head(line)
    except (msgspec.DecodeError, RecursionError):
        value = decode_object(line)
        return None if value is None else head_of(value)
    message = head.message
    return LineHead(head.type, head.id, head.parentId, entry_kind(head.type, message.role if message else ""))


def head_of(value: Mapping[str, Any]) -> LineHead:
    """The head of a decoded entry, whatever its fields hold."""
    entry_type, entry_id, parent_id = value.get("type"), value.get("id"), value.get("parentId")
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    entry_type = entry_type if isinstance(entry_type, str) else ""
    return LineHead(
        entry_type,
        entry_id if isinstance(entry_id, str) else None,
        parent_id if isinstance(parent_id, str) else None,
        entry_kind(entry_type, role if isinstance(role, str) else ""),
    )


def decode_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, None where the line is anything else.

    Bytes that are not UTF-8 read as U+FFFD inside its strings.
    """
    try:
        value = _json.decode(line)
    except (_json.JsonError, RecursionError):
        if _is_utf8(line):
            return None
        try:
            value = _json.decode(line.decode("utf-8", "replace"))
        except (_json.JsonError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def encode_line(value: Mapping[str, Any]) -> bytes:
    """A new line for an entry: compact UTF-8 JSON with integral floats as integers.

    Surrogate pairs that arrived split are joined and lone surrogates become U+FFFD.
    """
    return encode_cleaned(value)[0]


def encode_cleaned(value: Mapping[str, Any]) -> tuple[bytes, bool]:
    """As `encode_line`, and whether surrogates had to be cleaned. Raises `SessionError` for values that are no JSON."""
    try:
        plain = _json.normalise_numbers(msgspec.to_builtins(value))
    except (TypeError, RecursionError) as error:
        raise SessionError(f"A session entry can only hold JSON values; turn this into plain ones: {error}") from error
    try:
        return _encode(plain), False
    except UnicodeEncodeError:
        return _encode(_json.cleaned(plain)), True


def reencode_line(value: Mapping[str, Any]) -> bytes:
    """The line of an entry that was read before and changed since; lone surrogates stay as escapes."""
    return _json.encode(_json.normalise_numbers(value))


def with_fields(line: bytes, **fields: Any) -> bytes:
    """The line with these top-level fields set in place, or added at its end where it lacks them."""
    value = decode_object(line) or {}
    missing = {name: item for name, item in fields.items() if name not in value}
    if len(missing) == len(fields) and value and line.endswith(b"}"):
        return line[:-1] + b"," + _encode(missing)[1:]
    return reencode_line({**value, **fields})


def with_parent(line: bytes, parent_id: str | None) -> bytes:
    """The line with another `parentId`; all other bytes stay where the line has one of the usual forms."""
    head = read_head(line)
    if head is None or head.id is None or b'"parentId"' not in line:
        return with_fields(line, parentId=parent_id)
    if head.parent_id == parent_id:
        return line
    own_id, old, new = _encode(head.id), _encode(head.parent_id), _encode(parent_id)
    if line.endswith(b',"parentId":%b}' % old):
        return line[: -len(old) - 1] + new + b"}"
    middle = b'"id":%b,"parentId":%b,"timestamp":"' % (own_id, old)
    before, found, after = line.partition(middle)
    if found and (b"{" not in before[1:] or after.find(b'"') == len(after) - 2):
        return b'%b"id":%b,"parentId":%b,"timestamp":"%b' % (before, own_id, new, after)
    return with_fields(line, parentId=parent_id)


def recover_objects(line: bytes) -> Iterator[bytes]:
    """The complete entries inside a line that is not JSON as a whole, in order.

    Such a line is a torn write with the next entry glued to it, or an entry with rubbish around it. Objects that are
    part of a fragment (content blocks, tool arguments) are not entries and are passed over.
    """
    text = line.decode("utf-8", "surrogateescape")
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _scanner.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if looks_like_entry(value):
                yield text[at:end].encode("utf-8", "surrogateescape")
        at = text.find("{", end)


def looks_like_entry(value: Any) -> bool:
    """Whether an object has the shape of a session header or entry, and not that of something inside one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if isinstance(value.get("id"), str) and ("parentId" in value or value["type"] == "session"):
        return True
    return value["type"] in ENTRY_TYPES and isinstance(value.get("timestamp"), str)
