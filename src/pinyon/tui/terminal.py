"""The terminal: our own reading of what it sends, and a screen that goes away cleanly whatever happens.

Reading waits without waking up; the end of the terminal is noticed and told to the application.
"""

from __future__ import annotations

import os
import selectors
import sys
from codecs import getincrementaldecoder
from typing import Any, TextIO, cast

from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from pinyon.tui.input_decoder import EarlyText, InputDecoder
from pinyon.tui.theme.terminal_color import QUESTION, UNWATCH_SCHEME, WATCH_SCHEME

_ESCAPE_S = 0.05
_REMOTE_ESCAPE_S = 0.1
_BLOCK_BYTES = 64 * 1024


class TerminalGone(Message):
    """The terminal was closed."""


class _TolerantFile:
    """Standard output that may be gone: what cannot be written any more is dropped, so that nobody waits for it."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Write, or drop."""
        if self._file is not None:
            try:
                self._file.write(text)
            except (OSError, ValueError):
                self._file = None

    def flush(self) -> None:
        """Flush, or drop."""
        if self._file is not None:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self._file = None


class TerminalDriver(LinuxDriver):
    """Textual's driver with our decoder, on standard output."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._file = cast("Any", _TolerantFile(sys.__stdout__))
        self._wake_read, self._wake_write = os.pipe()
        self.decoder = InputDecoder()

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size of the terminal itself; exported `COLUMNS` and `LINES` are those of another time."""
        for file in (sys.__stdout__, sys.__stdin__):
            try:
                size = os.get_terminal_size(file.fileno()) if file is not None else None
            except (OSError, ValueError):
                continue
            if size is not None and size.columns and size.lines:
                return size.columns, size.lines
        return super()._get_terminal_size()

    def start_application_mode(self) -> None:
        """Take the terminal over; ask for its colours, and for modified keys in the older protocol."""
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual's own
        given = getattr(self._app, "start_options", None)
        if given is not None and given.terminal_attributes is not None:
            self.attrs_before = given.terminal_attributes
        if self._writer_thread is not None:
            self.write("\x1b[>4;2m" + WATCH_SCHEME + QUESTION)
            self.flush()

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        if self._writer_thread is not None:
            self.write("\x1b[>4;0m" + UNWATCH_SCHEME)
        super().stop_application_mode()

    def disable_input(self) -> None:
        """Stop reading at once."""
        if self._key_thread is not None and self._key_thread.is_alive():
            os.write(self._wake_write, b"x")
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read until the application ends or the terminal goes."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        escape_s = _escape_delay(os.environ)
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = selector.select(escape_s if self.decoder.is_waiting else None)
                files = {key.fd for key, _ in ready}
                if self._wake_read in files:
                    os.read(self._wake_read, 1024)
                    return
                if not files:
                    self._send(self.decoder.flush())
                    continue
                data = self._read()
                if not data:
                    self._app.post_message(TerminalGone())
                    return
                data, early = self._without_early(data)
                if early:
                    self._app.post_message(EarlyText(decode(early)))
                self._send(self.decoder.feed(decode(data)))

    def _without_early(self, data: bytes) -> tuple[bytes, bytes]:
        """Take out what was typed before raw mode, unless it holds more than text."""
        given = getattr(self._app, "start_options", None)
        count = min(len(data), given.early_bytes if given is not None else 0)
        if given is None or not count:
            return data, b""
        given.early_bytes = 0
        early, rest = data[:count], data[count:]
        if any(byte < 0x20 and byte != 0x0A for byte in early) or 0x7F in early:
            return early.replace(b"\n", b"\r") + rest, b""
        return rest, early

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, _BLOCK_BYTES)
        except OSError:
            return b""

    def _send(self, messages: list[Message]) -> None:
        for message in messages:
            self.process_message(message)


def terminal_answers() -> bool:
    """Whether the terminal of standard input is still there."""
    import termios

    try:
        termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError):
        return False
    return True


def _escape_delay(environ: Any) -> float:
    """Seconds after which a lone escape byte is the Escape key."""
    given = environ.get("PI_TUI_ESC_TIMEOUT", "")
    if given.isdigit():
        return int(given) / 1000
    is_remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "MOSH_CONNECTION"))
    return _REMOTE_ESCAPE_S if is_remote else _ESCAPE_S
