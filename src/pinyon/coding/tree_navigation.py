"""Moving in the tree of a session: back to an earlier entry, with a summary of the branch that is left if wanted.

A move without summary and label writes nothing: the next entry shows where the conversation went on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortController, OperationAbortedError, until_aborted
from pinyon.ai.message import UserMessage
from pinyon.ai.retry import RetryCallbacks
from pinyon.coding.compaction.branch_summary import write_branch_summary
from pinyon.coding.compaction.summary import WriterSource
from pinyon.coding.hooks import OwnSummary, SessionHooks, TreeAnswer, TreeMove, TreeRequest
from pinyon.session.entry import SessionEntry
from pinyon.session.error import EntryNotFoundError
from pinyon.session.session import Session


class TreeNavigation(msgspec.Struct, rename="camel", kw_only=True):
    """What became of a move. `editor_text` is the text of the user's message that the session went back before.

    `cancelled` says that a hook or (with `aborted`) the user stopped it; then nothing has changed.
    """

    editor_text: str | UnsetType = UNSET
    cancelled: bool = False
    aborted: bool | UnsetType = UNSET
    summary_entry: SessionEntry | UnsetType = UNSET


class SummaryWish(msgspec.Struct, kw_only=True, frozen=True):
    """How the branch that is left is summarised: `custom_instructions` add to ours, or stand alone."""

    custom_instructions: str | None = None
    replace_instructions: bool = False


NO_WISH = SummaryWish()


class TreeNavigator:
    """Moves the leaf of `session`.

    `writer` makes who writes a summary, `reserve_tokens` is what a summary request leaves free. `refresh` is called
    after the context changed. `callbacks` tell of repeated summary requests.
    """

    def __init__(
        self,
        *,
        session: Session,
        hooks: SessionHooks,
        writer: WriterSource,
        callbacks: Callable[[], RetryCallbacks],
        reserve_tokens: Callable[[], int],
        refresh: Callable[[], None],
    ) -> None:
        self._session = session
        self._hooks = hooks
        self._writer = writer
        self._callbacks = callbacks
        self._reserve_tokens = reserve_tokens
        self._refresh = refresh
        self._running: AbortController | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_running(self) -> bool:
        """Whether a move is in progress."""
        return self._running is not None

    def abort(self) -> None:
        """Stop a move in progress; the leaf stays where it was."""
        if self._running is not None:
            self._running.abort()

    async def wait_for_idle(self) -> None:
        """Return when no move is in progress."""
        await self._idle.wait()

    async def navigate(
        self, target_id: str, *, summarize: bool = False, wish: SummaryWish = NO_WISH, label: str | None = None
    ) -> TreeNavigation:
        """Move to `target_id`: before a message of the user or a program, at any other entry.

        Raises `EntryNotFoundError` for an unknown entry and `SummaryError` where a summary failed; then nothing has
        changed.
        """
        target = self._session.get_entry(target_id)
        if target is None:
            raise EntryNotFoundError(target_id)
        if target_id == self._session.get_leaf_id():
            return TreeNavigation()
        self._idle.clear()
        self._running = controller = AbortController()
        try:
            request = self._request(target, summarize, wish, label, controller)
            return await self._move(target, request)
        except OperationAbortedError:
            return TreeNavigation(cancelled=True, aborted=True)
        finally:
            self._running = None
            self._idle.set()

    def _request(
        self, target: SessionEntry, summarize: bool, wish: SummaryWish, label: str | None, controller: AbortController
    ) -> TreeRequest:
        old_branch, new_branch = self._session.get_branch(), self._session.get_branch(target.id)
        shared = _shared_length(old_branch, new_branch)
        return TreeRequest(
            target_id=target.id,
            old_leaf_id=self._session.get_leaf_id(),
            common_ancestor_id=old_branch[shared - 1].id if shared else None,
            entries_to_summarize=old_branch[shared:],
            wants_summary=summarize,
            custom_instructions=wish.custom_instructions,
            replace_instructions=wish.replace_instructions,
            label=label,
            signal=controller.signal,
        )

    async def _move(self, target: SessionEntry, request: TreeRequest) -> TreeNavigation:
        answer = await until_aborted(self._hooks.before_tree(request), request.signal) or TreeAnswer()
        if answer.cancel:
            return TreeNavigation(cancelled=True)
        own = answer.summary if request.wants_summary else None
        summary = own or (await self._summary(request, answer) if request.wants_summary else None)
        request.signal.raise_if_aborted()
        leaf_id, text = self._destination(target)
        label = answer.label if answer.label is not None else request.label
        entry = self._go(leaf_id, request, summary, label, from_hook=own is not None)
        self._refresh()
        move = TreeMove(
            new_leaf_id=self._session.get_leaf_id(),
            old_leaf_id=request.old_leaf_id,
            summary_entry=entry,
            from_extension=own is not None,
        )
        await self._hooks.tree_moved(move)
        return TreeNavigation(editor_text=text, summary_entry=UNSET if entry is None else entry)

    async def _summary(self, request: TreeRequest, answer: TreeAnswer) -> OwnSummary | None:
        if not request.entries_to_summarize:
            return None
        custom = answer.custom_instructions
        replace = answer.replace_instructions
        summary, file_ops = await write_branch_summary(
            self._writer(request.signal, self._callbacks()),
            request.entries_to_summarize,
            reserve_tokens=self._reserve_tokens(),
            custom_instructions=request.custom_instructions if custom is None else custom,
            replace_instructions=request.replace_instructions if replace is None else replace,
        )
        return OwnSummary(summary=summary.text, details=file_ops.details(), usage=summary.usage or None)

    def _destination(self, target: SessionEntry) -> tuple[str | None, str | UnsetType]:
        """The new leaf, and the text to edit where the target is something that was said to the model."""
        if isinstance(target.message, UserMessage):
            text = target.message.text
        elif target.type == "custom_message":
            text = _custom_text(target.content)
        else:
            return target.id, UNSET
        above = self._session.get_branch(target.id)[:-1]
        return (above[-1].id if above else None), text

    def _go(
        self,
        leaf_id: str | None,
        request: TreeRequest,
        summary: OwnSummary | None,
        label: str | None,
        *,
        from_hook: bool,
    ) -> SessionEntry | None:
        if summary is not None:
            summary_id = self._session.branch_with_summary(
                leaf_id, summary.summary, summary.details, from_hook, summary.usage
            )
            entry = self._session.get_entry(summary_id)
            if label:
                self._session.append_label_change(summary_id, label)
            return entry
        if leaf_id is None:
            self._session.reset_leaf()
        else:
            self._session.branch(leaf_id)
        if label:
            self._session.append_label_change(request.target_id, label)
        return None


def _shared_length(one: Sequence[SessionEntry], other: Sequence[SessionEntry]) -> int:
    """How many entries two branches begin with in common."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left.id != right.id:
            break
        length += 1
    return length


def _custom_text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""
