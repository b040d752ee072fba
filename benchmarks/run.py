"""Measures Pinyon as a user meets it, whole processes from outside, and prints one table.

    python benchmarks/run.py [-n RUNS] [--only NAME ...]

Medians of several runs after one warm-up; the commands take turns, so that a machine whose speed drifts slows both.
With the environment variable PI_CMD set to a command line that starts the original, its figures and the ratios stand
beside. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PINYON = [str(Path(sys.executable).with_name("pinyon"))]
PLAIN = ["--offline", "--no-extensions"]
FLAGS = ["--offline", "--no-extensions", "--no-skills", "--no-context-files", "--no-prompt-templates"]


RPC = ["--mode", "rpc", "-c", *FLAGS]
STATE = '{"id":"1","type":"get_state"}'
PROMPT = '{"id":"1","type":"prompt","message":"go"}'


class Figure(NamedTuple):
    """Wall seconds (to the end, or to the line that was waited for) and peak resident megabytes of one process."""

    wall_s: float
    peak_mb: float


class Case(NamedTuple):
    """One row: its arguments behind the command, the server's script, and what has to be prepared."""

    name: str
    arguments: list[str]
    script: str | None = None
    messages: int = 0
    skills: int = 0
    templates: int = 0
    packages: int = 0
    typed: str = ""
    until: bytes = b""
    """A line for standard input, and what the line holds that its work is done with; then the input is closed."""


CASES = [
    Case("--version", ["--version"]),
    Case("--help", ["--help"]),
    Case("one turn, print mode", ["-p", *FLAGS, "--no-session", "Say hello"], "text"),
    Case("one turn, no resources", ["-p", *PLAIN, "--no-session", "Say hello"], "text"),
    Case("one turn, 200 skills", ["-p", *PLAIN, "--no-session", "Say hello"], "text", skills=200, templates=100),
    Case("one turn, 20 packages", ["-p", *PLAIN, "--no-session", "Say hello"], "text", packages=20),
    Case(
        "one turn, all of these",
        ["-p", *PLAIN, "--no-session", "Say hello"],
        "text",
        skills=200,
        templates=100,
        packages=20,
    ),
    Case("50 tool calls, print mode", ["-p", *FLAGS, "go"], "tools"),
    Case("20,000 deltas, JSON mode", ["-p", "--mode", "json", *FLAGS, "--no-session", "go"], "deltas:20000"),
    Case("40,000 deltas, JSON mode", ["-p", "--mode", "json", *FLAGS, "--no-session", "go"], "deltas:40000"),
    *(
        Case(f"RPC ready, {count:,} messages", RPC, messages=count, typed=STATE, until=b'"type":"response"')
        for count in (1_000, 10_000, 100_000)
    ),
    Case("20,000 deltas, RPC", RPC, "deltas:20000", typed=PROMPT, until=b'"agent_settled"'),
    Case("continue 1,000 messages", ["-c", "-p", *FLAGS, "more"], "text", 1_000),
    Case("continue 10,000 messages", ["-c", "-p", *FLAGS, "more"], "text", 10_000),
    Case("continue 100,000 messages", ["-c", "-p", *FLAGS, "more"], "text", 100_000),
]


def main() -> int:
    """Run the chosen cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=5, help="counted runs of each command")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name contains one of these texts")
    options = parser.parse_args()
    original = shlex.split(os.environ.get("PI_CMD", ""))
    cases = [case for case in CASES if not options.only or any(text in case.name for text in options.only)]
    print(f"{'case':28} {'pinyon':>18}" + (f" {'original':>18} {'time':>6} {'memory':>6}" if original else ""))
    for case in cases:
        print(row(case, original, options.n), flush=True)
    return 0


def row(case: Case, original: list[str], runs: int) -> str:
    """Measure one case with both commands in turn."""
    with scratch(case) as (environment, project, reset):
        ours: list[Figure] = []
        theirs: list[Figure] = []
        for number in range(runs + 1):
            for command, figures in ((PINYON, ours), (original, theirs)):
                if not command:
                    continue
                reset()
                figure = measure([*command, *case.arguments], environment, project, case)
                if number:
                    figures.append(figure)
    text = f"{case.name:28} {cell(ours):>18}"
    if theirs:
        wall = median_of(ours, "wall_s") / median_of(theirs, "wall_s")
        peak = median_of(ours, "peak_mb") / median_of(theirs, "peak_mb")
        text += f" {cell(theirs):>18} {wall:5.2f}x {peak:5.2f}x"
    return text


def cell(figures: list[Figure]) -> str:
    """Median time and memory as text."""
    return f"{median_of(figures, 'wall_s') * 1000:6.0f} ms {median_of(figures, 'peak_mb'):4.0f} MB"


def median_of(figures: list[Figure], field: str) -> float:
    """Median of one figure."""
    return float(statistics.median(getattr(figure, field) for figure in figures))


def measure(command: list[str], environment: dict[str, str], project: Path, case: Case) -> Figure:
    """Run a command to its end, or to the line that its case waits for. Raises `SystemExit` when it fails."""
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE if case.typed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    ready_s = 0.0
    if process.stdin is not None:
        process.stdin.write(case.typed.encode() + b"\n")
        process.stdin.flush()
        while (line := process.stdout.readline()) and case.until not in line:
            pass
        ready_s = time.monotonic() - started
        process.stdin.close()
    while process.stdout.read(1 << 20):
        pass
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = ready_s or time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}:\n{errors.decode(errors='replace')}")
    return Figure(wall_s, usage.ru_maxrss / 1024)


@contextlib.contextmanager
def scratch(case: Case) -> Iterator[tuple[dict[str, str], Path, Callable[[], None]]]:
    """A home with a model of ours, a project, and a function that lays the stored session anew."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, model_server(case.script) as port:
        home, project = Path(folder, "home"), Path(folder, "project")
        agent_dir = home / ".pi" / "agent"
        agent_dir.mkdir(parents=True)
        project.mkdir()
        write_configuration(agent_dir, port)
        write_resources(agent_dir, case)
        write_packages(agent_dir, case.packages)
        sessions = agent_dir / "sessions"
        prepared = Path(folder, "session.jsonl")
        if case.messages:
            write_session(prepared, project, case.messages)

        def reset() -> None:
            shutil.rmtree(sessions, ignore_errors=True)
            if case.messages:
                target = sessions / f"--{str(project).strip('/').replace('/', '-')}--"
                target.mkdir(parents=True)
                shutil.copyfile(prepared, target / "2026-01-01T00-00-00-000Z_bench.jsonl")

        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
            "PI_SKIP_VERSION_CHECK": "1",
        }  # fmt: skip
        yield environment, project, reset


@contextlib.contextmanager
def model_server(script: str | None) -> Iterator[int]:
    """Start the model server and give its port; 9 (discard) without a script."""
    if script is None:
        yield 9
        return
    server = subprocess.Popen(
        [sys.executable, str(HERE / "model_server.py"), script], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        yield int(server.stdout.readline())
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def write_configuration(agent_dir: Path, port: int) -> None:
    """A custom provider on the model server, and settings that choose it."""
    model = {"id": "bench-1", "contextWindow": 200_000_000, "maxTokens": 8192, "reasoning": False}
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}", "api": "anthropic-messages", "apiKey": "bench-key", "models": [model],
    }  # fmt: skip
    settings = {
        "defaultProvider": "bench", "defaultModel": "bench-1", "enableInstallTelemetry": False, "cacheWarming": "off",
        "compaction": {"enabled": False},
    }  # fmt: skip
    (agent_dir / "models.json").write_text(json.dumps({"providers": {"bench": provider}}), encoding="utf-8")
    (agent_dir / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def write_resources(agent_dir: Path, case: Case) -> None:
    """Skills and prompt templates of usual length; every tenth skill has front matter that needs a YAML parser."""
    body = "Read the file first.\n\n" + "Then do what the user asked for, step by step.\n" * 60
    for number in range(case.skills):
        folder = agent_dir / "skills" / f"skill-{number:03}"
        folder.mkdir(parents=True)
        extra = "metadata:\n  author: somebody\n  version: '1.0'\n" if number % 10 == 0 else "license: MIT\n"
        description = "Works on files of one kind, extracts their text and tables, and writes new ones when asked."
        front = f"---\nname: skill-{number:03}\ndescription: {description}\n{extra}---\n"
        (folder / "SKILL.md").write_text(front + body, encoding="utf-8")
    for number in range(case.templates):
        path = agent_dir / "prompts" / f"template-{number:03}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\ndescription: Template {number}\n---\nReview $1.\n{body}", encoding="utf-8")


def write_packages(agent_dir: Path, count: int) -> None:
    """Installed packages, every second one with a manifest, each with three skills and two prompt templates."""
    settings = json.loads((agent_dir / "settings.json").read_text(encoding="utf-8"))
    settings["packages"] = [f"git:git.example/owner/package-{number:02}" for number in range(count)]
    (agent_dir / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    for number in range(count):
        root = agent_dir / "git" / "git.example" / "owner" / f"package-{number:02}"
        for name in "abc":
            folder = root / "skills" / f"{name}-{number:02}"
            folder.mkdir(parents=True)
            text = f"---\nname: {name}-{number:02}\ndescription: Does one thing well.\n---\nDo it.\n"
            (folder / "SKILL.md").write_text(text, encoding="utf-8")
        (root / "prompts").mkdir()
        for name in "de":
            (root / "prompts" / f"{name}-{number:02}.md").write_text("Review $1.\n", encoding="utf-8")
        manifest = {"pi": {"skills": ["skills"], "prompts": ["prompts/*.md"]}} if number % 2 else {}
        (root / "package.json").write_text(json.dumps({"name": root.name, "version": "1.0.0", **manifest}))


def write_session(path: Path, project: Path, messages: int) -> None:
    """A stored conversation of `messages` alternating messages."""
    stamp = "2026-01-01T00:00:00.000Z"
    usage = {"input": 10, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 20,
             "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}  # fmt: skip
    with path.open("w", encoding="utf-8") as file:
        header = {"type": "session", "version": 3, "id": "bench", "timestamp": stamp, "cwd": str(project)}
        file.write(json.dumps(header, separators=(",", ":")) + "\n")
        parent = None
        for number in range(messages):
            if number % 2 == 0:
                content = [{"type": "text", "text": f"Question {number}: what does the function do, and why? " * 2}]
                message = {"role": "user", "content": content, "timestamp": 1_767_225_600_000 + number}
            else:
                content = [{"type": "text", "text": f"Answer {number}: it reads the file and returns its lines. " * 3}]
                message = {"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "bench",
                           "model": "bench-1", "usage": usage, "stopReason": "stop",
                           "timestamp": 1_767_225_600_000 + number}  # fmt: skip
            entry = {
                "type": "message",
                "id": f"{number:08x}",
                "parentId": parent,
                "timestamp": stamp,
                "message": message,
            }
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
            parent = entry["id"]


if __name__ == "__main__":
    sys.exit(main())
