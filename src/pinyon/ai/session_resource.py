"""What wire adapters remember about sessions of their callers, and how it is forgotten when a session ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")

Cleaner = Callable[["str | None"], None]
"""Forgets what belongs to one session, or everything for None."""

MAX_SESSIONS = 10_000

_cleaners: list[Cleaner] = []


def register_cleaner(cleaner: Cleaner) -> Callable[[], None]:
    """Have `cleaner` called when sessions end; returns a function that takes it back."""
    _cleaners.append(cleaner)

    def remove() -> None:
        if cleaner in _cleaners:
            _cleaners.remove(cleaner)

    return remove


def cleanup_session_resources(session_id: str | None = None) -> None:
    """Forget what adapters remember about one session, or about all.

    Every cleaner runs; what they raised is raised together as an `ExceptionGroup`.
    """
    errors: list[Exception] = []
    for cleaner in tuple(_cleaners):
        try:
            cleaner(session_id)
        except Exception as error:  # noqa: BLE001 - a listener's failure must not keep the others from running
            errors.append(error)
    if errors:
        raise ExceptionGroup("some session resources could not be cleaned up", errors)


class SessionMemory(Generic[Value]):
    """Values by session id, the least recently used dropped beyond `limit` sessions; cleaned up with their sessions."""

    def __init__(self, limit: int = MAX_SESSIONS) -> None:
        self._limit = limit
        self._values: dict[Hashable, Value] = {}
        register_cleaner(self.forget)

    def get(self, session_id: str) -> Value | None:
        """The value of a session, which becomes the most recently used."""
        value = self._values.pop(session_id, None)
        if value is not None:
            self._values[session_id] = value
        return value

    def set(self, session_id: str, value: Value) -> None:
        """Remember a value."""
        self._values.pop(session_id, None)
        self._values[session_id] = value
        if len(self._values) > self._limit:
            del self._values[next(iter(self._values))]

    def forget(self, session_id: str | None) -> None:
        """Drop the value of one session, or all."""
        if session_id is None:
            self._values.clear()
        else:
            self._values.pop(session_id, None)
