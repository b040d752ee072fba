from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run_example(name: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run an example as a user would, in a folder of its own and with an empty home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PI_") and not key.endswith("_KEY")}
    return subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**kept, "HOME": str(cwd), "USERPROFILE": str(cwd), **env},
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("settings_in_memory.py", "1\n['read', 'grep']\n"),
        ("system_prompt.py", "cwd: "),
    ],
)
def test_an_example_prints_what_it_shows(name: str, shown: str, tmp_path: Path) -> None:
    result = run_example(name, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert shown in result.stdout
