"""The tree of a session as rows: what a filter shows, the active branch first, with lines only where it branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from pinyon.session import kind
from pinyon.session.entry import SessionEntry
from pinyon.session.tree import SessionTreeNode
from pinyon.tui.picker.entry_line import has_answer_text

TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
FILTERS: tuple[TreeFilter, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")
_BOOKKEEPING = frozenset(
    {kind.LABEL, kind.CUSTOM, kind.MODEL_CHANGE, kind.THINKING_LEVEL_CHANGE, kind.SESSION_INFO, kind.CONTEXT_EDIT}
) | {kind.SYSTEM}


class TreeRow(msgspec.Struct, kw_only=True):
    """An entry with its place. `lines` are drawn before it; `is_start` tells that a branch begins here."""

    entry: SessionEntry
    label: str = ""
    label_time: str = ""
    lines: str = ""
    is_start: bool = False
    is_active: bool = False
    is_folded: bool = False
    has_children: bool = False


class TreeView(msgspec.Struct, kw_only=True):
    """What is shown of a tree: the filter, the folded branches, and a test for a search."""

    filter: TreeFilter = "default"
    folded: set[str] = msgspec.field(default_factory=set)
    is_match: Callable[[SessionTreeNode], bool] | None = None


def tree_rows(roots: Sequence[SessionTreeNode], active: set[str], leaf_id: str | None, view: TreeView) -> list[TreeRow]:
    """The rows of a tree. `active` are the ids of the branch that ends in `leaf_id`."""
    tops, children = _shown_forest(roots, leaf_id, view)
    rows: list[TreeRow] = []
    waiting = list(_placed(tops, "", active))[::-1]
    while waiting:
        node, lines, below, is_start = waiting.pop()
        own = children.get(node.entry.id, [])
        is_folded = node.entry.id in view.folded and bool(own)
        rows.append(
            TreeRow(
                entry=node.entry,
                label=node.label or "",
                label_time=node.label_timestamp or "",
                lines=lines,
                is_start=is_start,
                is_active=node.entry.id in active,
                is_folded=is_folded,
                has_children=bool(own),
            )
        )
        if not is_folded:
            waiting += list(_placed(own, below, active))[::-1]
    return rows


_Placed = tuple[SessionTreeNode, str, str, bool]
"""A node, the lines before it, the lines before what is below it, whether a branch begins."""


def _placed(nodes: Sequence[SessionTreeNode], base: str, active: set[str]) -> Iterator[_Placed]:
    """Nodes below one place with their lines: active branch first; a single one goes on in the same column."""
    ordered = sorted(nodes, key=lambda node: node.entry.id not in active)
    if len(ordered) == 1:
        yield ordered[0], base, base, False
        return
    for number, node in enumerate(ordered):
        is_last = number == len(ordered) - 1
        yield node, base + ("└─ " if is_last else "├─ "), base + ("   " if is_last else "│  "), True


def _shown_forest(
    roots: Sequence[SessionTreeNode], leaf_id: str | None, view: TreeView
) -> tuple[list[SessionTreeNode], dict[str, list[SessionTreeNode]]]:
    """The shown nodes without a shown one above, and those right below each other shown one."""
    tops: list[SessionTreeNode] = []
    children: dict[str, list[SessionTreeNode]] = {}
    waiting: list[tuple[SessionTreeNode, str | None]] = [(root, None) for root in reversed(roots)]
    while waiting:
        node, above = waiting.pop()
        if is_shown(node, leaf_id, view):
            (tops if above is None else children.setdefault(above, [])).append(node)
            above = node.entry.id
        waiting += [(child, above) for child in reversed(node.children)]
    return tops, children


def is_shown(node: SessionTreeNode, leaf_id: str | None, view: TreeView) -> bool:
    """Whether filter and search leave a node."""
    entry = node.entry
    if entry.kind == kind.USAGE:
        return False
    if view.is_match is not None and not view.is_match(node):
        return False
    match view.filter:
        case "all":
            return True
        case "labeled-only":
            return bool(node.label)
        case "user-only":
            return entry.kind == kind.USER
        case "no-tools" if entry.kind == kind.TOOL_RESULT:
            return False
        case _:
            if entry.kind in _BOOKKEEPING:
                return False
            return entry.kind != kind.ASSISTANT or entry.id == leaf_id or has_answer_text(entry)
