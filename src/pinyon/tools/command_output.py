"""The output of a command while it grows: a bounded piece in memory, everything in a file once it is long.

The model sees the last lines. Programs get the beginning and the end. What lies between is only in the file.
"""

from __future__ import annotations

import codecs
import os
from collections import deque
from typing import BinaryIO

import msgspec

from pinyon.tools.truncate import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    TruncationResult,
    format_size,
    truncate_tail,
)

STRUCTURED_HALF_BYTES = 512 * 1024
"""How much of the beginning and of the end of a long output programs are given."""

_SHOWN_WINDOW_BYTES = 2 * DEFAULT_MAX_BYTES
_BOM = b"\xef\xbb\xbf"


class OutputView(msgspec.Struct, frozen=True):
    """What is shown of an output: the text, how it was cut, the size of the last line and where everything stands.

    `file_error` says why the file is missing or incomplete.
    """

    text: str
    truncation: TruncationResult
    last_line_bytes: int
    full_output_path: str | None
    file_error: str | None

    def notices(self) -> list[str]:
        """What has to be said about the cut; nothing when everything is shown."""
        cut = self.truncation
        if not cut.truncated:
            return []
        return [self._shown(cut), self._whereabouts()]

    def details(self) -> dict[str, object]:
        """The cut and the file for `details`; empty when everything is shown."""
        if not self.truncation.truncated:
            return {}
        path = {} if self.full_output_path is None else {"fullOutputPath": self.full_output_path}
        return {"truncation": self.truncation.to_json(), **path}

    def _shown(self, cut: TruncationResult) -> str:
        if cut.last_line_partial:
            shown, whole = format_size(cut.output_bytes), format_size(self.last_line_bytes)
            return f"Only the last {shown} of line {cut.total_lines} fit here, which is {whole} long"
        first = cut.total_lines - cut.output_lines + 1
        limit = f" (limit of {format_size(cut.max_bytes)})" if cut.truncated_by == "bytes" else ""
        return f"Only lines {first}-{cut.total_lines} of {cut.total_lines} fit here{limit}"

    def _whereabouts(self) -> str:
        if self.full_output_path is None:
            return f"The full output could not be saved: {self.file_error}"
        if self.file_error is not None:
            return f"What could be saved until a failure ({self.file_error}) is in {self.full_output_path}"
        return f"All of it is in {self.full_output_path}"


class CommandOutput:
    """Takes the raw output of a command in; `name` becomes part of the name of the file."""

    def __init__(self, name: str, folder: str | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._file = FullOutput(name, folder)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._start = b""
        self._started = False
        self._total_bytes = 0
        self._ended_lines = 0
        self._open_line_bytes = 0
        self._ended_line_bytes = 0

    @property
    def total_lines(self) -> int:
        """Lines so far; an unfinished one counts."""
        return self._ended_lines + (self._open_line_bytes > 0)

    def feed(self, data: bytes) -> None:
        """Take a block in, however characters and lines fall on its edges."""
        self._file.write(data)
        if not self._started:
            self._start += data
            if len(self._start) < len(_BOM) and _BOM.startswith(self._start):
                return
            data, self._started = self._start.removeprefix(_BOM), True
        self._take(self._decode(data))

    def finish(self) -> None:
        """Nothing more will come; calling it again changes nothing."""
        if not self._started:
            self._started = True
            self._take(self._decode(self._start))
        self._take(self._decoder.decode(b"", final=True).encode())
        self._file.close()

    def view(self) -> OutputView:
        """What the model is shown of the output so far."""
        result = truncate_tail(self._window())
        if self._is_long and not result.truncated:
            # What makes the output long was left out of the window already.
            result = truncate_tail(result.content.removesuffix("\n"))
            result.truncated, result.truncated_by = True, "bytes"
        result.total_lines, result.total_bytes = self.total_lines, self._total_bytes
        return OutputView(
            text=result.content,
            truncation=result,
            last_line_bytes=self._open_line_bytes or self._ended_line_bytes,
            full_output_path=self._file.path,
            file_error=self._file.error,
        )

    def beginning_and_end(self) -> str:
        """The output as programs get it: whole up to twice the half size, else both ends around a note."""
        if not self.is_cut_for_programs:
            return (bytes(self._head) + b"".join(self._tail)).decode("utf-8", "replace")
        head = _without_cut_end(bytes(self._head))
        tail = _without_cut_start(b"".join(self._tail)[-STRUCTURED_HALF_BYTES:])
        omitted = self._total_bytes - len(head) - len(tail)
        return f"{head.decode()}\n[{omitted} bytes left out]\n{tail.decode()}"

    @property
    def is_cut_for_programs(self) -> bool:
        """Whether `beginning_and_end` leaves something out."""
        return self._total_bytes > 2 * STRUCTURED_HALF_BYTES

    @property
    def _is_long(self) -> bool:
        return self.total_lines > DEFAULT_MAX_LINES or self._total_bytes > DEFAULT_MAX_BYTES

    def _decode(self, data: bytes) -> bytes:
        """Valid UTF-8: invalid bytes replaced, an unfinished character kept for later."""
        if data.isascii() and not self._decoder.getstate()[0]:
            return data
        return self._decoder.decode(data).encode()

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self._count(data)
        if self._is_long:
            self._file.open()
        room = STRUCTURED_HALF_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= STRUCTURED_HALF_BYTES:
            self._tail_bytes -= len(self._tail.popleft())

    def _count(self, data: bytes) -> None:
        self._total_bytes += len(data)
        self._ended_lines += data.count(b"\n")
        end = data.rfind(b"\n")
        if end < 0:
            self._open_line_bytes += len(data)
            return
        begin = data.rfind(b"\n", 0, end)
        self._ended_line_bytes = end - begin - 1 if begin >= 0 else self._open_line_bytes + end
        self._open_line_bytes = len(data) - end - 1

    def _window(self) -> str:
        """The end of the output, enough for what can be shown; a cut first line goes unless nothing else is there."""
        stored = self._last_bytes(_SHOWN_WINDOW_BYTES + 1)
        if len(stored) <= _SHOWN_WINDOW_BYTES:
            return stored.decode("utf-8", "replace")
        before, window = stored[:1], stored[1:]
        if before != b"\n":
            line_end = window.find(b"\n")
            if 0 <= line_end < len(window) - 1:
                window = window[line_end + 1 :]
        return window.decode("utf-8", "replace")

    def _last_bytes(self, count: int) -> bytes:
        parts: list[bytes] = []
        missing = count
        for part in reversed(self._tail):
            parts.append(part[-missing:])
            missing -= len(parts[-1])
            if missing <= 0:
                return b"".join(reversed(parts))
        parts.append(bytes(self._head[-missing:]))
        return b"".join(reversed(parts))


class FullOutput:
    """The file that holds everything, begun once the output is long. It is never deleted by the program."""

    def __init__(self, name: str, folder: str | None = None) -> None:
        self.path: str | None = None
        self.error: str | None = None
        self._name = name
        self._folder = folder
        self._waiting: list[bytes] | None = []
        self._file: BinaryIO | None = None

    def write(self, data: bytes) -> None:
        """Add to what the file will hold or holds; failures are kept in `error`."""
        if self._waiting is not None:
            self._waiting.append(data)
        elif self._file is not None:
            self._try_to_write(data)

    def open(self) -> None:
        """Begin the file with what has come so far."""
        if self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        try:
            self.path, self._file = create_output_file(self._name, self._folder)
        except OSError as error:
            self.error = error.strerror or str(error)
            return
        self._try_to_write(b"".join(waiting))

    def close(self) -> None:
        """Nothing more will come; without an `open` there is no file."""
        self._waiting = None
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self.error = error.strerror or str(error)
        self._file = None

    def _try_to_write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self.error = error.strerror or str(error)
            self.close()


def create_output_file(name: str, folder: str | None = None) -> tuple[str, BinaryIO]:
    """A new file `pi-<name>-<16 hex digits>.log` for temporary output that only its owner may read."""
    import tempfile

    path = os.path.join(folder or tempfile.gettempdir(), f"pi-{name}-{os.urandom(8).hex()}.log")  # noqa: PTH118
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return path, os.fdopen(os.open(path, flags, 0o600), "wb")


def _without_cut_start(data: bytes) -> bytes:
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _without_cut_end(data: bytes) -> bytes:
    return data.decode("utf-8", "ignore").encode()
