"""Durations, sizes and counts as people read them."""

from __future__ import annotations


def shown_duration(seconds: float) -> str:
    """`4.2s`, `1m 30s`, `2h 3m 4s`."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}h {minutes}m {rest}s" if hours else f"{minutes}m {rest}s"


def shown_tokens(count: float) -> str:
    """`999`, `1.2k`, `12k`, `1.2M`, `12M`."""
    if count < 1000:
        return str(int(count))
    for limit, unit in ((1_000_000, "k"), (float("inf"), "M")):
        if count < limit:
            value = count / (1000 if unit == "k" else 1_000_000)
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return str(count)


def shown_size(size_bytes: int) -> str:
    """`812 B`, `1.2 KB`, `3.4 MB`."""
    if size_bytes < 1024:
        return f"{size_bytes} B"
    if size_bytes < 1024**2:
        return f"{size_bytes / 1024:.1f} KB"
    return f"{size_bytes / 1024**2:.1f} MB"


_AGES = ((60, "now", 0), (3600, "m", 60), (86_400, "h", 3600), (604_800, "d", 86_400), (2_629_800, "w", 604_800))
_MONTH_S, _YEAR_S = 2_629_800, 31_557_600


def shown_age(seconds: float) -> str:
    """`now`, `5m`, `3h`, `2d`, `1w`, `4mo`, `1y`."""
    for limit, unit, size in _AGES:
        if seconds < limit:
            return f"{int(seconds // size)}{unit}" if size else unit
    if seconds < _YEAR_S:
        return f"{int(seconds // _MONTH_S)}mo"
    return f"{int(seconds // _YEAR_S)}y"


def counted(number: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
