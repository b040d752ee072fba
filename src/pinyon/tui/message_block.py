"""From stored messages to blocks: what a resumed session looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ToolResultMessage,
    UserMessage,
)
from pinyon.resources.skill import parse_skill_call
from pinyon.session.entry import SessionEntry
from pinyon.tui.block.block import Block
from pinyon.tui.block.notice import NoticeBlock
from pinyon.tui.block.prose import AnswerBlock, CustomBlock, SummaryBlock, ThinkingBlock, UserBlock
from pinyon.tui.block.shell import ShellBlock
from pinyon.tui.block.tool import ToolBlock, ToolRenderer
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.quantity import shown_tokens

MessageRenderer = Callable[[CustomMessage], "Block | None"]
CUT_OFF = "The answer was cut off at the output limit of the model. Ask it to go on."
_ABORTED = "Stopped."


class Renderers:
    """What extensions draw instead of us: tools by name, custom messages and custom entries by type."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolRenderer] = {}
        self.messages: dict[str, MessageRenderer] = {}
        self.entries: dict[str, Callable[[SessionEntry], Block | None]] = {}


class BlockMaker:
    """Makes blocks for messages in order; results find the rows of their calls."""

    def __init__(self, cwd: str, renderers: Renderers) -> None:
        self.cwd = cwd
        self.renderers = renderers
        self.open_calls: dict[str, ToolBlock] = {}

    def entries(self, entries: Iterable[SessionEntry]) -> Iterator[Block]:
        """The blocks of stored entries."""
        for entry in entries:
            for block in self._entry(entry):
                block.entry_id = entry.id
                yield block

    def _entry(self, entry: SessionEntry) -> Iterator[Block]:
        message = entry.message
        if message is not None:
            yield from self.message(message)
        elif entry.type == "compaction":
            yield compaction_block(str(entry.get("summary") or ""), entry.get("tokensBefore"))
        elif entry.type == "branch_summary":
            yield SummaryBlock("branch", "What happened on the branch that was left", str(entry.get("summary") or ""))
        elif entry.type == "custom_message" and entry.get("display"):
            content = entry.get("content")
            yield CustomBlock(str(entry.get("customType") or "custom"), _plain(content))
        elif entry.type == "custom":
            make = self.renderers.entries.get(str(entry.get("customType") or ""))
            block = make(entry) if make is not None else None
            if block is not None:
                yield block

    def message(self, message: AgentMessage) -> Iterator[Block]:
        """The blocks of one message; a tool result changes the row of its call instead."""
        match message:
            case UserMessage():
                yield from user_blocks(message)
            case AssistantMessage():
                yield from self._answer(message)
            case ToolResultMessage():
                yield from self._result(message)
            case BashExecutionMessage():
                yield shell_block(message)
            case CustomMessage(display=True):
                make = self.renderers.messages.get(message.custom_type)
                block = make(message) if make is not None else None
                yield block or CustomBlock(message.custom_type, text_of(message.content))
            case CompactionSummaryMessage():
                yield compaction_block(message.summary, message.tokens_before)
            case BranchSummaryMessage():
                yield SummaryBlock("branch", "What happened on the branch that was left", message.summary)
            case _:
                return

    def _answer(self, message: AssistantMessage) -> Iterator[Block]:
        for part in message.content:
            match part:
                case TextContent():
                    if part.text.strip():
                        yield AnswerBlock(part.text)
                case ThinkingContent():
                    if part.thinking.strip():
                        yield ThinkingBlock(part.thinking)
                case ToolCall():
                    block = self.tool_block(part.name, part.id)
                    block.set_arguments(part.arguments, is_complete=True)
                    yield block
                case _:
                    pass
        fault = fault_block(message)
        if fault is not None and not self._fail_calls(message, fault.text):
            yield fault

    def _fail_calls(self, message: AssistantMessage, text: str) -> bool:
        """Write why an answer failed into its tool rows; False where it has none."""
        calls = [self.open_calls[call.id] for call in message.tool_calls if call.id in self.open_calls]
        for block in calls:
            block.fail(text)
        return bool(calls)

    def tool_block(self, name: str, call_id: str) -> ToolBlock:
        """A new row for a call."""
        call = ToolCallView(name=name, call_id=call_id, cwd=self.cwd)
        block = ToolBlock(call, renderer=self.renderers.tools.get(name))
        self.open_calls[call_id] = block
        return block

    def _result(self, message: ToolResultMessage) -> Iterator[Block]:
        block = self.open_calls.pop(message.tool_call_id, None)
        if block is None:
            block = self.tool_block(message.tool_name, message.tool_call_id)
            self.open_calls.pop(message.tool_call_id, None)
            yield block
        finish_tool(block, message)


def finish_tool(block: ToolBlock, message: ToolResultMessage) -> None:
    """Show a stored result in its row."""
    block.finish(
        text_of(message.content),
        message.details or None,
        images=[part for part in message.content if isinstance(part, ImageContent)],
        is_error=message.is_error,
        duration_ms=message.duration_ms or None,
    )


def text_of(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.text for part in content if isinstance(part, TextContent))
    return ""


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def user_blocks(message: UserMessage) -> Iterator[Block]:
    """The blocks of a prompt: a skill that it calls is folded, what was said beside it is not."""
    images = 0 if isinstance(message.content, str) else sum(isinstance(p, ImageContent) for p in message.content)
    call = parse_skill_call(message.text)
    if call is not None:
        yield SummaryBlock("skill", call.name, call.content)
    text = message.text if call is None else call.message or ""
    if text or images or call is None:
        yield UserBlock(text, images)


def shell_block(message: BashExecutionMessage) -> ShellBlock:
    """The block of a stored shell command."""
    block = ShellBlock(message.command, is_private=bool(message.exclude_from_context))
    block.finish(
        message.output,
        message.exit_code or None,
        cancelled=message.cancelled,
        truncated=message.truncated,
        full_output_path=message.full_output_path or None,
    )
    return block


def compaction_block(summary: str, tokens_before: object) -> SummaryBlock:
    """The block of a compaction."""
    size = shown_tokens(tokens_before) if isinstance(tokens_before, int | float) else "?"
    return SummaryBlock("compaction", f"Earlier history ({size} tokens) was summarised", summary)


def fault_block(message: AssistantMessage) -> NoticeBlock | None:
    """What went wrong with an answer, None where nothing did."""
    if message.stop_reason == "length":
        return NoticeBlock("error", CUT_OFF)
    if message.stop_reason == "aborted":
        return NoticeBlock("error", _ABORTED)
    if message.stop_reason == "error":
        raw = message.error_message or "the request failed"
        return NoticeBlock("error", short_error(raw), detail=raw if short_error(raw) != raw else "")
    return None


def short_error(text: str) -> str:
    """The sentence for people in an error text that may hold the JSON of a server."""
    start = text.find("{")
    if start < 0:
        return text
    import msgspec

    try:
        value = msgspec.json.decode(text[start : text.rfind("}") + 1])
    except msgspec.DecodeError:
        return text
    inner = value.get("error", value) if isinstance(value, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    if not isinstance(message, str) or not message:
        return text
    head = text[:start].strip().rstrip(":")
    return f"{head}: {message}" if head else message
