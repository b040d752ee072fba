"""A conversation handed to a model: what other models left in it is adapted, and what providers refuse is repaired.

Whatever a session holds, the result has valid pairs: each call has one result, which follows its message before any
other message; ids are unique and not empty; no text block is blank; signatures stand only where the same model made
them. The order is causal: the form of a message depends on what stands before it and, for results, on what follows up
to the next answer, so that a growing history keeps its encoded beginning.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from pinyon._util.clock import now_ms
from pinyon.ai.call_id import distinct_id, safe_id
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model

NormalizeId = Callable[[str, AssistantMessage], str]
"""Maps the id of a call that another model made (in the given message) to one that the target API accepts."""

USER_IMAGE_OMITTED = "[Image left out: this model reads text only.]"
TOOL_IMAGE_OMITTED = "[The tool returned an image; this model reads text only, so it was left out.]"
NO_RESULT = "No result was recorded for this tool call."

_FAILED = ("error", "aborted", "pending")
_BAD_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LIMIT = 64
_UNNAMED = "unnamed_tool"


def transform_messages(
    messages: Iterable[Message],
    model: Model,
    normalize_id: NormalizeId | None = None,
    *,
    memo: MessageMemo[Message] | None = None,
    clock_ms: Callable[[], int] = now_ms,
) -> list[Message]:
    """The messages as `model` can be sent them; the given ones are not changed, and unchanged ones are passed on.

    `memo` keeps what had to be built anew between requests, so that it is the same object each time.
    """
    hand_over = _HandOver(model, normalize_id, memo, clock_ms)
    for message in messages:
        hand_over.take(message)
    return hand_over.finish()


def is_same_model(message: AssistantMessage, model: Model) -> bool:
    """Whether `model` itself made the answer: provider, wire API and id are all equal."""
    return message.provider == model.provider and message.api == model.api and message.model == model.id


def plain_call_id(call_id: str, _source: AssistantMessage) -> str:
    """An id of letters, digits, `_` and `-` only, at most 64 characters."""
    return safe_id(call_id)


class _OpenCall(msgspec.Struct):
    """A call of the newest answer, with the id it was stored under."""

    stored_id: str
    call: ToolCall
    result: ToolResultMessage | None = None


class _HandOver:
    """State of one pass over a conversation."""

    def __init__(
        self,
        model: Model,
        normalize_id: NormalizeId | None,
        memo: MessageMemo[Message] | None,
        clock_ms: Callable[[], int],
    ) -> None:
        self._model = model
        self._normalize_id = normalize_id
        self._memo = memo
        self._clock_ms = clock_ms
        self._reads_images = "image" in model.input
        self._ids = _UniqueIds()
        self._names: set[str] = set()
        self._out: list[Message] = []
        self._open: list[_OpenCall] = []
        self._held: list[Message] = []

    def take(self, message: Message) -> None:
        """Add the next message of the conversation."""
        kind = type(message)
        if kind is AssistantMessage:
            self._close_turn()
            self._take_answer(message)  # type: ignore[arg-type]
        elif kind is ToolResultMessage:
            self._take_result(message)  # type: ignore[arg-type]
        elif kind is UserMessage:
            adapted = self._adapt_user(message)  # type: ignore[arg-type]
            if adapted is not None:
                (self._held if self._open else self._out).append(adapted)
        elif kind is SystemMessage:
            self._names.update(tool.name for tool in message.tools_added or ())  # type: ignore[union-attr]
            (self._held if self._open else self._out).append(message)

    def finish(self) -> list[Message]:
        """The whole conversation."""
        self._close_turn()
        return self._out

    def _close_turn(self) -> None:
        """Emit the results of the newest answer in the order of its calls, then what came in between."""
        if not self._open:
            return  # messages are held back only behind open calls
        for entry in self._open:
            self._out.append(entry.result or self._missing_result(entry.call))
        self._out += self._held
        self._open, self._held = [], []

    def _missing_result(self, call: ToolCall) -> ToolResultMessage:
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=[TextContent(NO_RESULT)],
            is_error=True,
            timestamp=self._clock_ms(),
        )

    def _take_answer(self, message: AssistantMessage) -> None:
        if message.stop_reason in _FAILED:
            return
        same = is_same_model(message, self._model)
        calls = [block for block in message.content or () if type(block) is ToolCall]
        identities = tuple((self._call_id(call, message, same), self._call_name(call.name)) for call in calls)
        adapted = self._adapt_answer(message, same, identities)
        if adapted.content:
            self._out.append(adapted)
        if calls:
            new_calls = [block for block in adapted.content if type(block) is ToolCall]
            self._open = [_OpenCall(old.id, new) for old, new in zip(calls, new_calls, strict=True)]

    def _adapt_answer(
        self, message: AssistantMessage, same: bool, identities: tuple[tuple[str, str], ...]
    ) -> AssistantMessage:
        content = _adapt_blocks(message.content, same, identities)
        if content is message.content:
            return message
        key = ("answer", same, identities)
        adapted = self._remembered(message, key)
        if adapted is None:
            adapted = msgspec.structs.replace(message, content=content)
            self._remember(message, key, adapted)
        assert isinstance(adapted, AssistantMessage)
        return adapted

    def _call_id(self, call: ToolCall, message: AssistantMessage, same: bool) -> str:
        wanted = call.id
        if wanted and not same and self._normalize_id is not None:
            wanted = self._normalize_id(wanted, message)
        return self._ids.claim(wanted)

    def _call_name(self, name: str) -> str:
        if name in self._names or (name and len(name) <= _NAME_LIMIT and not _BAD_IN_NAME.search(name)):
            return name
        return _BAD_IN_NAME.sub("_", name)[:_NAME_LIMIT] or _UNNAMED

    def _take_result(self, message: ToolResultMessage) -> None:
        """Pair a result with the first open call of its id; a result without one is left out."""
        for entry in self._open:
            if entry.result is None and entry.stored_id == message.tool_call_id:
                entry.result = self._adapt_result(message, entry.call)
                return

    def _adapt_result(self, message: ToolResultMessage, call: ToolCall) -> ToolResultMessage:
        key = ("result", call.id, call.name, self._reads_images)
        adapted = self._remembered(message, key)
        if adapted is None:
            content = _adapt_content(message.content, self._reads_images, TOOL_IMAGE_OMITTED)
            adapted = message
            same = content is message.content and message.tool_call_id == call.id and message.tool_name == call.name
            if not same:
                adapted = msgspec.structs.replace(message, content=content, tool_call_id=call.id, tool_name=call.name)
            self._remember(message, key, adapted)
        assert isinstance(adapted, ToolResultMessage)
        return adapted

    def _adapt_user(self, message: UserMessage) -> Message | None:
        if isinstance(message.content, str):
            return message if message.content.strip() else None
        content = _adapt_content(message.content, self._reads_images, USER_IMAGE_OMITTED)
        if content is message.content:
            return message if content else None
        if not content:
            return None
        adapted = self._remembered(message, ("user", self._reads_images))
        if adapted is None:
            adapted = msgspec.structs.replace(message, content=content)
            self._remember(message, ("user", self._reads_images), adapted)
        return adapted

    def _remembered(self, message: Message, key: tuple[Any, ...]) -> Message | None:
        return None if self._memo is None else self._memo.get(message, key)

    def _remember(self, message: Message, key: tuple[Any, ...], adapted: Message) -> None:
        if self._memo is not None and adapted is not message:
            self._memo.put(message, key, adapted)


class _UniqueIds:
    """Hands out ids, each only once."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._calls = 0

    def claim(self, wanted: str) -> str:
        """`wanted` if it is free, else one derived from it; an empty id gets one from the number of the call."""
        self._calls += 1
        if wanted and wanted not in self._given:
            self._given.add(wanted)
            return wanted
        base, number = (wanted, 2) if wanted else ("call", self._calls)
        while (candidate := distinct_id(base, number)) in self._given:
            number += 1
        self._given.add(candidate)
        return candidate


def _adapt_blocks(content: list[Any] | None, same: bool, identities: Sequence[tuple[str, str]]) -> list[Any]:
    """The blocks of an answer as the target model takes them; `content` itself where nothing changes."""
    kept: list[Any] = []
    calls = iter(identities)
    for block in content or ():
        kind = type(block)
        adapted: Any = None
        if kind is TextContent:
            adapted = _adapt_text(block, same)
        elif kind is ThinkingContent:
            adapted = block if same and _is_worth_keeping(block) else None
        elif kind is ToolCall:
            adapted = _adapt_call(block, same, *next(calls))
        if adapted is not None:
            kept.append(adapted)
    return content if content is not None and _same_items(kept, content) else kept


def _adapt_text(block: TextContent, same: bool) -> TextContent | None:
    if not block.text.strip() and not (same and block.text_signature):
        return None
    return block if same or not block.text_signature else TextContent(block.text)


def _is_worth_keeping(block: ThinkingContent) -> bool:
    return bool(block.redacted or block.thinking_signature or block.thinking.strip())


def _adapt_call(block: ToolCall, same: bool, call_id: str, name: str) -> ToolCall:
    if block.id == call_id and block.name == name and (same or not (block.thought_signature or block.namespace)):
        return block
    adapted = msgspec.structs.replace(block, id=call_id, name=name)
    if not same:
        adapted.thought_signature = adapted.namespace = UNSET
    return adapted


def _adapt_content(content: list[Any] | None, reads_images: bool, omitted: str) -> list[Any]:
    """Content without blank texts and unknown blocks; without image support each run of images is one notice."""
    adapted: list[Any] = []
    after_image = False
    for block in content or ():
        is_image = type(block) is ImageContent
        if is_image and not reads_images:
            if not after_image:
                adapted.append(TextContent(omitted))
        elif is_image or (type(block) is TextContent and block.text.strip()):
            adapted.append(block)
        after_image = is_image
    return content if content is not None and _same_items(adapted, content) else adapted


def _same_items(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(operator.is_, left, right))
