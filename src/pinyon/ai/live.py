"""The growing answer that every wire adapter builds its message and events with.

How an adapter uses it::

    answer = LiveAnswer(model)                      # when the stream is created: time and duration count from here
    yield answer.start()                            # headers arrived
    yield answer.text_start()                       # opens the next block; event.content_index is its index
    yield answer.text_delta(index, "Hel")
    yield answer.text_end(index)                    # or text_end(index, content) where the server repeats the whole
    yield answer.thinking_start()                   # likewise thinking_delta, thinking_end(index, signature=...)
    yield answer.toolcall_start(call_id, name)      # likewise toolcall_delta(index, json_text), toolcall_end(index)
    for event in answer.end_open_blocks(): yield event
    answer.target.usage = usage                     # ids, usage, raw stop reason: set on the message itself
    yield answer.done("stop")                       # raises ProviderError where the answer cannot be what it says
    yield answer.fail("502 bad gateway")            # or fail(text, aborted=True); content so far is kept

Deltas only append to lists. Text is joined and partial arguments are parsed when somebody asks for `message` (that is
what `event.partial` does) and when a block ends, so that a stream nobody looks into costs a few microseconds a delta.
Surrogate pairs that arrive split over two deltas are joined, lone surrogates become U+FFFD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, UnsetType

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon._util.text import clean_surrogates
from pinyon.ai.content import AssistantBlock, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import (
    Done,
    Start,
    StreamError,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UpdateEvent,
)
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.errors import ProviderError

if TYPE_CHECKING:
    from pinyon.ai.partial_json import PartialJson

DoneReason = Literal["stop", "length", "toolUse", "deferred"]

_ABORTED_TEXT = "Request was aborted"


class EmptyAnswerError(ProviderError):
    """Raised when a server reports success and sent nothing, or a tool-use stop without a tool call."""


class _Pieces:
    """Text in the pieces it arrived in; `carry` is half a surrogate pair that waits for its other half."""

    __slots__ = ("carry", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.carry = ""

    def append(self, delta: str) -> str:
        """Keep `delta` and return what of it is whole by now."""
        if not delta.isascii() or self.carry:
            delta = self.carry + delta
            self.carry = delta[-1] if "\ud800" <= delta[-1:] <= "\udbff" else ""
            delta = clean_surrogates(delta[:-1] if self.carry else delta)
        self.parts.append(delta)
        return delta

    def close(self, content: str | None) -> None:
        """Nothing more comes; `content` replaces everything."""
        if content is not None:
            self.parts = [clean_surrogates(content)]
        elif self.carry:
            self.parts.append("\ufffd")
        self.carry = ""

    def joined(self) -> str:
        if len(self.parts) != 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0]


class _OpenText(_Pieces):
    """A text or thinking block that still grows."""

    __slots__ = ("block",)

    def __init__(self, block: TextContent | ThinkingContent) -> None:
        super().__init__()
        self.block = block

    def sync(self) -> str:
        """Bring the block up to date."""
        text = self.joined()
        if isinstance(self.block, TextContent):
            self.block.text = text
        else:
            self.block.thinking = text
        return text


class _OpenCall(_Pieces):
    """A tool call whose argument text still arrives."""

    __slots__ = ("block", "parser", "seen")

    def __init__(self, block: ToolCall) -> None:
        super().__init__()
        self.block = block
        self.seen = 0
        self.parser: PartialJson | None = None

    def sync(self) -> None:
        """Parse what has arrived since the last time."""
        if self.seen == len(self.parts):
            return
        if self.parser is None:
            from pinyon.ai.partial_json import PartialJson

            self.parser = PartialJson()
        self.parser.feed("".join(self.parts[self.seen :]))
        self.seen = len(self.parts)
        self.block.arguments = self.parser.snapshot()

    def finish(self) -> None:
        """Parse the whole text strictly."""
        from pinyon.ai.tool_arguments import finish_tool_call

        finish_tool_call(self.block, self.joined())


class LiveAnswer:
    """One assistant message in the making, and the source of its events. See the module for its use."""

    def __init__(self, model: Model, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._created_ms = clock.now_ms()
        self._started_ms = clock.monotonic_ms()
        self._open: dict[int, _OpenText | _OpenCall] = {}
        self.target = AssistantMessage(
            content=[],
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=Usage(),
            stop_reason="pending",
            timestamp=self._created_ms,
        )
        """The message itself, whose open blocks may lag behind; for setting usage, ids and the like."""

    @property
    def message(self) -> AssistantMessage:
        """The message brought up to date; always the same object."""
        for block in self._open.values():
            block.sync()
        return self.target

    @property
    def is_open(self) -> bool:
        """Whether a block has started and not ended."""
        return bool(self._open)

    def block(self, index: int) -> AssistantBlock:
        """The content block at `index`, for setting signatures and the like."""
        return self.target.content[index]

    def start(self) -> Start:
        """The first event: response headers arrived."""
        event = Start()
        event.bind(self)
        return event

    def text_start(self) -> TextStart:
        """Open an empty text block."""
        event = TextStart(self._add(TextContent("")))
        event.bind(self)
        return event

    def text_delta(self, index: int, delta: str) -> TextDelta:
        """Append to the open text block at `index`."""
        event = TextDelta(index, self._open_text(index).append(delta))
        event.__dict__["_live"] = self  # what `bind` does, without the call: this is the most frequent event
        return event

    def text_end(self, index: int, content: str | None = None) -> TextEnd:
        """Close the text block; `content` replaces what was streamed."""
        event = TextEnd(index, self._close_text(index, content))
        event.bind(self)
        return event

    def thinking_start(self, *, redacted: bool = False, signature: str | UnsetType = UNSET) -> ThinkingStart:
        """Open an empty thinking block."""
        event = ThinkingStart(self._add(ThinkingContent("", signature, redacted or UNSET)))
        event.bind(self)
        return event

    def thinking_delta(self, index: int, delta: str) -> ThinkingDelta:
        """Append to the open thinking block at `index`."""
        event = ThinkingDelta(index, self._open_text(index).append(delta))
        event.bind(self)
        return event

    def thinking_end(
        self, index: int, content: str | None = None, *, signature: str | UnsetType = UNSET
    ) -> ThinkingEnd:
        """Close the thinking block; `content` replaces what was streamed, `signature` what was set before."""
        block = self.target.content[index]
        if signature is not UNSET and isinstance(block, ThinkingContent):
            block.thinking_signature = signature
        event = ThinkingEnd(index, self._close_text(index, content))
        event.bind(self)
        return event

    def toolcall_start(self, call_id: str, name: str, **fields: Any) -> ToolCallStart:
        """Open a tool call; `fields` are further fields of `ToolCall`, such as `namespace`."""
        event = ToolCallStart(self._add(ToolCall(id=call_id, name=name, arguments={}, **fields)), call_id, name)
        event.bind(self)
        return event

    def toolcall_delta(self, index: int, delta: str) -> ToolCallDelta:
        """Append to the JSON text of the open call's arguments; may be empty."""
        event = ToolCallDelta(index, self._open[index].append(delta))
        event.bind(self)
        return event

    def toolcall_end(self, index: int, arguments_text: str | None = None) -> ToolCallEnd:
        """Close the call and parse its arguments; `arguments_text` replaces what was streamed."""
        opened = self._open.pop(index)
        if not isinstance(opened, _OpenCall):
            raise TypeError(f"content block {index} is not a tool call")
        opened.close(arguments_text)
        opened.finish()
        event = ToolCallEnd(index, opened.block)
        event.bind(self)
        return event

    def end_block(self, index: int) -> UpdateEvent:
        """Close the open block at `index`, whatever it is."""
        opened = self._open[index]
        if isinstance(opened, _OpenCall):
            return self.toolcall_end(index)
        return self.text_end(index) if isinstance(opened.block, TextContent) else self.thinking_end(index)

    def end_open_blocks(self) -> list[UpdateEvent]:
        """Close every open block, in content order."""
        return [self.end_block(index) for index in sorted(self._open)]

    def done(self, reason: DoneReason, *, may_be_empty: bool = False) -> Done:
        """The final event of a complete answer.

        Raises `EmptyAnswerError` for a `stop` without any text or call and for a `toolUse` without a call, unless
        the answer `may_be_empty`.
        """
        self.end_open_blocks()
        if not may_be_empty:
            self._check_content(reason)
        self.target.stop_reason = reason
        self._set_duration()
        return Done(reason, self.target)

    def fail(self, error_text: str, *, aborted: bool = False) -> StreamError:
        """The final event of a failed or aborted answer; what had arrived is kept."""
        reason: Literal["error", "aborted"] = "aborted" if aborted else "error"
        message = self.message
        self._open.clear()
        message.stop_reason = reason
        message.error_message = clean_surrogates(error_text) or (_ABORTED_TEXT if aborted else "unknown error")
        self._set_duration()
        return StreamError(reason, message)

    def _add(self, block: TextContent | ThinkingContent | ToolCall) -> int:
        index = len(self.target.content)
        self.target.content.append(block)
        self._open[index] = _OpenCall(block) if isinstance(block, ToolCall) else _OpenText(block)
        return index

    def _open_text(self, index: int) -> _OpenText:
        opened = self._open[index]
        if type(opened) is not _OpenText:
            raise TypeError(f"content block {index} is a tool call")
        return opened

    def _close_text(self, index: int, content: str | None) -> str:
        opened = self._open_text(index)
        opened.close(content)
        del self._open[index]
        return opened.sync()

    def _check_content(self, reason: DoneReason) -> None:
        blocks = self.target.content
        if any(isinstance(block, ToolCall) for block in blocks):
            return
        if reason == "toolUse":
            raise EmptyAnswerError("the answer stopped for a tool and ended without a tool call")
        if reason == "stop" and not any(isinstance(block, TextContent) and block.text.strip() for block in blocks):
            raise EmptyAnswerError("the answer ended without text or a tool call")

    def _set_duration(self) -> None:
        # An older timestamp belongs to an answer that was not made now.
        if self.target.duration_ms is UNSET and self.target.timestamp >= self._created_ms:
            self.target.duration_ms = max(0, round(self._clock.monotonic_ms() - self._started_ms))
