"""What a session has used so far, kept up to date by adding instead of counting anew."""

from __future__ import annotations

from pathlib import Path

from pinyon.ai.usage import Usage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.statistics import usage_of
from pinyon.session.entry import SessionEntry
from pinyon.session.session import Session
from pinyon.tui.footer import FooterFacts
from pinyon.tui.place import git_branch, home_short

_BATCH = 400


class Accounting:
    """Sums of one session. `count` walks over what is stored, a batch at a time; `add` takes what comes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stored: list[SessionEntry] | None = None
        self._last_id: str | None = None
        self._known: set[str] = set()
        self.input: float = 0
        self.output: float = 0
        self.cache_read: float = 0
        self.cache_write: float = 0
        self.cost: float = 0
        self.cache_hit: float | None = None

    def count(self) -> bool:
        """Add the next stored entries; True while there are more."""
        if self._stored is None:
            self._stored = self._session.get_entries()
            self._last_id = self._session.get_leaf_id()
        if not self._stored:
            self._count_new()
            return False
        batch, self._stored = self._stored[:_BATCH], self._stored[_BATCH:]
        self._add_all(batch)
        return bool(self._stored)

    def _count_new(self) -> None:
        """Add what was appended since."""
        added: list[SessionEntry] = []
        for entry in self._session.upwards():
            if entry.id == self._last_id or entry.id in self._known:
                break
            added.append(entry)
        self._known.update(entry.id for entry in added)
        self._last_id = self._session.get_leaf_id()
        self._add_all(added[::-1])

    def _add_all(self, entries: list[SessionEntry]) -> None:
        for entry in entries:
            self._known.add(entry.id)
            usage = usage_of(entry)
            if usage is not None:
                self._add(usage)

    def _add(self, usage: Usage) -> None:
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.cost += usage.cost.total
        asked = usage.input + usage.cache_read + usage.cache_write
        if asked:
            self.cache_hit = usage.cache_read / asked * 100


def footer_facts(
    session: AgentSession, sums: Accounting, *, show_provider: bool, statuses: dict[str, str]
) -> FooterFacts:
    """What the footer tells of a session now."""
    model, context = session.model, session.get_context_usage()
    cwd = Path(session.session.get_cwd())
    return FooterFacts(
        place=home_short(cwd),
        branch=git_branch(cwd),
        name=session.session_name or "",
        input=sums.input,
        output=sums.output,
        cache_read=sums.cache_read,
        cache_write=sums.cache_write,
        cache_hit=sums.cache_hit,
        cost=sums.cost,
        percent=context.percent if context is not None else None,
        window=context.context_window if context is not None else 0,
        is_auto_compaction=session.auto_compaction_enabled,
        provider=model.provider if model is not None and show_provider else "",
        model=model.id if model is not None else "",
        level=session.thinking_level if model is not None and model.reasoning else "",
        has_model=model is not None,
        statuses=statuses,
    )
