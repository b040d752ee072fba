"""Reading a session file: line by line, whatever its size, and without giving up history for one broken line.

Reading never changes the file. What is wrong in it becomes a list of diagnostics; what can be saved is saved: entries
glued to a torn line are recovered, and entries whose parent is lost hang on the last older entry that is left.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal, cast

import msgspec

from pinyon._util.collector import collector_paused
from pinyon.session.entry import SessionEntry
from pinyon.session.error import NotASessionError, SessionError
from pinyon.session.header import CURRENT_SESSION_VERSION, SessionHeader
from pinyon.session.line import LineHead, read_head, recover_objects
from pinyon.session.migration import migrate_entry_lines
from pinyon.session.source import FileLines, LineSource, MemoryLines
from pinyon.session.table import NO_PARENT, EntryTable

IN_MEMORY_BYTES = 4 * 1024 * 1024
"""Files up to this size are kept in memory; the lines of larger ones are read again when they are needed."""

_BUFFER_BYTES = 256 * 1024
MAX_DIAGNOSTICS = 50

_HEADER_STEP_BYTES = 4096
_HEADER_LIMIT_BYTES = 1024 * 1024
_FRAGMENT = re.compile(rb'\{"type":"[a-z_]+","id":"([^"\\{]+)","parentId":(?:null|"([^"\\{]+)")[,}]')

DiagnosticKind = Literal["skipped_line", "recovered_entry", "lost_parent"]


class SessionDiagnostic(msgspec.Struct, frozen=True):
    """Something wrong in a session file that did not keep it from being used. `line` counts from 1; 0 means none."""

    kind: DiagnosticKind
    message: str
    line: int = 0


class LoadedSession(msgspec.Struct):
    """What a session file holds. `header` None means that the file is empty."""

    header: SessionHeader | None
    table: EntryTable
    diagnostics: list[SessionDiagnostic]
    size_bytes: int = 0
    is_migrated: bool = False


def load_session_file(path: Path, *, in_memory_bytes: int = IN_MEMORY_BYTES) -> LoadedSession:
    """Read a session file without changing it.

    Raises `NotASessionError` for a non-empty file that does not begin with a header, `FileNotFoundError` for a missing
    one, `SessionError` where the system refuses to read.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SessionError(f"{str(path)!r} is no file that can hold a session; name a regular file.")
        with path.open("rb", buffering=_BUFFER_BYTES) as file, collector_paused():
            return _load(path, file, in_memory_bytes)
    except FileNotFoundError:
        raise
    except ValueError:
        raise SessionError(f"{str(path)!r} cannot be the path of a session file: it holds a NUL.") from None
    except OSError as error:
        raise SessionError(f"Cannot read session file {str(path)!r}: {error.strerror or error}.") from error


def _load(path: Path, file: BinaryIO, in_memory_bytes: int) -> LoadedSession:
    data = file.read(in_memory_bytes + 1)
    source: LineSource
    if len(data) <= in_memory_bytes:
        source, lines = MemoryLines(data), cast("BinaryIO", BytesIO(data))
    else:
        file.seek(0)
        source, lines = FileLines(path), file
    scan = _Scan(source)
    try:
        scan.run(lines)
        loaded = scan.finish()
    except BaseException:
        source.close()
        raise
    if loaded.header is None and loaded.size_bytes:
        source.close()
        raise NotASessionError(path)
    return loaded


class _Scan:
    """The state of reading one file."""

    def __init__(self, source: LineSource) -> None:
        self._source = source
        self._table = EntryTable(source)
        self._header: SessionHeader | None = None
        self._old_lines: list[bytes] | None = None
        self._diagnostics: list[SessionDiagnostic] = []
        self._line_number = 0
        self._size = 0
        self._is_foreign = False
        # where damage was met, as the number of entries before it, and what fragments say about lost entries
        self._damage: list[int] = []
        self._fragments: dict[str, str | None] = {}

    def run(self, lines: Iterator[bytes]) -> None:
        for raw in lines:
            self._take(raw)
            if self._header is not None and self._old_lines is None:
                break
        odd: bytes | None = b""
        while odd is not None:
            odd, self._size, count = self._table.add_lines(lines, self._size)
            self._line_number += count
            if odd is not None:
                self._take(odd)

    def _take(self, raw: bytes) -> None:
        self._line_number += 1
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        head = read_head(line)
        if head is not None:
            self._accept(head, line, self._size)
        elif line.strip():
            self._recover(line)
        self._size += len(raw)

    def _accept(self, head: LineHead, line: bytes, offset: int | None) -> None:
        if self._header is None:
            self._begin(line)
        elif head.type == "session":
            self._skip(f"line {self._line_number} is a second session header")
        elif self._old_lines is not None:
            self._old_lines.append(line)
        elif head.id is None:
            self._skip(f"line {self._line_number} is an entry without an id")
        elif offset is None:
            self._table.add(SessionEntry(line, head))
        else:
            self._table.add_line(head.id, head.parent_id, head.kind, offset, len(line))

    def _begin(self, line: bytes) -> None:
        if self._is_foreign:
            return
        self._header = SessionHeader.from_line(line)
        if self._header is None:
            self._is_foreign = True
        elif self._header.version < CURRENT_SESSION_VERSION:
            self._old_lines = []

    def _recover(self, line: bytes) -> None:
        self._damage.append(self._count())
        if fragment := _FRAGMENT.match(line):
            entry_id, parent_id = fragment.groups()
            parent = None if parent_id is None else parent_id.decode("utf-8", "replace")
            self._fragments[entry_id.decode("utf-8", "replace")] = parent
        recovered = 0
        for part in recover_objects(line):
            head = read_head(part)
            if head is not None:
                self._accept(head, part, None)
                recovered += 1
        if recovered:
            note = f"line {self._line_number} is damaged; {recovered} complete entries in it were recovered"
            self._report("recovered_entry", note)
        else:
            self._report("skipped_line", f"line {self._line_number} is damaged and was skipped")

    def _count(self) -> int:
        return len(self._table) if self._old_lines is None else len(self._old_lines)

    def _skip(self, what: str) -> None:
        self._damage.append(self._count())
        self._report("skipped_line", f"{what} and was skipped")

    def _report(self, kind: DiagnosticKind, message: str, line: int | None = None) -> None:
        if len(self._diagnostics) < MAX_DIAGNOSTICS:
            number = self._line_number if line is None else line
            self._diagnostics.append(SessionDiagnostic(kind, message, number))

    def finish(self) -> LoadedSession:
        is_migrated = self._header is not None and self._old_lines is not None
        if self._header is not None and self._old_lines is not None:
            for line in migrate_entry_lines(self._header, self._old_lines):
                entry = SessionEntry.from_line(line)
                if entry is not None and entry.id:
                    self._table.add(entry)
            self._header = self._header.with_version(CURRENT_SESSION_VERSION)
            self._source.close()
        for position, parent_id in self._table.settle().items():
            self._bridge(position, parent_id)
        return LoadedSession(self._header, self._table, self._diagnostics, self._size, is_migrated=is_migrated)

    def _bridge(self, position: int, parent_id: str) -> None:
        """Hang an orphan where the damage before it broke its chain; without damage it stays a root."""
        entry_id = self._table.ids[position]
        target = self._surviving_ancestor(parent_id)
        if target is None:
            damage = bisect_right(self._damage, position)
            target = self._damage[damage - 1] - 1 if damage else NO_PARENT
        what = f"entry {entry_id!r} names a parent {parent_id!r} that the file does not hold"
        if target in (NO_PARENT, position):
            self._report("lost_parent", f"{what}; history before it is not part of its branch", line=0)
            return
        self._table.bridge(position, target)
        self._report("lost_parent", f"{what}; it continues entry {self._table.ids[target]!r} instead", line=0)

    def _surviving_ancestor(self, parent_id: str) -> int | None:
        """Follow what fragments of lost entries say about their parents."""
        seen: set[str] = set()
        current: str | None = parent_id
        while current is not None and current not in seen:
            found = self._table.position(current)
            if found is not None:
                return found
            if current not in self._fragments:
                return None
            seen.add(current)
            current = self._fragments[current]
        return NO_PARENT if current is None else None


def read_session_header(path: Path) -> SessionHeader | None:
    """The header of a file, None where the file begins with something else or none stands in its first MiB.

    Raises `OSError` where the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        rest = b""
        for _ in range(_HEADER_LIMIT_BYTES // _HEADER_STEP_BYTES):
            step = file.read(_HEADER_STEP_BYTES)
            *lines, rest = (rest + step).split(b"\n")
            for line in lines if step else [rest]:
                entry = _first_entry(line)
                if entry is not None:
                    return SessionHeader.from_line(entry)
            if not step:
                return None
    return None


def _first_entry(line: bytes) -> bytes | None:
    if read_head(line) is not None:
        return line
    return next(recover_objects(line), None) if b"{" in line else None


def parse_session_entries(text: str | bytes) -> list[SessionHeader | SessionEntry]:
    """All entries in the text of a session file, header first, in the format version that they are in.

    Lines that are no JSON objects are left out; nothing is migrated.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    parsed: list[SessionHeader | SessionEntry] = []
    for line in data.split(b"\n"):
        if read_head(line) is not None:
            _append_parsed(parsed, line)
        elif line.strip():
            for part in recover_objects(line):
                _append_parsed(parsed, part)
    return parsed


def _append_parsed(parsed: list[SessionHeader | SessionEntry], line: bytes) -> None:
    line = line.removesuffix(b"\r")
    header = SessionHeader.from_line(line)
    entry = header or SessionEntry.from_line(line)
    if entry is not None:
        parsed.append(entry)


def load_entries_from_file(path: str | Path) -> list[SessionHeader | SessionEntry]:
    """All entries of a file as `parse_session_entries` gives them; none for a missing or foreign file."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return []
    entries = parse_session_entries(data)
    return entries if entries and isinstance(entries[0], SessionHeader) else []
