"""Recording a bare agent's transcript into a session file, without a session manager."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pinyon.ai.message import AgentMessage
from pinyon.session.error import SessionError
from pinyon.session.session import Session
from pinyon.session.transfer import open_existing


class NamedModel(Protocol):
    """What a recorder needs to know of a model."""

    @property
    def provider(self) -> str:
        """The provider's id."""
        ...

    @property
    def id(self) -> str:
        """The model's id."""
        ...


class SessionRecorder:
    """Appends finished messages to a session file, which appears with the first answer.

    Make one with `start` or `resume`. Every record goes to the end of the branch and becomes its new end.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        """The session behind the recorder."""
        self._is_closed = False

    @classmethod
    def start(
        cls,
        cwd: str | Path,
        model: NamedModel | None,
        thinking_level: str | None = None,
        *,
        session_dir: str | Path | None = None,
        agent_dir: str | Path | None = None,
    ) -> SessionRecorder:
        """A recorder for a new session that begins with this model and thinking level, each where given."""
        session = Session.create(cwd, session_dir, create_file_on="assistant", agent_dir=agent_dir)
        recorder = cls(session)
        if model is not None:
            recorder.record_model_change(model.provider, model.id)
        if thinking_level:
            recorder.record_thinking_level(thinking_level)
        return recorder

    @classmethod
    def resume(cls, path: str | Path) -> SessionRecorder:
        """A recorder that goes on at the last entry of a file; everything is written at once.

        Raises `SessionFileMissingError` or `NotASessionError`.
        """
        return cls(open_existing(path))

    @property
    def id(self) -> str:
        """The session id."""
        return self.session.get_session_id()

    @property
    def path(self) -> Path:
        """The file, which may not exist yet."""
        path = self.session.get_session_file()
        assert path is not None
        return path

    @property
    def last_entry_id(self) -> str | None:
        """The entry that the next one is added to, None before the first."""
        return self.session.get_leaf_id()

    def record_message(self, message: AgentMessage) -> str:
        """Append a finished message; returns the id of its entry."""
        return self._open().append_message(message)

    def record_model_change(self, provider: str, model_id: str) -> str:
        """Append a change of the model; returns the id of its entry."""
        return self._open().append_model_change(provider, model_id)

    def record_thinking_level(self, level: str) -> str:
        """Append a change of the thinking level; returns the id of its entry."""
        return self._open().append_thinking_level_change(level)

    def fork_from(self, entry_id: str) -> None:
        """Add what follows to an earlier entry instead of the last one."""
        self._open().branch(entry_id)

    def _open(self) -> Session:
        if self._is_closed:
            raise SessionError("The recorder is closed; resume the session file to go on.")
        return self.session

    def close(self) -> None:
        """Give the file back; later records raise. May be called again."""
        if not self._is_closed:
            self._is_closed = True
            self.session.close()
