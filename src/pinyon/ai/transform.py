"""Handing a conversation over to a model that did not write it, in a form that every provider accepts.

What only its author understands is left out (signatures, encrypted thinking); images become notes for a model that
cannot see; every call gets exactly one result and every result stands behind its call. Messages that need no change are
passed on as the same objects, so that what was encoded for them before can be used again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET

from pinyon._util.clock import now_ms
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.short_hash import short_hash

NormalizeId = Callable[[str], str]
"""Makes a call id of another model acceptable; must map different ids to different ones."""

NO_RESULT = "No result provided."
USER_IMAGE_OMITTED = "[Image omitted: this model does not take images.]"
TOOL_IMAGE_OMITTED = "[Image in a tool result omitted: this model does not take images.]"

Spoken = TypeVar("Spoken", UserMessage, ToolResultMessage)

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def transform_messages(
    messages: Sequence[Message],
    model: Model,
    normalize_id: NormalizeId | None = None,
    *,
    clock_ms: Callable[[], int] = now_ms,
) -> list[Message]:
    """The conversation as `model` may be sent it.

    Answers that failed or were aborted are left out, and so are results without a call. Calls without a result get one
    that says so. Missing and repeated call ids are replaced, in call and result alike.
    """
    pairing = _Pairing(clock_ms)
    for message in messages:
        if isinstance(message, AssistantMessage):
            if message.stop_reason not in ("error", "aborted"):
                pairing.add_answer(_answer_for(message, model), message, model, normalize_id)
        elif isinstance(message, ToolResultMessage):
            pairing.add_result(_without_images(message, model, TOOL_IMAGE_OMITTED))
        elif isinstance(message, UserMessage):
            pairing.add_user(_without_images(message, model, USER_IMAGE_OMITTED))
        else:
            pairing.add_system(message)
    return pairing.finish()


class _PendingCall(msgspec.Struct):
    given_id: str
    id: str
    name: str


class _Pairing:
    """Builds the output so that results stand behind their calls, whatever order the input has."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._out: list[Message] = []
        self._pending: list[_PendingCall] = []
        self._held: list[Message] = []
        self._used: set[str] = set()

    def add_system(self, message: SystemMessage) -> None:
        (self._held if self._pending else self._out).append(message)

    def add_user(self, message: UserMessage) -> None:
        self._close()
        self._out.append(message)

    def add_answer(
        self, message: AssistantMessage, original: AssistantMessage, model: Model, normalize_id: NormalizeId | None
    ) -> None:
        self._close()
        if not message.content:
            return
        foreign = not is_same_model(original, model)
        calls = {id(call): self._pend(call, normalize_id if foreign else None) for call in message.tool_calls}
        changed = [block for block in message.tool_calls if calls[id(block)] != block.id]
        if changed:
            content: list[AssistantBlock] = [
                msgspec.structs.replace(block, id=calls[id(block)]) if isinstance(block, ToolCall) else block
                for block in message.content
            ]
            message = msgspec.structs.replace(message, content=content)
        self._out.append(message)

    def add_result(self, message: ToolResultMessage) -> None:
        call = next((call for call in self._pending if call.given_id == message.tool_call_id), None)
        if call is None:
            return  # its call is not in the conversation any more
        self._pending.remove(call)
        if call.id != message.tool_call_id:
            message = msgspec.structs.replace(message, tool_call_id=call.id)
        self._out.append(message)
        if not self._pending:
            self._release()

    def finish(self) -> list[Message]:
        self._close()
        return self._out

    def _pend(self, call: ToolCall, normalize_id: NormalizeId | None) -> str:
        wanted = normalize_id(call.id) if normalize_id is not None and call.id else call.id
        unique = self._unique(wanted or "call")
        self._used.add(unique)
        self._pending.append(_PendingCall(call.id, unique, call.name))
        return unique

    def _unique(self, wanted: str) -> str:
        candidate, number = wanted, 2
        while candidate in self._used:
            suffix = f"_{number}"
            candidate, number = wanted[: max(1, 40 - len(suffix))] + suffix, number + 1
        return candidate

    def _close(self) -> None:
        """Answer the calls that nobody answered, then let go what waited behind them."""
        for call in self._pending:
            self._out.append(
                ToolResultMessage(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    content=[TextContent(NO_RESULT)],
                    is_error=True,
                    timestamp=self._clock_ms(),
                )
            )
        self._pending.clear()
        self._release()

    def _release(self) -> None:
        self._out += self._held
        self._held.clear()


def is_same_model(message: AssistantMessage, model: Model) -> bool:
    """Whether `model` itself wrote the message: provider, wire API and id are the same."""
    return (message.provider, message.api, message.model) == (model.provider, model.api, model.id)


def _answer_for(message: AssistantMessage, model: Model) -> AssistantMessage:
    own = is_same_model(message, model)
    content = [kept for block in message.content if (kept := _block_for(block, own=own)) is not None]
    if len(content) == len(message.content) and all(a is b for a, b in zip(content, message.content, strict=True)):
        return message
    return msgspec.structs.replace(message, content=content)


def _block_for(block: AssistantBlock, *, own: bool) -> AssistantBlock | None:
    match block:
        case ThinkingContent():
            keeps = own and (block.redacted or block.thinking_signature or block.thinking.strip())
            return block if keeps else None
        case TextContent():
            if not block.text.strip() and not (own and block.text_signature):
                return None
            return block if own or not block.text_signature else TextContent(block.text)
        case ToolCall():
            plain = own or not block.thought_signature
            return block if plain else msgspec.structs.replace(block, thought_signature=UNSET)
        case _:
            return None


def _without_images(message: Spoken, model: Model, note: str) -> Spoken:
    if "image" in model.input or isinstance(message.content, str):
        return message
    if not any(isinstance(block, ImageContent) for block in message.content):
        return message
    content: list[UserBlock] = []
    in_run = False
    for block in message.content:
        is_image = isinstance(block, ImageContent)
        if not is_image:
            content.append(block)
        elif not in_run:
            content.append(TextContent(note))
        in_run = is_image
    return msgspec.structs.replace(message, content=content)


# Call ids


def plain_call_id(call_id: str, limit: int = 64) -> str:
    """An id of letters, digits, `_` and `-` only, cut to `limit` characters."""
    return _UNSAFE.sub("_", call_id)[:limit]


def completions_call_id(call_id: str, provider: str) -> str:
    """An id for chat completions: of `call|item` ids the call part, in at most 40 characters."""
    if "|" in call_id:
        sanitized = _UNSAFE.sub("_", call_id.partition("|")[0])
        if len(sanitized) <= 40 and len(_UNSAFE.sub("_", call_id)) <= 40:
            return _UNSAFE.sub("_", call_id)
        return f"{sanitized[:31]}_{short_hash(call_id)[:8]}"
    return call_id[:40] if provider == "openai" else call_id
