"""Pinyon as an agent of the Agent Client Protocol: each session of the editor is a session of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError, schema

from pinyon._version import __version__
from pinyon.ai.model import Model, parse_level, supported_levels
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import SessionEvent
from pinyon.coding.pi_agent import PiAgent
from pinyon.coding.run_result import RunResult
from pinyon.errors import PinyonError
from pinyon.modes.acp.prompt import prompt_of_blocks
from pinyon.modes.acp.update import Update, updates_of_event, updates_of_message
from pinyon.session.local import LocalSessionManager

OpenPi = Callable[[Path, Path | None], Awaitable[PiAgent]]
"""Makes an agent with an active session for a working directory: a new one, or the one in a file."""

_STOP_REASONS: dict[str, schema.StopReason] = {"length": "max_tokens", "aborted": "cancelled"}
_WAITING_UPDATES = 1000


class PinyonAgent:
    """Answers the requests of one editor. `open_pi` builds what a session needs."""

    def __init__(self, open_pi: OpenPi) -> None:
        self._open_pi = open_pi
        self._client: Client | None = None
        self._open: dict[str, _OpenSession] = {}

    def on_connect(self, conn: Client) -> None:
        """Remember the editor to tell about sessions."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **kwargs: Any,
    ) -> schema.InitializeResponse:
        """What this agent is and can do."""
        del client_capabilities, client_info, kwargs
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="pinyon", title="Pinyon", version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **kwargs: Any) -> schema.AuthenticateResponse | None:
        """Signing in is not an editor's business: keys come from the agent folder and the environment."""
        del kwargs
        reason = f"there is no sign-in method {method_id!r}; use `pinyon auth login`"
        raise RequestError.invalid_params({"reason": reason})

    async def new_session(self, cwd: str, **kwargs: Any) -> schema.NewSessionResponse:
        """Begin a conversation in a folder."""
        del kwargs
        opened = await self._begin(_folder(cwd), None)
        return schema.NewSessionResponse(session_id=opened.id, config_options=opened.options())

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> schema.LoadSessionResponse:
        """Open a stored conversation and tell everything that was said in it."""
        del kwargs
        folder = _folder(cwd)
        opened = self._open.get(session_id)
        if opened is None:
            path = await LocalSessionManager(cwd=folder).find_by_id(session_id)
            if path is None:
                raise RequestError.resource_not_found(f"session {session_id}")
            opened = await self._begin(folder, Path(path))
        for message in opened.session.messages:
            for update in updates_of_message(message, folder):
                await opened.tell(update)
        await opened.flush()
        return schema.LoadSessionResponse(config_options=opened.options())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> schema.ListSessionsResponse:
        """The stored conversations of a folder, newest first."""
        del cursor, kwargs
        manager = LocalSessionManager(cwd=_folder(cwd) if cwd is not None else Path.cwd())
        found = await (manager.list_sessions() if cwd is not None else manager.list_all_sessions())
        here = str(manager.cwd)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(session_id=info.id, cwd=info.cwd or here, title=info.name or info.first_message)
                for info in found
            ]
        )

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> schema.PromptResponse:
        """Send a prompt and answer when everything that follows from it has ended."""
        del kwargs
        opened = self._session(session_id)
        text, images = prompt_of_blocks(prompt)
        try:
            result = await opened.session.run(text, images)
        except PinyonError as error:
            raise RequestError.internal_error({"reason": str(error)}) from error
        finally:
            await opened.flush()
        return schema.PromptResponse(stop_reason=_stop_reason(result))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """Stop what a session does."""
        del kwargs
        opened = self._open.get(session_id)
        if opened is not None:
            await opened.session.abort()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> schema.SetSessionModeResponse | None:
        """There are no modes."""
        del session_id, kwargs
        raise RequestError.invalid_params({"reason": f"there is no mode {mode_id!r}"})

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Choose the model or the thinking level."""
        del kwargs
        opened = self._session(session_id)
        try:
            await opened.choose(config_id, str(value))
        except PinyonError as error:
            raise RequestError.invalid_params({"reason": str(error)}) from error
        return schema.SetSessionConfigOptionResponse(config_options=opened.options())

    async def close_session(self, session_id: str, **kwargs: Any) -> schema.CloseSessionResponse:
        """Stop a session and let go of it; its file stays."""
        del kwargs
        opened = self._open.pop(session_id, None)
        if opened is not None:
            await opened.close()
        return schema.CloseSessionResponse()

    async def fork_session(self, session_id: str, cwd: str, **kwargs: Any) -> schema.ForkSessionResponse:
        """Not offered."""
        del session_id, cwd, kwargs
        raise RequestError.method_not_found("session/fork")

    async def resume_session(self, session_id: str, cwd: str, **kwargs: Any) -> schema.ResumeSessionResponse:
        """Not offered; `load_session` opens stored conversations."""
        del session_id, cwd, kwargs
        raise RequestError.method_not_found("session/resume")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """No extensions of the protocol are known."""
        del params
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Passed over, as the protocol asks."""

    async def aclose(self) -> None:
        """Stop all sessions."""
        while self._open:
            _, opened = self._open.popitem()
            await opened.close()

    async def _begin(self, cwd: Path, path: Path | None) -> _OpenSession:
        try:
            pi = await self._open_pi(cwd, path)
        except PinyonError as error:
            raise RequestError.internal_error({"reason": str(error)}) from error
        assert self._client is not None
        opened = _OpenSession(pi, self._client, cwd)
        self._open[opened.id] = opened
        return opened

    def _session(self, session_id: str) -> _OpenSession:
        opened = self._open.get(session_id)
        if opened is None:
            raise RequestError.invalid_params({"reason": f"there is no open session {session_id!r}"})
        return opened


class _OpenSession:
    """A session and the updates about it that are on their way to the editor."""

    def __init__(self, pi: PiAgent, client: Client, cwd: Path) -> None:
        self._pi = pi
        self._client = client
        self._cwd = cwd
        self._updates: asyncio.Queue[Update] = asyncio.Queue()
        self._sender = asyncio.create_task(self._send())
        self.session: AgentSession = pi.session
        self.id = self.session.session_id
        self.session.subscribe(self._hear)
        self.session.add_gate(self._hold_back)

    def _hear(self, event: SessionEvent) -> None:
        for update in updates_of_event(event, self._cwd):
            self._updates.put_nowait(update)

    async def _hold_back(self) -> None:
        """Let the agent wait for an editor that reads slowly."""
        if self._updates.qsize() > _WAITING_UPDATES:
            await self.flush()

    async def tell(self, update: Update) -> None:
        """Send one update behind those that wait."""
        self._updates.put_nowait(update)
        await self._hold_back()

    async def flush(self) -> None:
        """Wait until all updates are sent, or cannot be sent any more."""
        waiting = asyncio.ensure_future(self._updates.join())
        await asyncio.wait([waiting, self._sender], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _send(self) -> None:
        while True:
            update = await self._updates.get()
            await self._client.session_update(session_id=self.id, update=update)
            self._updates.task_done()

    async def close(self) -> None:
        self._sender.cancel()
        await asyncio.wait([self._sender])
        await self._pi.dispose()

    def options(self) -> list[Any]:
        """The choices that the editor can offer for this session."""
        options = [_select("model", "Model", "model", *self._models())]
        if self.session.model is not None and self.session.model.reasoning:
            levels = [(level, level.capitalize()) for level in supported_levels(self.session.model)]
            options.append(_select("thinking", "Thinking", "thought_level", self.session.thinking_level, levels))
        return [option for option in options if option.options]

    def _models(self) -> tuple[str, list[tuple[str, str]]]:
        current = self.session.model
        known = self._pi.services.registry.get_available()
        if current is not None and current.key not in [model.key for model in known]:
            known = [current, *known]
        return _reference(current) if current is not None else "", [(_reference(model), model.name) for model in known]

    async def choose(self, option: str, value: str) -> None:
        """Take a choice. Raises `PinyonError`."""
        if option == "model":
            provider, _, model_id = value.partition("/")
            model = self._pi.services.registry.find(provider, model_id)
            if model is None:
                raise PinyonError(f"there is no model {value!r}")
            await self.session.set_model(model)
            return
        level = parse_level(value) if option == "thinking" else None
        if level is None:
            raise PinyonError(f"there is no option {option!r} with a value {value!r}")
        self.session.set_thinking_level(level)


def _select(option: str, name: str, category: Any, current: str, choices: Sequence[tuple[str, str]]) -> Any:
    return schema.SessionConfigOptionSelect(
        type="select",
        id=option,
        name=name,
        category=category,
        current_value=current,
        options=[schema.SessionConfigSelectOption(value=value, name=label) for value, label in choices],
    )


def _reference(model: Model) -> str:
    return f"{model.provider}/{model.id}"


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise RequestError.invalid_params({"reason": f"cwd must be an absolute path of a folder, got {cwd!r}"})
    return folder


def _stop_reason(result: RunResult) -> schema.StopReason:
    if result.limit is not None:
        return "max_turn_requests"
    if result.stop_reason == "error":
        raise RequestError.internal_error({"reason": result.error_message or "the model gave no answer"})
    return _STOP_REASONS.get(result.stop_reason, "end_turn")
