"""A Python type as the shape of an answer: its JSON Schema for the model, and values made from what the model said.

`msgspec` knows dataclasses, TypedDicts, structs, enums, literals and containers of them; types of pydantic are asked
themselves, so that pydantic is needed by those alone who use it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import msgspec

from pinyon.agent.signature import type_schema
from pinyon.agent.tool import InvalidToolError
from pinyon.errors import ConfigError

Output = TypeVar("Output")


class UnfitValueError(ValueError):
    """Raised for a JSON value that does not fit the type; its text says where and why."""


class OutputType(Generic[Output]):
    """What `kind` asks of a JSON value. Raises `ConfigError` for a type that JSON cannot fill."""

    def __init__(self, kind: Any) -> None:
        self.name = getattr(kind, "__name__", None) or str(kind)
        self.schema, self._convert = _pydantic(kind) or _msgspec(kind, self.name)

    def convert(self, value: Any) -> Output:
        """The value of the type. Raises `UnfitValueError`."""
        return cast("Output", self._convert(value))


_Shape = tuple[dict[str, Any], Callable[[Any], Any]]


def _msgspec(kind: Any, name: str) -> _Shape:
    try:
        schema = type_schema(kind)
    except InvalidToolError as error:
        raise ConfigError(
            f"output={name!r} is no type that JSON can fill; use a dataclass, a TypedDict, a msgspec struct, a "
            f"pydantic model or a container of them ({error})"
        ) from error

    def convert(value: Any) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            return _leniently(value, kind, error)

    return schema, convert


def _leniently(value: Any, kind: Any, error: msgspec.ValidationError) -> Any:
    """Numbers and booleans in quotes are taken for what they are; else the first error stands."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise UnfitValueError(str(error)) from error


def _pydantic(kind: Any) -> _Shape | None:
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not _mentions_pydantic(kind):
        return None
    adapter = pydantic.TypeAdapter(kind)

    def convert(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except pydantic.ValidationError as error:
            raise UnfitValueError(
                "; ".join(
                    f"{problem['msg']} at `${''.join(f'.{part}' for part in problem['loc'])}`"
                    for problem in error.errors(include_url=False)
                )
            ) from error

    return adapter.json_schema(), convert


def _mentions_pydantic(kind: Any) -> bool:
    if hasattr(kind, "__pydantic_validator__") or hasattr(kind, "__pydantic_core_schema__"):
        return True
    return any(map(_mentions_pydantic, getattr(kind, "__args__", ())))
