"""The composition root: shared services, the store of sessions, and the one active `AgentSession`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import msgspec

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.model_registry import ModelRegistry
from pinyon.coding.assembly import SessionParts, assemble_session
from pinyon.coding.services import ResourceOptions, Services, create_services
from pinyon.coding.toolset import NoTools
from pinyon.coding.user_interface import NoInterface, UserInterface
from pinyon.errors import SessionError
from pinyon.resources.settings import SettingsManager
from pinyon.session.branch import fork_point
from pinyon.session.local import LocalSessionManager
from pinyon.session.manager import SessionManager, require_session_cwd
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.agent.tool import ToolDefinition
    from pinyon.ai.stream import StreamFn
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.hooks import SessionHooks
    from pinyon.env import ExecutionEnv
    from pinyon.resources.diagnostic import ResourceDiagnostic


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

    def __init__(self, services: Services, session_manager: SessionManager, parts: SessionParts) -> None:
        self.services = services
        self.session_manager = session_manager
        self._parts = parts
        self._session: AgentSession | None = None
        self._rebind: Callable[[AgentSession], None] | None = None
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
        services: Services | None = None,
        hooks: SessionHooks | None = None,
    ) -> PiAgent:
        """Build the services for `cwd` (default: the process's) on the agent folder (default: `~/.pi/agent`).

        What is given here holds for every session of this agent; model and thinking level where a session records none.
        `session_manager` defaults to files in the agent folder. `execution_env` is where the tools work, by default
        this machine. `stream_fn` replaces the models' own wire APIs, for tests and proxies.
        Ready `services` replace everything that they hold.
        """
        services = services or create_services(
            cwd,
            agent_dir=Path(agent_dir) if agent_dir is not None else None,
            settings=settings_manager,
            auth_storage=auth_storage,
            registry=model_registry,
            options=resource_options,
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
        )
        return cls(services, session_manager, parts)

    @property
    def cwd(self) -> Path:
        """Working directory of the services."""
        return self.services.cwd

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
        """Make `session` (default: a new one of the session manager) the active conversation."""
        tree = session if session is not None else await self.session_manager.create_session()
        assembled = await assemble_session(self.services, tree, self._parts)
        self._session = assembled.session
        self.model_fallback_message = assembled.fallback_message
        return assembled.session

    def set_rebind_session(self, callback: Callable[[AgentSession], None] | None) -> None:
        """Call `callback(session)` with every session that replaces the active one."""
        self._rebind = callback

    async def new_session(self, *, parent_session: str | None = None) -> SessionChange:
        """Replace the active session by an empty one."""
        tree = await self.session_manager.create_session(parent_session=parent_session)
        return await self._replace(tree)

    async def switch_session(self, path: str | Path, *, cwd_override: str | Path | None = None) -> SessionChange:
        """Replace the active session by a stored one. When it cannot be opened, the active one stays."""
        tree = await self.session_manager.open_session(path, cwd_override=cwd_override)
        require_session_cwd(tree, self.cwd)
        return await self._replace(tree)

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> ForkChange:
        """Replace the active session by a new one that holds the branch before (or up to and with) an entry.

        `before` needs a user message, whose text is returned for editing.
        """
        source = self.session.session
        point = fork_point(source, entry_id, position)
        if point.leaf_id is None:
            path = source.get_session_file()
            tree = await self.session_manager.create_session(parent_session=str(path) if path is not None else None)
        else:
            tree = await self.session_manager.branch_session(source, point.leaf_id)
        await self._replace(tree)
        return ForkChange(cancelled=False, selected_text=point.selected_text)

    async def clone(self) -> SessionChange:
        """Replace the active session by a copy of its branch."""
        leaf = self.session.session.get_leaf_id()
        if leaf is None:
            raise SessionError("there is nothing to clone: the session is empty")
        return await self.fork(leaf, position="at")

    async def import_from_jsonl(self, path: str | Path, *, cwd_override: str | Path | None = None) -> SessionChange:
        """Copy a session file into the session folder and make it the active session."""
        return await self._replace(await self.session_manager.import_session(path, cwd_override=cwd_override))

    async def _replace(self, tree: Session) -> SessionChange:
        if self._session is not None:
            await self._session.dispose()
        session_cwd = Path(tree.get_cwd())
        if session_cwd != self.services.cwd:
            self.services = self.services.for_cwd(session_cwd)
        session = await self.create_agent_session(session=tree)
        if self._rebind is not None:
            self._rebind(session)
        return SessionChange(cancelled=False)

    async def dispose(self) -> None:
        """Abort what runs, release the session and finish pending writes. Further calls do nothing."""
        if self._is_disposed:
            return
        self._is_disposed = True
        if self._session is not None:
            await self._session.dispose()
        await self.services.auth_storage.flush()

    async def __aenter__(self) -> PiAgent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.dispose()
