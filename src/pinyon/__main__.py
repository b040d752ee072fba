"""`python -m pinyon`: the same as the `pinyon` command."""

from __future__ import annotations

import sys

from pinyon.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
