"""Pinyon for scripts without an event loop: the names of the asynchronous API, as plain calls.

>>> from pinyon.sync import PiAgent
>>> with PiAgent.create() as pi:                                                  # doctest: +SKIP
...     print(pi.create_agent_session().run("What does this project do?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.coding.coding_session import SessionOptions
    from pinyon.coding.sync_agent import SyncPiAgent
    from pinyon.coding.sync_agent import SyncPiAgent as PiAgent
    from pinyon.coding.sync_session import SyncSession, create_sync_session
    from pinyon.coding.sync_session import SyncSession as AgentSession
    from pinyon.coding.sync_session import create_sync_session as create_coding_session

__all__ = [
    "AgentSession",
    "PiAgent",
    "SessionOptions",
    "SyncPiAgent",
    "SyncSession",
    "create_coding_session",
    "create_sync_session",
]

_ALIASES = {
    "AgentSession": "SyncSession",
    "PiAgent": "SyncPiAgent",
    "create_coding_session": "create_sync_session",
}

_load, __dir__, _names = lazy_exports(
    __name__,
    {
        "pinyon.coding.coding_session": ("SessionOptions",),
        "pinyon.coding.sync_agent": ("SyncPiAgent",),
        "pinyon.coding.sync_session": ("SyncSession", "create_sync_session"),
    },
)


def __getattr__(name: str) -> Any:
    return _load(_ALIASES.get(name, name))
