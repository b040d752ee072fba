"""A typed Python function read as a tool: its parameters as a JSON Schema, and a call made from JSON arguments."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util import json as _json
from pinyon.agent.docstring import Docstring, parse_docstring
from pinyon.agent.tool import InvalidToolError, ToolContext
from pinyon.errors import ToolError

INJECTED = ("tool_call_id", "params", "signal", "on_update", "ctx")
"""Parameters of these names are no arguments of the model: they get what `DefinitionExecute` is called with."""

_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_VALUES = ("items", "additionalProperties", "propertyNames", "contains")


class FunctionSignature:
    """What the signature of `function` says about it as a tool.

    `parameters` is the JSON Schema of the arguments, `description` the prose of the docstring. Raises
    `InvalidToolError` for a signature that JSON arguments cannot fill.
    """

    def __init__(self, function: Callable[..., Any], *, with_schema: bool = True) -> None:
        self._name = getattr(function, "__name__", type(function).__name__)
        self._docstring = parse_docstring(inspect.getdoc(function))
        self._injected: dict[str, str] = {}
        arguments = self._sort_parameters(function)
        self._names = [argument.name for argument in arguments]
        self._required = {argument.name for argument in arguments if argument.default is inspect.Parameter.empty}
        self._type = self._struct_type(arguments) if with_schema else None
        self.parameters = {} if self._type is None else type_schema(self._type)
        for argument in arguments:
            self._add_default(argument)

    @property
    def description(self) -> str:
        """The docstring without its sections."""
        return self._docstring.description

    @property
    def docstring(self) -> Docstring:
        """The docstring as it was read."""
        return self._docstring

    def bind(self, params: Mapping[str, Any], injected: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments for a call with the validated arguments `params`. Raises `ToolError` if they do not fit."""
        bound = {name: injected[source] for name, source in self._injected.items()}
        values = params if self._type is None else _convert(params, self._type)
        for name in self._names:
            if name in values:
                bound[name] = values[name]
            elif name in self._required:
                raise ToolError(f"argument {name!r} is missing")
        return bound

    def _sort_parameters(self, function: Callable[..., Any]) -> list[inspect.Parameter]:
        """Annotated parameters that the model fills; the injected ones are noted."""
        hints = self._type_hints(function)
        arguments = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InvalidToolError(f"{self._name}(): parameter {parameter.name!r} cannot be filled by name")
            hint = hints.get(parameter.name, Any)
            if parameter.name in INJECTED:
                self._injected[parameter.name] = parameter.name
            elif hint is ToolContext:
                self._injected[parameter.name] = "ctx"
            else:
                arguments.append(parameter.replace(annotation=hint))
        return arguments

    def _type_hints(self, function: Callable[..., Any]) -> dict[str, Any]:
        target = function if inspect.isroutine(function) else type(function).__call__
        try:
            return get_type_hints(target, include_extras=True)
        except (NameError, TypeError) as error:
            raise InvalidToolError(f"{self._name}(): an annotation cannot be resolved: {error}") from error

    def _struct_type(self, arguments: list[inspect.Parameter]) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for argument in arguments:
            is_optional = argument.default is not inspect.Parameter.empty
            hint = self._described(argument.name, argument.annotation, drop_null=argument.default is None)
            fields.append((argument.name, hint | UnsetType, UNSET) if is_optional else (argument.name, hint))
        try:
            return msgspec.defstruct(self._name, fields, kw_only=True, forbid_unknown_fields=True)
        except (TypeError, ValueError) as error:
            raise InvalidToolError(f"{self._name}(): parameters cannot be described as JSON: {error}") from error

    def _described(self, name: str, hint: Any, *, drop_null: bool) -> Any:
        """The hint with its description as msgspec reads it, without null where null only means absent."""
        base, notes = (get_args(hint)[0], hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())
        if drop_null and get_origin(base) in (Union, types.UnionType):
            base = Union[tuple(part for part in get_args(base) if part is not type(None))]  # noqa: UP007 - of a tuple
        metas = [note for note in notes if isinstance(note, msgspec.Meta)]
        if not any(meta.description for meta in metas):
            text = next((text for text in map(_note_text, notes) if text), self._docstring.parameters.get(name))
            if text:
                metas.append(msgspec.Meta(description=text))
        for meta in metas:
            base = Annotated[base, meta]
        return base

    def _add_default(self, argument: inspect.Parameter) -> None:
        """Tell the model a default that is a JSON value; the function itself fills it in."""
        default = argument.default
        if self._type is None or default is None or default is inspect.Parameter.empty:
            return
        try:
            self.parameters["properties"][argument.name]["default"] = _json.decode(_json.encode(default))
        except (TypeError, ValueError):
            return  # a sentinel object: optional, with nothing to tell


def _note_text(note: Any) -> str | None:
    """The words of an `Annotated` note: a plain string, or an object that documents (PEP 727)."""
    text = note if isinstance(note, str) else getattr(note, "documentation", None)
    return text if isinstance(text, str) else None


def _convert(params: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    try:
        filled = msgspec.convert(dict(params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise ToolError(f"the arguments do not fit: {error}") from error
    values = {name: getattr(filled, name) for name in kind.__struct_fields__}
    return {name: value for name, value in values.items() if value is not UNSET}


def type_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type as models read it best: no titles, definitions inlined unless they recurse.

    Raises `InvalidToolError` for types that JSON cannot express.
    """
    try:
        (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except (TypeError, ValueError) as error:
        raise InvalidToolError(f"{kind!r} cannot be described as a JSON Schema: {error}") from error
    recursive: set[str] = set()
    inlined: dict[str, Any] = _inline(schema, definitions, (), recursive)
    kept: dict[str, Any] = {}
    while pending := recursive - kept.keys():
        name = pending.pop()
        kept[name] = _inline(definitions[name], definitions, (name,), recursive)
    if kept:
        inlined["$defs"] = dict(sorted(kept.items()))
    return inlined


def _inline(schema: Any, definitions: Mapping[str, Any], open_names: tuple[str, ...], recursive: set[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name in open_names:
            recursive.add(name)
            return schema
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_inline(definitions[name], definitions, (*open_names, name), recursive), **siblings}

    def walk(child: Any) -> Any:
        return _inline(child, definitions, open_names, recursive)

    result = {key: value for key, value in schema.items() if key != "title"}
    if "properties" in result:
        result["properties"] = {key: walk(value) for key, value in result["properties"].items()}
    for key in _SCHEMA_LISTS:
        if key in result:
            result[key] = [walk(child) for child in result[key]]
    for key in _SCHEMA_VALUES:
        if key in result:
            result[key] = walk(result[key])
    return result
