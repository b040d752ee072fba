"""Front matter: YAML between two lines of dashes at the beginning of a Markdown file.

Values follow the core schema of YAML 1.2: `yes`, `no`, `on`, `off` and dates are texts, and a key may stand only once.
The usual front matter, plain `key: value` lines, is read without the YAML library.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, ClassVar

import msgspec

from pinyon.errors import ConfigError


class FrontMatterError(ConfigError):
    """Raised when the part between the dashes is not YAML, or not a table; the text says where."""


class FrontMatter(msgspec.Struct, frozen=True):
    """The values at the beginning of a file and the text behind them, trimmed.

    `mended` says what is wrong with values that are not YAML, but plain enough to be understood.
    """

    values: dict[str, Any]
    body: str
    mended: str | None = None


_MARK = "---"
_PLAIN_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+([A-Za-z(][^\n]*?)[ \t]*")
"""A key and a value that begins like no other YAML form."""
_UNQUOTED = re.compile(r"^([A-Za-z][\w-]*:)[ \t]+([^\s\"'\[{|>&*!%@`#][^\n]*?:(?:[ \t][^\n]*?)?)[ \t]*$", re.MULTILINE)
"""A key and a value that is no other YAML form, but holds a colon where YAML looks for a key."""
_NOT_PLAIN = re.compile(r": |:$| #|\t")
_TAGS = frozenset({"null", "float", "str", "seq", "map"})
"""Kinds of values that are made as the YAML library makes them; `bool` and `int` differ."""
_OTHER_SCALARS = frozenset({"true", "false", "null", "~", "True", "False", "Null", "TRUE", "FALSE", "NULL"})


def parse_front_matter(text: str) -> FrontMatter:
    """Split a file. Without front matter, or with one that never ends, everything is body.

    Raises `FrontMatterError`.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith(_MARK):
        return FrontMatter({}, text.strip())
    end = text.find(f"\n{_MARK}", len(_MARK))
    if end < 0:
        return FrontMatter({}, text.strip())
    yaml_text = text[len(_MARK) : end]
    body = text[end + 1 + len(_MARK) :].strip()
    plain = _plain_values(yaml_text)
    if plain is not None:
        return FrontMatter(plain, body)
    try:
        return FrontMatter(_yaml_values(yaml_text), body)
    except FrontMatterError as error:
        quoted = _with_quotes(yaml_text)
        if quoted == yaml_text:
            raise
        try:
            values = _yaml_values(quoted)
        except FrontMatterError:
            raise error from None
        return FrontMatter(values, body, f"{error}; quote the values that hold a colon")


def _plain_values(text: str) -> dict[str, Any] | None:
    """The values of simple lines; None where a YAML parser has to look."""
    values: dict[str, Any] = {}
    for line in text.split("\n"):
        if not line.strip():
            continue
        found = _PLAIN_LINE.fullmatch(line)
        if found is None or found[1] in values or _NOT_PLAIN.search(found[2]):
            return None
        value = found[2]
        if value in _OTHER_SCALARS:
            if value.lower() not in ("true", "false"):
                return None
            values[found[1]] = value.lower() == "true"
        else:
            values[found[1]] = value
    return values


def _with_quotes(text: str) -> str:
    """The lines with quotes around values that hold a colon and that YAML therefore refuses."""
    return _UNQUOTED.sub(lambda found: f"{found[1]} {json.dumps(found[2], ensure_ascii=False)}", text)


def _yaml_values(text: str) -> dict[str, Any]:
    import yaml

    try:
        value = yaml.load(text, Loader=_loader())  # noqa: S506 - derived from the safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
        raise FrontMatterError(f"front matter is not valid YAML: {place}{reason}") from error
    except (RecursionError, ValueError, OverflowError) as error:
        raise FrontMatterError(f"front matter cannot be read: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FrontMatterError("front matter must be a table of `key: value` lines")
    return {str(key): item for key, item in value.items()}


@cache
def _loader() -> type[Any]:
    """A safe loader with the scalars of the YAML 1.2 core schema, which refuses a key that stands twice."""
    import yaml

    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class CoreLoader(base):  # type: ignore[misc] # the base is chosen at run time
        yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}
        yaml_constructors: ClassVar[dict[str | None, Any]] = {
            tag: make for tag, make in base.yaml_constructors.items() if tag is None or tag.rpartition(":")[2] in _TAGS
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if isinstance(key, list | dict):
                    raise yaml.constructor.ConstructorError(None, None, "a key must be a text", key_node.start_mark)
                if key in seen:
                    problem = f"the key {key!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
                seen.add(key)
            mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return mapping

    scalars = (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", "~nN\0"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
         "-+.0123456789"),
    )  # fmt: skip
    for name, pattern, first in scalars:
        characters = [None if character == "\0" else character for character in first]
        CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{pattern})\Z"), characters)
    CoreLoader.add_constructor("tag:yaml.org,2002:bool", lambda _loader, node: _truth(node.value))
    CoreLoader.add_constructor("tag:yaml.org,2002:int", lambda _loader, node: _whole(node.value))
    return CoreLoader


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _whole(text: str) -> int:
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
