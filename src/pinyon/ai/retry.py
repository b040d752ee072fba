"""Which failed answers are worth asking again, how long to wait between attempts, and the loop that does it.

Only the text of the failure survives in a stored message, so classification reads that. It begins with the HTTP status
where there was one; the status decides before the wording does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal, OperationAbortedError, until_aborted
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.message import AssistantMessage
from pinyon.ai.overflow import is_context_overflow

_NEVER = (
    r"GoUsageLimitError",
    r"FreeUsageLimitError",
    r"Monthly usage limit reached",
    r"available balance",
    r"insufficient_quota",
    r"out of budget",
    r"quota exceeded",
    r"billing",
    r"subscription_sharing_usage_limit_exceeded",
    r"subscription_sharing_workplace_individual_usage_limit_exceeded",
    r"""["']?code["']?\s*:\s*["']?1308(?!\d)""",
)
"""Limits that waiting for seconds does not lift."""

_REFUSED_TYPES = (
    r"invalid_request_error",
    r"authentication_error",
    r"permission_error",
    r"not_found_error",
    r"request_too_large",
)
_REFUSED = rf"""["']type["']\s*:\s*["'](?:{"|".join(_REFUSED_TYPES)})["']"""
"""Error types of a server that refuses this very request, for texts without a status."""

_TRANSIENT = (
    r"overloaded",
    r"server_busy",
    r"servers are currently busy",
    r"currently experiencing high demand",
    r"model is at capacity",
    r"rate.?limit",
    r"too many requests",
    r"throttl(?:ed|ing)",
    r"(?<![a-z0-9])(?:429|500|502|503|504|520|524)(?![a-z0-9])",
    r"service.?(?:is.?)?(?:temporarily.?)?unavailable",
    r"server.?error",
    r"internal.?error",
    r"provider.?returned.?(?:an.?)?error",
    r"exceeded request buffer limit while retrying upstream",
    r"unable to forward upstream",
    r"upstream.?request.?failed",
    r"upstream_stream_read_error",
    r"stream_read_error",
    r"stream was interrupted",
    r"model stream error",
    r"http/?2 stream failed",
    r"network.?error",
    r"connection.?(?:error|refused|lost|closed)",
    r"other side closed",
    r"fetch failed",
    r"request to \S+ failed, reason:",
    r"getaddrinfo",
    r"(?<![A-Za-z0-9_])(?:ECONNRESET|ECONNABORTED|ECONNREFUSED|ETIMEDOUT|EPIPE)(?![A-Za-z0-9_])",
    r"connection reset by peer",
    r"ENOTFOUND",
    r"EAI_AGAIN",
    r"upstream.?connect",
    r"reset before headers",
    r"socket hang up",
    r"socket connection was closed",
    r"timed? out",
    r"timeout",
    r"terminated",
    r"websocket.?(?:closed|error)",
    r"websocket.?connection.?limit.?reached",
    r"ended without",
    r"stream ended before message_stop",
    r"stream ended before a terminal response event",
    r"http2 request did not get a response",
    r"stream disconnected before completion",
    r"cut short after the reply had begun",
    r"pending stream has been canceled",
    r"retry delay",
    r"you can retry your request",
    r"try your request again",
    r"please retry your request",
    r"Resource.?Exhausted",
    r"subscription_sharing_usage_unavailable",
    r"subscription_sharing_user_unavailable",
    r"server disconnected",
    r"incomplete chunked read",
)

_STATUS = r"^(?:[\w.() -]{0,80}? API error \()?([1-5]\d\d)\)?(?=[\s:]|$)"
_RETRIED_CLIENT_ERRORS = frozenset({408, 409, 425, 429})
_FINAL_SERVER_ERRORS = frozenset({501, 505})


@lru_cache(maxsize=8)
def _pattern(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(texts), re.IGNORECASE)


def is_transient_status(status: int) -> bool:
    """Whether a response with this HTTP status may turn out otherwise the next time."""
    return status in _RETRIED_CLIENT_ERRORS or (status >= 500 and status not in _FINAL_SERVER_ERRORS)


def is_retryable_error_text(text: str) -> bool:
    """Whether a failure with this text may go away when the request is repeated.

    Exhausted quotas never do. Otherwise the status at the beginning decides, then error types, then the wording.
    """
    if _pattern(*_NEVER).search(text):
        return False
    status = _pattern(_STATUS).match(text)
    if status is not None:
        return is_transient_status(int(status[1]))
    if _pattern(_REFUSED).search(text):
        return False
    return _pattern(*_TRANSIENT).search(text) is not None


def is_retryable_assistant_error(message: AssistantMessage) -> bool:
    """Whether `message` is a failed answer that is worth asking for again; a context overflow is not."""
    if message.stop_reason != "error" or not message.error_message or is_context_overflow(message):
        return False
    return is_retryable_error_text(message.error_message)


class RetryPolicy(msgspec.Struct, kw_only=True):
    """How often and how patiently a failed answer is asked for again. Delays are in milliseconds."""

    enabled: bool = True
    max_retries: int = 3
    base_delay_ms: int = 2000
    max_agent_delay_ms: int = 60_000

    def delay_ms(self, attempt: int) -> int:
        """The pause before retry number `attempt`, which counts from 1: doubling, up to the maximum."""
        doublings = min(max(attempt, 1) - 1, 62)
        return max(0, min(self.base_delay_ms << doublings, self.max_agent_delay_ms))


class RetryCallbacks(msgspec.Struct, kw_only=True):
    """Told about the retries of one call.

    `on_scheduled(attempt, max_attempts, delay_ms, error_text)` before each pause, `on_attempt_start()` after it,
    `on_finished()` once at the end if there was any retry.
    """

    on_scheduled: Callable[[int, int, int, str], None] | None = None
    on_attempt_start: Callable[[], None] | None = None
    on_finished: Callable[[], None] | None = None


async def retry_assistant_call(
    produce: Callable[[], Awaitable[AssistantMessage]],
    policy: RetryPolicy,
    signal: AbortSignal | None = None,
    callbacks: RetryCallbacks | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> AssistantMessage:
    """The answer of `produce`, asked again while it fails in a way that may pass and the policy allows it.

    Success, an abort and any other failure return at once. An abort during a pause returns the last answer with the
    stop reason `aborted` and without its error text.
    """
    told = callbacks or RetryCallbacks()
    message = await produce()
    attempt = 0
    while policy.enabled and attempt < policy.max_retries and is_retryable_assistant_error(message):
        attempt += 1
        delay_ms = policy.delay_ms(attempt)
        if told.on_scheduled is not None:
            told.on_scheduled(attempt, policy.max_retries, delay_ms, message.error_message or "")
        if not await pause(delay_ms / 1000, signal, clock):
            message.stop_reason = "aborted"
            message.error_message = UNSET
            break
        if told.on_attempt_start is not None:
            told.on_attempt_start()
        message = await produce()
    if attempt and told.on_finished is not None:
        told.on_finished()
    return message


async def pause(delay_s: float, signal: AbortSignal | None = None, clock: Clock = SYSTEM_CLOCK) -> bool:
    """Sleep for `delay_s` seconds; False as soon as the signal fires."""
    if signal is None:
        await clock.sleep(delay_s)
        return True
    try:
        await until_aborted(_sleep(clock, delay_s), signal)
    except OperationAbortedError:
        return False
    return True


async def _sleep(clock: Clock, delay_s: float) -> None:
    await clock.sleep(delay_s)
