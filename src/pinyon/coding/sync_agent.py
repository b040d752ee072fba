"""`PiAgent` for scripts without an event loop: the same names, as plain calls that return when they are done."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec

from pinyon.coding.loop_thread import LoopThread
from pinyon.coding.pi_agent import PiAgent
from pinyon.coding.sync_member import Calls, Twin, Waits
from pinyon.coding.sync_session import SyncSession
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.session.session import Session

Params = ParamSpec("Params")


def _create(
    make: Callable[Params, Coroutine[Any, Any, PiAgent]],
) -> Callable[Params, SyncPiAgent]:
    def create(*args: Params.args, **kwargs: Params.kwargs) -> SyncPiAgent:
        loop = LoopThread()
        try:
            pi = loop.run(make(*args, **kwargs))
        except BaseException:
            loop.close()
            raise
        loop.before_close(pi.dispose)
        return SyncPiAgent(pi, loop)

    create.__doc__ = make.__doc__
    return create


class SyncPiAgent(Twin[PiAgent]):
    """Owns services, sessions and the thread in which they live. Make it with `create`; leave it with `dispose`.

    Each member is that of `PiAgent`, which is `target`. Also a context manager that disposes at the end. Callbacks get
    the asynchronous session and run in the thread of the loop.
    """

    create = staticmethod(_create(PiAgent.create))

    new_session = Waits(PiAgent.new_session)
    switch_session = Waits(PiAgent.switch_session)
    fork = Waits(PiAgent.fork)
    clone = Waits(PiAgent.clone)
    reload = Waits(PiAgent.reload)
    import_from_jsonl = Waits(PiAgent.import_from_jsonl)
    set_rebind_session = Calls(PiAgent.set_rebind_session)
    set_bind_session = Calls(PiAgent.set_bind_session)
    set_before_session_invalidate = Calls(PiAgent.set_before_session_invalidate)
    take_unreported_diagnostics = Calls(PiAgent.take_unreported_diagnostics)

    def create_agent_session(self, *, session: Session | None = None) -> SyncSession:
        """Make `session` (default: a new one) the active conversation; see `PiAgent.create_agent_session`."""
        return SyncSession(self.loop.run(self.target.create_agent_session(session=session)), self.loop)

    @property
    def session(self) -> SyncSession:
        """The active session. Raises `SessionError` before the first one was created."""
        return SyncSession(self.loop.call(lambda: self.target.session), self.loop)

    @property
    def has_session(self) -> bool:
        """Whether there is an active session."""
        return self.target.has_session

    @property
    def cwd(self) -> Path:
        """Working directory of the services."""
        return self.target.cwd

    @property
    def diagnostics(self) -> list[ResourceDiagnostic]:
        """What was noticed while the services and the session were loaded."""
        return self.loop.call(lambda: self.target.diagnostics)

    @property
    def model_fallback_message(self) -> str | None:
        """Why the model that the session recorded is not the one in force."""
        return self.target.model_fallback_message

    def dispose(self) -> None:
        """Abort what runs, release the session, finish pending writes and end the thread."""
        self.loop.close()

    def __enter__(self) -> SyncPiAgent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()
