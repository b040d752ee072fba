"""What older versions kept elsewhere moves to its place at the start. Nothing is overwritten, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pinyon._util.config import CONFIG_DIR_NAME
from pinyon._util.safe_path import is_file, is_folder, path_exists

_PROGRAMS = ("fd", "fd.exe", "rg", "rg.exe")
_OLD_TEMPLATES, _TEMPLATES = "commands", "prompts"
_KEYS_FILE = "keybindings.json"


class Migration:
    """What was moved, in words for people, and what could not be."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.problems: list[str] = []

    def move(self, source: Path, target: Path) -> bool:
        """Move a file or folder where nothing stands in its place yet; True when it was moved."""
        if os.path.lexists(target):
            return False
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _rename(source, target)
        except OSError as error:
            if path_exists(source):  # else another process was faster
                self._tell(source, error)
            return False
        return True

    def sessions(self, folder: Path, names: Iterable[str]) -> None:
        """Move session files from the agent folder itself to the folders of their projects; others stay."""
        from pinyon.session.loader import read_session_header
        from pinyon.session.naming import default_session_dir

        count = 0
        for name in names:
            file = folder / name
            try:
                header = read_session_header(file) if is_file(file) else None
            except OSError as error:
                self._tell(file, error)
                continue
            target = default_session_dir(header.cwd, folder) if header is not None and header.cwd else None
            count += target is not None and self.move(file, target / name)
        if count:
            self.done.append(f"{count} session{'s' if count > 1 else ''} → sessions")

    def programs(self, folder: Path) -> None:
        """Move search programs from `tools` to `bin`."""
        moved = [
            name
            for name in _PROGRAMS
            if is_file(folder / "tools" / name) and self.move(folder / "tools" / name, folder / "bin" / name)
        ]
        if moved:
            self.done.append(f"tools/{', '.join(moved)} → bin")

    def templates(self, folder: Path) -> None:
        """Give the folder `commands` its present name, where nothing has that."""
        if is_folder(folder / _OLD_TEMPLATES) and self.move(folder / _OLD_TEMPLATES, folder / _TEMPLATES):
            self.done.append(f"{_OLD_TEMPLATES} → {_TEMPLATES}")

    def _tell(self, source: Path, error: OSError) -> None:
        self.problems.append(f"{str(source)!r} stays where it is: {error.strerror or error}")


def migrate_agent_folder(folder: Path) -> Migration:
    """Bring sessions, search programs and templates in the agent folder to where they belong now."""
    migration = Migration()
    try:
        names = os.listdir(folder)  # noqa: PTH208 - one call at each start
    except OSError:
        return migration
    sessions = sorted(name for name in names if name.endswith(".jsonl") and not name.startswith("."))
    if sessions:
        migration.sessions(folder, sessions)
    if "tools" in names:
        migration.programs(folder)
    if _OLD_TEMPLATES in names:
        migration.templates(folder)
    return migration


def migrate_project_folder(cwd: Path) -> Migration:
    """The same for the templates of a project, which must be a trusted one."""
    migration = Migration()
    migration.templates(cwd / CONFIG_DIR_NAME)
    return migration


def rename_keys(folder: Path) -> Migration:
    """Write the present names of actions into the file of key bindings; a name that stands there already wins."""
    migration, path = Migration(), folder / _KEYS_FILE
    if not path_exists(path):
        return migration
    from pinyon._util import json as _json
    from pinyon._util.atomic import replace_file
    from pinyon._util.safe_path import read_file
    from pinyon.tui.binding import LEGACY_IDS

    try:
        keys = _json.decode(read_file(path))
        if not isinstance(keys, dict) or not any(name in LEGACY_IDS for name in keys):
            return migration
        present = {LEGACY_IDS.get(name, name): value for name, value in keys.items()}
        present.update((name, value) for name, value in keys.items() if name not in LEGACY_IDS)
        replace_file(path, _json.encode_pretty(present) + b"\n")
    except (OSError, ValueError):
        return migration  # the file is read as it is: old names are understood
    migration.done.append(f"old names in {_KEYS_FILE} → present ones")
    return migration


def _rename(source: Path, target: Path) -> None:
    """Rename without replacing what another process put there in the meantime, where the file system can do that."""
    if source.is_symlink() or not source.is_file():
        source.rename(target)
        return
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise
    except OSError:
        source.rename(target)
    else:
        source.unlink()
