"""Shell commands that the user runs beside the model (`!command`), and how they enter the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pinyon._util.abort import AbortController, until_aborted
from pinyon._util.clock import Clock
from pinyon.ai.message import BashExecutionMessage
from pinyon.coding.event import BashExecutionUpdate, SessionEvent
from pinyon.coding.hooks import SessionHooks, UserCommandAnswer
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.tools.operations import BashOperations
    from pinyon.tools.user_command import BashResult


class UserShell:
    """Runs commands in the session's directory and records them: at once when idle, else after the run.

    `is_busy` tells whether a run is in progress; `refresh` is called after a record was appended.
    """

    def __init__(
        self,
        *,
        session: Session,
        settings: SettingsManager,
        is_busy: Callable[[], bool],
        emit: Callable[[SessionEvent], None],
        refresh: Callable[[], None],
        clock: Clock,
        hooks: SessionHooks | None = None,
    ) -> None:
        self._hooks = hooks or SessionHooks()
        self._session = session
        self._settings = settings
        self._is_busy = is_busy
        self._emit = emit
        self._refresh = refresh
        self._clock = clock
        self._running: set[AbortController] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._held: list[BashExecutionMessage] = []

    @property
    def is_running(self) -> bool:
        """Whether a command is running."""
        return bool(self._running)

    async def run(
        self,
        command: str,
        *,
        exclude_from_context: bool = False,
        on_chunk: Callable[[str], None] | None = None,
        run_id: Any = None,
        operations: BashOperations | None = None,
    ) -> BashResult:
        """Run a command and record it. A non-zero exit is a result; raises what prevents it from starting."""
        controller = AbortController()
        self._running.add(controller)
        self._idle.clear()

        def show(delta: str) -> None:
            self._emit(BashExecutionUpdate(delta=delta, id=UNSET if run_id is None else run_id))
            if on_chunk is not None:
                on_chunk(delta)

        try:
            answer = await until_aborted(
                self._hooks.user_command(
                    command, exclude_from_context=exclude_from_context, cwd=self._session.get_cwd()
                ),
                controller.signal,
            )
            answer = answer or UserCommandAnswer()
            operations = operations or answer.operations
            result = answer.result or await self._execute(command, operations, show, controller)
            self._record(command, result, exclude_from_context=exclude_from_context)
        finally:
            self._running.discard(controller)
            if not self._running:
                self._idle.set()
        return result

    async def _execute(
        self,
        command: str,
        operations: BashOperations | None,
        show: Callable[[str], None],
        controller: AbortController,
    ) -> BashResult:
        from pinyon.tools.user_command import execute_bash

        return await execute_bash(
            command,
            self._session.get_cwd(),
            operations=operations,
            command_prefix=self._settings.get_shell_command_prefix(),
            shell_path=self._settings.get_shell_path(),
            on_chunk=show,
            signal=controller.signal,
        )

    def abort(self) -> None:
        """Stop all commands that run."""
        for controller in tuple(self._running):
            controller.abort()

    async def wait_for_idle(self) -> None:
        """Return when no command runs and all are recorded, or held for the end of the run."""
        await self._idle.wait()

    def flush(self) -> None:
        """Append what was held back during a run, in order."""
        if not self._held:
            return
        while self._held:  # one that cannot be stored stays for the next time
            self._session.append_message(self._held[0])
            del self._held[0]
        self._refresh()

    def _record(self, command: str, result: BashResult, *, exclude_from_context: bool) -> None:
        self._held.append(
            BashExecutionMessage(
                command=command,
                output=result.output,
                exit_code=result.exit_code,
                cancelled=result.cancelled,
                truncated=result.truncated,
                full_output_path=result.full_output_path,
                exclude_from_context=exclude_from_context or UNSET,
                timestamp=self._clock.now_ms(),
            )
        )
        if not self._is_busy():
            self.flush()
