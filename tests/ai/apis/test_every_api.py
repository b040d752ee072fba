"""What holds for every wire API alike: aborts at any point, limits on waiting, and errors without credentials."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pinyon._util.abort import AbortController
from pinyon.ai.api import api_names, get_api
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.testing.fake_server import FakeServer, Reply, Stall

HANG_S = 60.0
USER = UserMessage(content="hello", timestamp=1)
APIS = [name for name in api_names() if name not in ("faux", "pi-virtual")]
OWN_RETRIES = {"bedrock-converse-stream"}
"""APIs whose attempts are not the caller's to choose."""
WITHOUT_RETRIES = {"pi-messages", "mistral-conversations"}
CAPPED_WAITS = {"openai-codex-responses"}
"""APIs that wait no longer than allowed where the server asks for more; the others give up."""

SOON_S = 0.05


def _token() -> str:
    """A key that every API takes: some read an account from it."""
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}
    return f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.SECRETSIGNATURE99"


KEY = _token()


def model(api: str, url: str) -> Model:
    # A provider id of nobody: no vendor's special cases, and a base URL that is taken as it is.
    return Model(id="m-1", name="M", api=api, provider="somebody", base_url=url, reasoning=True)


async def ask(api: str, url: str, controller: AbortController | None = None, **options: Any) -> AssistantMessage:
    given: dict[str, Any] = {"api_key": KEY, "transport": "sse", "signal": controller.signal if controller else None}
    async with asyncio.timeout(HANG_S):
        return await get_api(api).stream(model(api, url), [USER], StreamOptions(**(given | options))).result()


def aborted(api: str, url: str, when: Callable[[AbortController], None], **options: Any) -> AssistantMessage:
    """The answer of a request that another thread aborts when `when` thinks it is time."""

    async def run() -> AssistantMessage:
        controller = AbortController()
        thread = threading.Thread(target=when, args=[controller])
        thread.start()
        try:
            return await ask(api, url, controller, **options)
        finally:
            await asyncio.to_thread(thread.join)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


@contextlib.contextmanager
def full_listener() -> Iterator[int]:
    """The port of a socket whose queue is full, so that connecting to it takes for ever."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


class Silent:
    """A server that accepts connections and says nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []

    def wait_for_bytes(self) -> None:
        """Return when a client has connected and sent something."""
        self._listener.settimeout(HANG_S)
        client, _ = self._listener.accept()
        self._accepted.append(client)
        client.settimeout(HANG_S)
        client.recv(1)

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        for client in (*self._accepted, self._listener):
            client.close()


def soon(controller: AbortController) -> None:
    threading.Event().wait(SOON_S)
    controller.abort()


@pytest.mark.parametrize("api", APIS)
def test_an_abort_before_the_request_sends_nothing(api: str) -> None:
    async def run(url: str) -> AssistantMessage:
        controller = AbortController()
        controller.abort()
        return await ask(api, url, controller)

    with FakeServer([Reply.never()]) as server:
        assert asyncio.run(run(server.url)).stop_reason == "aborted"
        assert not server.requests


@pytest.mark.parametrize("api", APIS)
def test_an_abort_while_connecting_ends_the_request(api: str) -> None:
    with full_listener() as port:
        assert aborted(api, f"http://127.0.0.1:{port}", soon).stop_reason == "aborted"


@pytest.mark.parametrize("api", APIS)
def test_an_abort_during_the_tls_handshake_ends_the_request(api: str) -> None:
    with Silent() as server:

        def when(controller: AbortController) -> None:
            server.wait_for_bytes()
            controller.abort()

        assert aborted(api, f"https://127.0.0.1:{server.port}", when).stop_reason == "aborted"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_abort_while_the_proxy_says_nothing_ends_the_request(api: str, scheme: str) -> None:
    with Silent() as proxy:

        def when(controller: AbortController) -> None:
            proxy.wait_for_bytes()
            controller.abort()

        env = {f"{scheme}_proxy": f"http://127.0.0.1:{proxy.port}"}
        message = aborted(api, f"{scheme}://models.example.test", when, env=env)
        assert message.stop_reason == "aborted"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "reply",
    [Reply.never(), Reply(body=[Stall()]), Reply(status=500, body=[Stall()])],
    ids=["headers", "body", "refusal"],
)
def test_an_abort_while_waiting_for_the_answer_ends_the_request(api: str, reply: Reply) -> None:
    with FakeServer([reply]) as server:

        def when(controller: AbortController) -> None:
            server.wait_for_requests(1)
            soon(controller)

        assert aborted(api, server.url, when).stop_reason == "aborted"


@pytest.mark.parametrize("api", [name for name in APIS if name not in WITHOUT_RETRIES])
def test_an_abort_between_two_attempts_ends_the_request(api: str) -> None:
    with FakeServer([Reply.text("busy", 503, {"retry-after": "50"})]) as server:

        def when(controller: AbortController) -> None:
            server.wait_for_requests(1)
            soon(controller)

        assert aborted(api, server.url, when, max_retries=2).stop_reason == "aborted"
        assert len(server.requests) == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("reply", [Reply.never(), Reply(body=[Stall()])], ids=["headers", "body"])
def test_a_silent_server_is_given_up_after_the_idle_timeout(api: str, reply: Reply) -> None:
    with FakeServer([reply]) as server:
        message = asyncio.run(ask(api, server.url, timeout_ms=50))
    assert message.stop_reason == "error"
    assert "timed out" in str(message.error_message)
    assert is_retryable_assistant_error(message)


@pytest.mark.parametrize("api", [name for name in APIS if name not in OWN_RETRIES])
def test_a_server_that_cannot_be_reached_is_given_up_after_the_connect_timeout(api: str) -> None:
    with full_listener() as port:
        message = asyncio.run(ask(api, f"http://127.0.0.1:{port}", connect_timeout_ms=50))
    assert "timed out" in str(message.error_message)


@pytest.mark.parametrize("api", [name for name in APIS if name not in WITHOUT_RETRIES])
@pytest.mark.parametrize("header", [{"retry-after-ms": "1"}, {"retry-after": "0"}])
def test_a_passing_refusal_is_repeated_as_often_as_allowed(api: str, header: dict[str, str]) -> None:
    with FakeServer([Reply.text("busy", 503, header)]) as server:
        message = asyncio.run(ask(api, server.url, max_retries=2))
        assert len(server.requests) == 3
    assert is_retryable_assistant_error(message), message.error_message


@pytest.mark.parametrize("api", [name for name in APIS if name not in OWN_RETRIES])
def test_nothing_is_repeated_unless_the_caller_wants_it(api: str) -> None:
    with FakeServer([Reply.text("busy", 503, {"retry-after-ms": "1"})]) as server:
        asyncio.run(ask(api, server.url))
        assert len(server.requests) == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_final_refusal_is_not_repeated(api: str, status: int) -> None:
    with FakeServer([Reply.json({"error": {"message": "no"}, "message": "no"}, status)]) as server:
        message = asyncio.run(ask(api, server.url, max_retries=3))
        assert len(server.requests) == 1
    assert message.stop_reason == "error"
    assert not is_retryable_assistant_error(message), message.error_message


@pytest.mark.parametrize("api", [name for name in APIS if name not in WITHOUT_RETRIES])
def test_a_wait_beyond_the_limit_is_not_waited_for(api: str) -> None:
    with FakeServer([Reply.json({"error": {"message": "slow"}}, 429, {"retry-after": "9999"})]) as server:
        message = asyncio.run(ask(api, server.url, max_retries=3, max_retry_delay_ms=1))
        assert len(server.requests) == (4 if api in CAPPED_WAITS else 1)
    assert message.stop_reason == "error"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "reply",
    [
        Reply.json({"error": {"message": f"bad key {KEY}"}, "message": f"bad key {KEY}"}, 401),
        Reply.text(f"Authorization: Bearer {KEY}", 403),
        Reply.text(f"<html>{KEY}</html>"),
        Reply.sse(
            [("error", {"type": "error", "error": {"type": "e", "message": KEY}, "message": KEY, "reason": "error"})]
        ),
        Reply.json({"error": {"message": "no", "code": KEY, "type": KEY, "param": [KEY]}, "__type": KEY}, 400),
        Reply.text("x" * (4000 - len(KEY) // 2) + KEY, 400),
        Reply.json({"error": {"message": "x" * (3980 - len(KEY) // 2) + KEY}}, 400),
        Reply.text("x" * (300 - len(KEY) // 2) + KEY + "x" * 1000),
        Reply.text("moved", 307, {"location": f"https://elsewhere.example.test/?key={KEY}"}),
        Reply.sse([(None, {"type": "start"}), (None, {"type": "error", "reason": KEY, "rewrite": {KEY: [KEY]}})]),
    ],
)
def test_a_credential_that_the_server_echoes_does_not_show(api: str, reply: Reply) -> None:
    with FakeServer([reply]) as server:
        message = asyncio.run(ask(api, server.url))
    assert message.stop_reason == "error"
    assert KEY[: len(KEY) // 2] not in f"{message.error_message} {message.diagnostics}"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("body", ["", "{}", "<html>", "data: [1]\n\n", "data: {}\n\n"])
def test_an_answer_that_is_none_is_an_error(api: str, body: str) -> None:
    with FakeServer([Reply.text(body)]) as server:
        message = asyncio.run(ask(api, server.url))
    assert message.stop_reason == "error"
    assert message.error_message


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("body", ['{"a":' * 50_000, "x" * 200_000, json.dumps({"error": {"message": "x" * 200_000}})])
def test_an_endless_refusal_is_cut(api: str, body: str) -> None:
    with FakeServer([Reply.text(body, 400)]) as server:
        message = asyncio.run(ask(api, server.url))
    assert message.stop_reason == "error"
    assert len(str(message.error_message)) < 10_000
