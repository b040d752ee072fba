"""Tools made from fields and from typed functions."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from tests.agent.scripted import MODEL, EventLog, Reply, ScriptedModel, result

from pinyon._util.abort import AbortSignal
from pinyon.agent import (
    Agent,
    AgentToolResult,
    FixedToolContext,
    InvalidToolError,
    ToolContext,
    ToolDefinition,
    ToolUpdate,
    define_tool,
)
from pinyon.agent.docstring import parse_docstring
from pinyon.agent.event import ToolExecutionEnd, ToolExecutionUpdate
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import ToolResultMessage
from pinyon.errors import ToolError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Node(msgspec.Struct):
    """A tree."""

    value: int
    next: Node | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Params(msgspec.Struct):
    path: str
    limit: int = 10


def ran(definition: ToolDefinition, ctx: ToolContext | None = None, **params: Any) -> AgentToolResult:
    return asyncio.run(definition.run(params, ctx))


def text_of(outcome: AgentToolResult | ToolResultMessage) -> str:
    return "".join(block.text for block in outcome.content if isinstance(block, TextContent))


def call_through_agent(definition: ToolDefinition, arguments: dict[str, Any]) -> tuple[ToolResultMessage, EventLog]:
    """The result of a call that an agent makes, and all events."""
    log = EventLog()
    script = ScriptedModel(Reply(calls=[("1", definition.name, arguments)]))
    agent = Agent(stream_fn=script, initial_state={"model": MODEL, "tools": [definition]})
    agent.subscribe(log)
    asyncio.run(agent.prompt("q"))
    message = next(message for message in agent.state.messages if isinstance(message, ToolResultMessage))
    return message, log


def test_a_typed_function_becomes_a_tool() -> None:
    @define_tool
    async def word_count(text: Annotated[str, "text to count"], unique: bool = False) -> str:
        """Count the words of a text."""
        words = text.split()
        return str(len(set(words) if unique else words))

    assert (word_count.name, word_count.label) == ("word_count", "word_count")
    assert word_count.description == "Count the words of a text."
    assert word_count.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "text to count"},
            "unique": {"type": "boolean", "default": False},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert text_of(ran(word_count, text="a b a")) == "3"
    assert text_of(ran(word_count, text="a b a", unique=True)) == "2"


def test_fields_beside_a_decorated_function_win() -> None:
    @define_tool(name="renamed", label="L", description="D", prompt_snippet="S", exposure="deferred", replay="safe")
    async def original(a: int) -> str:
        """Not this."""
        return str(a)

    assert (original.name, original.label, original.description) == ("renamed", "L", "D")
    assert (original.prompt_snippet, original.exposure, original.replay) == ("S", "deferred", "safe")
    assert original.bind().replay == "safe"


@pytest.mark.parametrize(
    ("docstring", "described"),
    [
        ("Do it.\n\nArgs:\n    a: the first\n        of all\n    b (int): the second\n\nReturns:\n    nothing\n", True),
        ("Do it.\n\n:param a: the first\n    of all\n:param int b: the second\n:returns: nothing\n", True),
        ("Do it.\n\nParameters\n----------\na : int\n    the first\n    of all\nb\n    the second\n", True),
        ("Do it.", False),
    ],
)  # fmt: skip
def test_docstrings_describe_the_tool_and_its_parameters(docstring: str, described: bool) -> None:
    async def function(a: int, b: int) -> None:
        pass

    function.__doc__ = docstring
    tool = define_tool(function)
    assert tool.description == "Do it."
    told = {name: part.get("description") for name, part in tool.parameters["properties"].items()}
    assert told == ({"a": "the first of all", "b": "the second"} if described else {"a": None, "b": None})


def test_prose_around_the_sections_of_a_docstring_stays() -> None:
    docstring = parse_docstring("Do it.\n\nAt length: yes.\n\nArgs:\n    a: x\n")
    assert (docstring.description, docstring.parameters) == ("Do it.\n\nAt length: yes.", {"a": "x"})
    assert parse_docstring(None).description == ""


def test_annotations_of_many_kinds_are_described_and_filled() -> None:
    seen: dict[str, Any] = {}

    @define_tool
    async def many(  # type: ignore[no-untyped-def]
        colour: Colour,
        mode: Literal["a", "b"] = "a",
        node: Node | None = None,
        ratio: Annotated[float, msgspec.Meta(ge=0, le=1, description="share")] = 0.5,
        names: list[str] | None = None,
        either: int | str = 1,
        anything=None,
        nullable: Annotated[int | None, "may be null"] = 3,
    ) -> None:
        seen.update(locals())

    properties = many.parameters["properties"]
    assert properties["colour"] == {"enum": ["blue", "red"]}
    assert properties["mode"] == {"enum": ["a", "b"], "default": "a"}
    assert properties["ratio"] == {
        "type": "number", "minimum": 0, "maximum": 1, "description": "share", "default": 0.5,
    }  # fmt: skip
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1}
    assert properties["anything"] == {}
    assert {"type": "null"} in properties["nullable"]["anyOf"]
    assert many.parameters["required"] == ["colour"]
    assert properties["node"]["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    arguments = {"colour": "red", "node": {"value": "1", "next": {"value": 2}}, "names": "solo", "ratio": "1"}
    message, _ = call_through_agent(many, arguments)
    assert not message.is_error, text_of(message)
    assert seen == {
        "colour": Colour.RED, "mode": "a", "node": Node(1, Node(2)), "ratio": 1.0, "names": ["solo"], "either": 1,
        "anything": None, "nullable": 3, "seen": seen,
    }  # fmt: skip


def test_python_fills_in_defaults_that_are_not_json() -> None:
    marker = object()

    @define_tool
    async def defaulted(value: int = marker, items: list[int] = []) -> str:  # type: ignore[assignment]  # noqa: B006
        return str((value is marker, items))

    assert defaulted.parameters["properties"]["value"] == {"type": "integer"}
    assert defaulted.parameters["properties"]["items"]["default"] == []
    assert text_of(ran(defaulted)) == "(True, [])"


@pytest.mark.parametrize("arguments", [{"a": 1, "extra": 2}, {}, {"a": "x"}, {"a": [1, 2]}])
def test_arguments_that_do_not_fit_never_reach_the_function(arguments: dict[str, Any]) -> None:
    @define_tool
    async def strict(a: int) -> str:
        raise AssertionError("must not run")

    message, _ = call_through_agent(strict, arguments)
    assert message.is_error
    assert "strict" in text_of(message)


def test_context_signal_updates_and_id_are_handed_in_and_hidden_from_the_model() -> None:
    @define_tool
    async def aware(
        a: int, where: ToolContext, signal: AbortSignal, on_update: ToolUpdate, tool_call_id: str, ctx: Any, params: Any
    ) -> str:
        on_update(result("half"))
        return f"{a} {where.cwd} {ctx.cwd} {signal.aborted} {tool_call_id} {params}"

    assert list(aware.parameters["properties"]) == ["a"]
    message, log = call_through_agent(aware, {"a": 1})
    assert text_of(message) == "1 None None False 1 {'a': 1}"
    assert [text_of(event.partial_result) for event in log.events if isinstance(event, ToolExecutionUpdate)] == ["half"]


def test_a_bound_definition_asks_for_its_context_at_every_call() -> None:
    folders = iter(["/one", "/two"])

    @define_tool
    async def where(ctx: ToolContext) -> str:
        return str(ctx.cwd)

    tool = where.bind(lambda: FixedToolContext(cwd=Path(next(folders))))

    async def call() -> str:
        outcome = tool.execute("1", {}, AbortSignal(), lambda _: None)
        assert not isinstance(outcome, AgentToolResult)
        return text_of(await outcome)

    assert [asyncio.run(call()), asyncio.run(call())] == ["/one", "/two"]
    assert text_of(ran(where, FixedToolContext(cwd=Path("/three")))) == "/three"


def test_a_tool_without_a_session_cannot_call_others() -> None:
    with pytest.raises(ToolError, match="'read'"):
        asyncio.run(FixedToolContext().execute_tool("read", {}))


def test_a_plain_function_runs_beside_the_event_loop_and_may_report_progress() -> None:
    threads: list[threading.Thread] = []

    @define_tool
    def blocking(on_update: ToolUpdate, a: int = 1) -> str:
        threads.append(threading.current_thread())
        on_update(result("tick"))
        return str(a)

    message, log = call_through_agent(blocking, {})
    assert text_of(message) == "1"
    assert threads[0] is not threading.main_thread()
    types = log.types
    assert types.index("tool_execution_update") < types.index("tool_execution_end")


@pytest.mark.parametrize(
    ("value", "text", "structured"),
    [
        ("plain", "plain", None),
        (None, "", None),
        (3, "3", 3),
        ({"a": [1]}, '{"a":[1]}', {"a": [1]}),
        (Point(1), '{"x":1,"y":0}', {"x": 1, "y": 0}),
        (Node(1), '{"value":1,"next":null}', {"value": 1, "next": None}),
        ([], "[]", []),
        ([TextContent(text="a"), TextContent(text="b")], "ab", None),
        (ImageContent(data="AA==", mime_type="image/png"), "", None),
        (result("own", details={"d": 1}), "own", None),
    ],
)
def test_what_a_function_returns_becomes_a_result(value: Any, text: str, structured: Any) -> None:
    @define_tool
    async def give() -> Any:
        return value

    outcome = ran(give)
    assert text_of(outcome) == text
    assert (outcome.structured_content or None) == (structured or None)


def test_a_value_that_json_cannot_hold_is_an_error_result() -> None:
    @define_tool
    async def give() -> Any:
        return object()

    message, _ = call_through_agent(give, {})
    assert message.is_error
    assert "JSON" in text_of(message)


def test_a_schema_of_ones_own_goes_with_any_function() -> None:
    schema = {"type": "object", "properties": {"a-b": {"type": "number"}, "c": {"type": "number"}}, "required": ["c"]}

    @define_tool(parameters=schema)
    async def free(params: dict[str, Any], c: int, d: int = 4) -> str:
        return f"{params} {c} {d}"

    assert free.parameters == schema
    assert text_of(call_through_agent(free, {"a-b": "1", "c": "2"})[0]) == "{'a-b': 1, 'c': 2} 2 4"


class LooksLikeAModel:
    """Has the two methods that pydantic models have."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    @classmethod
    def model_validate(cls, value: dict[str, Any]) -> Params:
        return Params(**value)


@pytest.mark.parametrize("kind", [Params, LooksLikeAModel])
def test_a_type_describes_the_parameters_and_arrives_as_an_instance(kind: type[Any]) -> None:
    async def execute(tool_call_id: str, params: Any, signal: Any, on_update: Any, ctx: Any) -> AgentToolResult:
        return result(f"{type(params).__name__} {params.path} {params.limit}")

    tool = define_tool(name="typed", description="d", parameters=kind, execute=execute)
    assert tool.parameters["properties"]["path"] == {"type": "string"}
    assert text_of(call_through_agent(tool, {"path": 5})[0]) == "Params 5 10"

    @define_tool(parameters=kind)
    async def decorated(params: Params) -> str:
        return params.path

    assert text_of(ran(decorated, path="p")) == "p"


def test_a_tool_from_fields_has_all_of_them() -> None:
    async def execute(tool_call_id: str, params: Any, signal: Any, on_update: Any, ctx: Any) -> AgentToolResult:
        return result("x")

    fields: dict[str, Any] = {
        "name": "n",
        "label": "l",
        "description": "d",
        "parameters": {"type": "object"},
        "prompt_snippet": "s",
        "prompt_guidelines": ["g"],
        "prepare_arguments": lambda raw: raw,
        "output_schema": {"type": "string"},
        "exposure": "codemode",
        "default_active": False,
        "execution_mode": "sequential",
        "namespace": "ns",
        "annotations": {"readOnlyHint": True},
        "constrained_sampling": False,
        "prepare_loadout": lambda loadout: loadout,
        "reaches_tools": True,
        "render_shell": "self",
        "render_call": lambda: None,
        "render_result": lambda: None,
    }
    tool = define_tool(execute=execute, **fields)
    assert {name: getattr(tool, name) for name in fields} == fields
    bound = tool.bind()
    shared = ("name", "label", "description", "parameters", "prepare_arguments", "output_schema", "execution_mode")
    assert [getattr(bound, name) for name in shared] == [fields[name] for name in shared]
    assert bound.declaration().constrained_sampling is False


def test_declarations_no_model_could_use_are_refused() -> None:
    async def execute(*_: Any) -> AgentToolResult:
        return result("x")

    async def starred(*args: int) -> None: ...
    async def keywords(**kwargs: int) -> None: ...
    async def positional(a: int, /) -> None: ...
    async def unresolved(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
    async def no_json(a: threading.Lock) -> None: ...

    for function in (starred, keywords, positional, unresolved, no_json):
        with pytest.raises(InvalidToolError, match=function.__name__):
            define_tool(function)
    for fields in (
        {"name": "", "description": "", "parameters": {}},
        {"name": "n", "description": "", "parameters": []},
        {"name": "n", "description": "", "parameters": {"a": object()}},
        {"name": "n", "description": ""},
        {"description": "", "parameters": {}},
    ):
        with pytest.raises(InvalidToolError):
            define_tool(execute=execute, **fields)


def test_a_declaration_does_not_follow_later_changes_of_the_given_schema() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ("a",)}

    @define_tool(parameters=schema)
    async def fixed(a: int) -> None: ...

    schema["type"] = "array"
    assert fixed.bind().declaration().parameters == {"type": "object", "required": ["a"]}


def test_a_raising_function_is_an_error_result_that_took_time() -> None:
    @define_tool
    def fail() -> str:
        raise ValueError("no")

    message, log = call_through_agent(fail, {})
    assert (message.is_error, text_of(message), message.details) == (True, "no", {})
    end = next(event for event in log.events if isinstance(event, ToolExecutionEnd))
    assert isinstance(end.duration_ms, int)
