"""Failed HTTP requests: repeating them within bounds, and the texts that people and `ai.retry` read.

No text holds a credential: what the request sent as one is replaced wherever a server echoes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.abort import AbortSignal, OperationAbortedError
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.event import StreamError
from pinyon.ai.live import LiveAnswer
from pinyon.ai.retry import pause
from pinyon.ai.transport import HttpRequest, HttpResponse, Transport, TransportError, read_body
from pinyon.errors import PinyonError, ProviderError

MAX_BODY_CHARS = 4000
_MAX_TEXT_CHARS = 8000
_READ_LIMIT_BYTES = 256 * 1024
_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 8.0
_JITTER = 0.25
_SECRET_HEADER_PARTS = ("authorization", "api-key", "apikey", "token", "secret", "cookie", "password")


class HttpStatusError(ProviderError):
    """Raised when a server answered with a status that is no success. `body` is its text, possibly cut."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = body

    def told_as(self, text: str) -> HttpStatusError:
        """This error with another text for what the server said; what was added to that is kept."""
        usual = (status_error_text(self.status, self.body, unwrap_error=unwrap) for unwrap in (True, False))
        added = next((str(self).removeprefix(begin) for begin in usual if str(self).startswith(begin)), "")
        return HttpStatusError(text + added, self.status, self.headers, self.body)


def status_error_text(status: int, body: str, *, unwrap_error: bool) -> str:
    """The text for a failed response: the status, then what the server said.

    With `unwrap_error` a JSON body that has an `error` object gives `<status>: <that object>`. Every other body gives
    `<status> <body>`, JSON in its compact form, cut after `MAX_BODY_CHARS` characters.
    """
    body = body.strip()
    if not body:
        return f"{status} status code (no body)"
    value = _json_object(body)
    error = value.get("error") if unwrap_error and value is not None else None
    if isinstance(error, dict):
        return f"{status}: {shortened(_json.encode(error).decode())}"
    return f"{status} {shortened(body if value is None else _json.encode(value).decode())}"


def _json_object(body: str) -> dict[str, Any] | None:
    try:
        value = _json.decode(body)
    except _json.JsonError:
        return None
    return value if isinstance(value, dict) else None


def shortened(text: str, limit: int = MAX_BODY_CHARS) -> str:
    """`text`, cut after `limit` characters with a note of how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... [{len(text) - limit} more characters]"


async def status_error(response: HttpResponse, *, unwrap_error: bool, secrets: Iterable[str] = ()) -> HttpStatusError:
    """The error for a response that is no success, without `secrets`; reads and closes it."""
    from pinyon._util.secret import redact

    try:
        # Before anything is cut: half of a credential could not be recognised any more.
        body = redact((await read_body(response, _READ_LIMIT_BYTES)).decode("utf-8", "replace"), secrets)
    except TransportError as error:
        body = f"(the body could not be read: {error})"
    text = status_error_text(response.status, body, unwrap_error=unwrap_error)
    location = redact(response.headers.get("location", ""), secrets)
    if 300 <= response.status < 400 and location:
        text += f"; the server redirects to {location!r}: set that address as the model's base URL"
    return HttpStatusError(text, response.status, response.headers, body)


def _chance() -> float:
    import random

    return random.random()


class HttpRetry(msgspec.Struct, kw_only=True):
    """How often one request is repeated before an answer has started. `max_delay_ms` of 0 sets no limit;
    `final_statuses` are never repeated.
    """

    max_retries: int = 0
    max_delay_ms: int = 60_000
    final_statuses: frozenset[int] = frozenset()
    clock: Clock = SYSTEM_CLOCK
    draw: Callable[[], float] = _chance


async def open_with_retry(
    transport: Transport, request: HttpRequest, retry: HttpRetry, *, unwrap_error: bool = True
) -> HttpResponse:
    """The response with a status of success. Raises `HttpStatusError`, `TransportError` or `OperationAbortedError`.

    Repeats on transport failures, on 408, 409, 429 and from 500 on, or as an `x-should-retry` header says; waits as
    long as `retry-after-ms` or `retry-after` ask, else 0.5 s doubling up to 8 s, less up to a quarter by chance.
    """
    attempt, secrets = 0, secrets_of(request.headers)
    while True:
        delay_s: float | None = None
        try:
            response = await transport.open(request)
            if 200 <= response.status < 300:
                return response
            failure: ProviderError = await status_error(response, unwrap_error=unwrap_error, secrets=secrets)
        except TransportError as error:
            failure = error
        if attempt >= retry.max_retries or not _should_retry(failure, retry):
            raise failure
        if isinstance(failure, HttpStatusError):
            delay_s = _requested_delay_s(failure, retry)
        if delay_s is None:
            delay_s = min(_FIRST_DELAY_S * 2**attempt, _MAX_DELAY_S) * (1 - retry.draw() * _JITTER)
        attempt += 1
        if not await pause(delay_s, request.signal, retry.clock):
            raise OperationAbortedError


def _should_retry(failure: ProviderError, retry: HttpRetry) -> bool:
    if isinstance(failure, TransportError):
        return failure.is_transient
    if not isinstance(failure, HttpStatusError) or failure.status in retry.final_statuses:
        return False
    wish = failure.headers.get("x-should-retry")
    if wish in ("true", "false"):
        return wish == "true"
    return failure.status in (408, 409, 429) or failure.status >= 500


def _requested_delay_s(failure: HttpStatusError, retry: HttpRetry) -> float | None:
    delay_s = retry_after_s(failure.headers, retry.clock)
    if delay_s is None:
        return None
    limit_s = retry.max_delay_ms / 1000
    if retry.max_delay_ms and delay_s > limit_s:
        text = (
            f"{failure}; the server asked for a retry delay of {delay_s:g} s, more than the limit of {limit_s:g} s "
            f"(setting retry.provider.maxRetryDelayMs)"
        )
        raise HttpStatusError(text, failure.status, failure.headers, failure.body)
    return delay_s


def retry_after_s(headers: Mapping[str, str], clock: Clock = SYSTEM_CLOCK) -> float | None:
    """The seconds that a server asks to wait; None where it does not say or says nonsense."""
    delay_ms = _number(headers.get("retry-after-ms"))
    if delay_ms is not None:
        return delay_ms / 1000
    text = headers.get("retry-after")
    delay_s = _number(text)
    return delay_s if delay_s is not None or not text else _seconds_until(text, clock)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(text: str, clock: Clock) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        delay_s = parsedate_to_datetime(text).timestamp() - clock.now_ms() / 1000
    except (ValueError, OverflowError):
        return None
    return max(0.0, delay_s)


def secrets_of(headers: Mapping[str, str], api_key: str | None = None) -> list[str]:
    """The credentials among request headers, also without a scheme such as `Bearer`."""
    found = [api_key] if api_key else []
    for name, value in headers.items():
        if any(part in name.lower() for part in _SECRET_HEADER_PARTS):
            found += [value, value.partition(" ")[2]]
    return [secret for secret in map(str.strip, found) if secret]


def error_text(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """What is told about an error: its own text for ours, the class too for others; never a credential."""
    from pinyon._util.secret import redact

    text = str(error)
    if not isinstance(error, PinyonError) or not text:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return shortened(redact(text, secrets), _MAX_TEXT_CHARS)


def is_abort(error: Exception, signal: AbortSignal | None) -> bool:
    """Whether a stream that `error` ended was ended by the user."""
    return isinstance(error, OperationAbortedError) or (signal is not None and signal.aborted)


def failure_event(
    answer: LiveAnswer, error: Exception, signal: AbortSignal | None, secrets: Iterable[str] = ()
) -> StreamError:
    """The final event of a stream that `error` ended: aborted where the user wanted it, else failed."""
    if is_abort(error, signal):
        return answer.fail("Request was aborted", aborted=True)
    return answer.fail(error_text(error, secrets))
