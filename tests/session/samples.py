"""Messages, entries and files that the tests of this room are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, UserMessage
from pinyon.ai.usage import Usage
from pinyon.session.context import SessionProjection
from pinyon.session.session import Session

DATA = Path(__file__).parents[1] / "data"
TIME = "2025-01-01T00:00:00.000Z"
HEADER = f'{{"type":"session","version":3,"id":"idm","timestamp":"{TIME}","cwd":"/nowhere"}}'


def user(text: str, timestamp: int = 1) -> UserMessage:
    return UserMessage(content=text, timestamp=timestamp)


def answer(text: str, model: str = "m") -> AssistantMessage:
    return AssistantMessage(
        content=[TextContent(text)],
        api="a",
        provider="p",
        model=model,
        usage=Usage(),
        stop_reason="stop",
        timestamp=1,
    )


def entry_line(entry_type: str, entry_id: str, parent: str | None, **fields: Any) -> str:
    value = {"type": entry_type, "id": entry_id, "parentId": parent, "timestamp": TIME, **fields}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def user_line(entry_id: str, parent: str | None, text: str | None = None) -> str:
    message = {"role": "user", "content": [{"type": "text", "text": text or entry_id}], "timestamp": 1}
    return entry_line("message", entry_id, parent, message=message)


def answer_line(entry_id: str, parent: str | None, text: str | None = None, **fields: Any) -> str:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text or entry_id}],
        "api": "a",
        "provider": "p",
        "model": "m",
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0}},
        "stopReason": "stop",
        "timestamp": 2,
        **fields,
    }
    return entry_line("message", entry_id, parent, message=message)


def write_lines(path: Path, *lines: str) -> Path:
    """A file of these lines, each with its newline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
    return path


def text_of(message: AgentMessage) -> str:
    """The text of a message, or the summary it carries."""
    content = getattr(message, "content", None)
    if content is None:
        return str(getattr(message, "summary", ""))
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextContent))


def texts(context: SessionProjection | Session) -> list[str]:
    """The texts of a context, after checking that counting agrees with decoding."""
    projection = context.build_session_context() if isinstance(context, Session) else context
    counted = projection.message_count
    assert counted == len(projection.messages)
    return [text_of(message) for message in projection.messages]


def json_lines(path: Path) -> list[Any]:
    """Every line of a file as a value; fails where one is no JSON."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
