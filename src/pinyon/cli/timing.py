"""How long the stages of a start take, for `PI_TIMING=1`. A process starts once, so there is one list of marks."""

from __future__ import annotations

import os
import time
from itertools import pairwise

_marks: list[tuple[str, float]] = []


def mark(stage: str) -> None:
    """Note that a stage has ended now; the first mark is where counting begins."""
    if os.environ.get("PI_TIMING") == "1":
        _marks.append((stage, time.perf_counter()))


def take_times() -> str | None:
    """One line with the milliseconds of each stage so far and their sum, None where nothing was asked for."""
    if len(_marks) < 2:
        return None
    stages = [f"{stage} {(end - begin) * 1000:.1f} ms" for (_, begin), (stage, end) in pairwise(_marks)]
    total_ms = (_marks[-1][1] - _marks[0][1]) * 1000
    _marks.clear()
    return f"Start-up: {', '.join(stages)}; together {total_ms:.1f} ms"
