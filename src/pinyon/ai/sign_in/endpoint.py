"""Requests to authorisation servers: short, bounded, never redirected, and with answers that are not trusted.

Whatever a server sends (HTML, a huge body, a redirect, an echo of what it was sent) becomes an `OAuthError` that shows
none of the values that went out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from pinyon._util import json as _json
from pinyon._util.secret import redact
from pinyon._util.terminal import strip_terminal_control
from pinyon.ai.identity import user_agent
from pinyon.ai.oauth import OAuthError
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.transport import HttpRequest, TransportError, read_body

MAX_ANSWER_BYTES = 1 << 20
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 14.0
MAX_REASON_LENGTH = 300
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,40}")
_PUBLIC_FIELDS = frozenset({"grant_type", "client_id", "scope", "redirect_uri", "code_challenge_method", "resource"})


class Answer(msgspec.Struct, kw_only=True):
    """A server's answer. `data` is its JSON object, None where it sent something else; `problem` says what."""

    status: int
    url: str
    data: dict[str, Any] | None = None
    problem: str = ""
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Answer(status={self.status}, url={self.url!r})"

    @property
    def is_ok(self) -> bool:
        """Whether the request succeeded and was answered with an object."""
        return 200 <= self.status < 300 and self.data is not None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed in a moment."""
        return self.status == 0 or self.status == 429 or self.status >= 500

    @property
    def error_code(self) -> str:
        """The OAuth error code, empty without one."""
        return self.text("error")

    def text(self, name: str) -> str:
        """The text in a field, empty where it holds none."""
        value = (self.data or {}).get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """The number in a field, also one that was sent as a text; None where it holds none."""
        value = (self.data or {}).get(name)
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
        except ValueError:
            return None
        return number if number is not None and abs(number) < 1e15 else None  # also refuses NaN and infinity

    def failure(self, doing: str) -> OAuthError:
        """The error that this answer amounts to."""
        return OAuthError(f"{doing} failed: {self.reason()}")

    def reason(self) -> str:
        """Why the server refused, as far as it can be shown."""
        if self.status == 0:
            return self.problem
        host = urlsplit(self.url).netloc
        details = [self.error_code, self.text("error_description") or self.text("message")]
        told = ": ".join(detail for detail in details if detail)
        if not told and isinstance(nested := (self.data or {}).get("error"), dict):
            told = str(nested.get("message") or nested.get("code") or "")
        cleaned = redact(strip_terminal_control(told or self.problem).replace("\n", " "), self.secrets)
        shown = cleaned if len(cleaned) <= MAX_REASON_LENGTH else f"{cleaned[: MAX_REASON_LENGTH - 3]}..."
        return f"{host} answered {self.status}" + (f" ({shown})" if shown else "")

    def require(self, doing: str) -> dict[str, Any]:
        """The object of an answer that succeeded; raises `OAuthError`."""
        if not self.is_ok or self.data is None:
            raise self.failure(doing)
        return self.data


class Endpoint:
    """Sends the requests of one flow."""

    def __init__(self, context: SignInContext) -> None:
        self._context = context

    async def post_form(self, url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """Send fields as a form (RFC 6749 appendix B)."""
        form = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return await self._send("POST", url, form, urlencode(fields).encode(), _secrets_in(fields))

    async def post_json(self, url: str, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """Send a JSON object."""
        kind = {"Content-Type": "application/json", **(headers or {})}
        return await self._send("POST", url, kind, _json.encode(value), _secrets_in(value))

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Fetch a JSON object."""
        return await self._send("GET", url, dict(headers or {}), b"", ())

    async def _send(
        self, method: str, url: str, headers: dict[str, str], body: bytes, secrets: tuple[str, ...]
    ) -> Answer:
        signed = tuple(value.rpartition(" ")[2] for name, value in headers.items() if name.lower() == "authorization")
        answer = Answer(status=0, url=url, secrets=(*secrets, *signed))
        host = urlsplit(url).netloc
        request = HttpRequest(
            method=method,
            url=url,
            headers={"Accept": "application/json", "User-Agent": user_agent(), **headers},
            body=body,
            connect_timeout_s=CONNECT_TIMEOUT_S,
            idle_timeout_s=ANSWER_TIMEOUT_S,
            env=self._context.env,
        )
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                response = await self._context.transport.open(request)
                received = await read_body(response, MAX_ANSWER_BYTES + 1)
        except TransportError as error:
            answer.problem = redact(str(error), answer.secrets)
            return answer
        except TimeoutError:
            answer.problem = f"{host} did not answer within {ANSWER_TIMEOUT_S:g} s"
            return answer
        answer.status = response.status
        answer.data, answer.problem = _parse(received, response.status, response.headers.get("content-type", ""))
        return answer


def _secrets_in(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(value for name, value in fields.items() if isinstance(value, str) and name not in _PUBLIC_FIELDS)


def _parse(body: bytes, status: int, content_type: str) -> tuple[dict[str, Any] | None, str]:
    if 300 <= status < 400:
        return None, "a redirect, which is not followed with credentials"
    if len(body) > MAX_ANSWER_BYTES:
        return None, f"more than {MAX_ANSWER_BYTES >> 10} KiB"
    try:
        value = _json.decode(body)
    except (_json.JsonError, UnicodeDecodeError):
        kind = content_type.partition(";")[0].strip()
        return None, f"not JSON but {kind}" if _MEDIA_TYPE.fullmatch(kind) else "not JSON"
    return (value, "") if isinstance(value, dict) else (None, "no JSON object")


def safe_url(text: str, what: str) -> str:
    """A URL from a server that may be shown and opened; raises `OAuthError` for anything but http and https."""
    parts = urlsplit(text) if text.isprintable() and " " not in text else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise OAuthError(f"{what} is no http or https address, so it was not opened; try again")
    return text
