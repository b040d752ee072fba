"""Checks a value against a JSON Schema and tells every problem with its place."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

from pinyon._util import json as _json
from pinyon.agent.schema import Schema, is_type, json_equal, tuple_schemas, type_name
from pinyon.agent.schema_format import compile_pattern, is_format

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """What is wrong at a place of the value; `text` continues the sentence that begins with the place."""

    path: Path
    text: str


class SchemaCheck:
    """Checks values against a document; `accepts` and `problems` take any schema that stands in it."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._open: set[tuple[int, Path]] = set()

    def accepts(self, schema: Any, value: Any) -> bool:
        """Whether the value is valid."""
        return not self.problems(schema, value)

    def problems(self, schema: Any, value: Any, path: Path = ()) -> list[Problem]:
        """Everything that is wrong with the value, in the order of the schema's keywords."""
        if schema is False:
            return [Problem(path, "is not allowed")]
        if not isinstance(schema, dict):
            return []
        found: list[Problem] = []
        for keyword, operand in schema.items():
            rule = _RULES.get(keyword)
            if rule is not None:
                found.extend(rule(self, operand, value, path, schema))
        return found

    def follow(self, reference: Any, value: Any, path: Path) -> Iterable[Problem]:
        """Problems with the schema that a reference names; one that leads nowhere rejects its place."""
        if not isinstance(reference, str):
            return ()
        target = self._document.resolve(reference)
        if target is None:
            return [Problem(path, f"cannot be checked: the schema refers to {reference!r}, which is not there")]
        step = (id(target), path)
        if step in self._open:
            return ()  # a schema that refers to itself for the same value adds nothing
        self._open.add(step)
        try:
            return self.problems(target, value, path)
        finally:
            self._open.discard(step)

    def evaluated(self, schema: Any, value: Any) -> set[str | int]:
        """Keys or indexes of the value that `schema` says something about, for the `unevaluated…` keywords."""
        if not isinstance(schema, dict):
            return set()
        own = _own_keys(schema, value) if isinstance(value, dict) else _own_indexes(schema, value)
        for part in self._applied_parts(schema, value):
            own |= self.evaluated(part, value)
        return own

    def _applied_parts(self, schema: dict[str, Any], value: Any) -> Iterator[Any]:
        """Schemas that apply to the same value."""
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield self._document.resolve(reference)
        for keyword in ("allOf", "anyOf", "oneOf"):
            yield from (part for part in _list(schema.get(keyword)) if self.accepts(part, value))
        if "if" in schema:
            holds = self.accepts(schema["if"], value)
            yield from (schema["if"], schema.get("then")) if holds else (schema.get("else"),)
        for key, part in _dict(schema.get("dependentSchemas")).items():
            if isinstance(value, dict) and key in value:
                yield part


Rule = Callable[[SchemaCheck, Any, Any, Path, dict[str, Any]], Iterable[Problem]]


def _list(operand: Any) -> list[Any]:
    return operand if isinstance(operand, list) else []


def _dict(operand: Any) -> dict[str, Any]:
    return operand if isinstance(operand, dict) else {}


def _shown(value: Any) -> str:
    return _json.encode(value).decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- any value


def _type(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    names = operand if isinstance(operand, list) else [operand]
    if names and not any(is_type(value, name) for name in names):
        yield Problem(path, f"should be {' or '.join(map(str, names))}, not {type_name(value)}")


def _enum(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(operand, list) and not any(json_equal(value, member) for member in operand):
        yield Problem(path, f"should be one of {_shown(operand)}")


def _const(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if not json_equal(value, operand):
        yield Problem(path, f"should be exactly {_shown(operand)}")


def _ref(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    return check.follow(operand, value, path)


def _all_of(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    for part in _list(operand):
        yield from check.problems(part, value, path)


def _any_of(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    if not isinstance(operand, list):
        return []
    results = [check.problems(part, value, path) for part in operand]
    return [] if not all(results) else _nearest(results, path)


def _one_of(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    if not isinstance(operand, list):
        return []
    results = [check.problems(part, value, path) for part in operand]
    passed = sum(not result for result in results)
    if passed > 1:
        return [Problem(path, f"fits {passed} of the alternatives where only one may fit")]
    return [] if passed else _nearest(results, path)


def _nearest(results: list[list[Problem]], path: Path) -> list[Problem]:
    """The problems of the alternative that came nearest, or all types where none was of the right kind."""
    inside = [result for result in results if any(problem.path != path for problem in result)]
    if inside:
        return min(inside, key=len)
    texts = dict.fromkeys(problem.text for result in results for problem in result[:1])
    return [Problem(path, "fits none of the alternatives" + (f": {'; or '.join(texts)}" if texts else ""))]


def _not(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(operand, dict | bool) and check.accepts(operand, value):
        yield Problem(path, "is of a kind that the schema rules out")


def _if(check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]) -> Iterable[Problem]:
    branch = "then" if check.accepts(operand, value) else "else"
    return check.problems(schema.get(branch), value, path)


# --- numbers and strings


def _bound(is_good: Callable[[Any, Any], bool], words: str) -> Rule:
    def rule(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
        if _is_number(operand) and _is_number(value) and not is_good(value, operand):
            yield Problem(path, f"should be {words} {operand}")

    return rule


def _multiple_of(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if _is_number(operand) and _is_number(value) and operand > 0 and not _divides(operand, value):
        yield Problem(path, f"should be a multiple of {operand}")


def _divides(step: float, value: float) -> bool:
    """Whether `value` is a multiple of `step`, in decimal as both are written."""
    if isinstance(step, int) and isinstance(value, int):
        return value % step == 0
    from fractions import Fraction

    try:
        return Fraction(str(value)) % Fraction(str(step)) == 0
    except ValueError:  # infinite or not a number
        return False


def _size(kind: type[Any], is_good: Callable[[int, Any], bool], words: str) -> Rule:
    def rule(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
        if isinstance(value, kind) and _is_number(operand) and not is_good(len(value), operand):
            yield Problem(path, words.format(operand))

    return rule


def _pattern(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    pattern = compile_pattern(operand) if isinstance(operand, str) and isinstance(value, str) else None
    if pattern is not None and not pattern.search(value):
        yield Problem(path, f"should match the pattern {operand}")


def _format(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(operand, str) and isinstance(value, str) and not is_format(operand, value):
        yield Problem(path, f"is not a valid {operand}")


# --- arrays


def _items(check: SchemaCheck, _: Any, value: Any, path: Path, schema: dict[str, Any]) -> Iterable[Problem]:
    """Serves `items` and `prefixItems`; where both stand, only once."""
    if not isinstance(value, list):
        return
    first, others = tuple_schemas(schema)
    for index, item in enumerate(value):
        part = first[index] if index < len(first) else others
        yield from check.problems(part, item, (*path, index))


def _items_alone(check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]) -> Iterable[Problem]:
    return () if isinstance(schema.get("prefixItems"), list) else _items(check, operand, value, path, schema)


def _contains(check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]) -> Iterable[Problem]:
    if not isinstance(value, list):
        return
    count = sum(check.accepts(operand, item) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    if _is_number(least) and count < least:
        yield Problem(path, f"should hold at least {least} items of the kind that `contains` describes")
    if most is not None and _is_number(most) and count > most:
        yield Problem(path, f"should hold at most {most} items of the kind that `contains` describes")


def _unique_items(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if operand is True and isinstance(value, list):
        keys = {_canonical(item) for item in value}
        if len(keys) < len(value):
            yield Problem(path, "should not hold the same item twice")


def _canonical(value: Any) -> Any:
    """A hashable stand-in that is equal for equal JSON values."""
    if isinstance(value, dict):
        return ("object", frozenset((key, _canonical(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", *map(_canonical, value))
    return (isinstance(value, bool), value)


def _unevaluated_items(
    check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]
) -> Iterable[Problem]:
    if not isinstance(value, list):
        return
    seen = check.evaluated({key: part for key, part in schema.items() if key != "unevaluatedItems"}, value)
    for index, item in enumerate(value):
        if index not in seen:
            yield from check.problems(operand, item, (*path, index))


def _own_indexes(schema: dict[str, Any], value: Any) -> set[str | int]:
    if not isinstance(value, list):
        return set()
    first, _ = tuple_schemas(schema)
    others = "items" in schema if not isinstance(schema.get("items"), list) else "additionalItems" in schema
    everything = others or "unevaluatedItems" in schema
    return set(range(len(value))) if everything else set(range(min(len(first), len(value))))


# --- objects


def _properties(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(value, dict):
        for key, part in _dict(operand).items():
            if key in value:
                yield from check.problems(part, value[key], (*path, key))


def _pattern_properties(
    check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]
) -> Iterable[Problem]:
    if isinstance(value, dict):
        for pattern, part in _dict(operand).items():
            compiled = compile_pattern(pattern)
            for key, item in value.items():
                if compiled is not None and compiled.search(key):
                    yield from check.problems(part, item, (*path, key))


def _additional_properties(
    check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]
) -> Iterable[Problem]:
    if isinstance(value, dict):
        yield from _other_keys(check, operand, value, path, declared_keys(schema, value))


def _unevaluated_properties(
    check: SchemaCheck, operand: Any, value: Any, path: Path, schema: dict[str, Any]
) -> Iterable[Problem]:
    if isinstance(value, dict):
        rest = {key: part for key, part in schema.items() if key != "unevaluatedProperties"}
        yield from _other_keys(check, operand, value, path, check.evaluated(rest, value))


def _other_keys(
    check: SchemaCheck, operand: Any, value: dict[str, Any], path: Path, known: Container[str | int]
) -> Iterable[Problem]:
    for key, item in value.items():
        if key in known:
            continue
        if operand is False:
            yield Problem((*path, key), "is not a known property")
        else:
            yield from check.problems(operand, item, (*path, key))


def declared_keys(schema: dict[str, Any], value: dict[str, Any]) -> set[str]:
    """The keys of `value` that `properties` or `patternProperties` speak of."""
    patterns = [compile_pattern(pattern) for pattern in _dict(schema.get("patternProperties"))]
    named = _dict(schema.get("properties"))
    return {
        key for key in value if key in named or any(pattern is not None and pattern.search(key) for pattern in patterns)
    }


def _own_keys(schema: dict[str, Any], value: dict[str, Any]) -> set[str | int]:
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(value)
    return set(declared_keys(schema, value))


def _required(_: SchemaCheck, operand: Any, value: Any, path: Path, __: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(value, dict):
        for key in _list(operand):
            if isinstance(key, str) and key not in value:
                yield Problem((*path, key), "is required but missing")


def _dependent(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    """Serves `dependentRequired`, `dependentSchemas` and the older `dependencies` that was both."""
    if not isinstance(value, dict):
        return
    for key, needs in _dict(operand).items():
        if key not in value:
            continue
        if isinstance(needs, list):
            for other in needs:
                if isinstance(other, str) and other not in value:
                    yield Problem((*path, other), f"is required beside {key!r} but missing")
        else:
            yield from check.problems(needs, value, path)


def _property_names(check: SchemaCheck, operand: Any, value: Any, path: Path, _: dict[str, Any]) -> Iterable[Problem]:
    if isinstance(value, dict):
        for key in value:
            for problem in check.problems(operand, key, (*path, key)):
                yield Problem(problem.path, f"has a name that {problem.text}")


_RULES: dict[str, Rule] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _ref,
    "$dynamicRef": _ref,
    "$recursiveRef": _ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "minimum": _bound(lambda value, bound: value >= bound, "at least"),
    "maximum": _bound(lambda value, bound: value <= bound, "at most"),
    "exclusiveMinimum": _bound(lambda value, bound: value > bound, "greater than"),
    "exclusiveMaximum": _bound(lambda value, bound: value < bound, "less than"),
    "multipleOf": _multiple_of,
    "minLength": _size(str, lambda size, bound: size >= bound, "should have at least {} characters"),
    "maxLength": _size(str, lambda size, bound: size <= bound, "should have at most {} characters"),
    "pattern": _pattern,
    "format": _format,
    "items": _items_alone,
    "prefixItems": _items,
    "contains": _contains,
    "minItems": _size(list, lambda size, bound: size >= bound, "should have at least {} items"),
    "maxItems": _size(list, lambda size, bound: size <= bound, "should have at most {} items"),
    "uniqueItems": _unique_items,
    "unevaluatedItems": _unevaluated_items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "required": _required,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "propertyNames": _property_names,
    "minProperties": _size(dict, lambda size, bound: size >= bound, "should have at least {} properties"),
    "maxProperties": _size(dict, lambda size, bound: size <= bound, "should have at most {} properties"),
}
