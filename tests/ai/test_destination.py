from __future__ import annotations

import asyncio

import pytest

from pinyon.ai.destination import REQUESTS_VARIABLE, RequestBlockedError, check_destination, is_loopback, watch_blocked
from pinyon.ai.retry import is_retryable_error_text
from pinyon.ai.transport import (
    DEFAULT_TRANSPORT,
    DefaultTransport,
    FunctionTransport,
    HttpRequest,
    MemoryResponse,
    standing_in,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://127.8.9.1/", True),
        ("http://localhost:1/", True),
        ("https://models.localhost/", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("http://user@example.com/127.0.0.1", False),
        ("http://127.0.0.1@example.com/", False),
        ("http://10.0.0.1/", False),
        ("http://0.0.0.0/", False),
        ("not a url", False),
    ],
)
def test_loopback_is_told_from_the_host_alone(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize("permitted", ["", "all", None])
def test_everything_is_permitted_unless_said_otherwise(permitted: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if permitted is None:
        monkeypatch.delenv(REQUESTS_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(REQUESTS_VARIABLE, permitted)
    check_destination("https://api.example.com/v1")


@pytest.mark.parametrize("permitted", ["loopback", "lopback"])
def test_a_refusal_comes_before_the_network_names_no_secret_and_is_not_repeated(
    permitted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUESTS_VARIABLE, permitted)
    heard: list[str] = []
    stop = watch_blocked(heard.append)
    request = HttpRequest(method="POST", url="https://me:pw@api.example.invalid:444/v1?key=secret")
    with pytest.raises(RequestBlockedError) as caught:
        asyncio.run(DEFAULT_TRANSPORT.open(request))
    stop()
    assert heard == ["https://api.example.invalid:444/v1"]
    assert not any(word in str(caught.value) for word in ("secret", "pw"))
    assert not is_retryable_error_text(str(caught.value))


def test_a_stand_in_gets_the_requests_of_every_default_transport() -> None:
    answers = FunctionTransport(lambda request: MemoryResponse(204))

    async def scene() -> int:
        with standing_in(answers):
            return (await DefaultTransport().open(HttpRequest(method="GET", url="http://example.invalid/"))).status

    assert asyncio.run(scene()) == 204
    assert [request.url for request in answers.requests] == ["http://example.invalid/"]
    assert DefaultTransport.stand_in is None
