"""Framing of server-sent events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.event_feed import EventFeed
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.wire_value import MAX_EVENT_BYTES
from pinyon.errors import ProviderError


def decode(*chunks: bytes) -> list[tuple[str, bytes, str]]:
    decoder = SseDecoder()
    events: list[SseEvent] = []
    for chunk in chunks:
        events += decoder.feed(chunk)
    events += decoder.finish()
    return [(event.event, event.data, event.id) for event in events]


def reference(stream: bytes) -> list[tuple[str, bytes, str]]:
    """The standard's algorithm, line by line, with the final flush."""
    stream = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[tuple[str, bytes, str]] = []
    name, last_id = b"", ""
    data: bytes | None = None
    for line in [*stream.split(b"\n"), b""]:
        if not line:
            if data is not None:
                events.append((name.decode("utf-8", "replace") or "message", data, last_id))
            name, data = b"", None
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if field == b"data":
            data = value if data is None else data + b"\n" + value
        elif field == b"event":
            name = value
        elif field == b"id" and b"\0" not in value:
            last_id = value.decode("utf-8", "replace")
    return events


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_separates_events(newline: bytes) -> None:
    stream = newline.join([b"event: a", b"data: 1", b"", b"data: 2", b"data: 3", b"", b""])
    assert decode(stream) == [("a", b"1", ""), ("message", b"2\n3", "")]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_bytes_that_arrive_one_at_a_time_give_the_same_events(newline: bytes) -> None:
    stream = newline.join([b"\xef\xbb\xbfevent: a", "data: h\u00e9 \U0001f648".encode(), b"", b"data: 2", b"", b""])
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == decode(stream) == reference(stream)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b": comment\ndata: x\n\n", [("message", b"x", "")]),
        (b"data:x\n\n", [("message", b"x", "")]),
        (b"data:  x\n\n", [("message", b" x", "")]),
        (b"data\n\n", [("message", b"", "")]),
        (b"data\ndata\n\n", [("message", b"\n", "")]),
        (b"event: only\n\n", []),
        (b"event:\ndata: x\n\n", [("message", b"x", "")]),
        (b"event: a\nevent: b\ndata: x\n\n", [("b", b"x", "")]),
        (b"id: 7\ndata: x\n\ndata: y\n\n", [("message", b"x", "7"), ("message", b"y", "7")]),
        (b"id: 7\n\nid\ndata: y\n\n", [("message", b"y", "")]),
        (b"id: a\0b\ndata: y\n\n", [("message", b"y", "")]),
        (b"\n\n\n\ndata: x\n\n\n\n\n", [("message", b"x", "")]),
        (b"unknown: 1\nDATA: 2\ndata : 3\n\n", []),
        (b"data: \xff\n\n", [("message", b"\xff", "")]),
        (b"data: \xef\xbb\xbfx\n\n", [("message", b"\xef\xbb\xbfx", "")]),
        (b"", []),
        (b"\xef\xbb", []),
    ],
)
def test_odd_streams_follow_the_standard(stream: bytes, expected: list[tuple[str, bytes, str]]) -> None:
    assert decode(stream) == expected == reference(stream)


@pytest.mark.parametrize("stream", [b"event: e\ndata: last", b"event: e\ndata: last\n", b"event: e\rdata: last\r"])
def test_an_event_cut_off_before_its_blank_line_is_delivered_at_the_end(stream: bytes) -> None:
    assert decode(stream) == [("e", b"last", "")]


def test_a_carriage_return_at_the_end_of_a_chunk_completes_its_line_at_once() -> None:
    decoder = SseDecoder()
    assert [event.data for event in decoder.feed(b"data: x\r\n\r")] == [b"x"]
    assert [event.data for event in decoder.feed(b"\ndata: y\r\n\r\n")] == [b"y"]


def test_retry_is_read_and_garbage_in_it_is_ignored() -> None:
    decoder = SseDecoder()
    decoder.feed(b"retry: 2500\n\nretry: soon\n\n")
    assert decoder.retry_ms == 2500


def test_text_replaces_bytes_that_are_not_utf_8() -> None:
    assert SseEvent("message", b"a\xffb").text == "a\ufffdb"


_LINES = st.sampled_from(
    [b"data: a", b"data:", b"data", b"event: e", b"event:", b":c", b"id: 1", b"id", b"", b"", b"", b"x", b"\xc3\xa9"]
)
_STREAMS = st.lists(st.tuples(_LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
) | st.binary(max_size=60)


@given(stream=_STREAMS, bom=st.booleans(), data=st.data())
def test_any_split_of_the_bytes_gives_the_events_of_the_whole(stream: bytes, bom: bool, data: st.DataObject) -> None:
    stream = (b"\xef\xbb\xbf" if bom else b"") + stream
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decode(*pieces) == reference(stream)


def test_a_large_event_in_small_pieces_is_decoded_in_linear_work() -> None:
    payload = b"x" * 4_000_000
    stream = b"data: " + payload + b"\n\n"
    # Quadratic work would copy 125 GB and run into the time limit of the suite.
    assert decode(*(stream[i : i + 64] for i in range(0, len(stream), 64))) == [("message", payload, "")]


def feed_without_end(reader: SseDecoder | EventFeed, beginning: bytes) -> None:
    piece = bytes(1 << 20)
    for _ in range(MAX_EVENT_BYTES // len(piece) + 2):
        reader.feed(beginning + piece)
        beginning = b""


def test_an_event_without_end_is_given_up() -> None:
    with pytest.raises(ProviderError, match="more than"):
        feed_without_end(SseDecoder(), b"data: ")


def test_a_json_document_without_end_is_given_up() -> None:
    with pytest.raises(ProviderError, match="more than"):
        feed_without_end(EventFeed(), b"{")
