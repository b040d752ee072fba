"""What the ChatGPT service refuses, in words for people, and what is worth asking again."""

from __future__ import annotations

import math
from typing import Any

from pinyon._util import json as _json
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.apis.responses_event import ResponseEvent
from pinyon.ai.http_error import HttpStatusError, retry_after_s, shortened
from pinyon.ai.retry import is_retryable_error_text, is_transient_status
from pinyon.ai.transport import TransportError
from pinyon.errors import ProviderError

_LIMIT_CODES = frozenset({"usage_limit_reached", "usage_not_included", "rate_limit_exceeded"})
_FIRST_DELAY_S = 1.0


class UsageLimitError(ProviderError):
    """Raised when a ChatGPT plan has no usage left; asking again before it renews is of no use."""


def explained(error: Exception, clock: Clock = SYSTEM_CLOCK) -> Exception:
    """The error as users are told of it."""
    if not isinstance(error, HttpStatusError):
        return error
    details = _details(error.body)
    limit = limit_error(details, error.status, clock)
    if limit is not None:
        return limit
    said = details.get("message")
    text = shortened(said if isinstance(said, str) and said else error.body.strip())
    if not text:
        return error
    # Later stages see only the text: where it says otherwise than the status, the status is told too.
    is_misleading = is_transient_status(error.status) != is_retryable_error_text(text)
    return ProviderError(f"{error.status}: {text}" if is_misleading else text)


def event_limit(event: ResponseEvent, clock: Clock = SYSTEM_CLOCK) -> UsageLimitError | None:
    """The limit that an event of a stream tells of, None where it tells of none."""
    if event.type not in ("error", "response.failed"):
        return None
    error = event.error if event.type == "error" else (event.response or {}).get("error")
    details = dict(error) if isinstance(error, dict) else {}
    return limit_error(details | ({"code": event.code} if event.code else {}), None, clock)


def limit_error(details: dict[str, Any], status: int | None, clock: Clock) -> UsageLimitError | None:
    """The error for an exhausted plan, None where `details` and `status` mean something else."""
    if status != 429 and _code(details) not in _LIMIT_CODES:
        return None
    plan = details.get("plan_type")
    named = f" ({plan.lower()} plan)" if isinstance(plan, str) and plan else ""
    resets_at = details.get("resets_at")
    when = ""
    if isinstance(resets_at, int | float) and _json.is_number(resets_at):
        minutes = max(0, math.ceil((resets_at * 1000 - clock.now_ms()) / 60_000))
        when = f" It renews in about {minutes} min."
    return UsageLimitError(f"Your ChatGPT plan{named} has no usage left for now.{when}")


def _code(details: dict[str, Any]) -> str:
    return str(details.get("code") or details.get("type") or "")


def _details(body: str) -> dict[str, Any]:
    try:
        value = _json.decode(body)
    except _json.JsonError:
        return {}
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) else {}


def may_retry(error: Exception) -> bool:
    """Whether the same request may be taken the next time."""
    if isinstance(error, TransportError):
        return error.is_transient
    if not isinstance(error, HttpStatusError) or not is_transient_status(error.status):
        return False
    return _code(_details(error.body)) not in _LIMIT_CODES and not _names_exhausted_quota(error.body)


def _names_exhausted_quota(body: str) -> bool:
    # The status of a passing failure decides unless the text names a limit that waiting does not lift.
    return not is_retryable_error_text(f"503 {body}")


def retry_delay_s(error: Exception, attempt: int, max_delay_ms: int, clock: Clock) -> float:
    """Seconds to wait before retry number `attempt`, from 0: what the server asks, up to the limit, else doubling."""
    asked = retry_after_s(error.headers, clock) if isinstance(error, HttpStatusError) else None
    if asked is None:
        return float(_FIRST_DELAY_S * 2**attempt)
    return min(asked, max_delay_ms / 1000) if max_delay_ms > 0 else asked
