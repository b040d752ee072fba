"""Lines of an RPC server that are no responses, as typed events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from pinyon._util import json as _json
from pinyon.coding.event import SessionEvent


class UiRequest(msgspec.Struct, tag_field="type", tag="extension_ui_request", rename="camel", kw_only=True):
    """Code beside the session asks the person something, or shows something.

    `select`, `confirm`, `input` and `editor` wait for an answer with the same `id`, for `timeout` milliseconds where
    that is given. The other methods want none.
    """

    id: str
    method: Literal[
        "select", "confirm", "input", "editor", "notify", "setStatus", "setWidget", "setTitle", "set_editor_text"
    ]
    title: str | None = None
    message: str | None = None
    options: Sequence[str] = ()
    placeholder: str | None = None
    prefill: str | None = None
    timeout: int | float | None = None
    notify_type: Literal["info", "warning", "error"] | None = None
    status_key: str | None = None
    status_text: str | None = None
    widget_key: str | None = None
    widget_lines: Sequence[str] | None = None
    widget_placement: Literal["aboveEditor", "belowEditor"] | None = None
    text: str | None = None

    @property
    def wants_answer(self) -> bool:
        """Whether somebody waits for an answer."""
        return self.method in ("select", "confirm", "input", "editor")


class UnknownLine(msgspec.Struct):
    """A line that this version does not know; `line` is the decoded object."""

    line: dict[str, Any]


RpcEvent: TypeAlias = SessionEvent | UiRequest | UnknownLine
"""What an RPC server tells unasked, a closed union."""

_decoder: msgspec.json.Decoder[SessionEvent | UiRequest] = msgspec.json.Decoder(SessionEvent | UiRequest)


def decode_event(line: bytes) -> RpcEvent | None:
    """The event in a line; None where the line is no JSON object."""
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError:
        pass
    try:
        value = _json.decode(line)
    except _json.JsonError:
        return None
    return UnknownLine(value) if isinstance(value, dict) else None
