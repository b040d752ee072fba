"""Measures Pinyon, and the original beside it where `PI_CMD` names its command; prints one table.

Each case starts real processes in a scratch home and takes the best of several runs. Times are milliseconds.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Command = list[str]
Case = Callable[[Command, Mapping[str, str]], float]

RUNS = 10


def best_ms(command: Command, env: Mapping[str, str]) -> float:
    """The quickest of `RUNS` runs of `command`, after one that warms the caches."""
    return min(_run_ms(command, env) for _ in range(RUNS + 1))


def _run_ms(command: Command, env: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000


def version(command: Command, env: Mapping[str, str]) -> float:
    """`--version`."""
    return best_ms([*command, "--version"], env)


def help_text(command: Command, env: Mapping[str, str]) -> float:
    """`--help`."""
    return best_ms([*command, "--help"], env)


CASES: Mapping[str, Case] = {"--version": version, "--help": help_text}


def scratch_env(home: Path) -> dict[str, str]:
    """The process environment with an empty home, offline and without credentials."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "PI_OFFLINE": "1"}


def main() -> int:
    """Run every case and print the table; ratios below 1 mean Pinyon is quicker."""
    ours = [str(Path(sys.executable).with_name("pinyon"))]
    theirs = shlex.split(os.environ.get("PI_CMD", ""))
    print(f"{'case':<28}{'pinyon':>10}{'original':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as home:
        env = scratch_env(Path(home))
        for name, case in CASES.items():
            mine = case(ours, env)
            other = case(theirs, env) if theirs else None
            print(f"{name:<28}{mine:>10.1f}" + (f"{other:>10.1f}{mine / other:>8.2f}" if other else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
