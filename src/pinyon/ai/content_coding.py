"""Decoding of response bodies that a server compressed although none was asked for: gzip and deflate."""

from __future__ import annotations

import zlib
from typing import Protocol

from pinyon.ai.transport import TransportError

_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15


class ContentDecoder(Protocol):
    """Takes encoded bytes, gives decoded ones."""

    def feed(self, data: bytes, *, is_last: bool) -> bytes:
        """The bytes that `data` decodes to; raises `TransportError` where it is broken."""
        ...


class _Inflater:
    """gzip, zlib, and the raw deflate that some servers send under the name of zlib."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inflate = zlib.decompressobj(_GZIP_WINDOW if name == "gzip" else _ZLIB_WINDOW)
        self._may_be_raw = name == "deflate"

    def feed(self, data: bytes, *, is_last: bool) -> bytes:
        """See `ContentDecoder.feed`."""
        try:
            decoded = self._decoded(data) if data else b""
            return decoded + self._inflate.flush() if is_last else decoded
        except zlib.error as error:
            raise TransportError(f"the server sent a broken {self._name} body: {error}", "protocol") from error

    def _decoded(self, data: bytes) -> bytes:
        may_be_raw, self._may_be_raw = self._may_be_raw, False
        try:
            return self._inflate.decompress(data)
        except zlib.error:
            if not may_be_raw:
                raise
            self._inflate = zlib.decompressobj(_RAW_WINDOW)
            return self._inflate.decompress(data)


def content_decoder(content_encoding: str) -> ContentDecoder | None:
    """The decoder for a `content-encoding` header; None for identity. Raises `TransportError` for any other."""
    name = content_encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return _Inflater(name.removeprefix("x-"))
    raise TransportError(f"the server compressed its answer with {name!r}, which was not asked for", "protocol")
