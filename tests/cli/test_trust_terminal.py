"""The question about a project before the interactive mode: when it comes, and what an answer does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.resources.place import Place

CODE = """
import json, os
from pathlib import Path
from pinyon.cli.trust_terminal import settle_trust
print(json.dumps(settle_trust(Path.cwd(), json.loads(os.environ["OVERRIDE"]))))
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path.resolve())
    found.write(found.project / ".pi/prompts/mine.md", "text")
    return found


def ask(place: Place, typed: str, *, override: bool | None = None) -> tuple[dict[str, bool], str]:
    """What is settled, and what was shown."""
    env = {"HOME": str(place.home), "OVERRIDE": json.dumps(override)}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        input=typed,
        env=env,
        cwd=place.project,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("typed", "trusted"), [("1\n", True), ("3\n", True), ("4\n", False), ("\n", False), ("", False)]
)
def test_the_answer_holds_for_the_folder(place: Place, typed: str, trusted: bool) -> None:
    settled, shown = ask(place, typed)
    assert settled == {str(place.project): trusted}
    assert repr(str(place.project)) in shown
    saved = place.agent / "trust.json"
    assert saved.exists() is (typed in ("1\n", "4\n"))


def test_a_wrong_answer_is_asked_for_again(place: Place) -> None:
    settled, shown = ask(place, "9\nyes\n1\n")
    assert settled == {str(place.project): True}
    assert "'9'" in shown
    assert "'yes'" in shown


@pytest.mark.parametrize("case", ["flag", "saved", "default", "nothing"])
def test_nothing_is_asked_where_something_else_decides(place: Place, case: str) -> None:
    if case == "saved":
        place.write(place.agent / "trust.json", json.dumps({str(place.work): False}))
    elif case == "default":
        place.settings({"defaultProjectTrust": "never"})
    elif case == "nothing":
        (place.project / ".pi/prompts/mine.md").unlink()
        (place.project / ".pi/prompts").rmdir()
    assert ask(place, "1\n", override=True if case == "flag" else None) == ({}, "")
