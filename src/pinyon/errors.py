"""The error tree of Pinyon.

PinyonError
├── ConfigError            a file, flag or environment value that the user wrote is not usable
├── AuthError              no credential, or one that cannot be read, refreshed or used
├── ModelError             a model is unknown, ambiguous or cannot do what was asked
├── ProviderError          a model server refused, failed or answered nonsense
├── SessionError           a session file or entry cannot be read, written or found
├── ToolError              a tool could not do its work; the text goes to the model
├── EnvError               a file operation or process of an execution environment failed
└── AgentBusyError         an operation needs an idle agent and it is running

Rooms derive their specific classes from these. Every text names the offending file, field or flag and the mend.
"""

from __future__ import annotations


class PinyonError(Exception):
    """Base of every error that Pinyon raises on purpose."""


class ConfigError(PinyonError):
    """Raised when something that the user wrote (file, flag, variable) is not usable."""


class AuthError(PinyonError):
    """Raised when a credential is missing, unreadable, expired or refused."""


class ModelError(PinyonError):
    """Raised when a model is unknown, ambiguous or unable to do what was asked."""


class ProviderError(PinyonError):
    """Raised inside wire adapters when a model server refuses, fails or answers nonsense."""


class SessionError(PinyonError):
    """Raised when a session file or entry cannot be read, written or found."""


class ToolError(PinyonError):
    """Raised by a tool that could not do its work; its text becomes the error result that the model reads."""


class EnvError(PinyonError):
    """Raised when a file operation or a process of an execution environment fails."""


class AgentBusyError(PinyonError):
    """Raised when an operation needs an idle agent while a run is in progress."""
