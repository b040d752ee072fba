"""Agents on scripted answers, for tests of programs, tools and prompts: real sessions and tools, no network or keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pinyon.ai.apis.faux import FauxProvider, Response, faux_assistant_message
from pinyon.ai.content import AssistantBlock
from pinyon.ai.message import AssistantMessage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.pi_agent import PiAgent
from pinyon.coding.sync_session import SyncSession
from pinyon.resources.settings import SettingsManager
from pinyon.session.memory import InMemorySessionManager
from pinyon.session.view import SessionTree

ScriptedAnswer: TypeAlias = str | AssistantBlock | Sequence[AssistantBlock] | Response
"""A text, a tool call, several blocks, a whole message, or a function that makes one from the request."""


def scripted_model(*answers: ScriptedAnswer) -> FauxProvider:
    """A model that gives these answers in order; a call more is a failed answer that says so."""
    faux = FauxProvider()
    add_answers(faux, answers)
    return faux


def add_answers(model: FauxProvider, answers: Sequence[ScriptedAnswer]) -> None:
    """Add answers to those that a scripted model has left."""
    model.append_responses(map(_response, answers))


def _response(answer: ScriptedAnswer) -> Response:
    if isinstance(answer, AssistantMessage) or callable(answer):
        return answer
    return faux_assistant_message(answer)


def session_answers(path: str | Path) -> list[AssistantMessage]:
    """The answers of a stored session's last branch, in order: a session file as the script of a model.

    Failed and aborted ones are left out. Raises `SessionError` for what is no session.
    """
    messages = (entry.message for entry in SessionTree.load(path).branch())
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return [answer for answer in answers if answer.stop_reason not in ("error", "aborted")]


def scripted_options(
    model: FauxProvider, cwd: str | Path | None = None, settings: Mapping[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Arguments of `PiAgent.create` for a scripted model: sessions and settings in memory, no agent folder."""
    cwd = Path(cwd) if cwd is not None else Path.cwd()
    return {
        "cwd": cwd,
        "agent_dir": cwd / ".pinyon-agent",
        "session_manager": InMemorySessionManager(cwd=cwd),
        "settings_manager": SettingsManager.in_memory(dict(settings or {})),
        "model": model.get_model(),
        "stream_fn": model.stream,
        **options,
    }


@asynccontextmanager
async def scripted_session(
    *answers: ScriptedAnswer,
    cwd: str | Path | None = None,
    model: FauxProvider | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[AgentSession]:
    """A session whose model gives `answers` (after those that `model` has already), disposed at the end.

    `options` are further arguments of `PiAgent.create`, such as `custom_tools` or `execution_env`.
    """
    model = model or FauxProvider()
    add_answers(model, answers)
    async with await PiAgent.create(**scripted_options(model, cwd, settings, **options)) as pi:
        yield await pi.create_agent_session()


def scripted_sync_session(
    *answers: ScriptedAnswer,
    cwd: str | Path | None = None,
    model: FauxProvider | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> SyncSession:
    """The same for tests without an event loop; also a context manager, else `close` it."""
    from pinyon.coding.sync_agent import SyncPiAgent

    model = model or FauxProvider()
    add_answers(model, answers)
    return SyncPiAgent.create(**scripted_options(model, cwd, settings, **options)).create_agent_session()
