"""Writes the pages under docs/ that are generated from tables in the code; `--check` only compares them.

Each generated page stands as a whole: change the table or the text here, never the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PAGES: Mapping[str, Callable[[], str]] = {}


def stale_pages() -> list[str]:
    """The generated pages whose files differ from what the tables say now."""
    return [name for name, render in PAGES.items() if _read(ROOT / name) != render()]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(argv: list[str]) -> int:
    """Write or check the pages; exit code 1 when `--check` finds one that is out of date."""
    stale = stale_pages()
    if "--check" in argv:
        for name in stale:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
