"""Brings a model's arguments closer to their schema before they are checked, in three passes.

1. A null of an optional property whose schema rejects null is taken away.
2. Values are converted as the schema's first telling keyword says; a single value becomes a one-item array.
3. What still has a wrong primitive type is converted more strictly, notably for lists of types.

Nothing is changed in place, defaults are never filled in, and text that holds JSON is not parsed. Values that cannot be
converted stay as they are for the check to report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from pinyon._util.json import plain_number
from pinyon.agent.schema import Schema, is_type, json_equal, tuple_schemas
from pinyon.agent.schema_check import SchemaCheck
from pinyon.agent.schema_format import compile_pattern

Convert = Callable[[Any, Any], Any]
"""`(schema, value)` to the value converted, the same object where nothing changed."""

_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RADIX = r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)"
_BLANK = " \t\n\r\v\f\u00a0\u2028\u2029\ufeff"
_PRIMITIVES = (str, int, float, type(None))


def coerce(document: Schema, value: Any) -> Any:
    """`value` after the three passes over the whole document."""
    coercer = _Coercer(document)
    value = coercer.drop_nulls(document.root, value)
    value = coercer.convert(document.root, value)
    return coercer.match_types(document.root, value)


class _Coercer:
    def __init__(self, document: Schema) -> None:
        self._document = document
        self._check = SchemaCheck(document)
        self._open: set[tuple[int, int]] = set()

    def _follow(self, reference: str, value: Any, convert: Convert) -> Any:
        """`value` converted by the schema that a reference names; one that comes back to itself changes nothing."""
        target = self._document.resolve(reference)
        step = (id(target), id(value))
        if step in self._open:
            return value
        self._open.add(step)
        try:
            return convert(target, value)
        finally:
            self._open.discard(step)

    # --- pass 1

    def drop_nulls(self, schema: Any, value: Any) -> Any:
        if not isinstance(schema, dict):
            return value
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if not (item is None and self._is_droppable(schema, key))}
            value = kept if len(kept) < len(value) else value
        return _map_children(schema, value, self.drop_nulls)

    def _is_droppable(self, schema: dict[str, Any], key: str) -> bool:
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict) or key not in properties:
            return False
        if isinstance(required, list) and key in required:
            return False
        part = properties[key]
        refers = isinstance(part, dict) and "$ref" in part
        return not refers and not self._check.accepts(part, None)

    # --- pass 2

    def convert(self, schema: Any, value: Any) -> Any:
        if not isinstance(schema, dict):
            return value
        if isinstance(schema.get("$ref"), str):
            return self._follow(schema["$ref"], value, self.convert)
        if "const" in schema:
            return _to_member(value, [schema["const"]])
        if isinstance(schema.get("enum"), list):
            return _to_member(value, schema["enum"])
        if any(isinstance(schema.get(key), list) for key in ("anyOf", "oneOf")):
            value = self._convert_union(schema, value)
        elif isinstance(schema.get("allOf"), list):
            for part in schema["allOf"]:
                value = self.convert(part, value)
        else:
            value = _to_type(schema, value)
        return _map_children(schema, value, self.convert)

    def _convert_union(self, schema: dict[str, Any], value: Any) -> Any:
        branches = [*_listed(schema.get("anyOf")), *_listed(schema.get("oneOf"))]
        if any(self._check.accepts(branch, value) for branch in branches):
            return value
        union = {key: schema[key] for key in ("anyOf", "oneOf") if key in schema}
        for branch in branches:
            converted = self.match_types(branch, self.convert(branch, value))
            if self._check.accepts(union, converted):
                return converted
        return value

    # --- pass 3

    def match_types(self, schema: Any, value: Any) -> Any:
        if not isinstance(schema, dict):
            return value
        if isinstance(schema.get("$ref"), str):
            return self._follow(schema["$ref"], value, self.match_types)
        if isinstance(value, _PRIMITIVES):
            return self._match_primitive(schema, value)
        return _map_children(schema, value, self.match_types)

    def _match_primitive(self, schema: dict[str, Any], value: Any) -> Any:
        for part in _listed(schema.get("allOf")):
            value = self.match_types(part, value)
        names = schema.get("type")
        names = names if isinstance(names, list) else [names]
        if any(is_type(value, name) for name in names):
            return value
        for name in names:
            strict = _STRICT.get(name)
            converted = value if strict is None else strict(value)
            if converted is not value:
                return converted
        return value


def _listed(operand: Any) -> list[Any]:
    return operand if isinstance(operand, list) else []


def _map_children(schema: dict[str, Any], value: Any, convert: Convert) -> Any:
    """`value` with its properties or items converted by their schemas; the same object where nothing changed."""
    if isinstance(value, dict):
        changed = {key: _map_property(schema, key, item, convert) for key, item in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        first, others = tuple_schemas(schema)
        items = [convert(first[i] if i < len(first) else others, item) for i, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _map_property(schema: dict[str, Any], key: str, value: Any, convert: Convert) -> Any:
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    is_declared = isinstance(properties, dict) and key in properties
    if is_declared:
        value = convert(schema["properties"][key], value)
    for pattern, part in patterns.items() if isinstance(patterns, dict) else ():
        compiled = compile_pattern(pattern)
        if compiled is not None and compiled.search(key):
            is_declared = True
            value = convert(part, value)
    return value if is_declared else convert(schema.get("additionalProperties"), value)


# --- conversions; each returns its argument where it does not apply


def _to_type(schema: dict[str, Any], value: Any) -> Any:
    name = schema.get("type")
    if isinstance(name, str):
        if name == "array":
            return _to_array(schema, value)
        convert = _CONVERSIONS.get(name)
        return value if convert is None or (is_type(value, name) and name != "integer") else convert(value)
    if name is None and "properties" not in schema and isinstance(schema.get("items"), dict | bool):
        return _to_array(schema, value)
    return value


def _to_array(schema: dict[str, Any], value: Any) -> Any:
    is_tuple = bool(tuple_schemas(schema)[0])
    return value if isinstance(value, list) or is_tuple else [value]


def _to_member(value: Any, members: list[Any]) -> Any:
    """The member of an enumeration that the value is, or turns into."""
    if any(json_equal(value, member) for member in members):
        return value
    for member in members:
        if isinstance(member, bool):
            converted = _to_boolean(value)
        elif isinstance(member, int | float):
            converted = _to_number(value)
        else:
            converted = _to_string(value) if isinstance(member, str) else value
        if json_equal(converted, member):
            return member
    return value


def _to_string(value: Any) -> Any:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | float) else value


def _to_number(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str):
        return value
    word = value.lower()
    if word in ("true", "false"):
        return int(word == "true")
    number = parse_number(value)
    return value if number is None else number


def _to_integer(value: Any) -> Any:
    number = _to_number(value)
    has_fraction = isinstance(number, float) and abs(number) < 2**53
    return math.trunc(number) if has_fraction else number


def _to_boolean(value: Any) -> Any:
    if value is None:
        return False
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    is_flag = isinstance(value, int | float) and value in (0, 1)
    return bool(value) if is_flag else value


def _to_null(value: Any) -> Any:
    if isinstance(value, str):
        return None if value.lower() in ("null", "undefined", "", "0") else value
    return None if value is False or (_is_number(value) and value == 0) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "string": _to_string,
    "number": _to_number,
    "integer": _to_integer,
    "boolean": _to_boolean,
    "null": _to_null,
}


# --- the stricter conversions of pass 3


def _strictly_string(value: Any) -> Any:
    return "" if value is None else _to_string(value)


def _strictly_number(value: Any) -> Any:
    if isinstance(value, str):
        number = parse_number(value) if value else None
        return value if number is None else number
    return _to_number(value)


def _strictly_integer(value: Any) -> Any:
    number = _strictly_number(value)
    return number if isinstance(number, int) and not isinstance(number, bool) else value


def _strictly_boolean(value: Any) -> Any:
    if value is None or value == "false" or (_is_number(value) and value == 0):
        return False
    return True if value == "true" or (_is_number(value) and value == 1) else value


def _strictly_null(value: Any) -> Any:
    return None if value == "" or value is False or (_is_number(value) and value == 0) else value


_STRICT: dict[Any, Callable[[Any], Any]] = {
    "string": _strictly_string,
    "number": _strictly_number,
    "integer": _strictly_integer,
    "boolean": _strictly_boolean,
    "null": _strictly_null,
}


# --- numbers as texts


def parse_number(text: str) -> int | float | None:
    """The number that a text spells out, as ECMAScript reads it; a blank text is 0, None where it is no number."""
    trimmed = text.strip(_BLANK)
    if not trimmed:
        return 0
    if re.fullmatch(_RADIX, trimmed):
        return int(trimmed, 0)
    if not re.fullmatch(_DECIMAL, trimmed):
        return None
    number = float(trimmed)
    if not math.isfinite(number):
        return None
    return int(trimmed) if trimmed.lstrip("+-").isdecimal() else plain_number(number)


def number_text(value: float) -> str:
    """A number as ECMAScript prints it."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    shortest = repr(value)
    if 1e-6 <= abs(value) < 1e21:
        from decimal import Decimal

        return format(Decimal(shortest), "f")
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}e{int(exponent):+d}"
