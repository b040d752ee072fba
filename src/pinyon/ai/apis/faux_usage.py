"""Token counts of scripted answers: four characters a token, with a prompt cache of one prompt a session."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon._util import json as _json
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.cost import apply_cost
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, message_role
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.transcript import system_text
from pinyon.ai.usage import Usage

_CHARS_PER_TOKEN = 4


class PromptCacheModel:
    """The last prompt of every session."""

    def __init__(self) -> None:
        self._prompts: dict[str, str] = {}

    def common_chars(self, session_id: str, prompt: str) -> int:
        """How much of `prompt` the session's last prompt began with; remembers `prompt`."""
        last = self._prompts.get(session_id, "")
        self._prompts[session_id] = prompt
        limit = min(len(last), len(prompt))
        return next((index for index in range(limit) if last[index] != prompt[index]), limit)


def estimated_usage(
    model: Model, messages: Sequence[Message], answer: AssistantMessage, options: StreamOptions, cache: PromptCacheModel
) -> Usage:
    """The usage that a provider with this cache would report."""
    prompt = "\n\n".join(f"{message_role(message)}:{_text(message)}" for message in messages)
    usage = Usage(output=_tokens(len(_text(answer))))
    if options.session_id and options.cache_retention != "none":
        cached = cache.common_chars(options.session_id, prompt)
        usage.cache_read = cached // _CHARS_PER_TOKEN
        usage.cache_write = _tokens(len(prompt)) - usage.cache_read
    else:
        usage.input = _tokens(len(prompt))
    usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
    return apply_cost(model, usage)


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def _text(message: Message) -> str:
    if isinstance(message, SystemMessage):
        tools = [_json.encode(tool).decode() for tool in message.tools_added or ()]
        return "\n".join([system_text(message), *tools])
    prefix = f"{message.tool_name}:" if isinstance(message, ToolResultMessage) else ""
    content = message.content
    return prefix + (content if isinstance(content, str) else "\n".join(_block_text(block) for block in content))


def _block_text(block: object) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ThinkingContent):
        return block.thinking
    if isinstance(block, ToolCall):
        return f"{block.name}:{_json.encode(block.arguments).decode()}"
    return "[other content]"
