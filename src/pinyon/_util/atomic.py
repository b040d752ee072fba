"""Files replaced as a whole: the old content or the new one is on disk, never a part of either.

The new content goes to a temporary file beside the target, is flushed to the disk and renamed over it. Whatever fails
before the rename (a full disk, a lost lock) leaves the target as it was.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

PRIVATE_FILE_MODE = 0o600
PRIVATE_FOLDER_MODE = 0o700

LEFTOVER_AGE_S = 3600.0
"""Age at which the temporary file of a private write must belong to a writer that died."""


def replace_file(
    path: Path, data: bytes, *, private: bool = False, before_publish: Callable[[], None] | None = None
) -> None:
    """Replace the content of `path` by `data`; symbolic links are followed, permissions and owner stay.

    A new file gets the usual mode, or 0600 when `private`. The temporary file is never wider than 0600 until it holds
    everything, and then never wider than the file it replaces. `before_publish()` runs directly before the rename and
    may raise to call it off. Raises `OSError`; a file without write permission is refused like an ordinary write.
    """
    target = Path(os.path.realpath(path))
    existing = _existing(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    mode = PRIVATE_FILE_MODE if private or existing else 0o666
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            _write_all(descriptor, data)
            if existing is not None:
                _take_permissions(descriptor, temporary, existing)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if before_publish is not None:
            before_publish()
        _rename(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _flush_folder(target.parent)
    if private:
        _remove_leftovers(target)


def make_private_folder(path: Path) -> None:
    """Make `path` and its missing parents, each with mode 0700; folders that exist keep theirs."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)


def _existing(target: Path) -> os.stat_result | None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{str(target)!r} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{str(target)!r} is write-protected; make it writable or move it away")
    return status


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_permissions(descriptor: int, temporary: Path, existing: os.stat_result) -> None:
    """Give the new file the owner and mode of the old one, as far as the system lets this user do it."""
    mode = stat.S_IMODE(existing.st_mode)
    if hasattr(os, "fchown"):
        own = os.fstat(descriptor)
        if own.st_uid != existing.st_uid:
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, existing.st_uid, -1)
        if own.st_gid != existing.st_gid and not _chown_group(descriptor, existing.st_gid):
            mode &= ~0o070  # another group must not inherit what was meant for the old one
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    else:
        temporary.chmod(mode)


def _chown_group(descriptor: int, group: int) -> bool:
    try:
        os.fchown(descriptor, -1, group)
    except PermissionError:
        return False
    return True


def _rename(temporary: Path, target: Path) -> None:
    for delay_s in (0.01, 0.05, 0.2):
        try:
            temporary.replace(target)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(delay_s)  # Windows refuses while another process has the file open for a moment
        else:
            return
    temporary.replace(target)


def _flush_folder(folder: Path) -> None:
    """Make the rename durable where folders can be flushed; it has happened, so a refusal is no failure."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Delete temporary files of writers that were killed, so that secrets do not stay behind in them."""
    oldest = time.time() - LEFTOVER_AGE_S
    with contextlib.suppress(OSError):
        for sibling in target.parent.iterdir():
            is_ours = sibling.name.startswith(f".{target.name}.") and sibling.suffix == ".tmp"
            if is_ours and sibling.lstat().st_mtime < oldest:
                sibling.unlink()
