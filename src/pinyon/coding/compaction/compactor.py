"""Automatic and manual compaction of a session, with their events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import UNSET

from pinyon._util.abort import AbortController, OperationAbortedError, until_aborted
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import Model
from pinyon.ai.overflow import is_context_overflow, is_recoverable_length
from pinyon.coding.compaction.cut import CompactionPreparation, prepare_compaction
from pinyon.coding.compaction.estimate import (
    calculate_context_tokens,
    estimate_messages_tokens,
    estimate_projected_context_tokens,
    has_valid_usage,
)
from pinyon.coding.compaction.notice import retry_notices
from pinyon.coding.compaction.settings import should_compact
from pinyon.coding.compaction.summary import WriterSource
from pinyon.coding.event import (
    CompactionEnd,
    CompactionReason,
    CompactionResult,
    CompactionStart,
    SessionEvent,
)
from pinyon.coding.hooks import CompactionAnswer, CompactionRequest, OwnSummary, SessionHooks
from pinyon.errors import ModelError, PinyonError, SessionError
from pinyon.resources.settings import CompactionSettings
from pinyon.session.session import Session

ABORTED = "Compaction cancelled"


class NothingToCompactError(SessionError):
    """Raised when a compaction is asked for and there is no earlier history to summarise."""


class Compactor:
    """Decides when a context is too large, and replaces earlier history by a summary.

    `settings` and `model` are read at every check. `omit_answer` takes a failed answer and its tool results out of the
    context. `refresh` is called after an entry was appended. `hooks` may cancel a compaction or write its summary.
    """

    def __init__(
        self,
        *,
        session: Session,
        settings: Callable[[], CompactionSettings],
        model: Callable[[], Model | None],
        writer: WriterSource,
        emit: Callable[[SessionEvent], None],
        omit_answer: Callable[[], None],
        refresh: Callable[[], None],
        hooks: SessionHooks | None = None,
    ) -> None:
        self._hooks = hooks or SessionHooks()
        self._session = session
        self._settings = settings
        self._model = model
        self._writer = writer
        self._emit = emit
        self._omit_answer = omit_answer
        self._refresh = refresh
        self._running: AbortController | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._overflow_attempted = False

    @property
    def is_running(self) -> bool:
        """Whether a summary is being written."""
        return self._running is not None

    def abort(self) -> None:
        """Stop a compaction in progress; the session stays as it was."""
        if self._running is not None:
            self._running.abort()

    async def wait_for_idle(self) -> None:
        """Return when no summary is being written."""
        await self._idle.wait()

    def user_message_started(self) -> None:
        """A new user message allows one more recovery from an overflow."""
        self._overflow_attempted = False

    def answered(self, message: AssistantMessage) -> None:
        """A normal answer allows one more recovery from an overflow."""
        if message.stop_reason not in ("error", "length"):
            self._overflow_attempted = False

    async def check(self, answer: AssistantMessage | None, *, skip_aborted: bool = True) -> bool:
        """Compact if the context of `answer` asks for it; True when the model should be asked again."""
        is_enabled = self._settings().enabled  # settings that cannot be used are told before the first request
        if answer is None or not is_enabled:
            return False
        if answer.stop_reason == "aborted" and skip_aborted:
            return False
        if self._is_older_than_compaction(answer):
            return False
        model = self._model()
        own = model is not None and (answer.provider, answer.model) == model.key
        if model is not None and own and self._needs_recovery(answer, model):
            return await self._recover(answer)
        if model is not None and self._is_over_threshold(answer, model):
            await self._run("threshold", will_retry=False)
        return False

    async def check_between_turns(self) -> bool:
        """Compact before a further request of a run if the context has grown too large; True when it was done."""
        model = self._model()
        if model is None or not self._settings().enabled:
            return False
        projection = self._session.build_session_projection()
        tokens = estimate_projected_context_tokens(projection, self._session.upwards()).tokens
        if not should_compact(tokens, model.context_window, self._settings()):
            return False
        return await self._run("threshold", will_retry=False)

    async def compact(self, custom_instructions: str | None = None) -> CompactionResult:
        """Compact now. Raises `NothingToCompactError`, `SummaryError`, `ModelError` or `OperationAbortedError`.

        The last event comes after the session is idle again, also when something is raised.
        """
        return await self._replace_history("manual", custom_instructions=custom_instructions)

    def _is_older_than_compaction(self, answer: AssistantMessage) -> bool:
        latest = self._session.build_session_projection().compaction
        return latest is not None and answer.timestamp <= latest.timestamp_ms

    def _needs_recovery(self, answer: AssistantMessage, model: Model) -> bool:
        if is_recoverable_length(answer, model.max_tokens):
            return True
        if not is_context_overflow(answer, model.context_window):
            return False
        return answer.stop_reason == "error" or self._is_projected_unedited(answer)

    def _is_projected_unedited(self, answer: AssistantMessage) -> bool:
        for entry in self._session.upwards():
            if entry.type == "context_edit":
                return False
            if isinstance(entry.message, AssistantMessage):
                return entry.message == answer
        return False

    async def _recover(self, answer: AssistantMessage) -> bool:
        if answer.stop_reason == "stop":
            await self._run("overflow", will_retry=False)
            return False
        if self._overflow_attempted:
            message = (
                "the context is still too large after a compaction; remove large content, start a new session or use "
                "a model with a larger window"
            )
            self._emit(CompactionEnd(reason="overflow", aborted=False, will_retry=False, error_message=message))
            await self._tell_failed("overflow", message)
            return False
        if not self._can_compact():
            return False  # asking again would end the same way, so the answer stays
        self._overflow_attempted = True
        self._omit_answer()
        return await self._run("overflow", will_retry=True)

    def _is_over_threshold(self, answer: AssistantMessage, model: Model) -> bool:
        projection = self._session.build_session_projection()
        if projection.has_edits or not has_valid_usage(answer):
            # a usage from before a compaction or an edit says nothing of the context as it is now
            tokens = estimate_projected_context_tokens(projection, self._session.upwards()).tokens
        else:
            tokens = calculate_context_tokens(answer.usage)
        return should_compact(tokens, model.context_window, self._settings())

    async def _run(self, reason: CompactionReason, *, will_retry: bool) -> bool:
        """Compact automatically; failures are told in the event. True when it was done."""
        try:
            preparation = self._prepare()
        except PinyonError:
            return False  # nothing can be summarised: the next request shows whether the context still fits
        try:
            await self._replace_history(reason, preparation, will_retry=will_retry)
        except PinyonError:
            return False
        return True

    async def _replace_history(
        self,
        reason: CompactionReason,
        preparation: CompactionPreparation | None = None,
        *,
        custom_instructions: str | None = None,
        will_retry: bool = False,
    ) -> CompactionResult:
        """Summarise between a start and an end event; what is raised stands in the end event too."""
        try:
            result = await self._while_running(reason, preparation, custom_instructions, will_retry)
        except OperationAbortedError:
            self._emit(CompactionEnd(reason=reason, aborted=True, will_retry=False))
            await self._tell_failed(reason, None, aborted=True)
            raise OperationAbortedError(ABORTED) from None
        except PinyonError as error:
            message = f"Compaction failed: {error}"
            self._emit(CompactionEnd(reason=reason, aborted=False, will_retry=False, error_message=message))
            await self._tell_failed(reason, message)
            raise
        except BaseException as error:  # the task was cancelled, or foreign code failed: what began ends for listeners
            is_cancelled = isinstance(error, asyncio.CancelledError)
            why = UNSET if is_cancelled else f"Compaction failed: {error!r}"
            self._emit(CompactionEnd(reason=reason, aborted=is_cancelled, will_retry=False, error_message=why))
            raise
        self._emit(CompactionEnd(reason=reason, aborted=False, will_retry=will_retry, result=result))
        return result

    async def _tell_failed(self, reason: CompactionReason, message: str | None, *, aborted: bool = False) -> None:
        await self._hooks.compaction_failed(reason=reason, error_message=message, aborted=aborted, will_retry=False)

    async def _while_running(
        self,
        reason: CompactionReason,
        preparation: CompactionPreparation | None,
        custom_instructions: str | None,
        will_retry: bool,
    ) -> CompactionResult:
        self._idle.clear()
        self._running = controller = AbortController()
        try:
            self._emit(CompactionStart(reason=reason))
            request = CompactionRequest(
                preparation=preparation or self._prepare(),
                branch_entries=self._session.get_branch(),
                custom_instructions=custom_instructions,
                reason=reason,
                will_retry=will_retry,
                signal=controller.signal,
            )
            return await self._summarise(request)
        finally:
            self._running = None
            self._idle.set()

    def _can_compact(self) -> bool:
        try:
            self._prepare()
        except PinyonError:
            return False
        return True

    def _prepare(self) -> CompactionPreparation:
        if self._model() is None:
            raise ModelError("a model is needed to write the summary; choose one with --model")
        branch = self._session.get_branch()
        if branch and branch[-1].type == "compaction":
            raise NothingToCompactError("the session is already compacted; nothing came after the last summary")
        preparation = prepare_compaction(branch, self._settings(), self._session.build_session_projection())
        if preparation is None:
            raise NothingToCompactError("there is nothing to compact: all messages are within what is kept")
        return preparation

    async def _summarise(self, request: CompactionRequest) -> CompactionResult:
        answer = await until_aborted(self._hooks.before_compact(request), request.signal) or CompactionAnswer()
        if answer.cancel:
            raise OperationAbortedError
        preparation, is_own = request.preparation, answer.summary is not None
        summary = answer.summary or await self._written(request)
        first_kept = summary.first_kept_entry_id or preparation.first_kept_entry_id
        before = preparation.tokens_before if summary.tokens_before is None else summary.tokens_before
        entry_id = self._session.append_compaction(
            summary.summary, first_kept, before, summary.details, is_own, summary.usage
        )
        self._refresh()
        entry = self._session.get_entry(entry_id)
        assert entry is not None
        await self._hooks.compacted(entry, reason=request.reason, will_retry=request.will_retry, from_extension=is_own)
        return CompactionResult(
            summary=summary.summary,
            first_kept_entry_id=first_kept,
            tokens_before=before,
            estimated_tokens_after=estimate_messages_tokens(self._session.build_session_projection().messages),
            usage=UNSET if summary.usage is None else summary.usage,
            details=UNSET if summary.details is None else summary.details,
        )

    async def _written(self, request: CompactionRequest) -> OwnSummary:
        """The summary that a model writes."""
        notices = retry_notices(self._emit, "compaction", request.reason)
        writer = self._writer(request.signal, notices)
        summary = await writer.compact(request.preparation, request.custom_instructions)
        details = request.preparation.file_ops.details()
        return OwnSummary(summary=summary.text, details=details, usage=summary.usage or None)
