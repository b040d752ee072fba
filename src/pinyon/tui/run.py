"""Running the interactive mode from its first paint to a terminal that looks as before."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from pinyon._util.terminal import strip_terminal_control
from pinyon.tui.app import PinyonApp
from pinyon.tui.leaving import farewell
from pinyon.tui.start import InteractiveStart
from pinyon.tui.terminal import terminal_answers

_CODES = {"SIGTERM": 143, "SIGHUP": 129}


def run_interactive(start: InteractiveStart) -> int:
    """Show the interactive mode on the terminal of this process; returns the exit code."""
    return asyncio.run(show_interactive(start))


async def show_interactive(start: InteractiveStart) -> int:
    """The same inside a running event loop."""
    app = PinyonApp(start)
    await _run(app)
    if app.start_fault is not None:
        sys.stderr.write(strip_terminal_control(f"Error: {app.start_fault}") + "\n")
        return 1
    if app.return_code and not app.exit_status:
        app.print_fault()
        return app.return_code
    text = farewell(app)
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
    return app.exit_status


async def _run(app: PinyonApp) -> None:
    loop = asyncio.get_running_loop()
    for name, code in _CODES.items():
        number = getattr(signal, name, None)
        if number is not None:
            _handle(loop, number, app, code)
    try:
        await app.run_async()
    finally:
        await app.end_tasks()
        if app.desk is not None:
            await app.desk.pi.dispose()


def _handle(loop: asyncio.AbstractEventLoop, number: int, app: PinyonApp, code: int) -> None:
    def on_signal() -> None:
        if app.exit_status == code:
            os._exit(code)
        app.exit_status = code
        if terminal_answers():
            app.quit()
        else:
            app.start(app.die())

    try:
        loop.add_signal_handler(number, on_signal)
    except (NotImplementedError, RuntimeError):  # Windows loops have none
        return
