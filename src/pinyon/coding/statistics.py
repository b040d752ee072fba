"""What a session has cost and how full its context is."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.ai.codec import usage_from_wire
from pinyon.ai.message import AssistantMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.coding.compaction.estimate import estimate_projected_context_tokens, has_valid_usage
from pinyon.coding.usage import total_usage
from pinyon.session.entry import SessionEntry
from pinyon.session.session import Session


class TokenTotals(msgspec.Struct, rename="camel"):
    """Tokens by kind."""

    input: int | float
    output: int | float
    cache_read: int | float
    cache_write: int | float
    total: int | float


class ContextUsage(msgspec.Struct, rename="camel"):
    """Tokens of the context and percent of the window; both None while they are unknown, after a compaction."""

    tokens: int | None
    context_window: int
    percent: float | None


class SessionStats(msgspec.Struct, rename="camel", kw_only=True):
    """Totals over all entries of a session, whether they are in the context or not. `cost` is in US dollars."""

    session_file: str | UnsetType = UNSET
    session_id: str
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    total_messages: int
    tokens: TokenTotals
    cost: int | float
    context_usage: ContextUsage | UnsetType = UNSET


def session_stats(session: Session, context: ContextUsage | None) -> SessionStats:
    """Count a session's entries and sum what they spent."""
    entries = session.get_entries()
    messages = [entry.message for entry in entries if entry.type == "message"]
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    usage = total_usage(usage for entry in entries if (usage := usage_of(entry)) is not None)
    path = session.get_session_file()
    return SessionStats(
        session_file=str(path) if path is not None else UNSET,
        session_id=session.get_session_id(),
        user_messages=sum(isinstance(message, UserMessage) for message in messages),
        assistant_messages=len(answers),
        tool_calls=sum(len(answer.tool_calls) for answer in answers),
        tool_results=sum(isinstance(message, ToolResultMessage) for message in messages),
        total_messages=len(messages),
        tokens=TokenTotals(
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            total=usage.input + usage.output + usage.cache_read + usage.cache_write,
        ),
        cost=usage.cost.total,
        context_usage=context if context is not None else UNSET,
    )


class CostRow(msgspec.Struct, rename="camel", frozen=True):
    """What one model cost, or with `key` `tools` what tools and summaries did; `cost` is in US dollars."""

    key: str
    cost: int | float


def cost_breakdown(session: Session) -> list[CostRow]:
    """Cost by `provider/model`, the dearest first; rows without cost are left out."""
    rows: dict[str, float] = {}
    for entry in session.get_entries():
        usage = usage_of(entry)
        if usage is not None:
            rows[_cost_key(entry)] = rows.get(_cost_key(entry), 0) + usage.cost.total
    found = [CostRow(key, cost) for key, cost in rows.items() if cost]
    return sorted(found, key=lambda row: -row.cost)


def _cost_key(entry: SessionEntry) -> str:
    message = entry.message
    if isinstance(message, AssistantMessage):
        return f"{message.provider}/{message.response_model or message.model}"
    return f"{entry.provider}/{entry.model}" if entry.type == "usage" else "tools"


def usage_of(entry: SessionEntry) -> Usage | None:
    """The usage that an entry records: of an answer, a tool, a summary, or beside the conversation."""
    message = entry.message
    if isinstance(message, AssistantMessage):
        return message.usage
    if isinstance(message, ToolResultMessage):
        return message.usage or None
    stored = entry.get("usage")
    return usage_from_wire(stored) if isinstance(stored, dict) and entry.type != "message" else None


def context_usage(session: Session, model: Model | None) -> ContextUsage | None:
    """How full the window of `model` is."""
    if model is None or model.context_window <= 0:
        return None
    if _is_unknown_after_compaction(session):
        return ContextUsage(tokens=None, context_window=model.context_window, percent=None)
    tokens = estimate_projected_context_tokens(session.build_session_projection(), session.upwards()).tokens
    return ContextUsage(tokens=tokens, context_window=model.context_window, percent=tokens / model.context_window * 100)


def _is_unknown_after_compaction(session: Session) -> bool:
    for entry in session.upwards():
        if entry.type == "compaction":
            return True
        if entry.message is not None and has_valid_usage(entry.message):
            return False
    return False
