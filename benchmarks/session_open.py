"""Measures opening, projecting, reading and listing session files; prints one table.

    python benchmarks/session_open.py [-n RUNS] [--sizes 1000 10000 100000] [--listed 2000] [--large-mb 400]

Every figure is the median of several runs, each in a process of its own, so that peak memory is that of the one
operation. `import` is the share of a process that does nothing but load the room. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHILD = """
import resource, sys, time
from pathlib import Path
from pinyon.session.session import Session
from pinyon.session.local import LocalSessionManager
operation, target = sys.argv[1], sys.argv[2]
began, cpu = time.perf_counter(), time.process_time()
if operation in ("open", "project", "messages"):
    session = Session.open(target)
    context = session.build_session_context()
    if operation != "open":
        context.message_count, context.model, context.thinking_level
    if operation == "messages":
        len(context.messages)
elif operation == "list":
    import asyncio
    asyncio.run(LocalSessionManager.list("/bench", target))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
print(time.perf_counter() - began, time.process_time() - cpu, peak)
"""
OPERATIONS = {
    "open": "open",
    "project": "open, count, model and level",
    "messages": "open and decode all messages",
}


def message(number: int) -> dict[str, object]:
    """One message of a conversation in which every second answer calls a tool."""
    stamp = 1_700_000_000_000 + number
    if number % 4 == 0:
        text = f"please look at file number {number} and tell me what is wrong with it, and why it did not work before"
        return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": stamp}
    if number % 4 == 2:
        content = [{"type": "text", "text": "a line of output\n" * 20}]
        call = {"toolCallId": f"toolu_{number - 1}", "toolName": "bash", "isError": False, "timestamp": stamp}
        return {"role": "toolResult", "content": content, **call}
    blocks: list[dict[str, object]] = [{"type": "text", "text": "some words of an answer " * 8}]
    if number % 4 == 1:
        arguments = {"command": f"ls -la src/{number}"}
        blocks.append({"type": "toolCall", "id": f"toolu_{number}", "name": "bash", "arguments": arguments})
    cost = {"input": 0.0003, "output": 0.0003, "cacheRead": 0, "cacheWrite": 0, "total": 0.0006}
    usage = {"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120, "cost": cost}
    model = {"api": "anthropic-messages", "provider": "bench", "model": "bench-1", "usage": usage}
    return {"role": "assistant", "content": blocks, **model, "stopReason": "stop", "timestamp": stamp}


def write_session(path: Path, messages: int) -> Path:
    """A linear session of this many messages."""
    header = {"type": "session", "version": 3, "id": path.stem, "timestamp": "2025-01-01T00:00:00.000Z"}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({**header, "cwd": "/bench"}, separators=(",", ":")) + "\n")
        parent = None
        for number in range(messages):
            entry_id = f"{number * 2_654_435_761 % 2**32:08x}"
            head = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2025-01-01T00:00:01.000Z"}
            file.write(json.dumps({**head, "message": message(number)}, separators=(",", ":")) + "\n")
            parent = entry_id
    return path


def measure(operation: str, target: Path, runs: int) -> str:
    """Median wall seconds, CPU seconds and peak megabytes of one operation, as columns."""
    figures = []
    for _ in range(runs):
        command = [sys.executable, "-c", CHILD, operation, str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        figures.append([float(word) for word in done.stdout.split()])
    wall, cpu, peak = (statistics.median(column) for column in zip(*figures, strict=True))
    return f"{wall * 1000:9.1f} ms {cpu * 1000:9.1f} ms {peak:8.1f} MB"


def process_time(runs: int) -> float:
    """Median wall seconds of a process that only imports the room."""
    code = "from pinyon.session.session import Session"
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Prepare the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="runs", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--listed", type=int, default=2_000)
    parser.add_argument("--large-mb", type=int, default=0, help="also open a file of about this size")
    options = parser.parse_args()
    print(f"process that imports the room: {process_time(options.runs) * 1000:.0f} ms")
    print(f"{'':44} {'wall':>12} {'CPU':>12} {'peak':>11}")
    print(f"{'nothing but the import':44} {measure('nothing', Path(), options.runs)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sizes = [*options.sizes, *([options.large_mb * 1800] if options.large_mb else [])]
        for size in sizes:
            path = write_session(folder / f"s{size}.jsonl", size)
            mb = path.stat().st_size / 2**20
            for operation, title in OPERATIONS.items():
                print(f"{f'{size:,} messages, {mb:.0f} MB: {title}':44} {measure(operation, path, options.runs)}")
            path.unlink()
        for number in range(options.listed):
            write_session(folder / f"l{number}.jsonl", 20)
        print(f"{f'list {options.listed:,} sessions of 20 messages':44} {measure('list', folder, options.runs)}")


if __name__ == "__main__":
    main()
