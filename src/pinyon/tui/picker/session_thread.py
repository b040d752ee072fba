"""Sessions under those that they were forked from, the most recently used families first."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.session.listing import SessionInfo


def threaded(infos: Sequence[SessionInfo]) -> tuple[list[SessionInfo], dict[str, str]]:
    """The sessions in the order of their families, and the lines that are drawn before each by its path."""
    known = {info.path for info in infos}
    children: dict[str | None, list[SessionInfo]] = {}
    for info in infos:
        parent = info.parent_session_path if info.parent_session_path in known else None
        children.setdefault(parent if parent != info.path else None, []).append(info)
    latest = _latest(infos, children)
    ordered: list[SessionInfo] = []
    prefixes: dict[str, str] = {}
    waiting = [(info, "", "") for info in sorted(children.get(None, []), key=lambda item: latest[item.path])]
    while waiting:
        info, prefix, below = waiting.pop()
        ordered.append(info)
        prefixes[info.path] = prefix
        own = sorted(children.pop(info.path, []), key=lambda item: latest[item.path])
        for number, child in enumerate(own):
            is_last = number == 0
            waiting.append((child, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  ")))
    left = [info for info in infos if info.path not in prefixes]
    return [*ordered, *left], prefixes


def _latest(infos: Sequence[SessionInfo], children: dict[str | None, list[SessionInfo]]) -> dict[str, int]:
    """The time of the last message in each session and those below it; circles end where they close."""
    latest: dict[str, int] = {}
    for root in infos:
        seen: set[str] = set()
        waiting, newest = [root], 0
        while waiting:
            info = waiting.pop()
            if info.path in seen:
                continue
            seen.add(info.path)
            newest = max(newest, latest.get(info.path, info.modified_ms))
            if info.path not in latest:
                waiting += children.get(info.path, [])
        latest[root.path] = newest
    return latest
