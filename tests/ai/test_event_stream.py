"""The event stream decoder against frames of our own, of the vendor's parser, and damaged ones."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from pinyon.ai.event_stream import EventMessage, EventStreamDecoder, EventStreamError
from pinyon.testing.fake_bedrock import encode_frame, event_frame, exception_frame

EVERY_TYPE: dict[str, tuple[Any, Any]] = {
    "true": ((0, b""), True),
    "false": ((1, b""), False),
    "byte": ((2, b"\xff"), -1),
    "short": ((3, struct.pack(">h", -300)), -300),
    "integer": ((4, struct.pack(">i", 70_000)), 70_000),
    "long": ((5, struct.pack(">q", -(2**40))), -(2**40)),
    "bytes": ((6, b"\x00\x02\x00\xff"), b"\x00\xff"),
    "text": ("grüße", "grüße"),
    "time": ((8, struct.pack(">q", 1_700_000_000_000)), datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    "uuid": ((9, bytes(range(16))), UUID(bytes=bytes(range(16)))),
}
FRAMES = event_frame("messageStart", {"role": "assistant"}) + exception_frame("throttlingException", "slow down")


def decoded(data: bytes) -> list[EventMessage]:
    decoder = EventStreamDecoder()
    messages = decoder.feed(data)
    decoder.finish()
    return messages


def with_checksum(head: bytes) -> bytes:
    return head + struct.pack(">I", zlib.crc32(head))


def frame_of(headers: bytes, payload: bytes = b"") -> bytes:
    prelude = with_checksum(struct.pack(">II", len(headers) + len(payload) + 16, len(headers)))
    return with_checksum(prelude + headers + payload)


def test_headers_of_every_type_are_read() -> None:
    frame = encode_frame({name: wire for name, (wire, _) in EVERY_TYPE.items()}, b"payload")
    (message,) = decoded(frame)
    assert message.headers == {name: value for name, (_, value) in EVERY_TYPE.items()}
    assert message.payload == b"payload"


def test_a_header_that_is_no_text_reads_as_an_empty_text() -> None:
    (message,) = decoded(encode_frame({"n": (4, struct.pack(">i", 1)), "t": "x"}, b""))
    assert (message.text("n"), message.text("t"), message.text("absent")) == ("", "x", "")


def test_the_vendors_parser_reads_the_same_frames() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(FRAMES)
    theirs = [(event.headers, event.payload) for event in buffer]
    assert [(message.headers, message.payload) for message in decoded(FRAMES)] == theirs


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 13, 1000])
def test_any_cut_of_the_bytes_gives_the_same_messages(piece_bytes: int) -> None:
    decoder = EventStreamDecoder()
    messages = []
    for start in range(0, len(FRAMES), piece_bytes):
        messages += decoder.feed(FRAMES[start : start + piece_bytes])
    decoder.finish()
    assert messages == decoded(FRAMES)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(st.characters(codec="ascii"), min_size=1, max_size=20), st.text(max_size=40), max_size=5),
    st.binary(max_size=200),
)
def test_what_is_encoded_is_decoded(headers: dict[str, str], payload: bytes) -> None:
    headers = {name: value.encode("utf-8", "replace").decode() for name, value in headers.items()}
    assert decoded(encode_frame(headers, payload)) == [EventMessage(dict(headers), payload)]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(FRAMES) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(FRAMES)
    damaged[place] ^= change
    with pytest.raises(EventStreamError):
        decoded(bytes(damaged))


@pytest.mark.parametrize("length", [1, 11, 12, 20, len(FRAMES) - 1])
def test_a_message_that_is_cut_off_is_an_error_at_the_end(length: int) -> None:
    with pytest.raises(EventStreamError, match="ended without"):
        decoded(FRAMES[:length])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_checksum(struct.pack(">II", 1 << 30, 0)), "payload of"),
        (with_checksum(struct.pack(">II", 1 << 20, 200_000)), "headers of 200000 bytes"),
        (with_checksum(struct.pack(">II", 20, 16)), "cannot hold"),
        (with_checksum(struct.pack(">II", 3, 0)), "cannot hold"),
        (b"<html><body>no stream</body></html>", "checksum"),
        (frame_of(b"\x01a\x0a"), "type 10"),
        (frame_of(b"\x01a\x07\x00\x09short"), "cut off"),
        (frame_of(b"\x05a"), "cut off"),
        (frame_of(b"\x01a\x00\x01a\x01"), "stands twice"),
        (frame_of(b"\x01a\x07\x00\x01\xff"), "UTF-8"),
        (frame_of(b"\x01a\x08\x7f\xff\xff\xff\xff\xff\xff\xff"), "out of range"),
    ],
)
def test_what_the_format_forbids_is_refused_at_once(data: bytes, words: str) -> None:
    with pytest.raises(EventStreamError, match=words):
        EventStreamDecoder().feed(data)
