"""The transport against a real server on loopback."""

from __future__ import annotations

import asyncio
import errno
import gzip
import socket
import ssl
import subprocess
import threading
import zlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.ai.content_coding import PIECE_BYTES, DecodedBody
from pinyon.ai.transport import (
    DEFAULT_TRANSPORT,
    FunctionTransport,
    HttpRequest,
    HttpResponse,
    MemoryResponse,
    TransportError,
    connection_failure,
    read_body,
)
from pinyon.testing.fake_server import Cut, Delay, FakeServer, Gate, Reply, Stall

LIMIT_BYTES = 50_000_000


def request(url: str, **fields: object) -> HttpRequest:
    return HttpRequest(method="POST", url=url, **fields)  # type: ignore[arg-type]


async def post(url: str, **fields: object) -> tuple[int, bytes]:
    response = await DEFAULT_TRANSPORT.open(request(url, **fields))
    return response.status, await read_body(response, LIMIT_BYTES)


def test_a_request_arrives_as_it_was_made() -> None:
    with FakeServer([Reply.json({})]) as server:
        asyncio.run(post(f"{server.url}/v1/a b?q=1&r=ü", headers={"X-Name": "v"}, body=b'{"k":1}'))
    (seen,) = server.requests
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/a%20b?q=1&r=%C3%BC", b'{"k":1}')
    assert seen.headers == {
        "host": f"127.0.0.1:{server.port}",
        "x-name": "v",
        "accept-encoding": "identity",
        "content-length": "7",
    }


def test_credentials_in_the_url_become_basic_authorization() -> None:
    with FakeServer([Reply.json({})]) as server:
        asyncio.run(post(f"http://me:p%40ss@127.0.0.1:{server.port}/"))
    assert server.requests[0].headers["authorization"] == "Basic bWU6cEBzcw=="


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("piece_bytes", [1, 7, 100_000])
def test_the_body_arrives_whole_in_every_framing(framing: str, piece_bytes: int) -> None:
    text = "abcdefgh" * 200
    reply = Reply.sse([(None, text)], piece_bytes=piece_bytes, framing=framing)  # type: ignore[arg-type]
    with FakeServer([reply]) as server:
        assert asyncio.run(post(server.url)) == (200, f"data: {text}\n\n".encode())


def test_chunks_are_handed_over_while_the_rest_is_still_to_come() -> None:
    gate = threading.Event()

    async def scenario() -> list[bytes]:
        response = await DEFAULT_TRANSPORT.open(request(server.url))
        seen = []
        async for chunk in response:
            seen.append(chunk)
            gate.set()
        await response.aclose()
        return seen

    with FakeServer([Reply(body=[b"first", Gate(gate), b"second"])]) as server:
        assert asyncio.run(scenario()) == [b"first", b"second"]


def test_a_large_body_that_nobody_reads_yet_does_not_pile_up() -> None:
    piece = b"x" * 1_000_000

    async def scenario() -> int:
        response = await DEFAULT_TRANSPORT.open(request(server.url))
        largest = total = 0
        async for chunk in response:
            total += len(chunk)
            largest = max(largest, len(chunk))
            await asyncio.sleep(0.002)
        await response.aclose()
        assert largest < 5_000_000
        return total

    with FakeServer([Reply(body=[piece] * 30)]) as server:
        assert asyncio.run(scenario()) == 30_000_000


def test_a_connection_is_used_again_after_its_body_was_read() -> None:
    async def scenario() -> None:
        for _ in range(3):
            assert await post(server.url) == (200, b"{}")

    with FakeServer([Reply.json({})]) as server:
        asyncio.run(scenario())
        assert server.connection_count == 1


def test_a_released_connection_is_used_again_once_its_short_rest_arrived() -> None:
    gate = threading.Event()

    async def scenario() -> None:
        response = await DEFAULT_TRANSPORT.open(request(server.url))
        async for _ in response:
            break
        response.release()
        gate.set()
        await asyncio.sleep(0.1)
        await post(server.url)

    with FakeServer([Reply(body=[b"all that matters", Gate(gate), b"rest"])]) as server:
        asyncio.run(scenario())
        assert server.connection_count == 1


@pytest.mark.parametrize("reply", [Reply(body=[b"a", Stall()]), Reply.json({}, headers={"connection": "close"})])
def test_a_connection_whose_answer_was_left_or_that_closes_is_not_used_again(reply: Reply) -> None:
    async def scenario() -> None:
        for _ in range(2):
            response = await DEFAULT_TRANSPORT.open(request(server.url))
            async for _ in response:
                break
            await response.aclose()

    with FakeServer([reply]) as server:
        asyncio.run(scenario())
        assert server.connection_count == 2
        server.wait_until_idle()


def test_a_kept_connection_that_the_server_dropped_is_replaced_silently() -> None:
    async def scenario() -> list[tuple[int, bytes]]:
        first = await post(server.url)
        return [first, await post(server.url)]

    with FakeServer([Reply.text("one"), Reply.drop(), Reply.text("two")]) as server:
        assert asyncio.run(scenario()) == [(200, b"one"), (200, b"two")]


def test_connections_do_not_outlive_their_loop() -> None:
    with FakeServer([Reply.json({})]) as server:
        asyncio.run(post(server.url))
        server.wait_until_idle()


def test_two_loops_in_two_threads_do_not_share_connections() -> None:
    with FakeServer([Reply.json({})]) as server:
        threads = [threading.Thread(target=lambda: asyncio.run(post(server.url))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.connection_count == 2


def test_informational_responses_are_skipped() -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody"
    with FakeServer([Reply(raw=raw)]) as server:
        assert asyncio.run(post(server.url)) == (200, b"body")


@pytest.mark.parametrize(
    ("name", "encode"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("identity", lambda data: data),
    ],
)
def test_compressed_bodies_are_decoded_although_none_was_asked_for(name: str, encode: Callable[[bytes], bytes]) -> None:
    text = b"data: some text\n\n" * 100
    encoded = encode(text)
    pieces = [encoded[start : start + 5] for start in range(0, len(encoded), 5)]
    with FakeServer([Reply(headers={"content-encoding": name}, body=pieces)]) as server:
        assert asyncio.run(post(server.url)) == (200, text)


def test_all_members_of_a_gzip_body_count_and_padding_does_not() -> None:
    body = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + bytes(64)
    pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
    with FakeServer([Reply(headers={"content-encoding": "gzip"}, body=pieces)]) as server:
        assert asyncio.run(post(server.url)) == (200, b"one two")


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress])
def test_a_body_that_grows_enormously_comes_in_pieces(encode: Callable[[bytes], bytes]) -> None:
    size_bytes = 20 * PIECE_BYTES + 5
    name = "gzip" if encode is gzip.compress else "deflate"
    encoded = [encode(bytes(size_bytes))]

    async def read_encoded() -> bytes:
        return encoded.pop() if encoded else b""

    async def run() -> list[int]:
        body, sizes = DecodedBody(name, read_encoded), []
        while piece := await body.read():
            sizes.append(len(piece))
        return sizes

    sizes = asyncio.run(run())
    assert sum(sizes) == size_bytes
    assert max(sizes) <= PIECE_BYTES


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\nx", "content-length"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"9" * 5000 + b"\r\n", "chunked"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 5000, "informational"),
    ],
)
def test_what_never_ends_by_its_own_word_is_given_up(raw: bytes, text: str) -> None:
    with FakeServer([Reply(raw=raw)]) as server, pytest.raises(TransportError, match=text) as caught:
        asyncio.run(post(server.url))
    assert caught.value.kind == "protocol"


@pytest.mark.parametrize(("name", "body"), [("br", b"x"), ("gzip", b"not gzip")])
def test_bodies_that_cannot_be_decoded_are_a_failure(name: str, body: bytes) -> None:
    with (
        FakeServer([Reply(headers={"content-encoding": name}, body=[body])]) as server,
        pytest.raises(TransportError, match=name),
    ):
        asyncio.run(post(server.url))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply.drop(), "ECONNRESET"),
        (Reply(before=[Cut(politely=True)]), "ECONNRESET"),
        (Reply(body=[b"a", Cut(politely=True)]), "Connection closed"),
        (Reply(body=[b"a", Cut(politely=True)], framing="length"), "Connection closed|None"),
        (Reply(body=[b"a", Delay(0.05), Cut()]), "ECONNRESET|Connection closed"),
        (Reply(raw=b"SSH-2.0-x\r\n\r\n"), "HTTP"),
        (Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"), "Connection closed"),
    ],
)
def test_a_server_that_breaks_off_or_garbles_is_a_transient_failure(reply: Reply, text: str) -> None:
    if reply.framing == "length":
        reply = Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na")
    with FakeServer([reply]) as server, pytest.raises(TransportError, match=text) as caught:
        asyncio.run(post(server.url))
    assert caught.value.is_transient


def test_a_refused_connection_is_named() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with pytest.raises(
        TransportError, match=f"Connection error connecting to 127.0.0.1:{port}: ECONNREFUSED"
    ) as caught:
        asyncio.run(post(f"http://127.0.0.1:{port}/"))
    assert (caught.value.kind, caught.value.code) == ("connection", "ECONNREFUSED")


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        (
            socket.gaierror(socket.EAI_NONAME, "no such name"),
            "Connection error here: ENOTFOUND: no such name",
            "connection",
        ),
        (socket.gaierror(socket.EAI_AGAIN, "try later"), "Connection error here: EAI_AGAIN: try later", "connection"),
        (ConnectionResetError(), "Connection error here: ECONNRESET: ConnectionResetError", "connection"),
        (BrokenPipeError(), "Connection error here: EPIPE: BrokenPipeError", "connection"),
        (TimeoutError(errno.ETIMEDOUT, "gone"), "Connection error here: ETIMEDOUT: gone", "connection"),
        (TimeoutError(), "Request timed out here", "timeout"),
        (ssl.SSLError(1, "wrong version number"), "Connection error here: wrong version number", "connection"),
    ],
)
def test_failures_of_the_system_are_told_in_the_words_that_retry_knows(error: OSError, text: str, kind: str) -> None:
    failure = connection_failure(error, "here")
    assert (str(failure), failure.kind) == (text, kind)


def test_the_deepest_cause_is_named() -> None:
    inner = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    outer: Exception = inner
    for number in range(4):
        wrapper = RuntimeError(f"layer {number}")
        wrapper.__cause__ = outer
        outer = wrapper
    assert "ECONNREFUSED: refused" in str(connection_failure(outer, "here"))


@pytest.mark.parametrize("url", ["ftp://h/", "no url", "http:///path", "http://h:99999/", "http://user:pa55word@:80/"])
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(TransportError) as caught:
        asyncio.run(post(url))
    assert caught.value.kind == "request"
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply.never(), "timed out: no response headers for 0.05 s"),
        (Reply(body=[b"a", Stall()]), "timed out: no data from the server for 0.05 s"),
    ],
)
def test_silence_longer_than_the_idle_timeout_ends_the_request(reply: Reply, text: str) -> None:
    with FakeServer([reply]) as server, pytest.raises(TransportError, match=text) as caught:
        asyncio.run(post(server.url, idle_timeout_s=0.05))
    assert caught.value.kind == "timeout"


def test_a_slow_answer_whose_gaps_are_short_does_not_time_out() -> None:
    with FakeServer([Reply(body=[b"x", Delay(0.01)] * 20)]) as server:
        assert asyncio.run(post(server.url, idle_timeout_s=5)) == (200, b"x" * 20)


def test_a_reader_that_takes_its_time_is_not_silence_of_the_server() -> None:
    async def scenario() -> bytes:
        response = await DEFAULT_TRANSPORT.open(request(server.url, idle_timeout_s=0.1))
        await asyncio.sleep(0.4)
        return await read_body(response, LIMIT_BYTES)

    with FakeServer([Reply(body=[b"x"])]) as server:
        assert asyncio.run(scenario()) == b"x"


def unreachable_listener() -> socket.socket:
    """A listening socket whose queue is full, so that further connections hang."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    return listener


def hanging_connection(body: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    with unreachable_listener() as listener:
        port = listener.getsockname()[1]
        fillers = []
        for _ in range(8):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        try:
            asyncio.run(body(f"http://127.0.0.1:{port}/"))
        finally:
            for filler in fillers:
                filler.close()


def test_a_connection_that_hangs_times_out() -> None:
    async def scenario(url: str) -> None:
        with pytest.raises(TransportError, match="timed out: no connection to") as caught:
            await post(url, connect_timeout_s=0.1)
        assert caught.value.kind == "timeout"

    hanging_connection(scenario)


def test_abort_ends_a_pending_connection() -> None:
    async def scenario(url: str) -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        with pytest.raises(OperationAbortedError):
            await post(url, signal=controller.signal)

    hanging_connection(scenario)


@pytest.mark.parametrize("reply", [Reply.never(), Reply(body=[b"a", Stall()])])
@pytest.mark.parametrize("from_thread", [False, True])
def test_abort_ends_a_pending_read_and_closes_the_connection(reply: Reply, from_thread: bool) -> None:
    async def scenario() -> None:
        controller = AbortController()
        if from_thread:
            threading.Timer(0.05, controller.abort).start()
        else:
            asyncio.get_running_loop().call_later(0.05, controller.abort)
        with pytest.raises(OperationAbortedError):
            await post(server.url, signal=controller.signal)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.to_thread(server.wait_until_idle)

    with FakeServer([reply]) as server:
        asyncio.run(scenario())


def test_an_abort_that_already_happened_sends_nothing() -> None:
    controller = AbortController()
    controller.abort()
    with FakeServer([Reply.json({})]) as server:
        with pytest.raises(OperationAbortedError):
            asyncio.run(post(server.url, signal=controller.signal))
        assert server.connection_count == 0


@pytest.mark.parametrize("reply", [Reply.never(), Reply(body=[b"a", Stall()])])
def test_a_cancelled_task_is_cancelled_and_its_connection_closed(reply: Reply) -> None:
    async def scenario() -> None:
        task = asyncio.create_task(post(server.url, signal=AbortController().signal))
        await asyncio.to_thread(server.wait_for_requests, 1)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.wait_until_idle)

    with FakeServer([reply]) as server:
        asyncio.run(scenario())


def test_a_finished_request_leaves_no_listener_on_the_signal() -> None:
    async def scenario() -> None:
        await post(server.url, signal=controller.signal)
        controller.abort()
        assert await post(server.url) == (200, b"{}")

    controller = AbortController()
    with FakeServer([Reply.json({})]) as server:
        asyncio.run(scenario())
        assert server.connection_count == 1


def test_a_function_can_stand_in_for_the_network() -> None:
    async def answer(request: HttpRequest) -> HttpResponse:
        return MemoryResponse(201, {"X-A": "b"}, [request.body, b"!"])

    async def scenario() -> None:
        transport = FunctionTransport(answer)
        response = await transport.open(request("http://x/", body=b"hi"))
        assert (response.status, response.headers) == (201, {"x-a": "b"})
        assert await read_body(response, 100) == b"hi!"
        assert [sent.url for sent in transport.requests] == ["http://x/"]

    asyncio.run(scenario())


def test_reading_a_body_stops_at_the_limit() -> None:
    with FakeServer([Reply(body=[b"x" * 1000, Stall()])]) as server:

        async def scenario() -> bytes:
            return await read_body(await DEFAULT_TRANSPORT.open(request(server.url)), 100)

        assert asyncio.run(scenario()) == b"x" * 100


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl command")
    combined = folder / "all.pem"
    combined.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return combined


def tls_server(certificate: Path) -> FakeServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return FakeServer([Reply.json({"secure": True})], tls=context)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_https_trusts_the_configured_authorities(
    certificate: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificate))

    async def scenario() -> None:
        for _ in range(2):
            assert await post(server.url) == (200, b'{"secure": true}')

    with tls_server(certificate) as server:
        asyncio.run(scenario())
        assert server.connection_count == 1


def test_https_refuses_a_certificate_that_nobody_vouches_for(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with tls_server(certificate) as server, pytest.raises(TransportError, match="NODE_EXTRA_CA_CERTS") as caught:
        asyncio.run(post(server.url))
    assert not caught.value.is_transient


def test_a_certificate_file_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "gone.pem"))
    with pytest.raises(TransportError, match=r"gone\.pem"):
        asyncio.run(post("https://127.0.0.1:1/"))
