"""Our own rules: which data sets describe a provider, and what no data set says (wire API, flags, levels, limits).

They stand in `rules.yaml`; its comments say where a rule comes from.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import yaml

RULES = Path(__file__).with_name("rules.yaml")

_MERGED = ("compat", "thinkingLevelMap", "promptCache", "inputLimits")


class SourceRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set: the version that is read, under which licence it is published, and where."""

    version: str
    licence: str
    url: str
    python: str = "3.11"


class Addition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that no data set lists: it takes what is known of `like`, an id of the same provider or of any other; an
    empty `like` leaves it the defaults of the format.
    """

    like: str
    name: str


class ProviderRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How the rows of one provider are made.

    `sources` are `data set:provider` from the most to the least trusted; each may bring models. `prices` are more of
    them, asked for prices only. `only` and `drop` are globs on ids, `keep` on ids that stay although they are called
    retired. `apis` gives the API by glob, first match counts; `by-endpoint` and `by-sdk` take it from what a data set
    says of the model. `strip` is cut off ids where the provider's address wants them without; those in `dashes` get
    dashes for points too. `add` are models that no data set lists.
    """

    sources: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    only: tuple[str, ...] = ("*",)
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    apis: tuple[tuple[str, str], ...] = ()
    by_endpoint: bool = False
    by_sdk: bool = False
    strip: tuple[str, ...] = ()
    dashes: tuple[str, ...] = ()
    add: dict[str, Addition] = {}


class FieldRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fields for models that match all that is given: names (globs on the bare name), API, provider, reasoning."""

    set: dict[str, Any]
    names: tuple[str, ...] = ("*",)
    ids: tuple[str, ...] = ("*",)
    apis: tuple[str, ...] = ("*",)
    providers: tuple[str, ...] = ("*",)
    reasoning: bool | None = None

    def applies(self, provider: str, model_id: str, name: str, row: Mapping[str, Any]) -> bool:
        """Whether this rule is about the model."""
        if self.reasoning is not None and bool(row.get("reasoning")) is not self.reasoning:
            return False
        return (
            matches(provider, self.providers)
            and matches(row["api"], self.apis)
            and matches(model_id, self.ids)
            and matches(name, self.names)
        )


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """All rules. `as_of` is the day for which the catalogue is made: models retired before it are left out."""

    as_of: dt.date
    sources: dict[str, SourceRule]
    providers: dict[str, ProviderRule]
    fields: tuple[FieldRule, ...]
    words: dict[str, str]
    drop: tuple[str, ...] = ()


def load_rules(path: Path = RULES) -> Rules:
    """Read the rules; raises `msgspec.ValidationError` for what is none."""
    return msgspec.convert(yaml.safe_load(path.read_text("utf-8")), Rules)


def matches(text: str, globs: Iterable[str]) -> bool:
    """Whether one of `globs` matches, in any case."""
    return any(fnmatchcase(text.casefold(), glob.casefold()) for glob in globs)


def with_fields(row: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`row` with `fields` laid over it; objects of flags and limits are merged, other values replaced."""
    changed = dict(row)
    for name, value in fields.items():
        below = changed.get(name)
        if name in _MERGED and isinstance(below, dict) and isinstance(value, dict):
            changed[name] = with_fields(below, value)
        else:
            changed[name] = value
    return changed


def apply_fields(
    rules: Sequence[FieldRule], provider: str, model_id: str, name: str, row: dict[str, Any]
) -> dict[str, Any]:
    """`row` after every rule that is about it, in order."""
    for rule in rules:
        if rule.applies(provider, model_id, name, row):
            row = with_fields(row, rule.set)
    return row
