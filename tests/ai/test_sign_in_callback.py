"""The loopback server of a sign-in: what it takes, what it refuses, and which page the browser gets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ai.login_user import context_of

from pinyon.ai.oauth import OAuthError
from pinyon.ai.sign_in.browser import Redirect, parse_pasted
from pinyon.ai.sign_in.callback import CallbackServer, open_callback_server, refuse_error

STATE = "the-state"


def visit(server: CallbackServer, target: str, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{target}", method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def serve(during: Callable[[CallbackServer], Awaitable[None]], state: str | None = STATE) -> None:
    async def run() -> None:
        async with open_callback_server(context_of(), "/cb", state=state) as server:
            await during(server)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("target", "method", "status"),
    [
        ("/", "GET", 404),
        ("/cb/", "GET", 404),
        ("/cbx?code=c&state=the-state", "GET", 404),
        ("/cb?code=c&state=the-state", "POST", 405),
        ("/cb?code=c&state=the-state", "HEAD", 405),
        ("/cb?code=c&state=wrong", "GET", 400),
        ("/cb?code=c", "GET", 400),
        ("/cb?state=the-state", "GET", 400),
    ],
)
def test_requests_that_are_not_the_redirect_change_nothing(target: str, method: str, status: int) -> None:
    async def during(server: CallbackServer) -> None:
        assert (await asyncio.to_thread(visit, server, target, method))[0] == status
        right = asyncio.create_task(asyncio.to_thread(visit, server, f"/cb?code=right&state={STATE}"))
        assert (await server.query())["code"] == "right"
        server.finish()
        assert (await right)[0] == 200

    serve(during)


def test_the_second_redirect_is_refused() -> None:
    async def during(server: CallbackServer) -> None:
        first = asyncio.create_task(asyncio.to_thread(visit, server, f"/cb?code=1&state={STATE}"))
        await server.query()
        status, _ = await asyncio.to_thread(visit, server, f"/cb?code=2&state={STATE}")
        assert status == 409
        server.finish()
        await first
        assert (await server.query())["code"] == "1"

    serve(during)


def test_the_browser_learns_how_the_sign_in_ended() -> None:
    pages: list[tuple[int, str]] = []

    async def failing(server: CallbackServer) -> None:
        visiting = asyncio.create_task(asyncio.to_thread(visit, server, f"/cb?code=1&state={STATE}"))
        await server.query()
        server.finish("<script>no</script>")
        pages.append(await visiting)

    serve(failing)
    assert pages[0][0] == 400
    assert "<script>" not in pages[0][1]


@pytest.mark.parametrize(
    "junk", [b"", b"\r\n\r\n", b"GET /cb?code=c HTTP/1.1\r\n", b"\x16\x03\x01\x02", b"A" * 200_000]
)
def test_what_is_no_request_does_not_end_the_wait(junk: bytes) -> None:
    async def during(server: CallbackServer) -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as connection, contextlib.suppress(OSError):
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            await asyncio.to_thread(connection.recv, 10)
        right = asyncio.create_task(asyncio.to_thread(visit, server, f"/cb?code=right&state={STATE}"))
        await server.query()
        server.finish()
        assert (await right)[0] == 200

    serve(during)


def test_an_idle_connection_does_not_hold_the_sign_in_back() -> None:
    async def during(server: CallbackServer) -> None:
        connection = socket.create_connection(("127.0.0.1", server.port))
        try:
            right = asyncio.create_task(asyncio.to_thread(visit, server, f"/cb?code=right&state={STATE}"))
            await server.query()
            server.finish()
            await right
        finally:
            connection.close()

    serve(during)


def test_a_refusal_is_told_without_control_characters() -> None:
    with pytest.raises(OAuthError) as caught:
        refuse_error({"error": "access_denied", "error_description": "no\x1b[2J\nway"}, "signing in")
    assert str(caught.value) == "signing in was refused: no way"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://127.0.0.1/cb?code=c&state=s", {"code": "c", "state": "s"}),
        ("  http://other.example/?state=s&code=c#x ", {"code": "c", "state": "s"}),
        ("code=c&state=s", {"code": "c", "state": "s"}),
        ("?code=c", {"code": "c"}),
        ("c#s", {"code": "c", "state": "s"}),
        ("c", {"code": "c"}),
        ("http://127.0.0.1/cb?error=no&state=s", {"error": "no", "state": "s"}),
        ("http://127.0.0.1/cb?code=c", "another sign-in"),
        ("http://127.0.0.1/cb?code=c&state=t", "another sign-in"),
        ("c#t", "another sign-in"),
        ("http://127.0.0.1/cb?x=1", "holds no code"),
        ("http://[bad/?code=c", "holds no code"),
        ("two words", "is no code"),
        ("", "is no code"),
    ],
)
def test_pasted_texts_are_read_with_care(text: str, expected: dict[str, str] | str) -> None:
    found = parse_pasted(text, Redirect(path="/cb", state="s"))
    if isinstance(expected, dict):
        assert found == expected
    else:
        assert isinstance(found, str)
        assert expected in found


@given(st.text())
def test_no_pasted_text_is_too_odd(text: str) -> None:
    found = parse_pasted(text, Redirect(path="/cb", state="s"))
    assert isinstance(found, str) or found.get("code") or found.get("error")


def test_the_callback_listens_where_the_variable_says() -> None:
    async def run() -> None:
        async with open_callback_server(context_of(env={"PI_OAUTH_CALLBACK_HOST": "192.0.2.1"}), "/cb"):
            raise AssertionError("that address is on no machine")

    with pytest.raises(OSError):
        asyncio.run(run())
