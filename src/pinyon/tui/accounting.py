"""What a session has used so far, kept up to date by adding instead of counting anew."""

from __future__ import annotations

from pathlib import Path

from pinyon.ai.usage import Usage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.statistics import usage_of
from pinyon.session.session import Session
from pinyon.tui.footer import FooterFacts
from pinyon.tui.place import git_branch, home_short

_BATCH = 400


class Accounting:
    """Sums of one session. `count` walks over what is stored, a batch at a time; `add` takes what comes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._next = 0
        self.input: float = 0
        self.output: float = 0
        self.cache_read: float = 0
        self.cache_write: float = 0
        self.cost: float = 0
        self.cache_hit: float | None = None

    def count(self) -> bool:
        """Add the next stored entries; True while there are more."""
        table_size = self._session.get_entry_count()
        if self._next >= table_size:
            return False
        for entry in self._session.get_entries()[self._next : self._next + _BATCH]:
            usage = usage_of(entry)
            if usage is not None:
                self._add(usage)
        self._next = min(table_size, self._next + _BATCH)
        return self._next < table_size

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
