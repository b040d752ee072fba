"""Tool calls of a Mistral answer, put together from fragments whatever their places and ids look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.event import UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.short_hash import short_hash
from pinyon.ai.wire_value import json_object, json_text

ID_LENGTH = 9
_NO_ID = ("", "null")  # some models spell the missing id out


class _OpenCall(msgspec.Struct):
    content_index: int
    place: int | None
    given_id: str
    text: str = ""


class CallReader:
    """Reads the fragments of all calls of one answer; calls stay open until the answer ends."""

    def __init__(self, answer: LiveAnswer) -> None:
        self._answer = answer
        self._calls: list[_OpenCall] = []

    def take(self, fragment: Mapping[str, Any]) -> list[UpdateEvent]:
        """The events of a fragment: a new id or place starts a call, everything else goes on with one."""
        function = json_object(fragment.get("function"))
        place = fragment.get("index")
        place = place if isinstance(place, int) and not isinstance(place, bool) else None
        given_id = json_text(fragment.get("id"))
        given_id = "" if given_id in _NO_ID else given_id
        events: list[UpdateEvent] = []
        call, name = self._continued(place, given_id), json_text(function.get("name"))
        if call is None:
            is_taken = any(other.given_id == given_id for other in self._calls)
            start = self._answer.toolcall_start(self._new_id() if is_taken or not given_id else given_id, name)
            call = _OpenCall(start.content_index, place, given_id)
            self._calls.append(call)
            events.append(start)
        text = _arguments_text(function.get("arguments"), call.text)
        if text:
            call.text += text
            events.append(self._answer.toolcall_delta(call.content_index, text))
        return events

    def _continued(self, place: int | None, given_id: str) -> _OpenCall | None:
        """The call that a fragment goes on with: the newest at its place that no other id tells apart."""
        for call in reversed(self._calls):
            if place is None or call.place in (None, place):
                is_other = bool(given_id) and call.given_id != given_id
                if not is_other:
                    return call
        return None

    def _new_id(self) -> str:
        """An id that no other call of the conversation is likely to have, the same each time the answer is read."""
        response_id = self._answer.target.response_id or str(self._answer.target.timestamp)
        return short_hash(f"{response_id}:{len(self._calls)}")[:ID_LENGTH]


def _arguments_text(arguments: Any, so_far: str) -> str:
    """A fragment of the argument text; a server may also send the whole object, which it repeats at times."""
    if isinstance(arguments, dict | list):
        text = _json.encode_clean(arguments).decode()
        return "" if so_far or text == "{}" else text
    return json_text(arguments)
