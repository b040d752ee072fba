"""`models-store.json`: newer models of known providers than the package brings, as a catalogue server gave them.

The file is an object of provider ids to `{"models": [descriptor], "lastModified"?, "checkedAt"?, "etag"?}`. Other
programs share it, so entries that this one does not write stay as they are. What it says is not trusted further than a
list of models must be: an entry counts only for a provider that is known, on that provider's own hosts, without
headers, and while it is newer than the package's own data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pinyon._util import json as _json
from pinyon._util.safe_path import read_file
from pinyon.ai.api import api_names
from pinyon.ai.catalogue import generated_at_ms, main_api, model_from_row
from pinyon.ai.model import Model
from pinyon.ai.models_json import ModelsProblem
from pinyon.ai.provider import Provider, providers
from pinyon.errors import ConfigError

ALWAYS_NEWER = frozenset({"radius"})
"""Providers whose models only their server knows."""

_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)

MODEL_TYPES = frozenset({"chat", "image", "classifier"})


class StoredModels(msgspec.Struct, rename="camel", omit_defaults=True):
    """What is stored for one provider. Times: `last_modified` as the server wrote it, `checked_at` in milliseconds."""

    models: list[dict[str, Any]] = []
    last_modified: str | int | None = None
    checked_at: int | float | None = None
    etag: str | None = None

    @property
    def changed_at_ms(self) -> float:
        """When the models were last changed as far as is known; 0 where it is not."""
        if self.last_modified is not None:
            return time_ms(self.last_modified)
        return float(self.checked_at or 0)


def time_ms(value: str | float) -> float:
    """A time in milliseconds, as a number, an HTTP date or an ISO date; 0 for what is none."""
    if not isinstance(value, str):
        return float(value) if _json.is_number(value) else 0.0
    from datetime import datetime
    from email.utils import parsedate_to_datetime

    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(value).timestamp() * 1000
        except (ValueError, OverflowError):
            continue
    return 0.0


class ModelsStore:
    """The file, read when a provider is asked for and again when it has changed. A path of None is an empty store."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._revision: Hashable = None
        self._raw: dict[str, msgspec.Raw] = {}
        self._problem: ModelsProblem | None = None

    def __repr__(self) -> str:
        return f"ModelsStore({str(self.path)!r})"

    def entry(self, provider_id: str) -> StoredModels | None:
        """What is stored for a provider; None for nothing, and for what is no entry."""
        self._read()
        raw = self._raw.get(provider_id)
        try:
            return None if raw is None else msgspec.json.decode(raw, type=StoredModels)
        except _UNREADABLE:
            return None

    def models_of(self, provider_id: str) -> tuple[list[Model], list[ModelsProblem]]:
        """The stored models of a provider that count, and what is wrong with others."""
        provider = providers().get(provider_id)
        entry = self.entry(provider_id) if provider else None
        if provider is None or entry is None:
            return [], []
        if provider_id not in ALWAYS_NEWER and entry.changed_at_ms <= generated_at_ms():
            return [], []
        found, faults = checked_models(provider, entry.models)
        return found, [ModelsProblem(f"{self.path}: {fault}; the entry is ignored", provider_id) for fault in faults]

    def problems(self) -> list[ModelsProblem]:
        """What is wrong with the file as a whole."""
        self._read()
        return [self._problem] if self._problem else []

    def _read(self) -> None:
        if self.path is None:
            return
        try:
            status = self.path.stat()
        except OSError:
            self._revision, self._raw, self._problem = None, {}, None
            return
        revision = (status.st_mtime_ns, status.st_size, status.st_ino)
        if revision == self._revision:
            return
        self._revision, self._raw, self._problem = revision, {}, None
        try:
            self._raw = _entries(read_file(self.path))
        except (OSError, *_UNREADABLE) as error:
            reason = f"{self.path}: cannot be read ({error}); the package's own models are used"
            self._problem = ModelsProblem(reason)

    async def write(self, changed: Mapping[str, StoredModels]) -> None:
        """Store entries under the file's lock; all others stay. Raises `ConfigError` where that fails."""
        if self.path is None:
            raise ConfigError("there is no agent folder to keep models in; set HOME or PI_CODING_AGENT_DIR")
        from pinyon._util.atomic import make_private_folder, replace_file
        from pinyon._util.lock import hold_lock_async

        try:
            make_private_folder(self.path.parent)
            async with hold_lock_async(self.path) as lock:
                entries: dict[str, Any] = dict(_entries(read_file(self.path))) if self.path.exists() else {}
                entries |= changed
                replace_file(self.path, msgspec.json.encode(entries) + b"\n", before_publish=lock.ensure_held)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"cannot write {str(self.path)!r}: {reason}; the file is as it was") from error
        except _UNREADABLE as error:
            raise ConfigError(
                f"{str(self.path)!r} is damaged ({error}); mend or move it, it was not changed"
            ) from error


def _entries(data: bytes) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, msgspec.Raw])


def checked_models(provider: Provider, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Model], list[str]]:
    """The chat models that `rows` describe, and why others are not among them."""
    found: list[Model] = []
    faults: list[str] = []
    for row in rows:
        if row.get("type", "chat") != "chat":
            continue
        fault, model = _checked(provider, row)
        if model is not None:
            found.append(model)
        if fault:
            faults.append(fault)
    return found, faults


def _checked(provider: Provider, row: Mapping[str, Any]) -> tuple[str | None, Model | None]:
    model_id = row.get("id")
    if not isinstance(model_id, str) or not model_id.strip():
        return f"a model of {provider.id!r} has no id", None
    plain = {name: value for name, value in row.items() if name not in ("headers", "type", "provider")}
    if not plain.get("baseUrl") or not provider.base_url:
        plain.pop("baseUrl", None)
    try:
        model = model_from_row(provider, main_api(provider), model_id, _json.normalise_numbers(plain))
        host = _host(model.base_url)
    except (ValueError, TypeError, RecursionError) as error:
        return f"model {model_id!r} of {provider.id!r}: {error}", None
    if model.api not in provider.apis or model.api not in api_names():
        return None, None  # perhaps a later version speaks it
    if model.base_url and host not in set(_own_hosts(provider)):
        return f"model {model_id!r} of {provider.id!r} has the foreign address {model.base_url!r}", None
    if model.context_window <= 0 or model.max_tokens <= 0:
        return f"model {model_id!r} of {provider.id!r} has limits that are not above zero", None
    return None, model


def completed(model: Model, known: Model | None) -> Model:
    """A stored model with what the package knows of it beside what it states; nothing where it speaks another API."""
    if known is None or known.api != model.api:
        return model
    unsaid = [name for name in Model.__struct_fields__ if getattr(model, name) is msgspec.UNSET]
    return msgspec.structs.replace(model, **{name: getattr(known, name) for name in unsaid})


def _own_hosts(provider: Provider) -> Iterator[str]:
    for url in (provider.base_url, *provider.api_urls.values()):
        yield _host(url)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
