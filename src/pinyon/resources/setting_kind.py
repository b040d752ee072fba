"""How values of settings are read: each kind turns the JSON value of a file into a typed one or says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pinyon._util.json import is_number
from pinyon.ai.model import THINKING_LEVELS, ThinkingLevel

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Kind(Generic[T_co]):
    """A type of setting. `label` describes its valid values; `read` converts one or raises `ValueError`; `schema` is
    the JSON schema of the values that it takes.
    """

    __slots__ = ("label", "read", "schema")

    def __init__(self, label: str, read: Callable[[Any], T_co], schema: dict[str, Any]) -> None:
        self.label = label
        self.read = read
        self.schema = schema


def shown(value: Any) -> str:
    """The value as an error text quotes it, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"must be a text, not {shown(value)}")


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"must be true or false, not {shown(value)}")


def _texts(value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise ValueError(f"must be a list of texts, not {shown(value)}")


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return list(value)
    raise ValueError(f"must be a list, not {shown(value)}")


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return dict(value)
    raise ValueError(f"must be an object, not {shown(value)}")


def _levels(value: Any) -> dict[str, ThinkingLevel]:
    table = _object(value)
    for key, level in table.items():
        if level not in THINKING_LEVELS:
            raise ValueError(f"must map {key!r} to one of {', '.join(THINKING_LEVELS)}, not {shown(level)}")
    return table


def _budgets(value: Any) -> dict[str, int]:
    table = _object(value)
    for level, tokens in table.items():
        if not is_number(tokens) or tokens < 0:
            raise ValueError(f"must map {level!r} to a number of tokens, not {shown(tokens)}")
    return {level: int(tokens) for level, tokens in table.items()}


def _timeout(value: Any) -> int:
    if value == "disabled":
        return 0
    if is_number(value) and value >= 0:
        return int(value)
    raise ValueError(f'must be milliseconds of at least 0 or "disabled", not {shown(value)}')


def _clients(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError(f"must be an object of objects, not {shown(value)}")
    ids = {name: entry["clientId"] for name, entry in value.items() if entry.get("clientId") is not None}
    for name, client_id in ids.items():
        if not isinstance(client_id, str) or not client_id:
            raise ValueError(f"{name}.clientId must be a text, not {shown(client_id)}")
    return ids


def _table(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


TEXT: Kind[str] = Kind("text", _text, {"type": "string"})
FLAG: Kind[bool] = Kind("true, false", _flag, {"type": "boolean"})
TEXTS: Kind[list[str]] = Kind("list of texts", _texts, {"type": "array", "items": {"type": "string"}})
LIST: Kind[list[Any]] = Kind("list", _list, {"type": "array"})
OBJECT: Kind[dict[str, Any]] = Kind("object", _object, {"type": "object"})
LEVELS: Kind[dict[str, ThinkingLevel]] = Kind(
    "object: provider/id → level", _levels, _table({"enum": list(THINKING_LEVELS)})
)
BUDGETS: Kind[dict[str, int]] = Kind("object: level → tokens", _budgets, _table({"type": "number", "minimum": 0}))
CLIENTS: Kind[dict[str, str]] = Kind(
    "object: provider → {clientId}",
    _clients,
    _table({"type": "object", "properties": {"clientId": {"type": ["string", "null"], "minLength": 1}}}),
)
TIMEOUT: Kind[int] = Kind(
    'milliseconds, "disabled"', _timeout, {"anyOf": [{"type": "number", "minimum": 0}, {"const": "disabled"}]}
)


def choice(*values: T) -> Kind[T]:
    """One of the given JSON values."""

    def read(value: Any) -> T:
        for candidate in values:
            if type(value) is type(candidate) and value == candidate:
                return candidate
        raise ValueError(f"must be one of {label}, not {shown(value)}")

    label = ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    return Kind(label, read, {"enum": list(values)})


def whole(minimum: int = 0, maximum: int | None = None, *, unit: str = "number") -> Kind[int]:
    """A number of at least `minimum` (and at most `maximum`); fractions are cut off."""
    label = f"{unit} ≥ {minimum}" if maximum is None else f"{unit} {minimum}–{maximum}"

    def read(value: Any) -> int:
        if not is_number(value) or value < minimum or (maximum is not None and value > maximum):
            raise ValueError(f"must be a {label}, not {shown(value)}")
        return int(value)

    schema = {"type": "number", "minimum": minimum}
    return Kind(label, read, schema if maximum is None else schema | {"maximum": maximum})


def strict_whole(minimum: int = 0) -> Kind[int]:
    """An integer of at least `minimum`; a fraction is refused."""
    label = f"integer ≥ {minimum}"

    def read(value: Any) -> int:
        if not is_number(value) or value < minimum or value != int(value):
            raise ValueError(f"must be an {label}, not {shown(value)}")
        return int(value)

    return Kind(label, read, {"type": "integer", "minimum": minimum})


def either(first: Kind[Any], second: Kind[Any]) -> Kind[Any]:
    """What one of two kinds accepts, the first one first."""

    def read(value: Any) -> Any:
        try:
            return first.read(value)
        except ValueError:
            pass
        try:
            return second.read(value)
        except ValueError:
            raise ValueError(f"must be {first.label} or {second.label}, not {shown(value)}") from None

    return Kind(f"{first.label}, {second.label}", read, {"anyOf": [first.schema, second.schema]})
