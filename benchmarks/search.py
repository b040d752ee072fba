"""Measures the search tools on a tree of 50,000 files, beside bare ripgrep, and prints a table.

    python benchmarks/search.py [-n RUNS] [--files N]

Each figure is the median wall time of one call inside a running process, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pinyon.tools.factory import create_tool_definition
from pinyon.tools.ripgrep import find_ripgrep

FILES_IN_FOLDER = 200


def main() -> int:
    """Lay out the tree, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=5, help="counted calls")
    parser.add_argument("--files", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        root = Path(folder)
        lay_out(root, options.files)
        for name, call in cases(root).items():
            call()
            times = [elapsed_ms(call) for _ in range(options.n)]
            print(f"{name:42} {statistics.median(times):8.1f} ms", flush=True)
    return 0


def lay_out(root: Path, count: int) -> None:
    """`count` small Python files, one in a hundred of which holds the needle."""
    for number in range(count):
        folder = root / f"package_{number // FILES_IN_FOLDER}"
        if number % FILES_IN_FOLDER == 0:
            folder.mkdir()
        text = f"def function_{number}() -> int:\n    return {number}\n" * 5
        if number % 100 == 0:
            text += "# the needle stands here\n"
        (folder / f"module_{number}.py").write_text(text, encoding="utf-8")


def cases(root: Path) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    ripgrep = find_ripgrep() or "rg"

    def tool(name: str, **arguments: object) -> Callable[[], object]:
        definition = create_tool_definition(name, root)
        return lambda: asyncio.run(definition.run(dict(arguments)))

    return {
        "bare rg, needle": lambda: subprocess.run([ripgrep, "-n", "needle", root], capture_output=True, check=True),
        "grep tool, needle": tool("grep", pattern="needle", limit=1000),
        "grep tool, needle in *.py": tool("grep", pattern="needle", glob="*.py", limit=1000),
        "bare rg --files": lambda: subprocess.run([ripgrep, "--files", root], capture_output=True, check=True),
        "find tool, **/module_1*.py, limit 1000": tool("find", pattern="**/module_1*.py", limit=1000),
        "find tool, no match": tool("find", pattern="*.rs"),
    }


def elapsed_ms(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.monotonic()
    call()
    return (time.monotonic() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
