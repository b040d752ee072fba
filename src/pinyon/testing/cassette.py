"""Recordings of real exchanges with model servers: a JSONL file that is made once and answers ever after.

The first line says what the file is and which key variables were set; each further line is one request with its
response. Request headers are not kept at all, of response headers only those that matter; known keys, and what looks
like one, are masked in addresses and bodies. Requests are answered in the order of their recording, per method and
address.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from pinyon._util import json as _json
from pinyon._util.secret import MASK, redact_transcript
from pinyon.ai.http_error import secrets_of
from pinyon.ai.provider import providers
from pinyon.ai.transport import HttpRequest, HttpResponse, MemoryResponse, open_real
from pinyon.errors import PinyonError

RecordMode = Literal["none", "once", "all"]
"""`none` only answers, `once` records where there is no file yet, `all` records anew."""

_KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms")
_SECRET_QUERY = re.compile(
    r"([?&](?:key|[a-z_-]*token|[a-z_-]*secret|sig(?:nature)?|x-amz-[a-z-]+)=)[^&]*", re.IGNORECASE
)
_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?", re.IGNORECASE
)


class CassetteError(PinyonError):
    """Raised when a recording cannot be read or has no answer for a request."""


class RecordedExchange(msgspec.Struct, kw_only=True, rename="camel", tag_field="type", tag="exchange"):
    """A request and its response. `body` values are text, or base64 where `is_binary` says so."""

    method: str
    url: str
    request_body: str
    status: int
    headers: dict[str, str]
    body: str
    is_binary: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What a request must share with it to get its answer."""
        return self.method, self.url.partition("?")[0]


class CassetteHeader(msgspec.Struct, kw_only=True, rename="camel", tag_field="type", tag="pinyon_cassette"):
    """The first line of a recording."""

    version: int = 1
    key_variables: list[str] = msgspec.field(default_factory=list)


Line = TypeVar("Line", CassetteHeader, RecordedExchange)


class Cassette:
    """A transport that records to or answers from the file at `path`.

    `replacements` are texts that differ between machines, such as folders, with what stands for them in the file.
    `is_strict` refuses requests whose body is not the recorded one, dates and ids aside. Faults are raised and kept in
    `faults`, because an agent turns them into failed answers.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        mode: RecordMode = "none",
        secrets: Iterable[str] = (),
        replacements: Mapping[str, str] | None = None,
        is_strict: bool = False,
    ) -> None:
        self.path = Path(path)
        self.is_recording = mode == "all" or (mode == "once" and not self.path.exists())
        self.is_strict = is_strict
        self.header = CassetteHeader()
        self.exchanges: list[RecordedExchange] = []
        self.faults: list[CassetteError] = []
        self._secrets = [*secrets, *_secrets_of_environment()]
        self._replacements = dict(sorted((replacements or {}).items(), key=lambda pair: -len(pair[0])))
        self._played: dict[tuple[str, str], int] = {}
        if self.is_recording:
            self.header.key_variables = sorted(name for name in _key_variables() if os.environ.get(name))
        else:
            self._load()

    def _load(self) -> None:
        try:
            lines = self.path.read_bytes().splitlines()
            self.header = _line(lines[0], CassetteHeader)
            self.exchanges = [_line(line, RecordedExchange) for line in lines[1:] if line]
        except FileNotFoundError as error:
            raise CassetteError(f"there is no recording {str(self.path)!r}; make it with the mode 'once'") from error
        except (msgspec.DecodeError, IndexError) as error:
            raise CassetteError(f"{str(self.path)!r} is no recording of exchanges: {error}") from error
        if self.header.version != 1:
            raise CassetteError(f"{str(self.path)!r} has version {self.header.version}; this Pinyon reads version 1")

    async def open(self, request: HttpRequest) -> HttpResponse:
        """Answer from the recording, or ask the server and record."""
        if self.is_recording:
            response = await open_real(request)
            return _Recording(self, request, response)
        try:
            found = self._next(request)
        except CassetteError as error:
            self.faults.append(error)
            raise
        body = base64.b64decode(found.body) if found.is_binary else self._restored(found.body).encode()
        return MemoryResponse(found.status, found.headers, [body] if body else [])

    def _next(self, request: HttpRequest) -> RecordedExchange:
        wanted = self._masked_request(request)
        played = self._played.get(wanted.key, 0)
        same = [exchange for exchange in self.exchanges if exchange.key == wanted.key]
        if played >= len(same):
            raise CassetteError(
                f"{str(self.path)!r} holds {len(same)} answers for {request.method} {wanted.key[1]!r}, and this is "
                f"request {played + 1}. Record it anew"
            )
        found = same[played]
        if self.is_strict and _settled(found.request_body) != _settled(wanted.request_body):
            raise CassetteError(
                f"the body of request {played + 1} to {wanted.key[1]!r} is not the recorded one"
                f"{_difference(found.request_body, wanted.request_body)}. Record it anew if that is intended"
            )
        self._played[wanted.key] = played + 1
        return found

    def keep(self, request: HttpRequest, response: HttpResponse, body: bytes) -> None:
        """Add an exchange to the recording."""
        exchange = self._masked_request(request)
        exchange.status = response.status
        exchange.headers = {name: value for name, value in response.headers.items() if name in _KEPT_HEADERS}
        try:
            exchange.body = self._masked(body.decode("utf-8"), request)
        except UnicodeDecodeError:
            exchange.body, exchange.is_binary = base64.b64encode(body).decode(), True
        self.exchanges.append(exchange)

    def _masked_request(self, request: HttpRequest) -> RecordedExchange:
        url = _SECRET_QUERY.sub(rf"\g<1>{MASK}", request.url)
        return RecordedExchange(
            method=request.method,
            url=self._masked(url, request),
            request_body=self._masked(request.body.decode("utf-8", "replace"), request),
            status=0,
            headers={},
            body="",
        )

    def _masked(self, text: str, request: HttpRequest) -> str:
        text = redact_transcript(text, [*self._secrets, *secrets_of(request.headers)])
        for found, stand_in in self._replacements.items():
            text = text.replace(found, stand_in)
        return text

    def _restored(self, text: str) -> str:
        for found, stand_in in self._replacements.items():
            text = text.replace(stand_in, found)
        return text

    def close(self) -> None:
        """Write what was recorded; nothing where nothing was asked."""
        if not self.is_recording or not self.exchanges:
            return
        from pinyon._util.atomic import replace_file

        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [_json.encode(self.header), *map(_json.encode, self.exchanges)]
        replace_file(self.path, b"\n".join(lines) + b"\n")


def _line(line: bytes, kind: type[Line]) -> Line:
    """A line of a kind, which it has to name."""
    value = msgspec.json.decode(line)
    if not isinstance(value, dict) or value.get("type") != kind.__struct_config__.tag:
        raise msgspec.ValidationError(f"a line is not of the type {kind.__struct_config__.tag!r}")
    return msgspec.convert(value, kind)


class _Recording:
    """A response that is kept when it has been read to its end or given up."""

    def __init__(self, cassette: Cassette, request: HttpRequest, response: HttpResponse) -> None:
        self._cassette = cassette
        self._request = request
        self._response = response
        self._body = bytearray()
        self._is_kept = False

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response:
            self._body += chunk
            yield chunk

    def _keep(self) -> None:
        if not self._is_kept:
            self._is_kept = True
            self._cassette.keep(self._request, self._response, bytes(self._body))

    def release(self) -> None:
        self._keep()
        self._response.release()

    async def aclose(self) -> None:
        self._keep()
        await self._response.aclose()


def _key_variables() -> set[str]:
    return {name for provider in providers().values() for name in provider.key_variables}


def _secrets_of_environment() -> list[str]:
    return [os.environ[name] for name in sorted(_key_variables()) if os.environ.get(name)]


def _settled(body: str) -> Any:
    """The body without what changes from run to run."""
    settled = _CHANGING.sub("*", body)
    try:
        return _json.decode(settled.encode())
    except _json.JsonError:
        return settled


def _difference(recorded: str, sent: str) -> str:
    recorded, sent = _CHANGING.sub("*", recorded), _CHANGING.sub("*", sent)
    place = next((at for at, pair in enumerate(zip(recorded, sent, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, place - 30)
    return f" (recorded …{recorded[begin : place + 50]!r}, now …{sent[begin : place + 50]!r})"
