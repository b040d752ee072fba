"""The composition root: shared services, the store of sessions, and the one active `AgentSession`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import msgspec

from pinyon.agent.hook import settled
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.resolver import ScopedModel
from pinyon.coding.assembly import SessionParts, assemble_session, renew_session
from pinyon.coding.hooks import SessionHooks, SessionStart, ShutdownReason, SwitchReason
from pinyon.coding.limit import Limits
from pinyon.coding.services import ResourceOptions, Services, create_services
from pinyon.coding.session_use import IfInUse, take_session
from pinyon.coding.toolset import NoTools
from pinyon.coding.user_interface import NoInterface, UserInterface
from pinyon.errors import AgentBusyError, SessionError
from pinyon.extensions.event_bus import EventBus
from pinyon.resources.settings import SettingsManager
from pinyon.session.branch import fork_point
from pinyon.session.local import LocalSessionManager
from pinyon.session.manager import SessionManager, require_session_cwd
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.agent.tool import ToolDefinition
    from pinyon.ai.stream import StreamFn
    from pinyon.coding.agent_session import AgentSession
    from pinyon.env import ExecutionEnv
    from pinyon.resources.diagnostic import ResourceDiagnostic
    from pinyon.resources.loader import ResourceLoader


SessionCallback = Callable[["AgentSession"], Awaitable[None] | None]
"""Is given a session that takes the place of another one; may be async."""


class SessionChange(msgspec.Struct):
    """What became of a replacement of the active session."""

    cancelled: bool


class ForkChange(SessionChange):
    """What became of a fork; `selected_text` is that of the message it went back before."""

    selected_text: str | None = None


class PiAgent:
    """Owns services, session manager and the current session. Make it with `create`; leave it with `dispose`.

    Also an asynchronous context manager that disposes at the end.
    """

    def __init__(
        self,
        services: Services,
        session_manager: SessionManager,
        parts: SessionParts,
        *,
        if_in_use: IfInUse = "fail",
        event_bus: EventBus | None = None,
    ) -> None:
        self._if_in_use = if_in_use
        self.event_bus = event_bus or EventBus()
        self._reported: list[ResourceDiagnostic] = []
        self._before_invalidate: Callable[[], Awaitable[None] | None] | None = None
        self.services = services
        self.session_manager = session_manager
        self._parts = parts
        self._session: AgentSession | None = None
        self._bind: SessionCallback | None = None
        self._rebind: SessionCallback | None = None
        self._is_disposed = False
        self.model_fallback_message: str | None = None
        self.ui: UserInterface = NoInterface()
        """The person in front of the program; a mode that has one sets it."""

    @classmethod
    async def create(
        cls,
        *,
        cwd: str | Path | None = None,
        agent_dir: str | Path | None = None,
        session_manager: SessionManager | None = None,
        auth_storage: AuthStorage | None = None,
        model_registry: ModelRegistry | None = None,
        settings_manager: SettingsManager | None = None,
        model: Model | None = None,
        thinking_level: ThinkingLevel | None = None,
        tools: Sequence[str] | None = None,
        exclude_tools: Sequence[str] | None = None,
        no_tools: NoTools | None = None,
        custom_tools: Sequence[ToolDefinition] = (),
        execution_env: ExecutionEnv | None = None,
        stream_fn: StreamFn | None = None,
        resource_options: ResourceOptions | None = None,
        resource_loader: ResourceLoader | None = None,
        services: Services | None = None,
        hooks: SessionHooks | None = None,
        scoped_models: Sequence[ScopedModel] = (),
        limits: Limits | Sequence[Limits] = (),
        if_in_use: IfInUse = "fail",
        event_bus: EventBus | None = None,
    ) -> PiAgent:
        """Build the services for `cwd` (default: the process's) on the agent folder (default: `~/.pi/agent`).

        What is given here holds for every session of this agent; model and thinking level where a session records none.
        `session_manager` defaults to files in the agent folder. `execution_env` is where the tools work, by default
        this machine. `stream_fn` replaces the models' own wire APIs, for tests and proxies.
        Ready `services` replace everything that they hold. `scoped_models` are what cycling steps through, and where
        a new session without a default finds its model. `limits` end runs that use too much. `if_in_use` is what
        becomes of a session file that another process writes. `event_bus` carries messages between this program and
        what it plugs in; by default there is a new one.
        """
        services = services or create_services(
            cwd,
            agent_dir=Path(agent_dir) if agent_dir is not None else None,
            settings=settings_manager,
            auth_storage=auth_storage,
            registry=model_registry,
            options=resource_options,
            loader=resource_loader,
        )
        if session_manager is None:
            session_manager = LocalSessionManager(cwd=services.cwd, agent_dir=services.agent_dir)
        parts = SessionParts(
            model=model,
            thinking_level=thinking_level,
            tools=tools,
            exclude_tools=tuple(exclude_tools or ()),
            no_tools=no_tools,
            custom_tools=tuple(custom_tools),
            execution_env=execution_env,
            stream_fn=stream_fn,
            hooks=hooks,
            scoped_models=tuple(scoped_models),
            limits=(limits,) if isinstance(limits, Limits) else tuple(limits),
        )
        return cls(services, session_manager, parts, if_in_use=if_in_use, event_bus=event_bus)

    @property
    def cwd(self) -> Path:
        """Working directory of the services."""
        return self.services.cwd

    @property
    def has_session(self) -> bool:
        """Whether there is an active session."""
        return self._session is not None

    @property
    def session(self) -> AgentSession:
        """The active session. Raises `SessionError` before the first one was created."""
        if self._session is None:
            raise SessionError("there is no session yet; call create_agent_session() first")
        return self._session

    @property
    def diagnostics(self) -> list[ResourceDiagnostic]:
        """What was noticed while the services and the session were loaded."""
        return list(self.services.diagnostics)

    async def create_agent_session(self, *, session: Session | None = None) -> AgentSession:
        """Make `session` (default: a new one of the session manager) the active conversation.

        A session file that another process writes is refused with `SessionInUseError`, forked or only read, as
        `if_in_use` of `create` says.
        """
        tree = session if session is not None else await self.session_manager.create_session()
        tree = await take_session(self.session_manager, tree, self._if_in_use)
        return await self._activate(tree, SessionStart(reason="startup"))

    async def _activate(self, tree: Session, start: SessionStart) -> AgentSession:
        assembled = await assemble_session(self.services, tree, self._parts)
        self._session = assembled.session
        self.model_fallback_message = assembled.fallback_message
        if self._bind is not None:
            await settled(self._bind(assembled.session))
        await assembled.session.hooks.session_started(start)
        return assembled.session

    def set_bind_session(self, callback: SessionCallback | None) -> None:
        """Call `callback(session)` with every session before its hooks hear of its start; it may be async."""
        self._bind = callback

    def set_rebind_session(self, callback: Callable[[AgentSession], Awaitable[None] | None] | None) -> None:
        """Call `callback(session)` with every session that replaces the active one; it may be async."""
        self._rebind = callback

    def set_before_session_invalidate(self, callback: Callable[[], Awaitable[None] | None] | None) -> None:
        """Call `callback()` before the active session is disposed, while it can still be read; it may be async."""
        self._before_invalidate = callback

    def take_unreported_diagnostics(self) -> list[ResourceDiagnostic]:
        """What was noticed since the last call."""
        noticed = self.services.diagnostics
        fresh = [entry for entry in noticed if not any(entry is reported for reported in self._reported)]
        self._reported = list(noticed)
        return fresh

    async def reload(self) -> None:
        """Read settings, credentials, models and resources again; the active session goes on with them.

        Its conversation, model, level and active tools stay; tools that are new among the defaults join them. Hooks
        hear of an end and a start with the reason `reload`. Raises `AgentBusyError` while the session works.
        """
        session = self._session
        if session is not None and (not session.is_idle or session.is_compacting):
            raise AgentBusyError("the session is working; abort it or wait for its end before reloading")
        if session is not None:
            await session.hooks.shutdown("reload", None)
        await self.services.reload()
        await self.services.registry.refresh()
        if session is not None:
            renew_session(self.services, session, self._parts)
            await session.hooks.session_started(SessionStart(reason="reload"))

    # Replacing the active session. Each asks the hooks first and opens its target next, so that a refusal or a bad
    # target leaves the active session as it is.

    async def new_session(
        self,
        *,
        parent_session: str | None = None,
        setup: SessionCallback | None = None,
        with_session: SessionCallback | None = None,
    ) -> SessionChange:
        """Replace the active session by an empty one.

        `setup(session)` may add entries before anybody else sees the session, `with_session(session)` is called when
        the replacement is complete. Both may be async.
        """
        if not await self._may_switch("new", None):
            return SessionChange(cancelled=True)
        tree = await self.session_manager.create_session(parent_session=parent_session)
        return await self._replace(tree, "new", setup=setup, with_session=with_session)

    async def switch_session(
        self,
        path: str | Path,
        *,
        cwd_override: str | Path | None = None,
        if_in_use: IfInUse | None = None,
        with_session: SessionCallback | None = None,
    ) -> SessionChange:
        """Replace the active session by a stored one. When it cannot be opened, the active one stays.

        `if_in_use` takes the place of the agent's own for this session.
        """
        if not await self._may_switch("resume", str(path)):
            return SessionChange(cancelled=True)
        tree = await self.session_manager.open_session(path, cwd_override=cwd_override)
        require_session_cwd(tree, self.cwd)
        return await self._replace(tree, "resume", with_session=with_session, if_in_use=if_in_use)

    async def fork(
        self,
        entry_id: str,
        *,
        position: Literal["before", "at"] = "before",
        with_session: SessionCallback | None = None,
    ) -> ForkChange:
        """Replace the active session by a new one that holds the branch before (or up to and with) an entry.

        `before` needs a user message, whose text is returned for editing.
        """
        if self._session is not None and not await self._session.hooks.before_fork(entry_id, position):
            return ForkChange(cancelled=True)
        source = self.session.session
        point = fork_point(source, entry_id, position)
        if point.leaf_id is None:
            path = source.get_session_file()
            tree = await self.session_manager.create_session(parent_session=str(path) if path is not None else None)
        else:
            tree = await self.session_manager.branch_session(source, point.leaf_id)
        await self._replace(tree, "fork", with_session=with_session)
        return ForkChange(cancelled=False, selected_text=point.selected_text)

    async def clone(self) -> SessionChange:
        """Replace the active session by a copy of its branch."""
        leaf = self.session.session.get_leaf_id()
        if leaf is None:
            raise SessionError("there is nothing to clone: the session is empty")
        return await self.fork(leaf, position="at")

    async def import_from_jsonl(
        self,
        path: str | Path,
        *,
        cwd_override: str | Path | None = None,
        with_session: SessionCallback | None = None,
    ) -> SessionChange:
        """Copy a session file into the session folder and make it the active session."""
        if not await self._may_switch("resume", str(path)):
            return SessionChange(cancelled=True)
        tree = await self.session_manager.import_session(path, cwd_override=cwd_override)
        return await self._replace(tree, "resume", with_session=with_session)

    async def _may_switch(self, reason: SwitchReason, target: str | None) -> bool:
        return self._session is None or await self._session.hooks.before_switch(reason, target)

    async def _replace(
        self,
        tree: Session,
        reason: Literal["new", "resume", "fork"],
        *,
        setup: SessionCallback | None = None,
        with_session: SessionCallback | None = None,
        if_in_use: IfInUse | None = None,
    ) -> SessionChange:
        rule = if_in_use or self._if_in_use
        previous = self._session.session_file if self._session is not None else None
        target = tree.get_session_file()
        is_same_file = previous is not None and previous == target
        if not is_same_file:  # one's own right to write ends with the session that has it
            tree = await take_session(self.session_manager, tree, rule)
        try:
            await self._tear_down(reason, target)
        except BaseException:
            if not is_same_file:
                tree.close()
            raise
        if is_same_file:
            tree = await take_session(self.session_manager, tree, rule)
        session_cwd = Path(tree.get_cwd())
        if session_cwd != self.services.cwd:
            self.services = self.services.for_cwd(session_cwd)
        start = SessionStart(reason=reason, previous_session_file=None if previous is None else str(previous))
        session = await self._activate(tree, start)
        if setup is not None:
            await settled(setup(session))
            session.refresh()
        if self._rebind is not None:
            await settled(self._rebind(session))
        if with_session is not None:
            await settled(with_session(session))
        return SessionChange(cancelled=False)

    async def _tear_down(self, reason: ShutdownReason, target: Path | None) -> None:
        if self._session is None:
            return
        try:
            await self._session.abort()
            await self._session.hooks.shutdown(reason, None if target is None else str(target))
            if self._before_invalidate is not None:
                await settled(self._before_invalidate())
        finally:
            await self._session.dispose()

    async def dispose(self) -> None:
        """Abort what runs, release the session and finish pending writes. Further calls do nothing."""
        if self._is_disposed:
            return
        self._is_disposed = True
        try:
            await self._tear_down("quit", None)
        finally:
            await self.services.settings.flush()
            await self.services.auth_storage.flush()

    async def __aenter__(self) -> PiAgent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.dispose()
