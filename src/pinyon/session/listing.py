"""Lists of stored sessions: what a user recognises them by, read in one pass over each file.

Files are read in threads, up to ten at a time where the storage is slow. A file that is no session, or that cannot be
read, is left out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import iso_from_ms, ms_from_iso
from pinyon.session.header import SessionHeader
from pinyon.session.line import decode_object, recover_objects
from pinyon.session.loader import read_session_header
from pinyon.session.naming import SESSION_SUFFIX, absolute_cwd

NO_MESSAGES = "(no messages yet)"
"""Stands for the first message of a session that has none."""

_MAX_THREADS = 10
_SAMPLE_FILES = 16
_SLOW_STORAGE_RATIO = 4  # wall time to computing time from which reading is mostly waiting
_LAST_MS = 253_402_300_800_000  # the year 10000, which ISO times cannot name
_BUFFER_BYTES = 64 * 1024


class SessionInfo(msgspec.Struct, rename="camel"):
    """One stored session as lists show it. Times are ISO 8601 in UTC; `cwd` is empty where the file names none.

    `modified` is the time of the last user or assistant message, so that renaming does not change it.
    """

    path: str
    id: str
    cwd: str = ""
    name: str | None = None
    parent_session_path: str | None = None
    created: str = ""
    modified: str = ""
    message_count: int = 0
    first_message: str = ""
    all_messages_text: str = ""

    @property
    def timestamp(self) -> str:
        """When the session was made."""
        return self.created

    @property
    def messages(self) -> int:
        """How many messages are stored."""
        return self.message_count

    @property
    def modified_ms(self) -> int:
        """Time of the last message, Unix milliseconds."""
        return ms_from_iso(self.modified) or 0


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None
    timestamp: int | float | None = None


class _Line(msgspec.Struct, gc=False):
    type: str
    timestamp: str = ""
    name: str | None = None
    message: _Message | None = None


_decode_line = msgspec.json.Decoder(_Line).decode


def read_session_info(path: Path, cwd: str | Path | None = None) -> SessionInfo | None:
    """What lists show of a file, None where it does not begin with a session header, or with one of another `cwd`.

    Raises `OSError` where the file cannot be read.
    """
    summary = SessionSummary()
    with path.open("rb", buffering=_BUFFER_BYTES) as file:
        header = _first_header(file)
        if header is None or (cwd is not None and not has_cwd(header, cwd)):
            return None
        for raw in file:
            summary.take(raw)
        mtime_ms = path.stat().st_mtime_ns // 1_000_000
    return summary.info(path, header, mtime_ms)


def _first_header(file: Iterable[bytes]) -> SessionHeader | None:
    for raw in file:
        entry = raw if decode_object(raw) is not None else next(recover_objects(raw), None)
        if entry is not None:
            return SessionHeader.from_line(entry.strip())
    return None


class SessionSummary:
    """What lists show of a session, gathered line by line."""

    def __init__(self) -> None:
        self._messages = 0
        self._texts: list[str] = []
        self._first = ""
        self._name: str | None = None
        self._last_ms = 0

    def take(self, raw: bytes) -> None:
        """Look at the next line after the header."""
        try:
            self._count(_decode_line(raw))
        except (msgspec.DecodeError, RecursionError):
            value = decode_object(raw)
            if value is not None:
                self._count(_lenient_line(value))
            elif raw.strip():
                for part in recover_objects(raw):
                    self.take(part)

    def _count(self, line: _Line) -> None:
        if line.type == "session_info":
            self._name = (line.name or "").strip() or None
        elif line.type == "message":
            self._messages += 1
            if line.message is not None and line.message.role in ("user", "assistant"):
                self._read(line, line.message)

    def _read(self, line: _Line, message: _Message) -> None:
        when = message.timestamp
        if when is None or not 0 < when < _LAST_MS:
            when = ms_from_iso(line.timestamp) or 0
        self._last_ms = max(self._last_ms, int(when))
        text = _text_of(message.content)
        if text:
            self._texts.append(text)
            if not self._first and message.role == "user":
                self._first = text

    def info(self, path: str | Path, header: SessionHeader, mtime_ms: int) -> SessionInfo:
        """The result; `mtime_ms` is the last resort for the time of the last message."""
        modified = iso_from_ms(self._last_ms) if self._last_ms > 0 else ""
        if not modified:
            modified = header.timestamp if ms_from_iso(header.timestamp) is not None else iso_from_ms(mtime_ms)
        return SessionInfo(
            path=str(path),
            id=header.id,
            cwd=header.cwd,
            name=self._name,
            parent_session_path=header.parent_session,
            created=header.timestamp,
            modified=modified,
            message_count=self._messages,
            first_message=self._first or NO_MESSAGES,
            all_messages_text=" ".join(self._texts),
        )


def _text_of(content: str | list[_Block] | None) -> str:
    if isinstance(content, list):
        return " ".join(block.text for block in content if block.type == "text" and block.text)
    return content or ""


def _lenient_line(value: dict[str, Any]) -> _Line:
    """The fields of an entry, whatever other programs put into them."""
    message = value.get("message")
    return _Line(
        type=_string(value.get("type")),
        timestamp=_string(value.get("timestamp")),
        name=_string(value.get("name")),
        message=_lenient_message(message) if isinstance(message, dict) else None,
    )


def _lenient_message(value: dict[str, Any]) -> _Message:
    content, when = value.get("content"), value.get("timestamp")
    if isinstance(content, list):
        dicts = (block for block in content if isinstance(block, dict))
        content = [_Block(_string(block.get("type")), _string(block.get("text"))) for block in dicts]
    return _Message(
        role=_string(value.get("role")),
        content=content if isinstance(content, str | list) else None,
        timestamp=when if isinstance(when, int | float) and not isinstance(when, bool) else None,
    )


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def session_files(folder: Path) -> list[Path]:
    """The session files right inside a folder; none where it does not exist."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SESSION_SUFFIX) and path.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []


def session_folders(root: Path) -> list[Path]:
    """The folders (and links to folders) inside the root of all sessions."""
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Files by the time they were last written; those that are gone meanwhile are left out."""
    dated = []
    for path in paths:
        try:
            dated.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue
    return [path for _, path in sorted(dated, key=lambda item: -item[0])]


def has_cwd(header: SessionHeader, cwd: str | Path) -> bool:
    """Whether a session was made in a working directory."""
    return bool(header.cwd) and absolute_cwd(header.cwd) == absolute_cwd(cwd)


def readable_headers(paths: Iterable[Path]) -> Iterator[tuple[Path, SessionHeader]]:
    """The files that begin with a session header."""
    for path in paths:
        try:
            header = read_session_header(path)
        except OSError:
            continue
        if header is not None:
            yield path, header


ListProgress = Callable[[int, int, "Sequence[SessionInfo] | None"], None]
"""Told how many of how many sessions are loaded, and now and then the list so far, newest first."""


async def collect_session_infos(
    paths: Sequence[Path],
    *,
    publish_every: int,
    cwd: str | Path | None = None,
    on_progress: ListProgress | None = None,
    signal: AbortSignal | None = None,
) -> list[SessionInfo]:
    """Read files in threads; the infos of those made in `cwd` (default: of all), newest first.

    `on_progress` gets (loaded, total, list so far) after the first file, after every `publish_every` and at the end,
    and (loaded, total, None) in between, always in the event loop. Raises `OperationAbortedError` when `signal` fires.
    """
    run = _Collection(paths, publish_every, cwd, on_progress, signal)
    loop = asyncio.get_running_loop()
    try:
        is_slow = await asyncio.to_thread(run.read_sample, loop)
        threads = _MAX_THREADS if is_slow else 1
        await asyncio.gather(*(asyncio.to_thread(run.read_some, loop, len(paths)) for _ in range(threads)))
    finally:
        run.is_stopped = True
    if signal is not None:
        signal.raise_if_aborted()
    if on_progress is not None:
        on_progress(run.loaded, len(paths), run.sorted())
    return run.sorted()


class _Collection:
    """One list in the making. Threads take files from `_waiting`; everything else happens in the event loop."""

    def __init__(
        self,
        paths: Sequence[Path],
        publish_every: int,
        cwd: str | Path | None,
        on_progress: ListProgress | None,
        signal: AbortSignal | None,
    ) -> None:
        self._total = len(paths)
        self._waiting = deque(paths)
        self._publish_every = publish_every
        self._cwd = cwd
        self._on_progress = on_progress
        self._signal = signal
        self._infos: list[SessionInfo] = []
        self.loaded = 0
        self.is_stopped = False

    def sorted(self) -> list[SessionInfo]:
        return sorted(self._infos, key=lambda info: -info.modified_ms)

    def read_sample(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Read the first files in one thread; returns whether more threads would help.

        Threads that compute slow each other down, threads that wait for a disk do not.
        """
        began, computed = time.perf_counter(), time.thread_time()
        self.read_some(loop, _SAMPLE_FILES)
        waited = time.perf_counter() - began
        return waited > _SLOW_STORAGE_RATIO * (time.thread_time() - computed)

    def read_some(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        """Read at most `limit` of the waiting files; runs in a thread."""
        for _ in range(limit):
            if self.is_stopped or (self._signal is not None and self._signal.aborted):
                return
            try:
                path = self._waiting.popleft()
            except IndexError:
                return
            info = _read_or_skip(path, self._cwd)
            if self._on_progress is not None:
                loop.call_soon_threadsafe(self._note, info)
            elif info is not None:
                self._infos.append(info)

    def _note(self, info: SessionInfo | None) -> None:
        if info is not None:
            self._infos.append(info)
        self.loaded += 1
        if self._on_progress is not None and self.loaded < self._total:
            is_published = self.loaded == 1 or self.loaded % self._publish_every == 0
            self._on_progress(self.loaded, self._total, self.sorted() if is_published else None)


def _read_or_skip(path: Path, cwd: str | Path | None) -> SessionInfo | None:
    try:
        return read_session_info(path, cwd)
    except OSError:
        return None
