from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pinyon.cli.flag import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[2]

EXAMPLE_HOMES = ("user", "someuser", "u", "x")
FORBIDDEN = re.compile(
    rf"/(?:home|Users)/(?!(?:{'|'.join(EXAMPLE_HOMES)})\b)[\w.-]+|/[r]oot/|pypi[.]org|pythonhosted[.]org|registry[.]npmjs"
)
FENCE = re.compile(r"(?:<!-- (?P<file>examples/\S+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)#\s]+)")


def tracked_files() -> list[Path]:
    """The files that belong to the repository; outside of one, those that a checkout would have."""
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
    if listing.returncode == 0:
        return [path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]
    return [path for folder in ("src", "tests", "docs", "examples") for path in (ROOT / folder).rglob("*.*")]


PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")})


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_printed_programs_are_the_example_files(page: Path) -> None:
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        assert match["file"], f"name the file above the program: {match['code'].splitlines()[0]}"
        assert match["code"] == (ROOT / match["file"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_listed_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {name for name in pages if f"({name})" not in index} == set()


def test_every_environment_variable_of_the_help_is_read_somewhere() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py") if path.name != "flag.py"]
    names = [name for names in ENVIRONMENT for name in names.split(", ")]
    assert [name for name in names if not any(name in source for source in sources)] == []


def test_the_readmes_program_is_short() -> None:
    programs = [match["code"] for match in FENCE.finditer((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert programs
    assert all(len(program.splitlines()) <= 15 for program in programs)
