"""Proxies: which one the environment names, and requests through one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.ai.proxy import is_excluded, proxy_for
from pinyon.ai.transport import DEFAULT_TRANSPORT, HttpRequest, TransportError, read_body
from pinyon.testing.fake_server import FakeServer, Reply, Stall

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("env", "url", "expected"),
    [
        ({}, "http://h/", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://h/", "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "https://h/", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://h/", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://h/", "http://p:1"),
        ({"ALL_PROXY": "p:1"}, "https://h/", "http://p:1"),
        ({"https_proxy": "http://low", "HTTPS_PROXY": "http://up"}, "https://h/", "http://low"),
        ({"HTTP_PROXY": ""}, "http://h/", None),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "other, h"}, "http://h/", None),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "*"}, "http://h/", None),
    ],
)
def test_the_environment_of_the_request_names_the_proxy(env: dict[str, str], url: str, expected: str | None) -> None:
    assert proxy_for(url, env) == expected


def test_the_environment_of_the_request_overrides_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://process")
    assert proxy_for("http://h/") == "http://process"
    assert proxy_for("http://h/", {"HTTP_PROXY": "http://request"}) == "http://request"
    assert proxy_for("http://h/", {"HTTP_PROXY": ""}) is None


@pytest.mark.parametrize(
    ("rule", "host", "port", "excluded"),
    [
        ("example.com", "example.com", None, True),
        ("example.com", "a.example.com", None, True),
        (".example.com", "a.example.com", None, True),
        ("*.example.com", "example.com", None, True),
        ("example.com", "notexample.com", None, False),
        ("EXAMPLE.com", "example.COM", None, True),
        ("example.com:8080", "example.com", 8080, True),
        ("example.com:8080", "example.com", None, False),
        ("example.com:80", "example.com", None, True),
        ("10.0.0.0/8", "10.1.2.3", None, True),
        ("10.0.0.0/8", "11.1.2.3", None, False),
        ("10.0.0.0/8", "example.com", None, False),
        ("[::1]:80", "::1", None, True),
        ("::1", "::1", None, True),
        ("", "example.com", None, False),
        (".", "example.com", None, False),
        ("a b,c", "c", None, True),
    ],
)
def test_no_proxy_rules(rule: str, host: str, port: int | None, excluded: bool) -> None:
    assert is_excluded(host, port, "http", rule) is excluded


async def post(url: str, env: dict[str, str], **fields: object) -> tuple[int, bytes]:
    request = HttpRequest(method="POST", url=url, env=env, body=b"question", **fields)  # type: ignore[arg-type]
    response = await DEFAULT_TRANSPORT.open(request)
    return response.status, await read_body(response, 10_000_000)


def test_an_http_request_is_forwarded_with_the_proxy_credentials() -> None:
    async def scenario() -> None:
        env = {"HTTP_PROXY": f"http://me:p%40ss@127.0.0.1:{proxy.port}"}
        for _ in range(2):
            assert await post("http://model.invalid/v1/messages?beta=true", env, headers={"x": "y"}) == (
                200,
                b"hi there",
            )

    with FakeServer([Reply(body=[b"hi", b" there"])]) as proxy:
        asyncio.run(scenario())
        assert proxy.connection_count == 1
    seen = proxy.requests[0]
    assert (seen.path, seen.body) == ("http://model.invalid/v1/messages?beta=true", b"question")
    assert seen.headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    assert seen.headers["x"] == "y"
    assert seen.headers["accept-encoding"] == "identity"


def test_a_large_answer_comes_through_whole() -> None:
    with FakeServer([Reply(body=[b"x" * 100_000] * 50)]) as proxy:
        status, body = asyncio.run(post("http://model.invalid/", {"HTTP_PROXY": proxy.url}))
    assert (status, len(body)) == (200, 5_000_000)


@pytest.mark.parametrize("reply", [Reply.never(), Reply(body=[b"a", Stall()])])
def test_abort_and_idle_timeout_work_through_a_proxy(reply: Reply) -> None:
    async def scenario() -> None:
        env = {"HTTP_PROXY": proxy.url}
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.1, controller.abort)
        with pytest.raises(OperationAbortedError):
            await post("http://model.invalid/", env, signal=controller.signal)
        with pytest.raises(TransportError, match="timed out") as caught:
            await post("http://model.invalid/", env, idle_timeout_s=0.1)
        assert caught.value.is_transient
        await asyncio.to_thread(proxy.wait_until_idle)

    with FakeServer([reply]) as proxy:
        asyncio.run(scenario())


def test_a_proxy_that_cannot_be_reached_is_a_connection_failure() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with pytest.raises(TransportError, match="through the proxy: ECONNREFUSED") as caught:
        asyncio.run(post("http://model.invalid/", {"HTTP_PROXY": f"http://me:pa55word@127.0.0.1:{port}"}))
    assert "pa55word" not in str(caught.value)


def test_a_proxy_that_breaks_off_is_a_transient_failure() -> None:
    with FakeServer([Reply.drop()]) as proxy, pytest.raises(TransportError, match="proxy") as caught:
        asyncio.run(post("http://model.invalid/", {"HTTP_PROXY": proxy.url}))
    assert caught.value.is_transient


def test_a_refusing_tunnel_is_no_transient_failure() -> None:
    with FakeServer([Reply.text("", status=407)]) as proxy, pytest.raises(TransportError, match="407") as caught:
        asyncio.run(post("https://model.invalid/", {"HTTPS_PROXY": proxy.url}))
    assert not caught.value.is_transient


@pytest.mark.parametrize("url", ["socks5://me:pa55word@p:1", "http://"])
def test_a_proxy_that_is_not_supported_is_refused(url: str) -> None:
    with pytest.raises(TransportError, match="SOCKS") as caught:
        asyncio.run(post("http://model.invalid/", {"HTTP_PROXY": url}))
    assert "pa55word" not in str(caught.value)


class TunnelProxy:
    """A proxy that connects every CONNECT request to one local port."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connects: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        self.connects.append(head.split(b"\r\n")[0])
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        upstream = socket.create_connection(("127.0.0.1", self._target_port))
        threading.Thread(target=self._pipe, args=(upstream, client), daemon=True).start()
        self._pipe(client, upstream)

    def _pipe(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_an_https_request_goes_through_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=DNS:model.invalid"]
    try:
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl command")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with FakeServer([Reply.json({"secure": True})], tls=context) as server:
        proxy = TunnelProxy(server.port)
        answer = asyncio.run(post("https://model.invalid/v1", {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"}))
        proxy.close()
    assert answer == (200, b'{"secure": true}')
    assert proxy.connects == [b"CONNECT model.invalid:443 HTTP/1.1"]
    assert server.requests[0].path == "/v1"
