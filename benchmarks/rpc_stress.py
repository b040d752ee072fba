"""Throws random, valid, broken and half lines at an RPC process while its model speaks; raises where one is lost.

    python benchmarks/rpc_stress.py [--lines 20000] [--seed 1]

Prints the time, how many pieces of the model's answer came meanwhile, and memory after the first and last tenth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.cli.command import Home
from tests.modes.rpc_stress import measured, speech

from pinyon.testing.fake_server import FakeServer


def main() -> int:
    """Run once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stress-") as folder, FakeServer([speech(4000)]) as server:
        print(measured(Home(Path(folder), server.url), options.lines, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
