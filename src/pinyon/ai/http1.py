"""HTTP/1.1 as bytes, without input or output: request heads, response heads and the framing of response bodies.

Source: RFC 9112. It reads what a client needs, tolerates bare LF line ends, and refuses what cannot be framed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from pinyon.ai.transport import TransportError

MAX_HEAD_BYTES = 256 * 1024
_MAX_CHUNK_LINE_BYTES = 64 * 1024

# No regular expressions here: compiling them would cost more than a whole request.
_TOKEN_CHARS = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_MAX_SIZE_DIGITS = 15
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "host"})


class ResponseHead(msgspec.Struct):
    """Status line and headers; names in lower case, repeated headers joined with a comma."""

    status: int
    headers: dict[str, str]
    is_http10: bool = False

    @property
    def keeps_alive(self) -> bool:
        """Whether the server will answer another request on this connection."""
        options = {option.strip() for option in self.headers.get("connection", "").lower().split(",")}
        return "keep-alive" in options if self.is_http10 else "close" not in options


def encode_head(method: str, target: str, host: str, headers: Mapping[str, str], body_bytes: int) -> bytes:
    """The request head. Framing headers are ours; `host` gives way to a header of that name.

    Raises `TransportError` for a name or value that would break the head apart.
    """
    given_host = next((value for name, value in headers.items() if name.lower() == "host"), host)
    lines = [f"{method} {target} HTTP/1.1", f"Host: {given_host}"]
    for name, value in headers.items():
        if name.lower() not in _OWN_HEADERS:
            lines.append(f"{_checked_name(name)}: {_checked_value(name, value)}")
    if body_bytes or method not in ("GET", "HEAD"):
        lines.append(f"Content-Length: {body_bytes}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _checked_name(name: str) -> str:
    if not _is_token(name):
        raise TransportError(f"request header name {name!r} is not allowed in HTTP; rename it", "request")
    return name


def _is_token(name: str) -> bool:
    return bool(name) and _TOKEN_CHARS.issuperset(name)


def _checked_value(name: str, value: str) -> str:
    # The value may be a credential, so the text names the header only. Keys from files often end in a line break.
    value = value.strip()
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise TransportError(f"the value of request header {name!r} has characters beyond Latin-1", "request") from None
    if any(char in value for char in "\r\n\0"):
        raise TransportError(f"the value of request header {name!r} contains a line break or NUL", "request")
    return value


def split_head(received: bytes) -> tuple[bytes, bytes] | None:
    """Head and what follows it, or None while the head is incomplete."""
    ends = [(end, len(mark)) for mark in (b"\r\n\r\n", b"\n\n", b"\n\r\n") if (end := received.find(mark)) >= 0]
    if not ends:
        if len(received) > MAX_HEAD_BYTES:
            raise TransportError(f"the server sent more than {MAX_HEAD_BYTES} bytes of response headers", "protocol")
        return None
    end, mark_bytes = min(ends)
    return received[:end], received[end + mark_bytes :]


def decode_head(head: bytes) -> ResponseHead:
    """Parse a response head (without its blank line)."""
    status_line, *lines = head.replace(b"\r\n", b"\n").split(b"\n")
    version, _, rest = status_line.partition(b" ")
    code = rest[:3]
    is_code = len(code) == 3 and code.isdigit() and code >= b"100"
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or not is_code or rest[3:4] not in (b"", b" "):
        raise TransportError(f"the server did not answer in HTTP/1.1: {_shown(status_line)}", "protocol")
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (b" ", b"\t") and name:  # obsolete line folding continues the previous value
            headers[name] += " " + line.decode("latin-1").strip()
            continue
        raw_name, colon, value = line.decode("latin-1").partition(":")
        name = raw_name.lower()
        if not colon or not _is_token(name):
            raise TransportError(f"the server sent a broken response header: {_shown(line)}", "protocol")
        value = value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ResponseHead(int(code), headers, version == b"HTTP/1.0")


def _shown(line: bytes) -> str:
    return repr(line[:80].decode("latin-1"))


class BodyFraming(Protocol):
    """Takes the raw bytes after a head and gives the body's bytes."""

    is_done: bool
    has_surplus: bool
    """Bytes followed the end of the body, so that the connection is out of step."""

    def feed(self, data: bytes) -> bytes:
        """The body bytes in `data`; raises `TransportError` where the framing is broken."""
        ...

    def end(self) -> None:
        """The connection ended; raises `TransportError` if the body had not."""
        ...


def body_framing(method: str, head: ResponseHead) -> BodyFraming:
    """How the body of this response is framed."""
    if method == "HEAD" or head.status in (204, 304):
        return LengthBody(0)
    coding = head.headers.get("transfer-encoding", "").lower().split(",")[-1].strip()
    if coding == "chunked":
        return ChunkedBody()
    lengths = {length.strip() for length in head.headers.get("content-length", "").split(",")} - {""}
    if coding or not lengths:
        return UntilCloseBody()
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit() and len(length) <= _MAX_SIZE_DIGITS):
        raise TransportError("the server sent contradicting or broken content-length headers", "protocol")
    return LengthBody(int(length))


_CUT_SHORT = "Connection closed before the response was complete"


class LengthBody:
    """A body of a known number of bytes."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_done = length == 0
        self.has_surplus = False

    def feed(self, data: bytes) -> bytes:
        """See `BodyFraming.feed`."""
        body = data[: self._left]
        self.has_surplus = len(body) < len(data)
        self._left -= len(body)
        self.is_done = self._left == 0
        return body

    def end(self) -> None:
        """See `BodyFraming.end`."""
        if not self.is_done:
            raise TransportError(_CUT_SHORT, "connection")


class UntilCloseBody:
    """A body that ends with the connection."""

    def __init__(self) -> None:
        self.is_done = False
        self.has_surplus = False

    def feed(self, data: bytes) -> bytes:
        """See `BodyFraming.feed`."""
        return data

    def end(self) -> None:
        """See `BodyFraming.end`."""
        self.is_done = True


class ChunkedBody:
    """Chunked transfer coding (RFC 9112, section 7.1); extensions and trailers are skipped."""

    def __init__(self) -> None:
        self.is_done = False
        self.has_surplus = False
        self._left = 0  # bytes of the open chunk that are still to come
        self._rest = b""  # an incomplete line between chunks
        self._after_chunk = False
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """See `BodyFraming.feed`."""
        if self._left > len(data):
            self._left -= len(data)
            return data
        body: list[bytes] = []
        data, position = self._rest + data, 0
        self._rest = b""
        while not self.is_done:
            if self._left:
                position = self._take_piece(data, position, body)
                if self._left:
                    return b"".join(body)
            end = data.find(b"\n", position)
            if end < 0:
                self._keep(data[position:])
                return b"".join(body)
            self._take_line(data[position:end].rstrip(b"\r"))
            position = end + 1
        self.has_surplus = position < len(data)
        return b"".join(body)

    def end(self) -> None:
        """See `BodyFraming.end`."""
        if not self.is_done:
            raise TransportError(_CUT_SHORT, "connection")

    def _take_piece(self, data: bytes, position: int, body: list[bytes]) -> int:
        piece = data[position : position + self._left]
        body.append(piece)
        self._left -= len(piece)
        self._after_chunk = not self._left
        return position + len(piece)

    def _keep(self, rest: bytes) -> None:
        if len(rest) > _MAX_CHUNK_LINE_BYTES:
            raise TransportError("the server sent a broken chunked body", "protocol")
        self._rest = rest

    def _take_line(self, line: bytes) -> None:
        if self._in_trailers:
            self.is_done = not line
        elif self._after_chunk:
            if line:
                raise TransportError("the server sent a broken chunked body", "protocol")
            self._after_chunk = False
        else:
            self._left = _chunk_size(line)
            self._in_trailers = self._left == 0


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > _MAX_SIZE_DIGITS or digits.strip(_HEX_DIGITS):
        raise TransportError("the server sent a broken chunked body", "protocol")
    return int(digits, 16)
