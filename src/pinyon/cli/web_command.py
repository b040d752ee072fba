"""`pinyon web`: the interactive mode in a browser of this machine."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from pinyon.cli.args import check_args, parse_args
from pinyon.cli.entry import write
from pinyon.errors import ConfigError

USAGE = """\
Usage: pinyon web [--port N] [--no-open] [options]

Shows the interactive mode in a browser of this machine. The address that is printed holds a token: whoever has it can
use the program as you. Other machines cannot reach it. Needs the extra: pip install 'pinyon[web]'

  --port N    port to listen on; a free one without it
  --no-open   print the address and open no browser

The other options are those of pinyon, such as --model and --session.
"""
MARK = "PINYON_WEB"
"""Set for the program behind a page: it shows its screen although it has no terminal."""
_PORTS = range(65_536)
_OWN_SESSION = ("--session", "--session-id", "-c", "--continue", "--fork", "--no-session", "-r", "--resume")


class WebArgs(msgspec.Struct, kw_only=True):
    """The arguments of the command, and those of the program behind the page."""

    port: int = 0
    opens: bool = True
    program: list[str] = msgspec.field(default_factory=list)


def run_web(arguments: Sequence[str]) -> int:
    """`pinyon web`; returns the exit code."""
    if "--help" in arguments or "-h" in arguments:
        return write(sys.stdout, USAGE)
    args = parse_web_args(arguments)
    if find_spec("textual_serve") is None:
        raise ConfigError("`pinyon web` needs a server for the browser: pip install 'pinyon[web]'")
    from pinyon.cli.interrupt import run_until_signal

    return run_until_signal(_serve(args))


def parse_web_args(arguments: Sequence[str]) -> WebArgs:
    """Take our own options out; the rest must be options that pinyon knows. Raises `ConfigError`."""
    args = WebArgs()
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--no-open":
            args.opens = False
        elif word == "--port" or word.startswith("--port="):
            text = word.partition("=")[2] if "=" in word else waiting.pop(0) if waiting else ""
            if not text.isdecimal() or int(text) not in _PORTS:
                raise ConfigError(f"--port needs a number from 0 to 65535, got {text!r}")
            args.port = int(text)
        else:
            args.program.append(word)
    parsed = parse_args(args.program)
    for problem in (*parsed.problems, *check_args(parsed)):
        if problem.type == "error":
            raise ConfigError(problem.message)
    if parsed.print or parsed.mode is not None:
        raise ConfigError("`pinyon web` shows the interactive mode; leave out -p and --mode")
    return args


def program_command(program: Sequence[str], session_id: str) -> str:
    """The shell command behind the page. Without a session of its own every connection goes on with the same."""
    words = [sys.executable, "-m", "pinyon", *program]
    if not any(word.partition("=")[0] in _OWN_SESSION for word in program):
        words += ["--session-id", session_id]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _with_trust(program: list[str]) -> list[str]:
    """The question about the project, asked here: the page has no terminal for it."""
    from pinyon.cli.trust_terminal import settle_trust

    parsed = parse_args(program)
    if parsed.project_trust is not None or not sys.stdin.isatty():
        return program
    decided = settle_trust(Path.cwd(), parsed.project_trust)
    return [*program, *("--approve" if trusted else "--no-approve" for trusted in decided.values())]


async def _serve(args: WebArgs) -> int:
    import secrets

    from pinyon._util.web_page import open_page
    from pinyon.cli.web_server import WebServer

    program = await asyncio.to_thread(_with_trust, args.program)
    os.environ[MARK] = "1"
    server = WebServer(program_command(program, f"web-{secrets.token_hex(8)}"), args.port)
    try:
        await server.start()
    except OSError as error:
        raise ConfigError(f"cannot listen on port {args.port}: {error.strerror or error}; choose another one") from None
    try:
        write(sys.stdout, f"Pinyon is at {server.url}\nWhoever has this address can use it as you. Ctrl+C ends it.\n")
        if args.opens:
            open_page(server.url)
        await asyncio.Event().wait()
    finally:
        await server.stop()
    return 0
