"""Tool declarations: what a model is told about a tool."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType


class JsonSchemaSampling(msgspec.Struct, tag_field="type", tag="json_schema"):
    """Ask the provider to sample arguments that follow the schema; `require` fails where it cannot."""

    strict: Literal["prefer", "require"]


class GrammarSampling(msgspec.Struct, tag_field="type", tag="grammar"):
    """Ask the provider to sample arguments by a grammar; keys are `openai_lark` and `openai_regex`."""

    variants: dict[str, str]


ConstrainedSampling = JsonSchemaSampling | GrammarSampling | Literal[False]


class Tool(msgspec.Struct, rename="camel"):
    """Name, description and JSON Schema of the arguments, as declared to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    constrained_sampling: JsonSchemaSampling | GrammarSampling | bool | UnsetType = UNSET


class ToolReference(msgspec.Struct):
    """Names a declared tool, where a system message withdraws it."""

    name: str
