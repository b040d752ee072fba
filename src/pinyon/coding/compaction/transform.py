"""Compaction for an `Agent` without a session: older turns become one summary in what is sent, not in what is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pinyon._util.abort import AbortSignal
from pinyon.ai.message import AgentMessage
from pinyon.ai.model import Model
from pinyon.ai.retry import RetryCallbacks, RetryPolicy
from pinyon.ai.stream import StreamFn
from pinyon.coding.compaction.cut import prepare_compaction
from pinyon.coding.compaction.estimate import estimate_projected_context_tokens
from pinyon.coding.compaction.settings import should_compact
from pinyon.coding.compaction.summary import SummaryError, SummaryWriter
from pinyon.resources.settings import CompactionSettings
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.ai.model import ThinkingLevel

TransformContext = Callable[[list[AgentMessage], AbortSignal], Awaitable[list[AgentMessage]]]


def compaction_transform(
    settings: CompactionSettings,
    model: Model,
    stream_fn: StreamFn,
    *,
    thinking_level: ThinkingLevel = "off",
    retry: RetryPolicy | None = None,
) -> TransformContext:
    """A `transform_context` hook that summarises older turns when a context is over the threshold of `settings`.

    A summary is kept and brought up to date by later ones, as long as the transcript only grows. Where no usable
    summary comes back, the messages are sent as they are.
    """
    return _Transform(settings, model, stream_fn, thinking_level, retry or RetryPolicy())


class _Transform:
    """Mirrors the transcript in a tree of its own, which takes the summaries."""

    def __init__(
        self,
        settings: CompactionSettings,
        model: Model,
        stream_fn: StreamFn,
        thinking_level: ThinkingLevel,
        policy: RetryPolicy,
    ) -> None:
        self._settings = settings
        self._model = model
        self._stream_fn = stream_fn
        self._thinking_level = thinking_level
        self._policy = policy
        self._seen: list[AgentMessage] = []
        self._tree = Session.in_memory()

    async def __call__(self, messages: list[AgentMessage], signal: AbortSignal) -> list[AgentMessage]:
        self._mirror(messages)
        if not self._is_over_threshold():
            return messages if not self._tree.branch_has("compaction") else self._projected()
        preparation = prepare_compaction(self._tree.get_branch(), self._settings)
        if preparation is not None:
            try:
                summary = await self._writer(signal).compact(preparation)
            except (SummaryError, OSError):
                return messages
            self._tree.append_compaction(
                summary.text, preparation.first_kept_entry_id, preparation.tokens_before, from_hook=False
            )
        return self._projected()

    def _mirror(self, messages: list[AgentMessage]) -> None:
        known = len(self._seen)
        if any(old is not new for old, new in zip(self._seen, messages, strict=False)) or len(messages) < known:
            self._seen, self._tree, known = [], Session.in_memory(), 0
        for message in messages[known:]:
            self._tree.append_message(message)
            self._seen.append(message)

    def _is_over_threshold(self) -> bool:
        projection = self._tree.build_session_projection()
        tokens = estimate_projected_context_tokens(projection, self._tree.upwards()).tokens
        return should_compact(tokens, self._model.context_window, self._settings)

    def _projected(self) -> list[AgentMessage]:
        return [*convert_to_llm(self._tree.build_session_projection().messages)]

    def _writer(self, signal: AbortSignal) -> SummaryWriter:
        return SummaryWriter(
            stream_fn=self._stream_fn,
            model=self._model,
            thinking_level=self._thinking_level,
            policy=self._policy,
            signal=signal,
            callbacks=RetryCallbacks(),
            session_id=self._settings.session_id,
        )
