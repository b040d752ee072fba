"""`models.json`: the user's own providers and changes to known ones.

The file is JSON with `//` comments and trailing commas: `{"providers": {id: provider}}`. One bad entry disables only
itself: a model, an override, or, where the fault is in a field of the provider, the provider's entry. Every fault is
reported with file, line, column and dotted path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pinyon._util import json as _json
from pinyon._util import jsonc
from pinyon._util.jsonc import PathStep
from pinyon._util.safe_path import read_file
from pinyon.ai.provider import canonical_id

if TYPE_CHECKING:
    from pinyon.ai.models_schema import Fault

_MEANINGFUL = ("baseUrl", "headers", "compat", "modelOverrides", "models", "apiKey", "oauth", "authHeader")

_NEARLY_THE_SAME = 0.8
"""Similarity from which on an unknown key is taken for a slip, as `difflib` measures it."""


class ModelsProblem(msgspec.Struct, frozen=True):
    """A fault in the file. `provider_id` is empty where it concerns the whole file."""

    message: str
    provider_id: str = ""


class ProviderConfig(msgspec.Struct, kw_only=True):
    """A provider as a file or a program describes it. `models` and `overrides` are checked objects in wire form;
    `place(model_id)` says where a model stands, for later complaints; `needs_url` that models must have an address.
    """

    id: str
    name: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api: str | None = None
    oauth: str | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    compat: dict[str, Any] = msgspec.field(default_factory=dict)
    auth_header: bool = False
    models: list[dict[str, Any]] = msgspec.field(default_factory=list)
    overrides: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    place: Callable[[str], str] | None = None
    needs_url: bool = True

    def __repr__(self) -> str:
        return f"ProviderConfig({self.id!r}, models={[model.get('id') for model in self.models]})"


class ModelsFile(msgspec.Struct, kw_only=True):
    """What a `models.json` says, and what is wrong with it."""

    providers: dict[str, ProviderConfig] = msgspec.field(default_factory=dict)
    problems: list[ModelsProblem] = msgspec.field(default_factory=list)


def load_models_file(path: Path) -> ModelsFile:
    """Read `path`; a file that does not exist says nothing. Never raises."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ModelsFile()
    except UnicodeDecodeError as error:
        return _unusable(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8")
    except OSError as error:
        return _unusable(f"{path}: cannot be read: {error.strerror or error}")
    return parse_models_text(text, str(path))


def _unusable(message: str) -> ModelsFile:
    return ModelsFile(problems=[ModelsProblem(message)])


def parse_models_text(text: str, name: str = "models.json") -> ModelsFile:
    """The same for a text that `name` stands for in messages."""
    try:
        value = jsonc.decode(text)
    except _json.JsonError as error:
        return _unusable(f"{name}: {error}; mend the file, none of it is used")
    return _Reader(text, name).read(value)


class _Reader:
    """Collects what is sound and complains about the rest."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._problems: list[ModelsProblem] = []

    def read(self, value: Any) -> ModelsFile:
        if not isinstance(value, dict):
            self._complain((), "must be an object with the key 'providers'", "none of the file is used")
            return ModelsFile(problems=self._problems)
        self._near_misses((), value, ("providers",), "")
        entries = value.get("providers")
        if not isinstance(entries, dict):
            self._complain(("providers",), "must be an object of providers", "none of the file is used")
            return ModelsFile(problems=self._problems)
        found = (self._provider(provider_id, entry) for provider_id, entry in entries.items())
        providers = {config.id: config for config in found if config is not None}
        return ModelsFile(providers=providers, problems=self._problems)

    def _provider(self, provider_id: str, entry: Any) -> ProviderConfig | None:
        from pinyon.ai.models_schema import PROVIDER_FIELDS

        path = ("providers", provider_id)
        self._near_misses(path, entry, PROVIDER_FIELDS, provider_id)
        faults = list(_provider_faults(provider_id, entry))
        if faults:
            outcome = f"the entry of provider {provider_id!r} is ignored"
            for below, reason in faults:
                self._complain((*path, *below), reason, outcome, provider_id)
            return None
        config = ProviderConfig(
            id=canonical_id(provider_id),
            name=entry.get("name"),
            base_url=entry.get("baseUrl"),
            api_key=entry.get("apiKey"),
            api=entry.get("api"),
            oauth=entry.get("oauth"),
            headers=entry.get("headers", {}),
            compat=entry.get("compat", {}),
            auth_header=entry.get("authHeader", False),
        )
        self._models(config, path, entry)
        return config

    def _models(self, config: ProviderConfig, path: tuple[PathStep, ...], entry: dict[str, Any]) -> None:
        from pinyon.ai.models_schema import MODEL_FIELDS, OVERRIDE_FIELDS, faults_in

        paths: dict[str, tuple[PathStep, ...]] = {}
        for index, model in enumerate(entry.get("models", [])):
            where = (*path, "models", index)
            if self._is_sound(where, faults_in(model, MODEL_FIELDS, ("id",)), "model", config.id):
                config.models.append(model)
                paths[model["id"]] = where
        for model_id, override in entry.get("modelOverrides", {}).items():
            where = (*path, "modelOverrides", model_id)
            if self._is_sound(where, faults_in(override, OVERRIDE_FIELDS), "override", config.id):
                config.overrides[model_id] = override
        config.place = lambda model_id: self._place(paths.get(model_id, path))

    def _is_sound(self, path: tuple[PathStep, ...], faults: Iterator[Fault], kind: str, provider_id: str) -> bool:
        found = list(faults)
        for below, reason in found:
            self._complain((*path, *below), reason, f"this {kind} is ignored", provider_id)
        return not found

    def _near_misses(self, path: Sequence[PathStep], entry: Any, known: Collection[str], provider_id: str) -> None:
        """Tell of keys that are nearly known ones; others may be those of another program or version."""
        if not isinstance(entry, dict):
            return
        missing = {name.casefold(): name for name in known if name not in entry}
        for key in [key for key in entry if key not in known]:
            from difflib import get_close_matches

            for match in get_close_matches(key.casefold(), missing, 1, _NEARLY_THE_SAME):
                reason = f"is no known key; {missing[match]!r} may be meant"
                self._complain((*path, key), reason, "it is ignored", provider_id)

    def _complain(self, path: Sequence[PathStep], reason: str, outcome: str, provider_id: str = "") -> None:
        dotted = ".".join(str(step) for step in path)
        subject = f"{dotted} {reason}" if dotted else f"the file {reason}"
        self._problems.append(ModelsProblem(f"{self._place(path)}: {subject}; {outcome}", provider_id))

    def _place(self, path: Sequence[PathStep]) -> str:
        line, column = jsonc.locate(self._text, path)
        return f"{self._name}:{line}:{column}"


def _provider_faults(provider_id: str, entry: Any) -> Iterator[Fault]:
    from pinyon.ai.models_schema import PROVIDER_FIELDS, faults_in

    if not provider_id.strip():
        yield (), "has an empty id"
    found = list(faults_in(entry, PROVIDER_FIELDS))
    yield from found
    if found:
        return
    if not any(entry.get(name) for name in _MEANINGFUL):
        yield (), f"says nothing; give it one of {', '.join(_MEANINGFUL)}"
    elif entry.get("oauth") and not entry.get("baseUrl"):
        yield ("oauth",), "needs a baseUrl"
