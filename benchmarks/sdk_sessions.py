"""Measures many SDK sessions at once in one process, on the scripted model, and prints one table.

    python benchmarks/sdk_sessions.py [-n RUNS] [--sessions 1 10 50] [--turns TURNS]

Every session is a `PiAgent` of its own with the built-in tools; it answers one prompt with TURNS calls of a tool and a
text, all sessions together. Wall time is that of the whole process, from its start to its end; the run alone is the
prompts. Memory is the peak of the process. Both should grow in a straight line: the last column is the marginal cost of
a session beside that of the row above.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """Seconds of the process and of the prompts, and peak resident megabytes."""

    wall_s: float
    run_s: float
    peak_mb: float


async def play(sessions: int, turns: int, folder: Path) -> float:
    """Run the sessions; seconds that their prompts took."""
    from pinyon import PiAgent
    from pinyon.testing import faux_tool_call, scripted_model, scripted_options

    (folder / "file.txt").write_text("a line\n" * 50, encoding="utf-8")
    agents = []
    for _ in range(sessions):
        model = scripted_model(*[faux_tool_call("read", {"path": "file.txt"})] * turns, "That is all. " * 50)
        pi = await PiAgent.create(**scripted_options(model, folder))
        await pi.create_agent_session()
        agents.append(pi)
    started = time.perf_counter()
    results = await asyncio.gather(*(pi.session.run("Read the file") for pi in agents))
    run_s = time.perf_counter() - started
    assert all(result.stop_reason == "stop" and result.totals.turns == turns + 1 for result in results)
    for pi in agents:
        await pi.dispose()
    return run_s


def child(sessions: int, turns: int) -> None:
    """One measured process; tells its figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run_s = asyncio.run(play(sessions, turns, Path(folder)))
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    print(json.dumps([run_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit]))


def measure(sessions: int, turns: int, runs: int) -> Figure:
    """Medians after one warm-up."""
    figures = []
    for number in range(runs + 1):
        command = [sys.executable, __file__, "--child", str(sessions), "--turns", str(turns)]
        started = time.perf_counter()
        process = subprocess.run(command, check=True, capture_output=True, text=True)
        wall_s = time.perf_counter() - started
        if number:
            figures.append(Figure(wall_s, *json.loads(process.stdout)))
    return Figure(*map(statistics.median, zip(*figures, strict=True)))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", type=int, default=5, help="counted runs of each row")
    parser.add_argument("--sessions", type=int, nargs="*", default=[1, 10, 50])
    parser.add_argument("--turns", type=int, default=5, help="tool calls of each session")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, options.turns)
        return 0
    print(f"{'sessions':>8} {'process':>9} {'prompts':>9} {'memory':>9}   {'one more session':>24}")
    previous: tuple[int, Figure] | None = None
    for count in options.sessions:
        figure = measure(count, options.turns, options.n)
        line = f"{count:8} {figure.wall_s * 1000:6.0f} ms {figure.run_s * 1000:6.0f} ms {figure.peak_mb:6.1f} MB"
        if previous is not None and count > previous[0]:
            more = count - previous[0]
            time_ms = (figure.wall_s - previous[1].wall_s) / more * 1000
            line += f"   {time_ms:10.1f} ms {(figure.peak_mb - previous[1].peak_mb) / more:7.2f} MB"
        print(line, flush=True)
        previous = (count, figure)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
