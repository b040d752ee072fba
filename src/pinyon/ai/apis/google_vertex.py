"""Gemini models on Vertex AI, signed with an API key or with application default credentials.

Further options in `StreamOptions.extra`, beside those of `google_run`: `project` and `location`; without them the
variables `GOOGLE_CLOUD_PROJECT` or `GCLOUD_PROJECT`, and `GOOGLE_CLOUD_LOCATION` count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pinyon.ai.apis.google_payload import EncodingMemory
from pinyon.ai.apis.google_run import Endpoint, google_events
from pinyon.ai.apis.vertex_credential import TokenRequest, VertexTokens
from pinyon.ai.apis.vertex_endpoint import VertexPlace, variable, vertex_place, vertex_url
from pinyon.ai.exchange import Exchange
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transport import DEFAULT_TRANSPORT
from pinyon.errors import AuthError

_AUTH_HEADERS = ("x-goog-api-key", "authorization")
_DEFAULT_FILE = "application_default_credentials.json"


class GoogleVertex:
    """The wire API; remembers how messages were encoded, and tokens until they run out."""

    def __init__(self, tokens: VertexTokens | None = None) -> None:
        self._memory = EncodingMemory()
        self._tokens = tokens or VertexTokens()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        place = vertex_place(model, options)
        _require_credential(place, model, options)

        async def locate(exchange: Exchange) -> Endpoint:
            headers = await self._headers(place, model, options, exchange)
            return Endpoint(vertex_url(place, model.id), headers)

        return AssistantMessageEventStream(
            google_events(model, messages, options, LiveAnswer(model), self._memory, locate)
        )

    async def _headers(
        self, place: VertexPlace, model: Model, options: StreamOptions, exchange: Exchange
    ) -> dict[str, str]:
        protocol = {"accept": "text/event-stream", "content-type": "application/json"}
        if place.api_key:
            protocol["x-goog-api-key"] = place.api_key
        elif not _has_auth_header(model, options):
            protocol |= await self._token_headers(options, exchange)
        identity = identity_headers(model.provider, options.identity)
        return merge_headers(identity, protocol, model.headers or None, options.headers)

    async def _token_headers(self, options: StreamOptions, exchange: Exchange) -> dict[str, str]:
        request = TokenRequest(
            file=credential_file(options),
            transport=options.http or DEFAULT_TRANSPORT,
            signal=options.signal,
            env=options.env,
        )
        access = await self._tokens.token(request)
        exchange.secrets.append(access.token)
        headers = {"authorization": f"Bearer {access.token}"}
        return headers | {"x-goog-user-project": access.quota_project} if access.quota_project else headers


API = GoogleVertex()


def _has_auth_header(model: Model, options: StreamOptions) -> bool:
    layers = merge_headers(model.headers or None, options.headers)
    return any(value for name, value in layers.items() if name.lower() in _AUTH_HEADERS)


def _require_credential(place: VertexPlace, model: Model, options: StreamOptions) -> None:
    if place.api_key or _has_auth_header(model, options):
        if place.own_url or place.api_key or place.has_collection:
            return
    elif place.has_collection or (place.own_url and credential_file(options) is not None):
        return
    raise AuthError(
        f"no API key for provider {model.provider!r}; set GOOGLE_CLOUD_API_KEY, or sign in with application default "
        "credentials and set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
    )


def credential_file(options: StreamOptions) -> Path | None:
    """The file with the application default credentials: the one that is named, else the one that a sign-in wrote.

    A named file counts whether it exists or not; None leaves the question to the machine.
    """
    named = variable("GOOGLE_APPLICATION_CREDENTIALS", options)
    if named:
        return Path(named).expanduser()
    return next((path for path in _default_files(options) if path.is_file()), None)


def _default_files(options: StreamOptions) -> Iterable[Path]:
    if folder := variable("CLOUDSDK_CONFIG", options):
        yield Path(folder) / _DEFAULT_FILE
    elif os.name == "nt" and (folder := variable("APPDATA", options)):
        yield Path(folder) / "gcloud" / _DEFAULT_FILE
    elif home := variable("HOME", options):
        yield Path(home) / ".config" / "gcloud" / _DEFAULT_FILE
