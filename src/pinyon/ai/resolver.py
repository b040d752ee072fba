"""From what users write to a model: `id`, `provider/id`, parts of names, globs, with or without `:level` behind.

Matching ignores case and surrounding blanks. Everything works on a list of models and a question, `usable(provider)`,
whether a provider has credentials; nothing here reads files or asks a server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal

import msgspec

from pinyon.ai.model import THINKING_LEVELS, Model, ThinkingLevel, parse_level
from pinyon.errors import ModelError

Usable = Callable[[str], bool]
SuffixRule = Literal["none", "lenient", "strict"]

_DATED = re.compile(r"-\d{8}$")
_BRACES = re.compile(r"\{(?:(?P<first>-?\d{1,6})\.\.(?P<last>-?\d{1,6})|(?P<list>[^{}]*,[^{}]*))\}")
_MOST_FORMS = 1000
_MOST_GROUPS = 50
_MOST_COLONS = 20
_GLOB_CHARS = frozenset("*?[")


class UnknownModelError(ModelError):
    """Raised when no model matches what was asked for."""


class AmbiguousModelError(ModelError):
    """Raised when several providers offer what was asked for and nothing decides between them."""

    def __init__(
        self, text: str, candidates: Sequence[Model], usable: Usable | None = None, *, has_inline_key: bool = False
    ) -> None:
        self.candidates = list(candidates)
        ready = [model for model in candidates if usable is not None and usable(model.provider)]
        state = "several of them have credentials" if len(ready) > 1 else "none of them has credentials"
        if has_inline_key:
            state = "a key on the command line does not choose between them"
        names = ", ".join(sorted(model.spec for model in candidates))
        super().__init__(
            f"the model {text!r} is offered by several providers ({names}) and {state}; "
            "write provider/model or add --provider"
        )


class ResolvedModel(msgspec.Struct, kw_only=True):
    """A model, the level that its spec asked for, and what the user should know about the choice."""

    model: Model
    thinking_level: ThinkingLevel | None = None
    warning: str | None = None


class ScopeDiagnostic(msgspec.Struct, kw_only=True):
    """A remark on a scope pattern."""

    code: Literal["no-match", "ambiguous", "invalid-thinking-level"]
    message: str
    pattern: str
    type: Literal["warning"] = "warning"


def resolve(
    text: str,
    models: Sequence[Model],
    *,
    usable: Usable,
    provider: str | None = None,
    suffix: SuffixRule = "strict",
    fuzzy: bool = True,
) -> ResolvedModel | None:
    """The model that `text` names, None when there is none. Raises `AmbiguousModelError`.

    An exact reference wins over a part of a name, and either over a `:level` suffix. An invalid suffix makes a strict
    resolution fail and a lenient one go on with a warning.
    """
    text = text.strip()
    pool = [model for model in models if provider is None or _same(model.provider, provider)]
    model = _reference(text, pool, usable, fuzzy=fuzzy) or (_best_match(text, pool, usable) if fuzzy else None)
    if model is not None:
        return ResolvedModel(model=model)
    head, colon, tail = text.rpartition(":")
    level = parse_level(tail)
    if suffix == "none" or not colon or not head or (level is None and suffix == "strict"):
        return None
    if text.count(":") > _MOST_COLONS:
        return None
    found = resolve(head, models, usable=usable, provider=provider, suffix=suffix, fuzzy=fuzzy)
    if found is not None and level is None:
        found.warning = f"{tail!r} is no thinking level ({', '.join(THINKING_LEVELS)}); the default is used"
    elif found is not None:
        found.thinking_level = level
    return found


def _same(left: str, right: str) -> bool:
    return left.casefold() == right.casefold()


def _reference(text: str, models: Sequence[Model], usable: Usable, *, fuzzy: bool) -> Model | None:
    raw = [model for model in models if _same(model.id, text)]
    named = _named(text, models, raw, usable, fuzzy=fuzzy)
    found = {model.key: model for model in ([named] if named else []) + raw}
    if len({key[0] for key in found}) <= 1:
        return next(iter(found.values()), None)
    if named is not None and usable(named.provider):
        return named
    others = [model for model in raw if named is None or model.provider != named.provider]
    ready = [model for model in others if usable(model.provider)]
    if len(ready) == 1:
        return ready[0]
    if named is not None:
        return named
    raise AmbiguousModelError(text, raw, usable)


def _named(text: str, models: Sequence[Model], raw: Sequence[Model], usable: Usable, *, fuzzy: bool) -> Model | None:
    provider = provider_prefix(text, {model.provider for model in models})
    if provider is None:
        return None
    own = [model for model in models if model.provider == provider]
    rest = text[len(provider) + 1 :]
    exact = next((model for model in own if _same(model.id, rest)), None)
    exact = exact or next((model for model in raw if model.provider == provider), None)
    return exact or (_best_match(rest, own, usable) if fuzzy and rest else None)


def provider_prefix(text: str, providers: Iterable[str]) -> str | None:
    """The longest provider id that stands before a slash at the start of `text`; provider ids may hold slashes."""
    lowered = text.casefold()
    matches = [provider for provider in providers if lowered.startswith(provider.casefold() + "/")]
    return max(matches, key=len, default=None)


def _best_match(text: str, models: Sequence[Model], usable: Usable) -> Model | None:
    needle = text.casefold()
    matches = [model for model in models if needle and needle in f"{model.id}\n{model.name}".casefold()]
    if len({model.provider for model in matches}) > 1:
        matches = [model for model in matches if usable(model.provider)] or matches
    if not matches:
        return None
    aliases = [model for model in matches if not _DATED.search(model.id) or model.id.endswith("-latest")]
    best_id = max((model.id for model in aliases or matches), key=_collation_key)
    best = [model for model in matches if model.id == best_id]
    if len({model.provider for model in best}) > 1:
        raise AmbiguousModelError(text, best, usable)
    return best[0]


def resolve_cli_model(
    text: str,
    models: Sequence[Model],
    *,
    usable: Usable,
    defaults: Callable[[str], str | None],
    provider: str | None = None,
    thinking_level: ThinkingLevel | None = None,
    has_inline_key: bool = False,
) -> ResolvedModel:
    """The model of `--model`, with the flags beside it. Raises `UnknownModelError` or `AmbiguousModelError`.

    A known provider with an unknown id gives a custom model: the provider's default (`defaults(provider)`) or first
    model under the new id. With a key on the command line, stored credentials never choose between providers.
    """
    providers = {model.provider for model in models}
    if provider is not None:
        provider = next((known for known in providers if _same(known, provider.strip())), None) or _unknown(provider)
        # an id may be written with its provider in front even when --provider names it
        prefix = provider_prefix(text, {provider})
        text = text[len(prefix) + 1 :] if prefix and not _has_id(models, provider, text) else text
    ready = (lambda _: False) if has_inline_key else usable
    try:
        found = resolve(text, models, usable=ready, provider=provider)
    except AmbiguousModelError as error:
        if not has_inline_key:
            raise
        raise AmbiguousModelError(text, error.candidates, has_inline_key=True) from None
    if found is not None:
        found.thinking_level = thinking_level or found.thinking_level
        return found
    owner = provider or provider_prefix(text.strip(), providers)
    if owner is None:
        raise UnknownModelError(f"there is no model {text!r}; `pinyon --list-models` shows what can be used")
    return _custom_model(text.strip(), owner, models, defaults(owner), thinking_level, is_prefixed=provider is None)


def _unknown(provider: str) -> str:
    raise UnknownModelError(
        f"there is no provider {provider!r}; `pinyon --list-models` shows the providers that can be used"
    )


def _has_id(models: Sequence[Model], provider: str, text: str) -> bool:
    return any(model.provider == provider and _same(model.id, text) for model in models)


def _custom_model(
    text: str,
    provider: str,
    models: Sequence[Model],
    default_id: str | None,
    thinking_level: ThinkingLevel | None,
    *,
    is_prefixed: bool,
) -> ResolvedModel:
    own = [model for model in models if model.provider == provider]
    base = next((model for model in own if model.id == default_id), own[0])
    model_id = text[len(provider) + 1 :] if is_prefixed else text
    head, _, suffix = model_id.rpartition(":")
    level = thinking_level or (parse_level(suffix) if head else None)
    if level is not None and thinking_level is None:
        model_id = head
    model = msgspec.structs.replace(base, id=model_id, name=model_id)
    if level not in (None, "off"):
        model.reasoning = True
    warning = f"{provider!r} lists no model {model_id!r}; it is used with the limits and prices of {base.id!r}"
    return ResolvedModel(model=model, thinking_level=level, warning=warning)


_COLLATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"


def _collation_key(text: str) -> tuple[list[tuple[int, str]], str]:
    """Sorts ids as people expect: punctuation before digits before letters, case only where all else is equal."""
    return [(rank if (rank := _COLLATION.find(char)) >= 0 else len(_COLLATION), char) for char in text.casefold()], text


# Scopes


class ScopedModel(msgspec.Struct):
    """A model of a scope and the level that its pattern asks for."""

    model: Model
    thinking_level: ThinkingLevel | None = None


def resolve_scope(
    patterns: Sequence[str], models: Sequence[Model], *, usable: Usable
) -> tuple[list[ScopedModel], list[ScopeDiagnostic]]:
    """The models of scope patterns in order, each once, and remarks on patterns that did not do what they should."""
    scoped: dict[tuple[str, str], ScopedModel] = {}
    remarks: list[ScopeDiagnostic] = []
    for pattern in filter(None, (pattern.strip() for pattern in patterns)):
        for found in _scope_matches(pattern, models, usable, remarks):
            scoped.setdefault(found.model.key, found)
    return list(scoped.values()), remarks


def _scope_matches(
    pattern: str, models: Sequence[Model], usable: Usable, remarks: list[ScopeDiagnostic]
) -> list[ScopedModel]:
    if _GLOB_CHARS & set(pattern):
        found = _glob_matches(pattern, models)
    else:
        found = _plain_matches(pattern, models, usable, remarks)
    if not found:
        message = f"the model pattern {pattern!r} matches no model with credentials"
        remarks.append(ScopeDiagnostic(code="no-match", message=message, pattern=pattern))
    return found


def _plain_matches(
    pattern: str, models: Sequence[Model], usable: Usable, remarks: list[ScopeDiagnostic]
) -> list[ScopedModel]:
    try:
        found = resolve(pattern, models, usable=usable, suffix="lenient")
    except AmbiguousModelError as error:
        remarks.append(ScopeDiagnostic(code="ambiguous", message=str(error), pattern=pattern))
        return [ScopedModel(model) for model in error.candidates]
    if found is None:
        return []
    if found.warning:
        remarks.append(ScopeDiagnostic(code="invalid-thinking-level", message=found.warning, pattern=pattern))
    return [ScopedModel(found.model, found.thinking_level)]


def _glob_matches(pattern: str, models: Sequence[Model]) -> list[ScopedModel]:
    head, _, suffix = pattern.rpartition(":")
    level = parse_level(suffix) if head else None
    if level is not None:
        pattern = head
    exact = [model for model in models if _same(model.id, pattern) or _same(model.spec, pattern)]
    if exact:
        return [ScopedModel(model, level) for model in exact]
    matches = glob_matcher(pattern)
    return [ScopedModel(model, level) for model in models if matches(model.spec) or matches(model.id)]


def glob_matcher(pattern: str) -> Callable[[str], bool]:
    """A test for a glob, case-insensitive: `*` and `?` stop at slashes, `**` does not, `{a,b}` and leading `!` work."""
    negated = pattern.startswith("!")
    expressions = [
        re.compile(_glob_regex(form), re.IGNORECASE) for form in _braces(pattern[1:] if negated else pattern)
    ]
    return lambda text: any(expression.fullmatch(text) for expression in expressions) != negated


def _braces(pattern: str) -> list[str]:
    group = _BRACES.search(pattern)
    if group is None or pattern.count("{") > _MOST_GROUPS:
        return [pattern]
    if group["first"]:
        first, last = int(group["first"]), int(group["last"])
        step = 1 if last >= first else -1
        options = [str(number) for number in range(first, last + step, step)[:_MOST_FORMS]]
    else:
        options = group["list"].split(",")
    forms = (_braces(pattern[: group.start()] + option + pattern[group.end() :]) for option in options)
    return list(islice((form for some in forms for form in some), _MOST_FORMS))


def _glob_regex(pattern: str) -> str:
    tokens = re.findall(r"\*{2,}/?|\*|\?|\[!?[^\]]+\]|.", pattern, re.DOTALL)
    return "".join(map(_glob_token, tokens))


def _glob_token(token: str) -> str:
    match token:
        case _ if token.startswith("**"):
            return "(?:.*/)?" if token.endswith("/") else ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if token.startswith("[") and len(token) > 1:
            return _glob_class(token[1:-1])
        case _:
            return re.escape(token)


def _glob_class(body: str) -> str:
    negated = body[0] in "!^" and len(body) > 1
    inner = "".join(char if char == "-" else re.escape(char) for char in body[negated:])
    expression = f"[{'^' if negated else ''}{inner}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(f"[{body}]")  # such as a range that runs backwards
    return expression


# Without a flag


def initial_model(
    models: Sequence[Model],
    *,
    usable: Usable,
    default: tuple[str | None, str | None],
    provider_defaults: Iterable[tuple[str, str]],
    scoped: Sequence[ScopedModel] = (),
) -> ScopedModel | None:
    """The model of a new session: first scoped, the settings' default if it has credentials, a provider's default in
    table order, the first usable one; None where nothing is usable.
    """
    ready = [model for model in models if usable(model.provider)]
    by_key = {model.key: model for model in ready}
    provider, model_id = default
    chosen = by_key.get((provider or "", model_id or ""))
    if scoped:
        inside = [item for item in scoped if chosen is not None and item.model.key == chosen.key]
        return (inside or list(scoped))[0]
    if chosen is None:
        chosen = next((by_key[key] for key in provider_defaults if key in by_key), None)
    chosen = chosen or (ready[0] if ready else None)
    return None if chosen is None else ScopedModel(chosen)


def restored_model(
    models: Sequence[Model], provider: str, model_id: str, *, usable: Usable
) -> tuple[Model | None, str | None]:
    """The model that a session recorded, or None and why it cannot be used."""
    model = next((model for model in models if model.key == (provider, model_id)), None)
    spec = f"{provider}/{model_id}"
    if model is None:
        return None, f"could not restore the model {spec!r}: it is not known here"
    if not usable(provider):
        return None, f"could not restore the model {spec!r}: there are no credentials for {provider!r}"
    return model, None
