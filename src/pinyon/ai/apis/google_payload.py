"""The body of a `streamGenerateContent` request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pinyon.ai.apis.google_message import ContentWriter
from pinyon.ai.apis.google_model import wants_call_ids
from pinyon.ai.apis.google_thinking import thinking_config
from pinyon.ai.apis.google_tool import declarations, tool_config
from pinyon.ai.call_id import safe_id
from pinyon.ai.estimate import clamp_max_tokens
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.transcript import current_prompt, current_tools
from pinyon.ai.transform import transform_messages


class EncodingMemory:
    """What is kept between requests so that each message is adapted and encoded once.

    `stand_ins` are the servers and models that want a stand-in for the signatures of calls that have none.
    """

    def __init__(self) -> None:
        self.adapted: MessageMemo[Message] = MessageMemo()
        self.encoded: MessageMemo[bytes] = MessageMemo()
        self.stand_ins: set[tuple[str, str]] = set()


def build_body(
    model: Model, messages: Sequence[Message], options: StreamOptions, memory: EncodingMemory
) -> dict[str, Any]:
    """The body for a transcript; its `contents` are encoded already.

    Raises `ContextFullError` when nothing is left for an answer, `SamplingError` for tools that cannot be declared as
    they require and `ModelError` for a level map that this API cannot follow.
    """
    stands_in = (model.base_url, model.id) in memory.stand_ins
    writer = ContentWriter(model, memory.encoded, stands_in=stands_in)
    normalize_id = _plain_id if wants_call_ids(model.id) else None
    for message in transform_messages(messages, model, normalize_id, memo=memory.adapted):
        writer.write(message)
    body: dict[str, Any] = {"contents": [msgspec.Raw(data) for data in writer.finish()]}
    prompt = current_prompt(messages)
    if prompt.strip():
        body["systemInstruction"] = {"parts": [{"text": prompt}], "role": "user"}
    tools = current_tools(messages)
    if tools:
        body["tools"] = declarations(tools)
    config = tool_config(model, tools, options)
    if config is not None:
        body["toolConfig"] = config
    generation = _generation_config(model, messages, options)
    return body | {"generationConfig": generation} if generation else body


def _plain_id(call_id: str, _source: AssistantMessage) -> str:
    return safe_id(call_id)


def _generation_config(model: Model, messages: Sequence[Message], options: StreamOptions) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if options.temperature is not None:
        config["temperature"] = options.temperature
    wanted = model.max_tokens if options.max_tokens is None else options.max_tokens
    limit = clamp_max_tokens(model, messages, wanted) if wanted > 0 else 0
    if limit:
        config["maxOutputTokens"] = limit
    thinking = thinking_config(model, options, limit)
    if thinking is not None:
        config["thinkingConfig"] = thinking
    return config
