"""What the three passes make of a model's arguments."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.agent.coercion import coerce, number_text, parse_number
from pinyon.agent.schema import Schema

INTEGER_OR_NULL = {"type": ["integer", "null"]}
KEEP_KEY = {"type": "object", "properties": {"k": {"type": "number"}}}
DEFINITIONS = {"N": {"type": "number"}, "O": KEEP_KEY, "M": INTEGER_OR_NULL}


def coerced(schema: Any, value: Any, *, required: bool = False) -> Any:
    """The value of property `x` after coercion; absent is the text `absent`."""
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"] * required, "$defs": DEFINITIONS}
    return coerce(Schema(root), {"x": value}).get("x", "absent")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number"},
        {"type": "string", "default": "q"},
        {"type": ["string", "number"]},
        {"type": "object"},
        {"type": "string", "nullable": True},
        {"enum": ["a"]},
        {"const": 1},
        {"not": {"type": "null"}},
        {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "string"}]},
        False,
    ],
)
def test_null_of_an_optional_property_that_rejects_it_is_dropped(schema: Any) -> None:
    assert coerced(schema, None) == "absent"


@pytest.mark.parametrize("schema", [{}, True, {"minLength": 3}, INTEGER_OR_NULL, {"anyOf": [{"type": "null"}]}])
def test_null_stays_where_the_schema_allows_it(schema: Any) -> None:
    assert coerced(schema, None) is None


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"patternProperties": {"^a": KEEP_KEY}}, {"a": {"k": None}}, {"a": {}}),
        ({"additionalProperties": KEEP_KEY}, {"a": {"k": None}}, {"a": {}}),
        ({"type": "array", "items": KEEP_KEY}, [{"k": None}], [{}]),
        ({"type": "array", "items": [KEEP_KEY]}, [{"k": None}], [{}]),
        ({"type": "array", "prefixItems": [KEEP_KEY]}, [{"k": None}], [{}]),
        ({"$ref": "#/$defs/O"}, {"k": None}, {"k": 0}),
        ({"allOf": [KEEP_KEY]}, {"k": None}, {"k": 0}),
        ({"type": "array", "items": {"type": "number"}}, [None, "3"], [0, 3]),
        ({"additionalProperties": {"type": "string"}}, {"a": None}, {"a": "null"}),
    ],
)
def test_nulls_inside_are_dropped_through_properties_and_items_only(schema: Any, value: Any, expected: Any) -> None:
    assert coerced(schema, value) == expected


def test_null_of_a_required_or_referenced_property_is_converted() -> None:
    assert coerced({"type": "number"}, None, required=True) == 0
    assert coerced({"type": "string"}, None, required=True) == "null"
    assert coerced({"type": "array", "items": {"type": "string"}}, None, required=True) == ["null"]
    assert coerced({"$ref": "#/$defs/N"}, None) == 0


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", 1.5, "1.5"),
        ("string", 1.0, "1"),
        ("string", True, "true"),
        ("string", 12345678901234567890, "12345678901234567890"),
        ("string", [1], [1]),
        ("number", "42", 42),
        ("number", " 42 ", 42),
        ("number", "", 0),
        ("number", "1e3", 1000),
        ("number", "0x10", 16),
        ("number", "5.", 5),
        ("number", ".5", 0.5),
        ("number", "TRUE", 1),
        ("number", True, 1),
        ("number", "Infinity", "Infinity"),
        ("number", "1_000", "1_000"),
        ("number", "1e999", "1e999"),
        ("number", "٣", "٣"),
        ("number", [5], [5]),
        ("integer", "3.5", 3),
        ("integer", -3.5, -3),
        ("integer", 3.0, 3),
        ("integer", "true", 1),
        ("integer", "abc", "abc"),
        ("integer", "12345678901234567890", 12345678901234567890),
        ("boolean", "TRUE", True),
        ("boolean", "1", True),
        ("boolean", 0, False),
        ("boolean", 2, 2),
        ("boolean", "yes", "yes"),
        ("boolean", "", ""),
        ("null", "null", None),
        ("null", "undefined", None),
        ("null", "", None),
        ("null", "0", None),
        ("null", 0, None),
        ("null", False, None),
        ("null", 1, 1),
        ("object", "{}", "{}"),
    ],
)
def test_values_are_converted_to_the_type(kind: str, value: Any, expected: Any) -> None:
    got = coerced({"type": kind}, value)
    assert (got, type(got)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "array", "items": {"type": "string"}}, 5, ["5"]),
        ({"type": "array"}, 5, [5]),
        ({"items": {"type": "number"}}, "5", [5]),
        ({"type": "array", "items": KEEP_KEY}, {"k": "3"}, [{"k": 3}]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, 3, [[3]]),
        ({"type": "array", "items": {"type": "number"}}, "[1,2]", ["[1,2]"]),
        ({"type": "array", "items": [{"type": "string"}]}, 5, 5),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, 5, 5),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "s", "s"),
    ],
)
def test_a_single_value_becomes_an_array_but_never_a_tuple(schema: Any, value: Any, expected: Any) -> None:
    assert coerced(schema, value) == expected


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"const": 5}, "5", 5),
        ({"const": "5"}, 5, "5"),
        ({"const": True}, "1", True),
        ({"const": None}, "null", "null"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": [1, "1"]}, "1", "1"),
        ({"enum": ["1", True]}, "true", True),
        ({"enum": ["a", "b"]}, "A", "A"),
        ({"type": "string", "enum": ["1", "2"]}, 2, "2"),
        ({"type": "integer", "enum": [1, 2]}, "2.7", "2.7"),
    ],
)
def test_constants_and_members_are_found_by_their_own_type(schema: Any, value: Any, expected: Any) -> None:
    got = coerced(schema, value)
    assert (got, type(got)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, "5", "5"),
        ({"anyOf": [{"type": "number"}, {"type": "boolean"}]}, "true", 1),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, "0", None),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "number"}]}, "a", ["a"]),
        ({"anyOf": [{"type": "string", "minLength": 3}, {"type": "array"}]}, "a", ["a"]),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, "2", 2),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "5", "5"),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "5.5", 5.5),
        ({"anyOf": [{"$ref": "#/$defs/missing"}, {"type": "integer"}]}, "3", 3),
        ({"allOf": [KEEP_KEY, {"properties": {"b": {"type": "number"}}}]}, {"k": "1", "b": "2"}, {"k": 1, "b": 2}),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^1"}]}, 12, "12"),
        ({**KEEP_KEY, "anyOf": [{"required": ["k"]}, {"required": ["b"]}]}, {"k": "5"}, {"k": 5}),
    ],
)
def test_unions_keep_what_fits_and_else_take_the_first_branch_that_does(schema: Any, value: Any, expected: Any) -> None:
    assert coerced(schema, value) == expected


@pytest.mark.parametrize(
    ("names", "value", "expected"),
    [
        (["integer", "null"], "3", 3),
        (["integer", "null"], "3.5", "3.5"),
        (["integer", "null"], "", None),
        (["integer", "string"], 3.5, "3.5"),
        (["number", "null"], False, 0),
        (["null", "number"], False, None),
        (["number", "string"], "5", "5"),
        (["number", "null"], "true", "true"),
        (["boolean", "number"], "1", 1),
        (["boolean", "null"], "TRUE", "TRUE"),
        (["boolean", "null"], 1, True),
        (["array", "string"], 5, "5"),
        (["null"], "null", "null"),
        (["string"], 5, "5"),
    ],
)
def test_lists_of_types_convert_strictly_in_their_order(names: list[str], value: Any, expected: Any) -> None:
    got = coerced({"type": names}, value, required=True)
    assert (got, type(got)) == (expected, type(expected))


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/M"}, {"anyOf": [{"$ref": "#/$defs/M"}, {"type": "object"}]}])
def test_lists_of_types_are_found_behind_references(schema: Any) -> None:
    assert coerced(schema, "3") == 3


def test_the_recorded_example_comes_out_as_recorded() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "number"},
            "items": {"type": "array", "items": {"type": "string"}},
            "flag": {"type": "boolean"},
        },
        "required": ["n"],
    }
    assert coerce(Schema(schema), {"n": "120", "items": "solo", "flag": None}) == {"n": 120, "items": ["solo"]}


def test_numbers_of_a_read_call_arrive_in_every_shape() -> None:
    schema = {"type": "object", "properties": {"offset": {"type": "number"}, "limit": {"type": "number"}}}
    assert coerce(Schema(schema), {"offset": None, "limit": None}) == {}
    assert coerce(Schema(schema), {"offset": "3", "limit": "2"}) == {"offset": 3, "limit": 2}
    assert coerce(Schema(schema), {"offset": 0, "limit": 0}) == {"offset": 0, "limit": 0}


@pytest.mark.parametrize("root", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}]}])
def test_schemas_that_refer_to_themselves_end(root: Any) -> None:
    assert coerce(Schema(root), {"a": 1}) == {"a": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"]))
def test_coercion_changes_nothing_in_place_and_settles(value: Any, kind: str) -> None:
    document = Schema({"type": "object", "properties": {"x": {"type": kind}}, "required": ["x"]})
    before = {"x": value}
    kept = repr(before)
    once = coerce(document, before)
    assert repr(before) == kept
    assert coerce(document, once) == once


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**25), 10**25))
def test_numbers_survive_their_text(value: float) -> None:
    parsed = parse_number(number_text(value))
    assert parsed is not None
    assert math.isclose(parsed, value, rel_tol=0, abs_tol=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e21, "1e+21"), (1e-7, "1e-7"), (1e16, "10000000000000000"), (0.000001, "0.000001"), (-0.5, "-0.5")],
)
def test_numbers_are_spelled_as_other_programs_spell_them(value: float, text: str) -> None:
    assert number_text(value) == text
