"""The Responses API of the ChatGPT service over HTTP: account, headers, body, limits, its own retries."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from tests.ai.apis.responses import SYSTEM, USER, body_of, model

from pinyon.ai.apis.codex_account import account_id
from pinyon.ai.apis.codex_payload import compressed, service_url
from pinyon.ai.apis.openai_codex_responses import CodexResponses
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.errors import AuthError
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_codex import account_token
from pinyon.testing.fake_responses import answer, broken_reply, error_event, message, responses_answer
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply
from pinyon.testing.stream import collect, final_message

TOKEN = account_token("acc-1")
GOOD = responses_answer(message("fine"))
CODEX: dict[str, Any] = {"api": "openai-codex-responses", "provider": "openai-codex"}


def ask(
    *replies: ScriptedReply, clock: FakeClock | None = None, **options: Any
) -> tuple[AssistantMessage, list[RecordedRequest]]:
    with FakeServer(replies) as server:
        target = model(server.url, **CODEX, **options.pop("fields", {}))
        settled = StreamOptions(**{"api_key": TOKEN, "transport": "sse", **options})
        events = collect(CodexResponses(clock or FakeClock()).stream(target, [SYSTEM, USER], settled))
        return final_message(events), server.requests


def refused(status: int, headers: dict[str, str] | None = None, **error: Any) -> Reply:
    return Reply.json({"error": error}, status, headers)


def test_the_account_is_read_from_the_token() -> None:
    assert account_id(account_token("acc-ü")) == "acc-ü"


@pytest.mark.parametrize(
    "token",
    ["sk-plain-key", "a.b.c", "a..c", "a.%%%.c", f"a.{urlsafe_b64encode(b'[1]').decode()}.c", account_token("")],
)
def test_a_token_without_account_is_an_error_that_says_what_to_do(token: str) -> None:
    with pytest.raises(AuthError, match="sign in"):
        account_id(token)
    said, requests = ask(GOOD, api_key=token)
    assert requests == []
    assert "sign in" in str(said.error_message)
    assert token not in str(said.error_message)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("", "https://chatgpt.com/backend-api/codex/responses"),
        ("https://x.example/api/", "https://x.example/api/codex/responses"),
        ("https://x.example/codex", "https://x.example/codex/responses"),
        ("https://x.example/codex/responses", "https://x.example/codex/responses"),
    ],
)
def test_the_path_is_added_once(base_url: str, expected: str) -> None:
    assert service_url(base_url) == expected


def test_requests_name_this_program_and_the_account() -> None:
    _, requests = ask(GOOD, session_id="sid")
    headers = requests[0].headers
    assert requests[0].path == "/codex/responses"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["chatgpt-account-id"] == "acc-1"
    assert headers["originator"] == "pinyon"
    assert headers["user-agent"].startswith("pinyon/")
    assert headers["openai-beta"] == "responses=experimental"
    assert headers["accept"] == "text/event-stream"
    assert headers["session-id"] == headers["x-client-request-id"] == "sid"
    assert "session-id" not in ask(GOOD, session_id="sid", cache_retention="none")[1][0].headers


def test_the_body_has_the_fields_of_the_service_in_a_fixed_order() -> None:
    options: dict[str, Any] = {"api_key": TOKEN, "transport": "sse", "session_id": "sid", "temperature": 0.5}
    options["reasoning"] = "high"
    options["extra"] = {"service_tier": "priority"}
    options["env"] = {"PI_CACHE_RETENTION": "long"}
    body = body_of(options=options, **CODEX)
    assert list(body) == [
        "model",
        "store",
        "stream",
        "input",
        "text",
        "include",
        "prompt_cache_key",
        "tool_choice",
        "parallel_tool_calls",
        "max_output_tokens",
        "temperature",
        "service_tier",
        "tools",
        "reasoning",
    ]
    assert body["text"] == {"verbosity": "low"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["tool_choice"] == "auto"
    assert body["input"][0] == {"role": "developer", "content": "be brief"}
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}


@pytest.mark.parametrize(
    ("fields", "options", "name", "value"),
    [
        ({}, {}, "reasoning", {"effort": "none"}),
        ({"thinking_level_map": {"off": "minimal"}}, {}, "reasoning", {"effort": "minimal"}),
        ({"thinking_level_map": {"off": None}}, {}, "reasoning", None),
        ({}, {"extra": {"reasoning_effort": "none"}}, "reasoning", {"effort": "none"}),
        ({}, {"extra": {"text_verbosity": "high"}}, "text", {"verbosity": "high"}),
        ({}, {"tool_choice": "none"}, "tool_choice", "none"),
        ({}, {"max_tokens": 1}, "max_output_tokens", 16),
        ({"sampling_params": {"top_p": 1}}, {}, "top_p", None),
    ],
)
def test_an_option_changes_its_field(fields: dict[str, Any], options: dict[str, Any], name: str, value: Any) -> None:
    body = body_of(options={"api_key": TOKEN, "transport": "sse", **options}, **CODEX, **fields)
    assert body.get(name) == value


@pytest.mark.parametrize("kind", ["completed", "done", "incomplete"])
def test_every_terminal_event_ends_an_answer(kind: str) -> None:
    said, _ = ask(responses_answer(message("fine"), final_event=kind, end_turn=False))
    assert (said.text, said.stop_reason, said.end_turn) == ("fine", "stop", False)


@pytest.mark.parametrize(
    ("requested", "reported", "factor"),
    [
        ("priority", "default", 2),
        ("flex", "default", 0.5),
        (None, "default", 1),
        ("fast", "default", 1),
        (None, "fast", 1),
    ],
)
def test_a_tier_that_is_reported_as_default_is_priced_as_asked_for(
    requested: str | None, reported: str, factor: float
) -> None:
    extra = {"service_tier": requested} if requested else {}
    fields = {"cost": ModelCost(input=1, output=1)}
    said, _ = ask(responses_answer(message("x"), service_tier=reported), extra=extra, fields=fields)
    assert said.usage.cost.total == pytest.approx(120 * factor / 1e6)


@pytest.mark.parametrize("code", ["usage_limit_reached", "usage_not_included", "rate_limit_exceeded"])
def test_a_spent_plan_is_told_in_plain_words_and_not_asked_again(code: str) -> None:
    clock = FakeClock(now_ms=1_000_000)
    error: dict[str, Any] = {"type": code, "message": "limit", "plan_type": "Plus"}
    said, requests = ask(refused(403, resets_at=1000 + 29 * 60 - 5, **error), GOOD, clock=clock, max_retries=2)
    assert len(requests) == 1
    assert "(plus plan)" in str(said.error_message)
    assert "29 min" in str(said.error_message)
    assert not is_retryable_assistant_error(said)


def test_any_429_counts_as_a_limit() -> None:
    said, _ = ask(refused(429, message="slow down"))
    assert "no usage left" in str(said.error_message)
    assert not is_retryable_assistant_error(said)


@pytest.mark.parametrize("event_type", ["error", "response.failed"])
def test_a_limit_in_the_stream_is_told_the_same_way(event_type: str) -> None:
    error = {"code": "usage_limit_reached", "message": "limit", "plan_type": "pro"}
    event: dict[str, Any] = {"type": event_type}
    event |= {"error": error} if event_type == "error" else {"response": {"status": "failed", "error": error}}
    said, _ = ask(broken_reply(answer(), 1, [(event_type, event)]))
    assert "(pro plan)" in str(said.error_message)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (refused(401, message="bad key"), "bad key"),
        (Reply.text("plain words", 400), "plain words"),
        (Reply.text("", 404), "404 status code (no body)"),
        (Reply.text("<html>oops</html>", 502), "502: <html>oops</html>"),
        (refused(500, message="overloaded"), "overloaded"),
        (refused(400, message="overloaded"), "400: overloaded"),
    ],
)
def test_a_refusal_is_told_in_the_services_words(reply: Reply, expected: str) -> None:
    assert ask(reply)[0].error_message == expected


@pytest.mark.parametrize(
    ("headers", "limit_ms", "expected_s"),
    [
        ({"retry-after-ms": "1500"}, 60_000, [1.5]),
        ({"retry-after": "3"}, 60_000, [3.0]),
        ({"retry-after": "9999"}, 60_000, [60.0]),
        ({"retry-after": "90"}, 0, [90.0]),
        ({"retry-after": "Wed, garbage"}, 60_000, [1.0]),
        ({}, 60_000, [1.0]),
    ],
)
def test_passing_failures_are_asked_again_after_the_wait_that_the_service_wants(
    headers: dict[str, str], limit_ms: int, expected_s: list[float]
) -> None:
    clock = FakeClock()
    reply = refused(503, headers, message="busy")
    said, requests = ask(reply, GOOD, clock=clock, max_retries=3, max_retry_delay_ms=limit_ms)
    assert (said.text, len(requests)) == ("fine", 2)
    assert clock.sleeps_s == expected_s


def test_waits_double_and_end() -> None:
    clock = FakeClock()
    said, requests = ask(refused(500, message="busy"), clock=clock, max_retries=3)
    assert len(requests) == 4
    assert clock.sleeps_s == [1.0, 2.0, 4.0]
    assert said.stop_reason == "error"


@pytest.mark.parametrize(
    "reply",
    [
        refused(500, message="insufficient_quota"),
        refused(503, message="x", code="usage_limit_reached"),
        refused(400, message="overloaded"),
        broken_reply(answer(message("half")), 5, [error_event("server_error", "overloaded")]),
    ],
)
def test_what_waiting_does_not_mend_is_not_asked_again(reply: Reply) -> None:
    clock = FakeClock()
    said, requests = ask(reply, GOOD, clock=clock, max_retries=3)
    assert (said.stop_reason, len(requests), clock.sleeps_s) == ("error", 1, [])


def test_a_lost_connection_is_asked_again() -> None:
    said, requests = ask(Reply.drop(), GOOD, max_retries=1)
    assert (said.text, len(requests)) == ("fine", 2)


def test_only_the_service_itself_gets_compressed_bodies() -> None:
    body = b"x" * 1000
    assert compressed("http://127.0.0.1:1/codex/responses", body) is None
    small = compressed("https://chatgpt.com/backend-api/codex/responses", body)
    assert small is None or (small[:4] == b"\x28\xb5\x2f\xfd" and len(small) < 100)
