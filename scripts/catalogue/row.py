"""From facts and rules to the rows of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from scripts.catalogue.rule import ProviderRule, Rules, apply_fields, matches
from scripts.catalogue.source import Cost, Fact

Row = dict[str, Any]

LEAST_CONTEXT = 16_000
"""Models with smaller windows cannot hold an agent's prompt and tools."""

MOST_UNLIMITED_OUTPUT = 131_072
"""The output limit of models with a large window that publish none of their own."""

LEAST_OUTPUT = 32_768
"""Smaller limits of other providers are their own affair."""

_FIELD_ORDER = (
    *("name", "api", "reasoning", "input", "contextWindow", "maxTokens", "cost", "thinkingLevelMap"),
    *("promptCache", "inputLimits", "compat"),
)
_VENDORS = (
    *("anthropic", "openai", "gemini", "xai", "mistral", "deepseek", "moonshot", "zai", "minimax", "meta"),
    *("xiaomi_mimo", "qwencloud", "google", "moonshotai", "alibaba", "xiaomi", "nvidia"),
)
_REGION = re.compile(r"^(?:us-gov|us|eu|apac|au|jp|ca|global)\.")
_BEDROCK_VENDOR = re.compile(r"^[a-z]+\d*\.(?=[a-z])")
_VERSION = re.compile(r"(?:-v\d+(?::\d+)?|@[a-z0-9]+|:[a-z-]+)$")
_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")
_FIREWORKS_POINT = re.compile(r"(?<=\d)p(?=\d)")
_NAME_HEAD = re.compile(r"^[\w. -]+: ")
_NAME_TAIL = re.compile(r" \(?latest\)?$", re.IGNORECASE)
_ZERO_COST: Cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}

API_OF_ENDPOINT = (
    ("/v1/responses", "openai-responses"),
    ("/v1/messages", "anthropic-messages"),
    ("/v1beta/models", "google-generative-ai"),
    ("/v1/chat/completions", "openai-completions"),
)
API_OF_SDK = {
    "@ai-sdk/anthropic": "anthropic-messages",
    "@ai-sdk/google": "google-generative-ai",
    "@ai-sdk/openai": "openai-responses",
}


def bare_name(model_id: str) -> str:
    """What a model is called whoever serves it: `us.anthropic.claude-opus-4-6-v1:0` is `claude-opus-4-6`."""
    last = model_id.rsplit("/", 1)[-1].casefold()
    last = _REGION.sub("", last)
    last = _BEDROCK_VENDOR.sub("", last)
    last = _VERSION.sub("", _VERSION.sub("", last))
    last = _DATE.sub("", last)
    last = _FIREWORKS_POINT.sub("-", last)
    return last.replace(".", "-").replace("_", "-")


def clean_name(name: str) -> str:
    """A published name without the vendor in front and without what the id says anyway."""
    return _NAME_TAIL.sub("", _NAME_HEAD.sub("", name)).strip()


class Builder:
    """Makes the rows of each provider."""

    def __init__(self, rules: Rules, facts: Iterable[Fact], apis: Mapping[str, Sequence[str]]) -> None:
        self.rules = rules
        self.skipped: list[str] = []
        self._apis = apis
        self._of_provider: dict[str, dict[str, Fact]] = {}
        self._of_name: dict[str, list[Fact]] = {}
        for fact in facts:
            self._of_provider.setdefault(f"{fact.source}:{fact.provider}", {}).setdefault(fact.id.casefold(), fact)
            self._of_name.setdefault(bare_name(fact.id), []).append(fact)
        for same in self._of_name.values():
            same.sort(key=_trust)

    def provider_rows(self, provider: str) -> dict[str, Row]:
        """The rows of a provider by id, in alphabetical order."""
        rule = self.rules.providers[provider]
        rows: dict[str, Row] = {}
        for facts in self._merged(rule.sources):
            model_id = facts[0].id  # spelt as in the most trusted data set
            if not self._is_wanted(rule, model_id):
                continue
            if not matches(model_id, rule.keep) and not self._is_current(model_id, facts):
                continue
            row = self._row(provider, rule, model_id, facts)
            if row is not None:
                rows[_served_id(rule, model_id)] = row
        for model_id, addition in rule.add.items():
            if model_id not in rows:
                rows[model_id] = self._added(provider, rule, model_id, addition.like, addition.name, rows)
        return dict(sorted(rows.items()))

    def _merged(self, sources: Sequence[str]) -> list[list[Fact]]:
        """What `sources` say of each model, the most trusted first; ids match in any case."""
        merged: dict[str, list[Fact]] = {}
        for source in sources:
            for key, fact in self._of_provider.get(source, {}).items():
                merged.setdefault(key, []).append(fact)
        return list(merged.values())

    def _is_wanted(self, rule: ProviderRule, model_id: str) -> bool:
        dropped = (*self.rules.drop, *rule.drop)
        return matches(model_id, rule.only) and not matches(model_id, dropped)

    def _is_current(self, model_id: str, own: Sequence[Fact]) -> bool:
        """Whether the newest data set that lists a model does not call it retired. Price lists keep models that are
        gone: one that stands in nothing else must be current at its vendor.
        """
        dated = [fact for fact in own if fact.source == "litellm"]
        if any(self._is_retired(fact) for fact in dated or own):
            return False
        if any(fact.source != "genai-prices" for fact in own):
            return True
        vendors = [fact for fact in self._of_name.get(bare_name(model_id), []) if fact.provider in _VENDORS]
        return any(fact.source == "litellm" and not self._is_retired(fact) for fact in vendors)

    def _is_retired(self, fact: Fact) -> bool:
        return fact.retired is not None and fact.retired < self.rules.as_of.isoformat()

    def _added(
        self, provider: str, rule: ProviderRule, model_id: str, like: str, name: str, rows: Mapping[str, Row]
    ) -> Row:
        if like in rows:
            return {**rows[like], "name": name}
        if not like:
            main_api = self._apis[provider][0]
            blank: Row = {"name": name, "api": main_api, "input": ["text"], "cost": _ZERO_COST}
            return _tidy(apply_fields(self.rules.fields, provider, model_id, model_id, blank), main_api)
        twins = self._of_name.get(bare_name(like), [])
        row = self._row(provider, rule, model_id, [], twins)
        if row is None:
            raise LookupError(f"provider {provider!r}: nothing is known of {like!r}, which {model_id!r} is to be like")
        return {**row, "name": name}

    def _row(
        self,
        provider: str,
        rule: ProviderRule,
        model_id: str,
        own: list[Fact],
        twins: Sequence[Fact] | None = None,
    ) -> Row | None:
        name = bare_name(model_id)
        twins = self._of_name.get(name, []) if twins is None else twins
        if not _explicit(own, twins, "tools"):
            return None
        context = _first(own, (), "max_input", "context") or _first((), twins, "max_input", "context")
        output = _first(own, twins, "max_output")
        if not context or not output or context < LEAST_CONTEXT:
            self.skipped.append(f"{provider}/{model_id}: no usable limits (context {context}, output {output})")
            return None
        row: Row = {
            "name": self._display(model_id, own, twins),
            "api": self._api(provider, rule, model_id, own),
            "reasoning": bool(_explicit(own, twins, "reasoning")),
            "input": ["text", "image"] if _explicit(own, twins, "image") else ["text"],
            "contextWindow": context,
            "maxTokens": _output_limit(context, output, twins),
            "cost": self._cost(rule, model_id, own),
        }
        row |= capability_fields(row, _flags(own, twins))
        row = apply_fields(self.rules.fields, provider, model_id, name, row)
        return _tidy(row, self._apis[provider][0])

    def _cost(self, rule: ProviderRule, model_id: str, own: Sequence[Fact]) -> Cost:
        costs = [fact.cost for fact in own if fact.cost is not None]
        for source in rule.prices:
            known = self._of_provider.get(source, {})
            fact = known.get(model_id.casefold())
            fact = fact or next((known[key] for key in known if bare_name(key) == bare_name(model_id)), None)
            if fact is not None and fact.cost is not None:
                costs.append(fact.cost)
        priced = [cost for cost in costs if cost["input"] or cost["output"]]
        return next(iter(priced or costs), _ZERO_COST)

    def _api(self, provider: str, rule: ProviderRule, model_id: str, own: Sequence[Fact]) -> str:
        for glob, api in rule.apis:
            if matches(model_id, (glob,)):
                return api
        spoken = self._apis[provider]
        if rule.by_endpoint:
            served = {path for fact in own for path in fact.endpoints}
            for path, api in API_OF_ENDPOINT:
                if path in served and api in spoken:
                    return api
        if rule.by_sdk:
            for fact in own:
                if (api := API_OF_SDK.get(fact.sdk or "", "")) in spoken:
                    return api
        return spoken[0]

    def _display(self, model_id: str, own: Sequence[Fact], twins: Sequence[Fact]) -> str:
        name = next((fact.name for fact in sorted(own, key=_naming) if fact.name), None)
        if name is None and not _DATE.search(model_id):
            same = [fact for fact in twins if fact.name and ":" not in fact.name and not _DATE.search(fact.id)]
            name = same[0].name if same else None
        return clean_name(name) if name else self._spelt(model_id)

    def _spelt(self, model_id: str) -> str:
        words = re.split(r"[-_ ]+", _REGION.sub("", model_id).rsplit("/", 1)[-1])
        return " ".join(self.rules.words.get(word.casefold(), word[:1].upper() + word[1:]) for word in words)


def _trust(fact: Fact) -> tuple[int, int, str, str]:
    vendor = _VENDORS.index(fact.provider) if fact.provider in _VENDORS else len(_VENDORS)
    return (vendor, 0 if fact.source == "litellm" else 1, fact.provider, fact.id)


def _naming(fact: Fact) -> bool:
    """Price lists often write names in small letters."""
    return fact.source == "genai-prices"


def _first(own: Iterable[Fact], twins: Iterable[Fact], *names: str) -> Any:
    """The first value that anybody gives, the model's own facts first."""
    for fact in (*own, *twins):
        for name in names:
            if value := getattr(fact, name):
                return value
    return None


def _explicit(own: Sequence[Fact], twins: Sequence[Fact], name: str) -> Any:
    """Yes if one of the model's own facts says so, no if they only say no, else what the first twin says."""
    said = [getattr(fact, name) for fact in own if getattr(fact, name) is not None]
    if said:
        return any(said)
    return next((getattr(fact, name) for fact in twins if getattr(fact, name) is not None), None)


def _flags(own: Sequence[Fact], twins: Sequence[Fact]) -> dict[str, Any]:
    flags: dict[str, Any] = {}
    for fact in (*reversed(twins[:1]), *reversed(own)):
        flags |= fact.flags
    return flags


def _output_limit(context: int, output: int, twins: Sequence[Fact]) -> int:
    """The output limit. One as large as the window is none: a request with it would leave no room for input, so the
    least that others publish for the model counts, at most a quarter of the window.
    """
    if output < context:
        return output
    published = [fact.max_output for fact in twins if fact.max_output and fact.max_output >= LEAST_OUTPUT]
    return min(MOST_UNLIMITED_OUTPUT, context // 4, *published)


def capability_fields(row: Row, flags: Mapping[str, Any]) -> Row:
    """Thinking levels and flags that follow from published capabilities, in the words of the row's API."""
    if not row["reasoning"]:
        return {}
    match row["api"]:
        case "anthropic-messages" | "bedrock-converse-stream":
            return _adaptive_fields(flags)
        case "openai-responses" | "azure-openai-responses" | "openai-codex-responses":
            return {"thinkingLevelMap": _effort_levels(flags)}
        case "google-generative-ai" | "google-vertex":
            return {}
        case _:
            levels = flags.get("reasoning_effort_levels")
            return {"thinkingLevelMap": _listed_levels(levels)} if levels else {}


def _adaptive_fields(flags: Mapping[str, Any]) -> Row:
    if not flags.get("supports_adaptive_thinking"):
        return {}
    levels: dict[str, str | None] = {"off": None} if flags.get("thinking_always_on") else {}
    levels |= {level: level for level in ("xhigh", "max") if flags.get(f"supports_{level}_reasoning_effort")}
    fields: Row = {"compat": {"forceAdaptiveThinking": True}}
    if flags.get("supports_sampling_params") is False:
        fields["compat"]["supportsTemperature"] = False
    return {**fields, "thinkingLevelMap": levels} if levels else fields


def _effort_levels(flags: Mapping[str, Any]) -> dict[str, str | None]:
    if listed := flags.get("reasoning_effort_levels"):
        return _listed_levels(listed)
    levels: dict[str, str | None] = {
        "off": "none" if flags.get("supports_none_reasoning_effort") else None,
        "minimal": "minimal" if flags.get("supports_minimal_reasoning_effort") else None,
    }
    if flags.get("supports_low_reasoning_effort") is False:
        levels["low"] = None
    return levels | {level: level for level in ("xhigh", "max") if flags.get(f"supports_{level}_reasoning_effort")}


def _listed_levels(listed: Iterable[str]) -> dict[str, str | None]:
    words = set(listed)
    levels: dict[str, str | None] = {"off": "none" if "none" in words else None}
    levels |= {level: None for level in ("minimal", "low", "medium", "high") if level not in words}
    return levels | {level: level for level in ("xhigh", "max") if level in words}


def _served_id(rule: ProviderRule, model_id: str) -> str:
    for prefix in rule.strip:
        if model_id.startswith(prefix):
            bare = model_id.removeprefix(prefix)
            return bare.replace(".", "-") if prefix in rule.dashes else bare
    return model_id


def _tidy(row: Row, default_api: str) -> Row:
    """The row in fixed order without what is a default of the format or of no use to it."""
    if "image" not in row["input"] and "inputLimits" in row:
        row = {**row, "inputLimits": {name: value for name, value in row["inputLimits"].items() if name != "images"}}
    ordered = {name: row[name] for name in _FIELD_ORDER if row.get(name) not in (None, {}, False)}
    if ordered["api"] == default_api:
        del ordered["api"]
    if ordered["input"] == ["text"]:
        del ordered["input"]
    ordered["cost"] = _whole_numbers(ordered["cost"])
    return ordered


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def encode_rows(rows: Mapping[str, Row]) -> bytes:
    """A data file: one line for each model, so that changes can be reviewed."""
    encoder = msgspec.json.Encoder()
    lines = [b"%s: %s" % (encoder.encode(model_id), encoder.encode(row)) for model_id, row in rows.items()]
    return b"{\n" + b",\n".join(lines) + b"\n}\n"
