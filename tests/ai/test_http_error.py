"""Failed requests: repeating them and telling about them."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.ai.http_error import (
    HttpRetry,
    HttpStatusError,
    error_text,
    failure_event,
    open_with_retry,
    retry_after_s,
    secrets_of,
    status_error_text,
)
from pinyon.ai.live import LiveAnswer
from pinyon.ai.model import Model
from pinyon.ai.transport import (
    DEFAULT_TRANSPORT,
    FunctionTransport,
    HttpRequest,
    HttpResponse,
    MemoryResponse,
    TransportError,
    read_body,
)
from pinyon.errors import ProviderError
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_server import FakeServer, Reply


@pytest.mark.parametrize(
    ("status", "body", "unwrapped", "whole"),
    [
        (
            429,
            '{"type":"error","error":{"message":"slow"}}',
            '429: {"message":"slow"}',
            '429 {"type":"error","error":{"message":"slow"}}',
        ),
        (400, '{"detail":"x"}', '400 {"detail":"x"}', '400 {"detail":"x"}'),
        (400, '{"error":"x"}', '400 {"error":"x"}', '400 {"error":"x"}'),
        (502, "<html>bad</html>\n", "502 <html>bad</html>", "502 <html>bad</html>"),
        (413, "", "413 status code (no body)", "413 status code (no body)"),
        (500, " \n", "500 status code (no body)", "500 status code (no body)"),
    ],
)
def test_the_text_of_a_status(status: int, body: str, unwrapped: str, whole: str) -> None:
    assert status_error_text(status, body, unwrap_error=True) == unwrapped
    assert status_error_text(status, body, unwrap_error=False) == whole


def test_a_long_body_is_cut_and_says_so() -> None:
    text = status_error_text(500, "x" * 5000, unwrap_error=True)
    assert text == "500 " + "x" * 4000 + "... [1000 more characters]"


class Network:
    """Scripted outcomes of requests, and the loop under test with a clock that records its pauses."""

    def __init__(self, *outcomes: HttpResponse | Exception) -> None:
        self.outcomes = list(outcomes)
        self.clock = FakeClock()
        self.transport = FunctionTransport(self.answer)

    def answer(self, request: HttpRequest) -> HttpResponse:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def open(self, max_retries: int = 3, max_delay_ms: int = 60_000) -> HttpResponse:
        retry = HttpRetry(max_retries=max_retries, max_delay_ms=max_delay_ms, clock=self.clock, draw=lambda: 0.0)
        return asyncio.run(open_with_retry(self.transport, HttpRequest(method="POST", url="http://x/"), retry))


def status(code: int, headers: dict[str, str] | None = None, body: str = "") -> MemoryResponse:
    return MemoryResponse(code, headers, [body.encode()] if body else [])


@pytest.mark.parametrize(
    "failure",
    [
        status(408),
        status(409),
        status(429),
        status(500),
        status(529),
        status(400, {"x-should-retry": "true"}),
        TransportError("Request timed out", "timeout"),
        TransportError("Connection error", "connection"),
    ],
)
def test_passing_failures_are_repeated(failure: HttpResponse | Exception) -> None:
    network = Network(failure, status(200))
    assert network.open().status == 200
    assert network.clock.sleeps_s == [0.5]


@pytest.mark.parametrize("failure", [status(400), status(401), status(404), status(500, {"x-should-retry": "false"})])
def test_other_statuses_are_not(failure: HttpResponse) -> None:
    network = Network(failure, status(200))
    with pytest.raises(HttpStatusError) as caught:
        network.open()
    assert caught.value.status == failure.status
    assert network.clock.sleeps_s == []


def test_a_failure_of_the_request_itself_is_not_repeated() -> None:
    network = Network(TransportError("bad url", "request"), status(200))
    with pytest.raises(TransportError):
        network.open()
    assert network.clock.sleeps_s == []


def test_by_default_nothing_is_repeated() -> None:
    network = Network(status(500, body="down"), status(200))
    with pytest.raises(HttpStatusError, match="500 down"):
        network.open(max_retries=0)


def test_pauses_double_and_the_last_failure_is_raised() -> None:
    network = Network(*(status(500, body=str(number)) for number in range(7)))
    with pytest.raises(HttpStatusError, match="500 6"):
        network.open(max_retries=6)
    assert network.clock.sleeps_s == [0.5, 1, 2, 4, 8, 8]


def test_chance_shortens_a_pause_by_up_to_a_quarter() -> None:
    network = Network(status(500), status(200))
    retry = HttpRetry(max_retries=1, clock=network.clock, draw=lambda: 1.0)
    asyncio.run(open_with_retry(network.transport, HttpRequest(method="POST", url="http://x/"), retry))
    assert network.clock.sleeps_s == [0.375]


@pytest.mark.parametrize(
    ("headers", "delay_s"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": formatdate(1_700_000_030, usegmt=True)}, 30),
        ({"retry-after": formatdate(1_600_000_000, usegmt=True)}, 0),
        ({"retry-after": "Wed, garbage"}, 0.5),
        ({"retry-after": "-5"}, 0.5),
        ({"retry-after": "nan"}, 0.5),
        ({"retry-after": "inf"}, 0.5),
        ({"retry-after": ""}, 0.5),
        ({}, 0.5),
    ],
)
def test_the_server_may_say_how_long_to_wait_and_nonsense_is_ignored(headers: dict[str, str], delay_s: float) -> None:
    network = Network(status(429, headers), status(200))
    network.open()
    assert network.clock.sleeps_s == [delay_s]


def test_a_wait_beyond_the_limit_fails_at_once_and_names_both_numbers() -> None:
    network = Network(status(429, {"retry-after": "9999"}, "slow down"), status(200))
    with pytest.raises(HttpStatusError, match=r"429 slow down.*retry delay of 9999 s.*limit of 60 s"):
        network.open()
    assert network.clock.sleeps_s == []


def test_a_limit_of_zero_allows_any_wait() -> None:
    network = Network(status(429, {"retry-after": "9999"}), status(200))
    network.open(max_delay_ms=0)
    assert network.clock.sleeps_s == [9999]


def test_an_abort_ends_the_pause() -> None:
    async def scenario() -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        request = HttpRequest(method="POST", url=server.url, signal=controller.signal)
        with pytest.raises(OperationAbortedError):
            await open_with_retry(DEFAULT_TRANSPORT, request, HttpRetry(max_retries=1))

    with FakeServer([Reply.text("later", status=503, headers={"retry-after": "50"})]) as server:
        asyncio.run(scenario())
        assert len(server.requests) == 1


def test_repeated_requests_over_loopback_keep_their_connection() -> None:
    async def scenario() -> bytes:
        request = HttpRequest(method="POST", url=server.url, body=b"{}")
        retry = HttpRetry(max_retries=2, clock=FakeClock())
        return await read_body(await open_with_retry(DEFAULT_TRANSPORT, request, retry), 100)

    with FakeServer([Reply.text("a", status=500), Reply.text("b", status=429), Reply.text("fine")]) as server:
        assert asyncio.run(scenario()) == b"fine"
        assert [request.body for request in server.requests] == [b"{}"] * 3
        assert server.connection_count == 1


def test_a_redirect_names_where_it_leads() -> None:
    network = Network(status(308, {"location": "https://x/v1"}))
    with pytest.raises(HttpStatusError, match=r"https://x/v1.*base URL"):
        network.open()


def test_an_error_body_that_breaks_off_still_gives_the_status() -> None:
    with (
        FakeServer([Reply(raw=b"HTTP/1.1 400 x\r\ncontent-length: 100\r\n\r\nabc")]) as server,
        pytest.raises(HttpStatusError, match=r"400 .*could not be read"),
    ):
        asyncio.run(open_with_retry(DEFAULT_TRANSPORT, HttpRequest(method="POST", url=server.url), HttpRetry()))


def test_a_pointless_header_means_no_wish() -> None:
    assert retry_after_s({"retry-after": "tomorrow"}) is None


def test_credentials_among_headers_are_found() -> None:
    headers = {"Authorization": "Bearer abc-123", "X-Api-Key": "k-456", "accept": "x", "cf-aig-authorization": "t"}
    assert secrets_of(headers, "main") == ["main", "Bearer abc-123", "abc-123", "k-456", "t"]


@pytest.mark.parametrize(
    "echo",
    [
        "401 bad key sk-secret-123456",
        '401 {"headers":{"authorization":"Bearer sk-secret-123456"}}',
        "Authorization: Bearer sk-secret-123456",
        "proxy http://me:sk-secret-123456@host refused",
        "x-api-key: sk-secret-123456",
    ],
)
def test_no_text_repeats_a_credential_that_a_server_echoes(echo: str) -> None:
    assert "sk-secret-123456" not in error_text(ProviderError(echo), ["sk-secret-123456"])


def test_foreign_exceptions_are_told_with_their_class() -> None:
    assert error_text(ValueError("odd")) == "ValueError: odd"
    assert error_text(KeyError()) == "KeyError"
    assert error_text(ProviderError("ours")) == "ours"


def model() -> Model:
    return Model(id="m", name="M", api="a", provider="p", base_url="http://x")


def test_any_failure_after_an_abort_is_an_abort() -> None:
    controller = AbortController()
    controller.abort()
    event = failure_event(LiveAnswer(model()), TransportError("Connection closed", "connection"), controller.signal)
    assert event.reason == "aborted"
    assert failure_event(LiveAnswer(model()), OperationAbortedError(), None).reason == "aborted"
    assert failure_event(LiveAnswer(model()), ProviderError("x"), AbortController().signal).reason == "error"


def test_a_credential_is_known_without_the_line_break_behind_it() -> None:
    assert secrets_of({"x-api-key": "key-123\n"}, "key-123\n") == ["key-123", "key-123"]
