"""`pinyon acp`: the Agent Client Protocol on standard input and output, for editors."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pinyon.cli.args import CliArgs, check_args, parse_args
from pinyon.cli.entry import write
from pinyon.errors import ConfigError

if TYPE_CHECKING:
    from acp import Agent

    from pinyon.coding.pi_agent import PiAgent

USAGE = """\
Usage: pinyon acp [options]

Serves the Agent Client Protocol on standard input and output, so that an editor can use Pinyon as its agent.
Needs the extra: pip install 'pinyon[acp]'

Takes the options of pinyon for model, tools, prompt and project; which session is open is the editor's choice.
For Zed, in settings.json:  "agent_servers": {"Pinyon": {"command": "pinyon", "args": ["acp"]}}
"""
_BUFFER_BYTES = 50 * 1024 * 1024
"""Longest message of an editor; pictures travel inside of them."""


def run_acp(arguments: Sequence[str]) -> int:
    """`pinyon acp`; returns the exit code."""
    args = parse_args(arguments)
    if args.help:
        return write(sys.stdout, USAGE)
    _refuse_odd(args)
    if find_spec("acp") is None:
        raise ConfigError("`pinyon acp` needs the Agent Client Protocol: pip install 'pinyon[acp]'")
    from pinyon.cli.interrupt import run_until_signal
    from pinyon.modes.output import OutputGuard

    with OutputGuard() as guard:
        return run_until_signal(_serve(args, guard.fd))


def _refuse_odd(args: CliArgs) -> None:
    for problem in (*args.problems, *check_args(args)):
        if problem.type == "error":
            raise ConfigError(problem.message)
    given = [*args.messages, *(f"@{path}" for path in args.files)]
    if given:
        raise ConfigError(f"`pinyon acp` takes no prompt, got {given[0]!r}; the editor sends them")


async def _serve(args: CliArgs, output: int) -> int:
    from acp import run_agent

    from pinyon.modes.acp.agent import PinyonAgent

    async def open_pi(cwd: Path, path: Path | None) -> PiAgent:
        from pinyon.cli.app import start

        own = copy(args)
        own.session = str(path) if path is not None else None
        return await start(own, cwd)

    agent = PinyonAgent(open_pi)
    reader, writer = await _streams(output)
    try:
        await run_agent(cast("Agent", agent), writer, reader)  # it takes optional fields by keyword
    finally:
        await agent.aclose()
    return 0


async def _streams(output: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_BUFFER_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", closefd=False))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(output), "wb")
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
