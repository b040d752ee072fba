"""Server-side threads: a continued conversation sends only what is new.

After a clean answer the thread remembers how many turns the server holds and a fingerprint of them and of everything
else that shapes the request. The next request continues the thread only if its own beginning has that fingerprint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.anthropic_payload import Payload
from pinyon.ai.http_error import HttpStatusError
from pinyon.ai.message import AssistantMessage
from pinyon.ai.session_resource import SessionMemory

_STALE_CODES = frozenset(
    {
        "thread_not_found",
        "thread_already_continued",
        "thread_continue_in_flight",
        "thread_fingerprint_mismatch",
    }
)
_UNSUPPORTED_CODE = "thread_unsupported_request"

Refusal = Literal["stale", "unsupported"]


class Thread(msgspec.Struct):
    """What the server holds for a session; `disabled` where it does not do threads for it."""

    turn_count: int = 0
    fingerprint: str = ""
    previous_message_id: str = ""
    disabled: bool = False


_threads: SessionMemory[Thread] = SessionMemory()


class ThreadPlan(msgspec.Struct):
    """How one request uses threads. `session_id` is None where it uses none."""

    session_id: str | None = None
    skip_turns: int = 0
    field: dict[str, Any] | None = None


def plan_thread(payload: Payload) -> ThreadPlan:
    """Continue the session's thread if this request extends it, else begin one; nothing where threads are not used."""
    request = payload.request
    session_id = request.cached_session_id
    if not session_id or not request.compat.message_threads or request.options.disable_continuation:
        return ThreadPlan()
    thread = _threads.get(session_id)
    if thread is not None and thread.disabled:
        return ThreadPlan()
    known = thread.turn_count if thread is not None else 0
    if thread is not None and known < len(payload.turns) and thread.fingerprint == _fingerprint(payload, known):
        field = {"type": "continue", "previous_message_id": thread.previous_message_id}
        return ThreadPlan(session_id, known, field)
    return fresh_thread(session_id)


def fresh_thread(session_id: str) -> ThreadPlan:
    """A request that begins a thread."""
    return ThreadPlan(session_id, 0, {"type": "create"})


def record_answer(plan: ThreadPlan, payload: Payload, message: AssistantMessage) -> None:
    """Remember what the server holds after a clean answer of the requested model."""
    if plan.session_id is None:
        return
    reply = payload.reply_turn(message)
    if not reply or not message.response_id or message.response_model:
        _threads.forget(plan.session_id)
        return
    turns = [*payload.turns, reply]
    thread = Thread(len(turns), _fingerprint(payload, len(turns), turns), message.response_id)
    _threads.set(plan.session_id, thread)


def disable_threads(session_id: str) -> None:
    """Do without threads for the rest of the session."""
    _threads.set(session_id, Thread(disabled=True))


def thread_refusal(error: HttpStatusError) -> Refusal | None:
    """Whether the server refused a request because of its thread: a stale one, or threads as such."""
    try:
        body = _json.decode(error.body)
    except _json.JsonError:
        body = None
    details = body.get("error") if isinstance(body, dict) else None
    inner = details.get("details") if isinstance(details, dict) else None
    code = inner.get("error_code") if isinstance(inner, dict) else None
    if code in _STALE_CODES:
        return "stale"
    if code == _UNSUPPORTED_CODE:
        return "unsupported"
    return "unsupported" if code is None and error.status == 400 and "thread" in error.body.lower() else None


def _fingerprint(payload: Payload, turn_count: int, turns: Sequence[bytes] | None = None) -> str:
    import hashlib

    model = payload.request.model
    tail = payload.tail
    settings = {
        "provider": model.provider,
        "baseUrl": model.base_url,
        "model": model.id,
        "system": [block["text"] for block in payload.system],
        "tools": [{name: value for name, value in tool.items() if name != "cache_control"} for tool in payload.tools],
        "shape": {name: tail.get(name) for name in ("thinking", "output_config", "tool_choice", "fallbacks")},
        "betas": payload.betas,
    }
    digest = hashlib.sha256(_json.encode_clean(settings))
    for turn in (payload.turns if turns is None else turns)[:turn_count]:
        digest.update(b"\n")
        digest.update(turn)
    return digest.hexdigest()
