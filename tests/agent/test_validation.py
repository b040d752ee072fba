"""Checking arguments against schemas: what is refused, where, and with which words."""

from __future__ import annotations

from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.agent.scripted import result

from pinyon.agent import AgentTool, InvalidArgumentsError, validate_arguments
from pinyon.agent.schema import Schema
from pinyon.agent.schema_check import SchemaCheck
from pinyon.agent.validation import MAX_SHOWN_ARGUMENTS
from pinyon.ai.content import ToolCall


def places(schema: Any, value: Any) -> list[str]:
    """Dotted places of all problems."""
    return [
        ".".join(map(str, problem.path)) or "root" for problem in SchemaCheck(Schema(schema)).problems(schema, value)
    ]


def validated(schema: dict[str, Any], arguments: Any, **fields: Any) -> Any:
    tool = AgentTool(name="t", description="", parameters=schema, execute=lambda *_: result(""))
    return validate_arguments(tool, ToolCall(id="1", name="t", arguments=arguments, **fields), arguments)


def refusal(schema: dict[str, Any], arguments: Any, **fields: Any) -> str:
    with pytest.raises(InvalidArgumentsError) as caught:
        validated(schema, arguments, **fields)
    return str(caught.value)


EDITS = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {
            "type": "array",
            "items": {"type": "object", "properties": {"oldText": {"type": "string"}}, "required": ["oldText"]},
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


def test_the_refusal_names_the_tool_and_each_place_and_shows_the_arguments() -> None:
    text = refusal(EDITS, {"edits": [{"oldText": {}}, {}], "extra": 1})
    assert "'t'" in text
    lines = text.splitlines()
    found = [line.strip(" -").partition(":")[0] for line in lines if line.startswith("  - ")]
    assert sorted(found) == ["edits.0.oldText", "edits.1.oldText", "extra", "path"]
    assert text.endswith('{\n  "edits": [\n    {\n      "oldText": {}\n    },\n    {}\n  ],\n  "extra": 1\n}')


def test_a_problem_of_the_whole_is_at_root() -> None:
    assert "  - root: " in refusal({"type": "string"}, {"a": 1})


def test_long_refusals_stay_bounded() -> None:
    items = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "number"}}}}
    text = refusal(items, {"x": ["a" * 100] * 1000})
    assert "and 980 more" in text
    assert len(text) < MAX_SHOWN_ARGUMENTS + 3000


def test_a_call_whose_arguments_were_no_object_is_refused_with_what_the_model_sent() -> None:
    text = refusal({"type": "object"}, {}, arguments_error='bad JSON\n\nReceived:\n{"path":"q.txt",]')
    assert '{"path":"q.txt",]' in text


def test_arguments_are_copied_before_anything_touches_them() -> None:
    arguments = {"path": "p", "edits": [{"oldText": "a"}]}
    got = validated(EDITS, arguments)
    got["edits"][0]["oldText"] = "changed"
    assert arguments["edits"] == [{"oldText": "a"}]


def test_unknown_keys_pass_and_defaults_are_not_filled_in() -> None:
    assert validated({"type": "object", "properties": {"a": {"default": 1}}}, {"b": 2}) == {"b": 2}


def test_arguments_that_are_nested_beyond_reason_are_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested" in refusal({"type": "object"}, {"x": deep})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "any"},
        {"type": ["foo"]},
        {"type": 5},
        {"type": []},
        {"required": True},
        {"required": "x"},
        {"properties": []},
        {"properties": {"x": None}},
        {"anyOf": {}},
        {"enum": "abc"},
        {"items": "x"},
        {"minimum": "3"},
        {"exclusiveMinimum": True, "minimum": 3},
        {"multipleOf": 0},
        {"pattern": "["},
        {"pattern": "(?P<a"},
        {"patternProperties": {"[": {"type": "null"}}},
        {"format": "nothing-known"},
        {"$ref": 5},
        {"minContains": "a", "contains": {}},
        {"dependencies": {"x": 5}},
        "no schema",
        None,
        7,
    ],
)
@pytest.mark.parametrize("value", [[1], "a", 3])
def test_schemas_that_make_no_sense_refuse_nothing(schema: Any, value: Any) -> None:
    root = {"type": "object", "properties": {"x": schema}}
    assert validated(root, {"x": value}) == {"x": value}


@pytest.mark.parametrize("target", ["#/$defs/none", "http://example.com/schema", "other.json#/a", "#anchor", "#/a/5/b"])
def test_a_reference_that_leads_nowhere_refuses_only_its_place(target: str) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": target}, "y": {"type": "number"}}}
    assert validated(schema, {"y": "5"}) == {"y": 5}
    assert places(schema, {"x": 1, "y": 5}) == ["x"]
    assert target in refusal(schema, {"x": 1})


@pytest.mark.parametrize(
    ("reference", "extra"),
    [
        ("#/$defs/N", {"$defs": {"N": {"type": "number"}}}),
        ("#/definitions/a~1b", {"definitions": {"a/b": {"type": "number"}}}),
        ("#/definitions/a%20b", {"definitions": {"a b": {"type": "number"}}}),
        ("#n", {"$defs": {"a": {"$anchor": "n", "type": "number"}}}),
        ("http://e.x/y", {"$defs": {"a": {"$id": "http://e.x/y", "type": "number"}}}),
        ("http://e.x/y#/k", {"$defs": {"a": {"$id": "http://e.x/y", "k": {"type": "number"}}}}),
    ],
)
def test_references_inside_the_document_are_followed(reference: str, extra: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": reference}}, **extra}
    assert validated(schema, {"x": "5"}) == {"x": 5}
    assert places(schema, {"x": "a"}) == ["x"]


def test_a_recursive_schema_is_checked_all_the_way_down() -> None:
    node = {"type": "object", "properties": {"v": {"type": "number"}, "c": {"type": "array", "items": {"$ref": "#"}}}}
    assert validated(node, {"c": {"v": "3", "c": [{"v": "4"}]}}) == {"c": [{"v": 3, "c": [{"v": 4}]}]}
    assert places(node, {"c": [{"c": [{"v": "x"}]}]}) == ["c.0.c.0.v"]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": "number"}, 3, True),
        ({"const": 1}, 1.0, True),
        ({"enum": [0, {"a": [1]}]}, {"a": [1.0]}, False),
        ({"minLength": 2}, "ab", "😀"),
        ({"maxLength": 1}, "😀", "ab"),
        ({"pattern": "^a$"}, "a", "a\n"),
        ({"pattern": r"^\d$"}, "3", "٣"),
        ({"pattern": r"^\p{L}+$"}, "é", "5"),
        ({"pattern": r"^[\w-]+$"}, "a-b", "é"),
        ({"pattern": r"^(?<year>\d{4})$"}, "2020", "x"),
        ({"pattern": r"\u{1F600}"}, "😀", "x"),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"multipleOf": 3}, 9, 10),
        ({"minimum": 3, "maximum": 4}, 3, 5),
        ({"exclusiveMinimum": 3}, 3.1, 3),
        ({"exclusiveMaximum": 3}, 2.9, 3),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", 1]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, ["a", 1], ["a", "b"]),
        ({"prefixItems": [{}], "items": False}, [1], [1, 2]),
        ({"contains": {"type": "number"}, "minContains": 2, "maxContains": 3}, [1, 2, "a"], [1, "a"]),
        ({"contains": {}, "maxContains": 1}, [1], [1, 2]),
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}], [{"a": 1}, {"a": 1.0}]),
        ({"minItems": 1, "maxItems": 2}, [1], []),
        ({"minProperties": 1, "maxProperties": 2}, {"a": 1}, {}),
        ({"propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
        ({"patternProperties": {"^a": {"type": "number"}}, "additionalProperties": False}, {"a": 1}, {"b": 1}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"dependencies": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"dependencies": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}),
        ({"dependentSchemas": {"a": {"properties": {"b": {"type": "number"}}}}}, {"b": "x"}, {"a": 1, "b": "x"}),
        ({"if": {"type": "string"}, "then": {"minLength": 3}, "else": {"minimum": 3}}, "abc", 2),
        ({"not": {"type": "string"}}, 1, "a"),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 1, 3),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, "a", 1),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1.5, 1),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
         {"a": 1}, {"b": 1}),
        ({"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": False},
         {"a": 1, "b": 1}, {"a": 2, "b": 1}),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1], [1, 2]),
        ({"allOf": [{"items": {}}], "unevaluatedItems": False}, [1, 2], None),
        ({}, None, None),
        (True, 1, None),
        (False, None, 1),
    ],
)  # fmt: skip
def test_keywords_of_both_drafts_accept_and_refuse(schema: Any, good: Any, bad: Any) -> None:
    if good is not None:
        assert places(schema, good) == []
    if bad is not None:
        assert places(schema, bad)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-12-31T23:59:60+01:00"],
         ["2020-01-01 00:00:00Z", "2020-01-01T00:00:00", "2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z"]),
        ("date", ["2020-02-29"], ["2021-02-29", "20200101", "0000-01-01"]),
        ("time", ["10:00:00Z", "10:00:00.5+01:00"], ["10:00:00", "25:00:00Z"]),
        ("duration", ["P1D", "PT1S", "P1W", "P1Y2M3DT4H5M6S"], ["P", "1D", "PT"]),
        ("email", ["a@b.c", "a@b"], ["a", "a b@c.d", "é@b.c"]),
        ("idn-email", ["é@b.c"], ["x"]),
        ("hostname", ["a.b", "a-b"], ["-a", "a_b", "a" * 64, ""]),
        ("ipv4", ["1.2.3.4"], ["256.1.1.1", "01.2.3.4"]),
        ("ipv6", ["::1", "::ffff:1.2.3.4"], ["1::2::3", "fe80::1%eth0"]),
        ("uri", ["http://a", "mailto:x@y"], ["a", "/a", "http://a b", "http://é"]),
        ("uri-reference", ["/a", "#x", ""], ["a b", "\\a"]),
        ("iri", ["http://é"], ["x"]),
        ("url", ["http://a.b"], ["x", "mailto:x@y"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123", "urn:uuid:123e4567-e89b-12d3-a456-426614174000"]),
        ("regex", ["a+"], ["["]),
        ("json-pointer", ["", "/a~1b"], ["a", "/~2"]),
        ("relative-json-pointer", ["0", "0/a", "1#"], ["-1", "01"]),
        ("uri-template", ["{a}", "/x{?q*}"], ["{a"]),
        ("int32", ["x"], []),
    ],
)  # fmt: skip
def test_formats_are_checked(name: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if places({"format": name}, text)] == []
    assert [text for text in bad if not places({"format": name}, text)] == []


leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "", "a", "ab", "abc"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
type_names = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    some = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": type_names | st.lists(type_names, min_size=1, max_size=2, unique=True),
            "enum": st.lists(values, min_size=1, max_size=2),
            "const": values,
            "properties": named,
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner,
            "items": inner | some,
            "contains": inner,
            "minItems": st.integers(0, 2),
            "minimum": st.integers(-2, 2),
            "minLength": st.integers(0, 2),
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
        },
    )


schemas = st.recursive(st.booleans() | st.builds(lambda name: {"type": name}, type_names), _keywords, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(schemas, values)
def test_an_independent_validator_agrees(schema: Any, value: Any) -> None:
    document = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": schema}, "required": ["x"]}
    try:
        fastjsonschema.compile(document, use_default=False)({"x": value})
        accepts = True
    except fastjsonschema.JsonSchemaValueException:
        accepts = False
    except fastjsonschema.JsonSchemaDefinitionException:
        reject()  # it refuses schemas that no value could fit
    assert (places(schema, value) == []) == accepts
