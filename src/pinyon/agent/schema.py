"""A JSON Schema document: where its references lead, and small questions about JSON values.

Drafts 7 and 2020-12 are read alike; a keyword whose operand has no meaning in either is passed over, because tools
come from anywhere and a sloppy schema must not make its tool unusable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MISSING = object()
TYPE_NAMES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Schema:
    """A root schema with its references; `root` is a schema object or a boolean."""

    __slots__ = ("_named", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self._named: dict[str, Any] | None = None

    def resolve(self, reference: str) -> Any:
        """The schema that `reference` names inside this document; None where there is none.

        JSON pointers, anchors and `$id`s are followed. Nothing is ever fetched.
        """
        target = self._lookup(reference)
        return target if isinstance(target, dict | bool) else None

    def _lookup(self, reference: str) -> Any:
        if reference in ("", "#"):
            return self.root
        base, _, fragment = reference.partition("#")
        start = self._by_name().get(base, _MISSING) if base else self.root
        if start is _MISSING:
            return None
        if not fragment:
            return start
        if not fragment.startswith("/"):
            return self._by_name().get("#" + fragment)
        if "%" in fragment:
            from urllib.parse import unquote

            fragment = unquote(fragment)
        return _pointed(start, fragment)

    def _by_name(self) -> dict[str, Any]:
        if self._named is None:
            self._named = {}
            for node in _objects(self.root):
                for key in ("$id", "id"):
                    if isinstance(node.get(key), str):
                        self._named.setdefault(node[key].removesuffix("#"), node)
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(node.get(key), str):
                        self._named.setdefault("#" + node[key], node)
        return self._named


def _objects(root: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, outermost first."""
    pending = [root]
    for value in pending:
        if isinstance(value, dict):
            yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _pointed(start: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901), None where it leads nowhere."""
    value = start
    for part in pointer.split("/")[1:]:
        token = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def type_name(value: Any) -> str:
    """The most specific JSON type of a value; the Python type's name for what is not JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else type(value).__name__


def is_type(value: Any, expected: Any) -> bool:
    """Whether a value has the JSON type; a name that is no JSON type accepts everything."""
    name = type_name(value)
    return name == expected or (name == "integer" and expected == "number") or expected not in TYPE_NAMES


def json_equal(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, but True is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return bool(left == right)


def tuple_schemas(schema: dict[str, Any]) -> tuple[list[Any], Any]:
    """Schemas of an array's items as (those of the first places, that of all others)."""
    prefix, items = schema.get("prefixItems"), schema.get("items", True)
    if isinstance(prefix, list):
        return prefix, items
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return [], items
