"""Where the command starts: `--version` and `--help` are answered before anything heavy is imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    open_closed_streams()
    argv = sys.argv[1:]
    code = quick_answer(argv)
    if code is not None:
        return code
    from pinyon.cli.app import run

    return run(argv)


def quick_answer(argv: Sequence[str]) -> int | None:
    """Answer `--version` and `--help`; None where the arguments ask for something else."""
    from pinyon.cli.args import parse_args
    from pinyon.cli.flag import COMMANDS

    if argv and argv[0] in COMMANDS:
        return None
    args = parse_args(argv)
    if args.has_errors or not (args.version or args.help):
        return None
    for problem in args.problems:
        write(sys.stderr, f"{problem.type.capitalize()}: {problem.message}\n")
    if args.version:
        from pinyon._version import __version__

        return write(sys.stdout, f"{__version__}\n")
    from pinyon.cli.help import render_help

    is_captured = args.print or args.mode is not None
    return write(sys.stderr if is_captured else sys.stdout, render_help())


def open_closed_streams() -> None:
    """Lead standard streams that were closed at the start to nowhere, before a file or socket takes their number."""
    import os

    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", errors="replace", closefd=False))


def write(stream: TextIO, text: str) -> int:
    """Write and flush; 1 where that fails, without a word where the reader has gone."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # so that the flush at exit stays quiet too
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"Error: the output cannot be written: {error.strerror}\n")
        return 1
    return 0
