"""The entries of a session as a tree, as the command `get_tree` gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Node = dict[str, Any]
"""`{"entry": …, "children": [nodes], "label"?: …, "labelTimestamp"?: …}`"""


def tree_of_entries(entries: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Nest entries that stand in file order; the children of a node are in the order of their times.

    Where a parent is not there, the entry goes on from the one before it.
    """
    labels = _labels(entries)
    roots: list[Node] = []
    by_id: dict[str, Node] = {}
    previous: Node | None = None
    for entry in entries:
        node: Node = {"entry": entry, "children": [], **labels.get(entry["id"], {})}
        parent_id = entry.get("parentId")
        parent = None if parent_id is None else by_id.get(parent_id, previous)
        (roots if parent is None else parent["children"]).append(node)
        by_id[entry["id"]] = previous = node
    for node in by_id.values():
        node["children"].sort(key=_time)
    return roots


def _labels(entries: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    labels: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.get("type") == "label":
            text = entry.get("label")
            labels[entry["targetId"]] = {"label": text, "labelTimestamp": entry["timestamp"]} if text else {}
    return labels


def _time(node: Node) -> str:
    return str(node["entry"].get("timestamp", ""))
