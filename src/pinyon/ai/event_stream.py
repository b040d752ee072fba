"""Decoder of the AWS event stream encoding (`application/vnd.amazon.eventstream`).

A message is: total length and length of the headers (big-endian, 4 bytes each), CRC-32 of those 8 bytes, headers,
payload, CRC-32 of everything before it. A header is: length of its name (1 byte), name, type (1 byte), value.

Source of the format: "Amazon event stream specification" of the Smithy documentation.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import msgspec

from pinyon.errors import ProviderError

MAX_HEADERS_BYTES = 128 * 1024
MAX_PAYLOAD_BYTES = 24 * 1024 * 1024

_PRELUDE_BYTES = 12
_LEAST_BYTES = _PRELUDE_BYTES + 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

HeaderValue: TypeAlias = bool | int | bytes | str | datetime | UUID


class EventStreamError(ProviderError):
    """Raised when the bytes of an event stream are damaged, cut off or larger than the format allows."""


class EventMessage(msgspec.Struct):
    """One message: its headers, whose names begin with a colon where the protocol defines them, and its payload."""

    headers: dict[str, HeaderValue]
    payload: bytes

    def text(self, name: str) -> str:
        """The header `name`; empty where it is absent or no text."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class EventStreamDecoder:
    """Cuts bytes that arrive in any pieces into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[EventMessage]:
        """The messages that `data` completes. Raises `EventStreamError`, after which the stream is of no use."""
        buffer = self._buffer
        buffer += data
        messages: list[EventMessage] = []
        start = 0
        while len(buffer) - start >= _PRELUDE_BYTES:
            total = _checked_length(buffer, start)
            if len(buffer) - start < total:
                break
            messages.append(_message(bytes(buffer[start : start + total])))
            start += total
        del buffer[:start]
        return messages

    def finish(self) -> None:
        """The stream has ended. Raises `EventStreamError` in the middle of a message."""
        if self._buffer:
            raise EventStreamError(f"the event stream ended without the rest of a message ({len(self._buffer)} bytes)")


def _checked_length(buffer: bytearray, start: int) -> int:
    """The length of the message at `start`, checked before anything is kept in memory for it."""
    total, headers, checksum = struct.unpack_from(">III", buffer, start)
    if zlib.crc32(buffer[start : start + 8]) != checksum:
        raise _damaged("the checksum of a message's beginning is wrong")
    if headers > MAX_HEADERS_BYTES:
        raise _damaged(f"headers of {headers} bytes are more than {MAX_HEADERS_BYTES}")
    payload = total - headers - _LEAST_BYTES
    if payload < 0:
        raise _damaged(f"a message of {total} bytes cannot hold {headers} bytes of headers")
    if payload > MAX_PAYLOAD_BYTES:
        raise _damaged(f"a payload of {payload} bytes is more than {MAX_PAYLOAD_BYTES}")
    return int(total)


def _message(data: bytes) -> EventMessage:
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        raise _damaged("the checksum of a message is wrong")
    end = _PRELUDE_BYTES + int.from_bytes(data[4:8], "big")
    return EventMessage(_headers(data[_PRELUDE_BYTES:end]), data[end:-4])


def _headers(data: bytes) -> dict[str, HeaderValue]:
    reader = _HeaderReader(data)
    headers: dict[str, HeaderValue] = {}
    while not reader.is_done:
        name, value = reader.header()
        if name in headers:
            raise _damaged(f"the header {name!r} stands twice")
        headers[name] = value
    return headers


class _HeaderReader:
    """Reads headers one by one from their bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._data)

    def header(self) -> tuple[str, HeaderValue]:
        name = self.text(self.number(1, signed=False))
        kind = self.number(1, signed=False)
        read = _READERS.get(kind)
        if read is None:
            raise _damaged(f"the header {name!r} has the type {kind}, which does not exist")
        return name, read(self)

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise _damaged("a header is cut off")
        data, self._at = self._data[self._at : end], end
        return data

    def number(self, size: int, *, signed: bool = True) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)

    def sized(self) -> bytes:
        return self.take(self.number(2, signed=False))

    def text(self, size: int) -> str:
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise _damaged(f"a header is no UTF-8: {error}") from None

    def sized_text(self) -> str:
        return self.text(self.number(2, signed=False))

    def time(self) -> datetime:
        milliseconds = self.number(8)
        try:
            return _EPOCH + timedelta(milliseconds=milliseconds)
        except OverflowError:
            raise _damaged(f"a time of {milliseconds} ms is out of range") from None


_READERS: dict[int, Callable[[_HeaderReader], HeaderValue]] = {
    0: lambda _: True,
    1: lambda _: False,
    2: lambda reader: reader.number(1),
    3: lambda reader: reader.number(2),
    4: lambda reader: reader.number(4),
    5: lambda reader: reader.number(8),
    6: lambda reader: reader.sized(),
    7: lambda reader: reader.sized_text(),
    8: lambda reader: reader.time(),
    9: lambda reader: UUID(bytes=reader.take(16)),
}


def _damaged(reason: str) -> EventStreamError:
    return EventStreamError(f"the event stream is damaged: {reason}; please retry your request")
