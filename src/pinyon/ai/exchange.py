"""The HTTP side of a streamed answer, the same for every wire API: credentials, request, hooks, response bytes.

How an adapter uses it::

    exchange = Exchange(model, options)
    body = await exchange.edited(encode_clean(payload))     # the caller may change what is sent
    await exchange.open(url, headers, body, unwrap_error=True)
    while chunk := await exchange.read(): ...               # empty at the end of the response
    exchange.check_answered(saw_something)
    exchange.release()                                      # the connection may serve another request
    await exchange.aclose()                                 # whatever happened
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from pinyon._util import json as _json
from pinyon._util.abort import OperationAbortedError
from pinyon.ai.http_error import HttpRetry, open_with_retry, secrets_of
from pinyon.ai.identity import merge_headers
from pinyon.ai.model import Model
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.transport import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_TRANSPORT, HttpRequest, HttpResponse
from pinyon.errors import AuthError, ProviderError

DEFAULT_TIMEOUT_S = 600.0
"""How long a server may say nothing, where the caller sets no limit."""

_SNIPPET_BYTES = 300


class Exchange:
    """One request and its response; a request that was refused may be followed by another."""

    def __init__(self, model: Model, options: StreamOptions) -> None:
        self._model = model
        self._options = options
        self._response: HttpResponse | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._snippet = b""
        self.secrets: list[str] = [options.api_key] if options.api_key else []
        """The credentials that were sent, for error texts to leave out."""

    async def edited(self, body: bytes) -> bytes:
        """The body of the request after the caller's `on_payload`."""
        hook = self._options.on_payload
        if hook is None:
            return body
        plain: dict[str, Any] = _json.decode(body)
        replaced = hook(plain, self._model)
        if inspect.isawaitable(replaced):
            replaced = await replaced
        return _json.encode_clean(plain if replaced is None else replaced)

    async def open(self, url: str, headers: Mapping[str, str], body: bytes, *, unwrap_error: bool) -> None:
        """Send the request, again after passing failures, and tell `on_response` when an answer begins.

        Raises `HttpStatusError` for a refusal (its text as `unwrap_error` says), `TransportError`,
        `OperationAbortedError`.
        """
        options = self._options
        self.secrets = secrets_of(headers, options.api_key)
        request = HttpRequest(
            method="POST",
            url=url,
            headers=headers,
            body=body,
            connect_timeout_s=timeout_s(options.connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_S),
            idle_timeout_s=timeout_s(options.timeout_ms, DEFAULT_TIMEOUT_S),
            signal=options.signal,
            env=options.env,
        )
        retry = HttpRetry(max_retries=options.max_retries, max_delay_ms=options.max_retry_delay_ms)
        transport = options.http or DEFAULT_TRANSPORT
        self._response = await open_with_retry(transport, request, retry, unwrap_error=unwrap_error)
        self._chunks = aiter(self._response)
        await self.answered(self._response.status, self._response.headers)

    async def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Tell the caller's `on_response` that an answer begins; also for answers that come by another way."""
        hook = self._options.on_response
        if hook is not None:
            told = hook(ResponseInfo(status, dict(headers)), self._model)
            if inspect.isawaitable(told):
                await told

    def response_header(self, name: str) -> str:
        """A header (in lower case) of the response; empty where it is absent or there is no response yet."""
        return "" if self._response is None else self._response.headers.get(name, "")

    async def read(self) -> bytes:
        """The next bytes of the response; empty at its end."""
        assert self._chunks is not None
        chunk = await anext(self._chunks, b"")
        if self._options.signal is not None:
            self._options.signal.raise_if_aborted()
        if len(self._snippet) < _SNIPPET_BYTES:
            self._snippet += chunk[:_SNIPPET_BYTES]
        return chunk

    async def tell(self, event: Any) -> None:
        """Show a parsed event to the caller's `on_provider_stream_event`, before it is read."""
        hook = self._options.on_provider_stream_event
        if hook is not None:
            told = hook(event, self._model)
            if inspect.isawaitable(told):
                await told

    def check_answered(self, has_answer: bool) -> None:
        """Raise `OperationAbortedError` after an abort, `ProviderError` where the response was no answer at all."""
        if self._options.signal is not None and self._options.signal.aborted:
            raise OperationAbortedError
        if has_answer:
            return
        text = "the server's response ended without an answer"
        snippet = self._snippet[:_SNIPPET_BYTES].decode("utf-8", "replace").strip()
        kind = self._response.headers.get("content-type", "") if self._response is not None else ""
        sent = f"; it sent {kind or 'no content type'} beginning with {snippet!r}" if snippet else ""
        raise ProviderError(text + sent)

    def release(self) -> None:
        """Nothing more will be read: let the connection serve another request."""
        if self._response is not None:
            self._response.release()

    async def aclose(self) -> None:
        """Give up the response."""
        if self._response is not None:
            await self._response.aclose()


def is_signed(model: Model, options: StreamOptions, header_names: Collection[str]) -> bool:
    """Whether a key or one of these headers (lower case) of the model or the caller signs requests."""
    if options.api_key:
        return True
    headers = merge_headers(model.headers or None, options.headers)
    return any(value for name, value in headers.items() if name.lower() in header_names)


def missing_key(model: Model) -> AuthError:
    """The error for a request that nothing signs."""
    return AuthError(f"no API key for provider {model.provider!r}; set its key variable, or store one in auth.json")


def timeout_s(timeout_ms: int | None, default_s: float) -> float | None:
    """A timeout option in seconds: the default where it is not given, None (for ever) where it is 0."""
    if timeout_ms is None:
        return default_s
    return timeout_ms / 1000 if timeout_ms > 0 else None
