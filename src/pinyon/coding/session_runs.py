"""The runs of a session that a program waits for or loops over: with a result, a typed answer, or as events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, overload

from pinyon.ai.message import AgentMessage
from pinyon.coding.limit import Limits
from pinyon.coding.prompt_intake import PromptImage
from pinyon.coding.run_result import DEFAULT_REPAIRS, FinishedMessages, OutputResult, RunResult, result_of
from pinyon.coding.session_view import SessionView
from pinyon.errors import AgentBusyError, SessionError

if TYPE_CHECKING:
    from pinyon.coding.output import OutputRequest
    from pinyon.coding.session_stream import SessionStream

Output = TypeVar("Output")

COMPACTING = "the session is being compacted; wait for its end, or steer or queue a follow-up"


class SessionRuns(SessionView):
    """The part of `AgentSession` that gives programs the outcome of what they ask for."""

    _is_disposed = False

    @abstractmethod
    async def prompt(self, text: str, *, images: Sequence[PromptImage] = ()) -> object:
        """Send a prompt and return when the session has settled."""

    @overload
    async def run(
        self, prompt: str, images: Sequence[PromptImage] = (), *, limits: Limits | None = None, output: None = None
    ) -> RunResult: ...

    @overload
    async def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: type[Output],
        repairs: int = DEFAULT_REPAIRS,
    ) -> OutputResult[Output]: ...

    @overload
    async def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: UnionType,
        repairs: int = DEFAULT_REPAIRS,
    ) -> OutputResult[Any]: ...

    async def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: Any = None,
        repairs: int = DEFAULT_REPAIRS,
    ) -> RunResult:
        """Send a prompt and return what came of it. Start errors raise; a failed answer is in the result.

        `limits` hold for this run, beside those of the session. With `output`, a dataclass, TypedDict, msgspec struct,
        pydantic model or any type that JSON can fill, the answer is asked for as JSON and the result has it as its
        `output`; an answer that does not fit is sent back up to `repairs` times, then `OutputError` tells what was
        said.
        """
        if output is None:
            return await self._with_result(lambda: self.prompt(prompt, images=images), limits)
        from pinyon.coding.output import OutputRequest

        request: OutputRequest[Any] = OutputRequest(output, repairs=repairs)
        return request.outcome(await self._with_result(lambda: self.prompt(prompt, images=images), limits, request))

    @overload
    def stream(
        self, prompt: str, images: Sequence[PromptImage] = (), *, limits: Limits | None = None, output: None = None
    ) -> SessionStream[RunResult]: ...

    @overload
    def stream(
        self, prompt: str, images: Sequence[PromptImage] = (), *, limits: Limits | None = None, output: type[Output]
    ) -> SessionStream[OutputResult[Output]]: ...

    def stream(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: Any = None,
    ) -> SessionStream[Any]:
        """The events of a run, for `async for`; afterwards `await stream.result()` is what `run` returns.

        The agent waits for a reader that is slow. Leaving the loop aborts the run.
        """
        from pinyon.coding.session_stream import SessionStream

        return SessionStream(self.events, self._driver, lambda: self.run(prompt, images, limits=limits, output=output))

    async def run_messages(self, prompts: Sequence[AgentMessage], *, limits: Limits | None = None) -> RunResult:
        """Start a run with ready messages, such as several user messages or custom ones."""
        self._require_ready()
        return await self._with_result(lambda: self._driver.start_messages(prompts), limits)

    async def continue_run(self, *, limits: Limits | None = None) -> RunResult:
        """Ask the model to go on with the context as it is, for example after a resumed tool result."""
        self._require_ready()
        self._core.refresh()
        return await self._with_result(self._driver.control.resume, limits)

    async def run_print(self, out: TextIO, prompt: str) -> str:
        """Send a prompt, write the answer to `out` as it comes with a line for each tool call; returns its text."""
        from pinyon.coding.run_print import RunPrinter

        with RunPrinter(self.events, out):
            return (await self.run(prompt)).text

    async def _with_result(
        self, start: Callable[[], Awaitable[object]], limits: Limits | None, output: OutputRequest[Any] | None = None
    ) -> RunResult:
        driver = self._driver
        await driver.wait_for_left_runs()
        driver.run_limits, driver.run_output = limits, output
        try:
            with FinishedMessages(self.events) as finished:
                await start()
        finally:
            driver.run_limits = driver.run_output = None
        return result_of(finished.messages, self.limits)

    def _require_open(self) -> None:
        if self._is_disposed:
            raise SessionError("the session was disposed of; open it again to go on with it")

    def _require_ready(self) -> None:
        self._require_open()
        if self.is_compacting:
            raise AgentBusyError(COMPACTING)
        self.selection.require_usable()
        self.limits.require_room()
