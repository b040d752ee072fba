"""One session-level run at a time: the agent's run, what has to follow it, and the settled state.

A run begins when a prompt is taken up and ends with `agent_settled`. In between the agent may be started several times:
for a retry, after a compaction, for messages that waited. An abort stops all of it and leaves the queues as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pinyon.agent.agent import Agent
from pinyon.ai.message import AgentMessage, AssistantMessage
from pinyon.coding.answer import last_assistant
from pinyon.coding.event import AgentSettled, SessionEvent
from pinyon.errors import AgentBusyError

FollowOn = Callable[[AssistantMessage | None], Awaitable[bool]]
"""Looks at the last answer after a run of the agent; True asks for another run on the context as it now is."""

Prepare = Callable[[], Awaitable[list[AgentMessage]]]
"""Builds the messages that start a run; raising refuses the run."""


class RunControl:
    """Starts, continues, aborts and settles.

    `on_begin` is called when a run is taken up, `on_end` when it is over, in any case. `follow_ons` are asked in order
    after each run of the agent. `on_abort` stops what else may be in progress (a pause
    before a retry, a compaction). `on_settling` flushes held messages before `agent_settled`.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        emit: Callable[[SessionEvent], None],
        follow_ons: Sequence[FollowOn],
        on_abort: Callable[[], None],
        on_settling: Callable[[], None],
        on_begin: Callable[[], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._agent = agent
        self._emit = emit
        self._follow_ons = follow_ons
        self._on_abort = on_abort
        self._on_settling = on_settling
        self._on_begin = on_begin or _nothing
        self._on_end = on_end or _nothing
        self._idle = asyncio.Event()
        self._idle.set()
        self._deferred: list[Callable[[], Awaitable[object]]] = []
        self.abort_requested = False
        self.abort_count = 0
        """How often an abort was asked for, also while no run was in progress."""
        self.is_settling = False

    @property
    def is_active(self) -> bool:
        """Whether a session-level run is in progress, from taking up the prompt until it has settled."""
        return not self._idle.is_set()

    async def run(self, prepare: Prepare, *, on_started: Callable[[], None] | None = None) -> None:
        """Take up a prompt and return when everything that follows from it is done.

        `on_started` is called when the messages are ready, before the first event. Raises `AgentBusyError` during
        another run, and whatever `prepare` raises.
        """
        self._begin()
        try:
            messages = await prepare()
            if on_started is not None:
                on_started()
        except BaseException:
            self._settle(tell=False)
            raise
        try:
            await self._agent_run(lambda: self._agent.prompt(messages))
        finally:
            await self._end()

    async def resume(self) -> None:
        """Run the agent on the context as it is."""
        self._begin()
        try:
            await self._agent_run(self._agent.continue_)
        finally:
            await self._end()

    async def abort(self) -> None:
        """Stop the run and wait until it has settled; without a run only `on_abort` is called."""
        self.request_abort()
        await self.wait_for_idle()

    def request_abort(self) -> None:
        """Stop the run without waiting for its end."""
        self.abort_count += 1
        if self.is_active:
            self.abort_requested = True
        self._on_abort()
        self._agent.abort()

    async def wait_for_idle(self) -> None:
        """Return when no run is in progress."""
        await self._idle.wait()

    def defer(self, action: Callable[[], Awaitable[object]]) -> None:
        """Run `action` once the run that is settling has settled."""
        self._deferred.append(action)

    def _begin(self) -> None:
        if self.is_active:
            raise AgentBusyError("the session is already working on a prompt; steer it, queue a follow-up or abort it")
        self._idle.clear()
        self.abort_requested = False
        self._on_begin()

    async def _agent_run(self, start: Callable[[], Awaitable[object]]) -> None:
        await start()
        while not self.abort_requested and await self._wants_another_run():
            await self._agent.continue_()

    async def _wants_another_run(self) -> bool:
        answer = last_assistant(self._agent.state.messages)
        for follow_on in self._follow_ons:
            if await follow_on(answer):
                return not self.abort_requested
        return False

    async def _end(self) -> None:
        self._settle(tell=True)
        deferred, self._deferred = self._deferred, []
        for action in deferred:
            await action()

    def _settle(self, *, tell: bool) -> None:
        """End the run for everybody, also where held messages cannot be stored."""
        try:
            self._on_end()
            self._on_settling()
        finally:
            self.is_settling = True
            try:
                if tell:
                    self._emit(AgentSettled(aborted=self.abort_requested))
            finally:
                self.is_settling = False
                self._idle.set()


def _nothing() -> None:
    """Nobody listens."""
