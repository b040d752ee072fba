"""Newer models from a catalogue server that the user chose, or from providers that list their models themselves.

Nothing here runs unless the user asks for it. A catalogue server is asked once for each provider, `GET
<address>/providers/<id>?types=chat` or, where the address holds `{provider}`, that address with the id in its place. It
answers with a list of model descriptors, `{"models": [...]}` or an object of descriptors by id. Answers are checked
before they are stored, and what fails leaves the stored models as they were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pinyon._util import json as _json
from pinyon._util.clock import Clock, SystemClock
from pinyon.ai.identity import user_agent
from pinyon.ai.models_store import MODEL_TYPES, ModelsStore, StoredModels, checked_models
from pinyon.ai.provider import Provider, find_provider
from pinyon.ai.transport import HttpRequest, HttpResponse, Transport, TransportError, read_body
from pinyon.errors import ConfigError

ANSWER_LIMIT_BYTES = 8 << 20
ATTEMPTS = 3
ATTEMPT_TIMEOUT_S = 4.0
RETRY_DELAY_S = 0.5
LIMIT_S = 60.0
"""How long a whole update may take."""

AT_ONCE = 4
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
UNKNOWN = frozenset({404, 501})

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ModelsUpdate(msgspec.Struct, kw_only=True):
    """What came of an update: providers with the number of models they were given, and what went wrong by provider.

    `unchanged` are providers for which the server had nothing newer, `unknown` those that it does not list.
    """

    updated: dict[str, int] = msgspec.field(default_factory=dict)
    unchanged: list[str] = msgspec.field(default_factory=list)
    unknown: list[str] = msgspec.field(default_factory=list)
    errors: dict[str, str] = msgspec.field(default_factory=dict)


def check_address(address: str) -> str:
    """The address of a catalogue server, without blanks. Raises `ConfigError` for one that is not safe to ask."""
    address = address.strip()
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return address
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return address
    raise ConfigError(f"{address!r} cannot be asked for models; give an https address, or http on this machine")


def provider_address(address: str, provider_id: str) -> str:
    """Where the models of one provider are."""
    if "{provider}" in address:
        return address.replace("{provider}", provider_id)
    return f"{address.rstrip('/')}/providers/{provider_id}?types=chat"


class ModelsSource(msgspec.Struct, kw_only=True):
    """Where the models of one provider are listed, what signs the request, and descriptors from the answer."""

    url: str
    headers: dict[str, str] = {}
    rows: Callable[[Any], list[dict[str, Any]]] = msgspec.field(default_factory=lambda: model_rows)

    def __repr__(self) -> str:
        return f"ModelsSource({self.url!r}, headers={sorted(self.headers)})"


def catalogue_sources(address: str, provider_ids: Iterable[str]) -> dict[str, ModelsSource]:
    """A catalogue server as the source for each provider. Raises `ConfigError` for an address that cannot be asked."""
    address = check_address(address)
    return {provider_id: ModelsSource(url=provider_address(address, provider_id)) for provider_id in provider_ids}


async def update_models(
    store: ModelsStore,
    sources: Mapping[str, ModelsSource],
    transport: Transport,
    *,
    clock: Clock | None = None,
    limit_s: float = LIMIT_S,
) -> ModelsUpdate:
    """Ask for the models of providers and store what is given, all within `limit_s`.

    Failures of single providers stand in the result. Raises `ConfigError` for a store that cannot be written.
    """
    known = {found.id: found for found in map(find_provider, sources) if found is not None}
    update = ModelsUpdate()
    time = clock or SystemClock()
    turn = asyncio.Semaphore(AT_ONCE)
    deadline = asyncio.get_running_loop().time() + limit_s
    changed: dict[str, StoredModels] = {}

    async def ask(provider: Provider) -> None:
        source, stored, entry = sources[provider.id], store.entry(provider.id), None
        try:
            async with asyncio.timeout_at(deadline), turn:
                response, data = await _get(transport, source.url, _headers(source, stored), time)
                entry = _judged(provider, source, stored, response, data, update)
        except (TransportError, TimeoutError) as error:
            update.errors[provider.id] = str(error) or "the server did not answer in time"
        if entry is not None:
            entry.checked_at = time.now_ms()
            changed[provider.id] = entry

    async with asyncio.TaskGroup() as group:
        for provider in known.values():
            group.create_task(ask(provider))
    if changed:
        await store.write(changed)
    return update


def _headers(source: ModelsSource, stored: StoredModels | None) -> dict[str, str]:
    headers = {"accept": "application/json", "user-agent": user_agent(), **source.headers}
    return {**headers, "if-none-match": stored.etag} if stored is not None and stored.etag else headers


def _judged(
    provider: Provider,
    source: ModelsSource,
    stored: StoredModels | None,
    response: HttpResponse,
    data: bytes,
    update: ModelsUpdate,
) -> StoredModels | None:
    """What to store for a provider, None for nothing; `update` is told what happened."""
    if response.status == 304 and stored is not None:
        update.unchanged.append(provider.id)
        return stored
    if response.status in UNKNOWN:
        update.unknown.append(provider.id)
        return None
    if response.status != 200:
        update.errors[provider.id] = f"the server answered with status {response.status}"
        return None
    return _accepted(provider, source, data, response.headers, update)


def _accepted(
    provider: Provider, source: ModelsSource, data: bytes, headers: Mapping[str, str], update: ModelsUpdate
) -> StoredModels | None:
    try:
        rows = source.rows(_json.decode(data))
    except (_json.JsonError, ConfigError) as error:
        update.errors[provider.id] = str(error)
        return None
    found, faults = checked_models(provider, rows)
    if faults:
        update.errors[provider.id] = f"{faults[0]}; nothing of the answer is used"
        return None
    update.updated[provider.id] = len(found)
    return StoredModels(models=rows, last_modified=headers.get("last-modified"), etag=headers.get("etag"))


def model_rows(value: Any) -> list[dict[str, Any]]:
    """Descriptors with their ids from each of the three forms of an answer. Raises `ConfigError` for any other."""
    if isinstance(value, dict) and isinstance(value.get("models"), list):
        value = value["models"]
    if isinstance(value, dict):
        value = [{**row, "id": key} if isinstance(row, dict) else row for key, row in value.items()]
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ConfigError("the server's answer is no list of models")
    return [row for row in value if str(row.get("type", "chat")) in MODEL_TYPES]


async def _get(transport: Transport, url: str, headers: Mapping[str, str], time: Clock) -> tuple[HttpResponse, bytes]:
    """Response and body; passing failures are tried again, the last one raises or is returned."""
    for attempt in range(1, ATTEMPTS):
        try:
            response, data = await _get_once(transport, url, headers)
        except TransportError as error:
            if not error.is_transient:
                raise
        else:
            if response.status not in TRANSIENT:
                return response, data
        await time.sleep(RETRY_DELAY_S * attempt)
    return await _get_once(transport, url, headers)


async def _get_once(transport: Transport, url: str, headers: Mapping[str, str]) -> tuple[HttpResponse, bytes]:
    request = HttpRequest(
        method="GET",
        url=url,
        headers=headers,
        connect_timeout_s=ATTEMPT_TIMEOUT_S,
        idle_timeout_s=ATTEMPT_TIMEOUT_S,
    )
    response = await transport.open(request)
    return response, await read_body(response, ANSWER_LIMIT_BYTES)
