"""One JSON document sent, one received: for the APIs that answer at once instead of streaming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.exchange import DEFAULT_TIMEOUT_S, timeout_s
from pinyon.ai.http_error import HttpRetry, open_with_retry, secrets_of
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.option import StreamOptions
from pinyon.ai.transport import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_TRANSPORT, HttpRequest, TransportError
from pinyon.errors import AuthError, ProviderError

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024


class JsonClient:
    """Requests to one model server, signed by a bearer key or by a header of the caller's."""

    def __init__(
        self,
        provider: str,
        base_url: str,
        options: StreamOptions,
        *,
        headers: Mapping[str, str] | None = None,
        final_statuses: frozenset[int] = frozenset(),
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._options = options
        protocol = {"accept": "application/json", "content-type": "application/json"}
        if options.api_key:
            protocol["authorization"] = f"Bearer {options.api_key}"
        identity = identity_headers(provider, options.identity)
        self._headers = merge_headers(identity, protocol, headers, options.headers)
        self._retry = HttpRetry(
            max_retries=options.max_retries, max_delay_ms=options.max_retry_delay_ms, final_statuses=final_statuses
        )
        self.secrets = secrets_of(self._headers, options.api_key)
        """The credentials that are sent, for error texts to leave out."""
        if not any(name.lower() in ("authorization", "cf-aig-authorization") for name in self._headers):
            raise AuthError(f"no API key for provider {provider!r}; set its key variable, or store one in auth.json")

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        """The object that the server answers.

        Raises `HttpStatusError`, `TransportError`, `OperationAbortedError`, and `ProviderError` for another answer.
        """
        options = self._options
        request = HttpRequest(
            method="POST",
            url=f"{self._base_url}/{path}",
            headers=self._headers,
            body=_json.encode_clean(body),
            connect_timeout_s=timeout_s(options.connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_S),
            idle_timeout_s=timeout_s(options.timeout_ms, DEFAULT_TIMEOUT_S),
            signal=options.signal,
            env=options.env,
        )
        response = await open_with_retry(options.http or DEFAULT_TRANSPORT, request, self._retry)
        received = bytearray()
        try:
            async for chunk in response:
                received += chunk
                if len(received) > MAX_DOCUMENT_BYTES:
                    raise TransportError(f"the answer is larger than {MAX_DOCUMENT_BYTES} bytes", "protocol")
        finally:
            await response.aclose()
        return _object(bytes(received))


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = _json.decode(data)
    except _json.JsonError:
        value = None
    if not isinstance(value, dict):
        snippet = data[:200].decode("utf-8", "replace")
        raise ProviderError(f"the server answered with what is no JSON object: {snippet!r}")
    return value
