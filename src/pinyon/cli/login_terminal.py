"""Signing in from a terminal: questions, codes and pages as plain lines, secrets typed without an echo."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from pinyon._util.terminal import strip_terminal_control
from pinyon._util.web_page import open_page
from pinyon.ai.oauth import LoginCancelledError, LoginNotice, LoginPrompt, SelectOption
from pinyon.ai.sign_in.method import BROWSER

_MAX_LINE_BYTES = 65_536


class TerminalLogin:
    """A `LoginInteraction` on this process's terminal. With `no_browser` pages are shown and not opened, and of several
    ways to sign in the one in the browser is not offered.
    """

    def __init__(
        self,
        *,
        no_browser: bool = False,
        output: TextIO | None = None,
        open_page: Callable[[str], bool] = open_page,
    ) -> None:
        self._no_browser = no_browser
        self._output = output or sys.stdout
        self._open_page = open_page

    async def prompt(self, prompt: LoginPrompt) -> str:
        """Ask and wait for a line; raises `LoginCancelledError` at the end of input or when the prompt is given up."""
        if prompt.type == "select":
            return await self._select(prompt)
        hint = f" ({prompt.placeholder})" if prompt.placeholder and prompt.type == "text" else ""
        return await self._ask(f"{prompt.message}{hint}: ", prompt)

    def notify(self, notice: LoginNotice) -> None:
        """Show a notice; open its page where there is a browser."""
        if notice.message:
            self._write(f"{notice.message}\n")
        if notice.url is not None:
            self._write(f"  {notice.url}\n")
        if notice.user_code is not None:
            minutes = f"  (valid for {notice.expires_in_s // 60} minutes)" if notice.expires_in_s else ""
            self._write(f"  Code: {notice.user_code}{minutes}\n")
        if notice.url is not None and not self._no_browser:
            self._open_page(notice.url)

    async def _select(self, prompt: LoginPrompt) -> str:
        options = [option for option in prompt.options if not (self._no_browser and option.value == BROWSER.value)]
        if len(options) == 1:
            return options[0].value
        self._write(f"{prompt.message}\n")
        for number, option in enumerate(options, 1):
            self._write(f"  {number}. {option.label}\n")
        while True:
            chosen = _chosen(await self._ask(f"Choose 1-{len(options)}: ", prompt), options)
            if chosen is not None:
                return chosen

    async def _ask(self, question: str, prompt: LoginPrompt) -> str:
        is_secret = prompt.type == "secret"
        is_on_new_line = False
        try:
            with _without_echo() if is_secret else contextlib.nullcontext():  # before the question, for early typists
                self._write(question)
                line = await (_read_line_in_thread() if os.name == "nt" else _read_line(sys.stdin.fileno(), prompt))
                is_on_new_line = not is_secret
            return line
        finally:
            if not is_on_new_line:
                self._write("\n")

    def _write(self, text: str) -> None:
        self._output.write(strip_terminal_control(text))
        self._output.flush()


def _chosen(answer: str, options: list[SelectOption]) -> str | None:
    if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(options):
        return options[int(answer) - 1].value
    return next((option.value for option in options if answer and answer in (option.value, option.label)), None)


async def _read_line(descriptor: int, prompt: LoginPrompt) -> str:
    """The next line that is typed. Nothing is read before the terminal has a whole line, so a prompt that is given up
    takes nothing away from the next one.
    """
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        try:
            data = os.read(descriptor, _MAX_LINE_BYTES)
        except OSError:
            data = b""
        if not typed.done():
            typed.set_result(data)

    def give_up() -> None:
        if not typed.done():
            typed.set_exception(LoginCancelledError("the question was given up"))

    loop.add_reader(descriptor, read)
    remove = prompt.signal.add_listener(give_up) if prompt.signal is not None else None
    try:
        data = await typed
    finally:
        loop.remove_reader(descriptor)
        if remove is not None:
            remove()
    return _text(data)


async def _read_line_in_thread() -> str:
    from pinyon._util.thread import in_daemon_thread

    return _text(await in_daemon_thread(lambda: sys.stdin.readline().encode(), "login-input"))


def _text(data: bytes) -> str:
    if not data:
        raise LoginCancelledError("the sign-in was cancelled")
    return data.decode("utf-8", "replace").strip("\r\n")


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    """Let nothing appear that is typed; the terminal is put back whatever happens."""
    if os.name == "nt":
        yield from _without_echo_on_windows()
        return
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


def _without_echo_on_windows() -> Iterator[None]:
    """The same with the console mode of Windows (`ENABLE_ECHO_INPUT`, SetConsoleMode)."""
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle, mode = kernel.GetStdHandle(-10), ctypes.c_ulong()
    kernel.GetConsoleMode(handle, ctypes.byref(mode))
    kernel.SetConsoleMode(handle, mode.value & ~0x4)
    try:
        yield
    finally:
        kernel.SetConsoleMode(handle, mode.value)
