"""HTTP/1.1 framing, compared with the h11 library as the oracle."""

from __future__ import annotations

import itertools

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.http1 import MAX_HEAD_BYTES, body_framing, decode_head, encode_head, split_head
from pinyon.ai.transport import TransportError


def read(stream: bytes, cuts: list[int], method: str = "POST") -> tuple[int, dict[str, str], bytes]:
    """What a client makes of the bytes when they arrive in pieces, to the end of the connection."""
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(bounds)]
    received = b""
    while (split := split_head(received)) is None:
        received += pieces.pop(0)
    head, rest = decode_head(split[0]), split[1]
    framing = body_framing(method, head)
    body = framing.feed(rest)
    for piece in pieces:
        if not framing.is_done:
            body += framing.feed(piece)
    framing.end()
    return head.status, head.headers, body


def oracle(stream: bytes) -> tuple[int, bytes]:
    connection = h11.Connection(our_role=h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(stream)
    connection.receive_data(b"")
    status, body = 0, b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
    return status, body


def chunked(chunks: list[bytes], extension: bytes, trailer: bytes) -> bytes:
    framed = b"".join(b"%X%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks if chunk)
    return framed + b"0\r\n" + trailer + b"\r\n"


_BODIES = st.one_of(
    st.binary(max_size=80).map(lambda body: (b"content-length: %d\r\n" % len(body), body)),
    st.binary(max_size=80).map(lambda body: (b"connection: close\r\n", body)),
    st.tuples(
        st.lists(st.binary(max_size=40), max_size=5),
        st.sampled_from([b"", b";ext=1"]),
        st.sampled_from([b"", b"x-trailer: 1\r\n"]),
    ).map(lambda parts: (b"transfer-encoding: chunked\r\n", chunked(*parts))),
)


@given(body=_BODIES, status=st.sampled_from([200, 404, 529]), cuts=st.lists(st.integers(0, 200), max_size=10))
def test_any_split_of_a_response_reads_as_the_oracle_reads_it(
    body: tuple[bytes, bytes], status: int, cuts: list[int]
) -> None:
    stream = b"HTTP/1.1 %d Some reason\r\n%sx-a: b\r\n\r\n%s" % (status, *body)
    read_status, headers, read_body = read(stream, cuts)
    assert (read_status, read_body) == oracle(stream)
    assert headers["x-a"] == "b"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"a: 1\r\nA: 2\r\n", {"a": "1, 2"}),
        (b"a:   spaced  \r\n", {"a": "spaced"}),
        (b"a: one\r\n two\r\n", {"a": "one two"}),
        (b"a:\r\n", {"a": ""}),
        (b"a: \xe9\r\n", {"a": "\u00e9"}),
    ],
)
def test_header_lines_are_normalised(lines: bytes, expected: dict[str, str]) -> None:
    assert decode_head(b"HTTP/1.1 200 OK\r\n" + lines.rstrip(b"\r\n")).headers == expected


def test_bare_line_feeds_and_a_missing_reason_are_tolerated() -> None:
    split = split_head(b"HTTP/1.1 503\nretry-after: 2\n\nrest")
    assert split is not None
    assert decode_head(split[0]).headers == {"retry-after": "2"}
    assert split[1] == b"rest"


@pytest.mark.parametrize(
    "head", [b"SSH-2.0-x", b"HTTP/2 200 OK", b"HTTP/1.1 abc", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nbroken line", b""]
)
def test_what_is_not_http_is_a_protocol_failure(head: bytes) -> None:
    with pytest.raises(TransportError) as caught:
        decode_head(head)
    assert caught.value.kind == "protocol"


def test_an_endless_line_between_chunks_is_refused() -> None:
    framing = body_framing("GET", decode_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked"))
    assert framing.feed(b"1;" + b"x" * 60_000) == b""
    with pytest.raises(TransportError, match="chunked"):
        framing.feed(b"x" * 10_000)


def test_endless_headers_are_refused() -> None:
    with pytest.raises(TransportError, match="response headers"):
        split_head(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * (MAX_HEAD_BYTES // 6 + 1))


@pytest.mark.parametrize("body", [b"zz\r\n", b"-1\r\n", b"+1\r\nx", b"3\r\nabcX", b"\r\n", b"1_0\r\n", b"5" * 70_000])
def test_a_broken_chunked_body_is_a_protocol_failure(body: bytes) -> None:
    framing = body_framing("GET", decode_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked"))
    with pytest.raises(TransportError, match="chunked"):
        framing.feed(body + b"\r\n")


@pytest.mark.parametrize("header", [b"transfer-encoding: chunked", b"content-length: 5"])
def test_a_body_that_ends_early_is_a_connection_failure(header: bytes) -> None:
    framing = body_framing("GET", decode_head(b"HTTP/1.1 200 OK\r\n" + header))
    framing.feed(b"2\r\n")
    with pytest.raises(TransportError, match="Connection closed") as caught:
        framing.end()
    assert caught.value.is_transient


@pytest.mark.parametrize("lengths", [b"1\r\ncontent-length: 2", b"-1", b"1e3", b"\xb2"])
def test_contradicting_lengths_are_refused(lengths: bytes) -> None:
    with pytest.raises(TransportError, match="content-length"):
        body_framing("GET", decode_head(b"HTTP/1.1 200 OK\r\ncontent-length: " + lengths))


@pytest.mark.parametrize(("method", "status"), [("HEAD", b"200"), ("POST", b"204"), ("POST", b"304")])
def test_some_responses_have_no_body(method: str, status: bytes) -> None:
    head = decode_head(b"HTTP/1.1 " + status + b" x\r\ncontent-length: 10")
    assert body_framing(method, head).is_done


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK", True),
        (b"HTTP/1.1 200 OK\r\nconnection: Close", False),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nconnection: Keep-Alive", True),
    ],
)
def test_keep_alive_follows_version_and_header(head: bytes, keeps: bool) -> None:
    assert decode_head(head).keeps_alive is keeps


def test_a_request_head_frames_itself() -> None:
    head = encode_head("POST", "/v1?x=1", "h:1", {"X-A": " b ", "content-length": "99", "Connection": "close"}, 3)
    assert head == b"POST /v1?x=1 HTTP/1.1\r\nHost: h:1\r\nX-A: b\r\nContent-Length: 3\r\n\r\n"


def test_a_host_header_of_the_caller_wins() -> None:
    assert b"Host: other" in encode_head("GET", "/", "h", {"hOst": "other"}, 0)


def test_a_line_break_behind_a_key_is_left_out() -> None:
    assert b"\r\nx-api-key: key\r\n" in encode_head("GET", "/", "x", {"x-api-key": " key\r\n"}, 0)


@pytest.mark.parametrize(
    "headers", [{"a b": "x"}, {"": "x"}, {"a": "secret\r\nb: c"}, {"a": "secret\0"}, {"a": "secret→"}]
)
def test_headers_that_would_break_the_head_are_refused_without_showing_the_value(headers: dict[str, str]) -> None:
    with pytest.raises(TransportError) as caught:
        encode_head("GET", "/", "h", headers, 0)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "body"), [(b"transfer-encoding: chunked", b"2\r\nhi\r\n0\r\n\r\n"), (b"content-length: 2", b"hi")]
)
@pytest.mark.parametrize("surplus", [b"", b"HTTP/1.1"])
def test_bytes_after_a_body_show_that_the_connection_is_out_of_step(header: bytes, body: bytes, surplus: bytes) -> None:
    framing = body_framing("GET", decode_head(b"HTTP/1.1 200 OK\r\n" + header))
    assert framing.feed(body + surplus) == b"hi"
    assert (framing.is_done, framing.has_surplus) == (True, bool(surplus))
