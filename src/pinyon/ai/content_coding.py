"""Decoding of response bodies that a server compressed although none was asked for: gzip and deflate.

However much a few bytes decode to, it comes in pieces: nothing that a server sends fills the memory at once.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable

from pinyon.ai.transport import TransportError

PIECE_BYTES = 1 << 20
"""The most that is decoded at a time."""

_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15
_GZIP_MARK = b"\x1f"


class DecodedBody:
    """A body whose encoded bytes come from `read_encoded`, which gives nothing at the end."""

    def __init__(self, content_encoding: str, read_encoded: Callable[[], Awaitable[bytes]]) -> None:
        self._inflater = _inflater(content_encoding)
        self._read_encoded = read_encoded

    async def read(self) -> bytes:
        """More of the body; empty at its end. Raises `TransportError` where it is broken."""
        inflater = self._inflater
        if inflater is None:
            return await self._read_encoded()
        while inflater.has_more or (encoded := await self._read_encoded()):
            if inflater.has_more:
                await asyncio.sleep(0)  # an abort gets its turn
                encoded = b""
            if decoded := inflater.feed(encoded):
                return decoded
        return b""


class _Inflater:
    """gzip with all its members, zlib, and the raw deflate that some servers send under the name of zlib."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inflate = self._new()
        self._may_be_raw = name == "deflate"
        self._rest = b""
        self.has_more = False
        """Whether feeding nothing gives more."""

    def feed(self, data: bytes) -> bytes:
        """What `data` and all before it decode to, at most `PIECE_BYTES` of it; the rest waits."""
        try:
            decoded = self._decoded(self._rest + data)
        except zlib.error as error:
            raise TransportError(f"the server sent a broken {self._name} body: {error}", "protocol") from error
        self._rest = self._inflate.unconsumed_tail or self._inflate.unused_data
        if self._inflate.eof:
            self._next_member()
        self.has_more = bool(self._rest) or len(decoded) == PIECE_BYTES
        return decoded

    def _decoded(self, data: bytes) -> bytes:
        may_be_raw, self._may_be_raw = self._may_be_raw, False
        try:
            return self._inflate.decompress(data, PIECE_BYTES)
        except zlib.error:
            if not may_be_raw:
                raise
            self._inflate = zlib.decompressobj(_RAW_WINDOW)
            return self._inflate.decompress(data, PIECE_BYTES)

    def _next_member(self) -> None:
        # What follows the end and is no member is padding.
        if self._name == "gzip" and self._rest.startswith(_GZIP_MARK):
            self._inflate = self._new()
        else:
            self._rest = b""

    def _new(self) -> zlib._Decompress:
        return zlib.decompressobj(_GZIP_WINDOW if self._name == "gzip" else _ZLIB_WINDOW)


def _inflater(content_encoding: str) -> _Inflater | None:
    """The decoder for a `content-encoding` header; None for identity. Raises `TransportError` for any other."""
    name = content_encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return _Inflater(name.removeprefix("x-"))
    raise TransportError(f"the server compressed its answer with {name!r}, which was not asked for", "protocol")
