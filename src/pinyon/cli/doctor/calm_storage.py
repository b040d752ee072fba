"""Settings files as they stand: read without waiting for locks or taking them over, and never written."""

from __future__ import annotations

from pathlib import Path

from pinyon.errors import ConfigError
from pinyon.resources.settings_storage import FileSettingsStorage, SettingsScope, SettingsUpdate


class CalmSettingsStorage:
    """The two settings files for somebody who only looks. Implements `SettingsStorage`."""

    def __init__(self, cwd: Path, agent_dir: Path | None) -> None:
        self._files = FileSettingsStorage(cwd, agent_dir)

    def path(self, scope: SettingsScope) -> Path | None:
        """The file of a scope."""
        return self._files.path(scope)

    def read(self, scope: SettingsScope) -> str | None:
        """The text of a scope, None where it does not exist."""
        path = self.path(scope)
        try:
            return None if path is None else path.read_bytes().decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def with_lock(self, scope: SettingsScope, update: SettingsUpdate) -> None:
        """Refuse to write."""
        del update
        raise ConfigError(f"the {scope} settings are only looked at")
