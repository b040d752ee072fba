"""What can go wrong with the Responses APIs: keys, refusals, retries, broken streams, aborts, secrets."""

import asyncio
import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest
from tests.ai.apis.responses import KEY, SYSTEM, USER, exchange, model

from pinyon._util.abort import AbortController
from pinyon.ai.api import get_api
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.event import AssistantMessageEvent, StreamError, TextDelta
from pinyon.ai.message import AssistantMessage, Message, UserMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.refused_image import forget_refused_images
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.errors import AuthError
from pinyon.testing.fake_codex import account_token
from pinyon.testing.fake_responses import (
    answer,
    broken_reply,
    error_event,
    error_reply,
    failed_answer,
    function_call,
    message,
    responses_answer,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, ScriptedReply, Stall
from pinyon.testing.stream import event_names, final_message

APIS = ["openai-responses", "azure-openai-responses", "openai-codex-responses"]
PREFIX = {"openai-responses": "OpenAI API error", "azure-openai-responses": "Azure OpenAI API error"}
TOKEN = account_token("acc-1", mark="canary-credential-77")
GOOD = responses_answer(message("fine"))


def ask(api: str, *replies: ScriptedReply, **options: Any) -> tuple[AssistantMessage, int]:
    """The final message, and how many requests it took."""
    options = {"api_key": TOKEN, "transport": "sse", **options}
    events, requests = exchange(*replies, fields={"api": api, **options.pop("fields", {})}, **options)
    return final_message(events), len(requests)


@pytest.mark.parametrize("api", APIS)
def test_a_request_without_a_key_is_refused_at_once(api: str) -> None:
    with pytest.raises(AuthError, match="'openai'"):
        get_api(api).stream(model(api=api), [SYSTEM, USER], StreamOptions())


@pytest.mark.parametrize(
    ("api", "header"), [("openai-responses", "Authorization"), ("azure-openai-responses", "api-key")]
)
def test_a_header_can_sign_in_place_of_a_key(api: str, header: str) -> None:
    events, requests = exchange(GOOD, fields={"api": api}, api_key=None, headers={header: "own"})
    assert final_message(events).text == "fine"
    assert requests[0].headers[header.lower()] == "own"


@pytest.mark.parametrize("api", PREFIX)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error_reply(401, "bad key", "invalid_api_key"), ' (401): {"message":"bad key"'),
        (Reply.json({"detail": "x"}, 400), ' (400): 400 {"detail":"x"}'),
        (Reply.text("<html>oops</html>", 502), " (502): 502 <html>oops</html>"),
        (Reply.text("", 413), " (413): 413 status code (no body)"),
    ],
)
def test_a_refusal_names_who_refused_and_the_status(api: str, reply: Reply, expected: str) -> None:
    said, _ = ask(api, reply)
    assert said.stop_reason == "error"
    assert str(said.error_message).startswith(PREFIX[api] + expected)


def test_another_provider_is_named_by_its_id() -> None:
    said, _ = ask("openai-responses", error_reply(429, "slow down"), fields={"provider": "xai"})
    assert str(said.error_message).startswith("xai API error (429): ")
    assert is_retryable_assistant_error(said)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("status", "is_retried"), [(400, False), (401, False), (403, False), (500, True), (503, True)])
def test_the_status_decides_whether_the_agent_asks_again(api: str, status: int, is_retried: bool) -> None:
    said, _ = ask(api, error_reply(status, "no luck"))
    assert is_retryable_assistant_error(said) == is_retried


@pytest.mark.parametrize("api", PREFIX)
def test_a_context_that_is_too_long_is_recognised(api: str) -> None:
    text = "Your input exceeds the context window of this model."
    said, _ = ask(api, error_reply(400, text, "context_length_exceeded"))
    assert is_context_overflow(said)
    assert is_context_overflow(ask(api, Reply.text("", 413))[0])


@pytest.mark.parametrize("api", APIS)
def test_a_passing_failure_is_asked_again_within_the_request(api: str) -> None:
    refused = Reply.json({"error": {"message": "busy"}}, 503, {"retry-after-ms": "1"})
    said, count = ask(api, refused, GOOD, max_retries=1)
    assert (said.text, count) == ("fine", 2)


@pytest.mark.parametrize("api", PREFIX)
def test_a_wait_beyond_the_limit_fails_at_once(api: str) -> None:
    said, count = ask(api, error_reply(429, "slow", retry_after="9999"), GOOD, max_retries=3)
    assert count == 1
    assert "retry delay" in str(said.error_message)
    assert "60" in str(said.error_message)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("subscription_sharing_usage_limit_exceeded", "https://chatgpt.com/settings/usage"),
        ("subscription_sharing_workplace_individual_usage_limit_exceeded", "administrator"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_limits_of_a_chatgpt_plan_say_where_to_look(code: str, hint: str, is_streamed: bool) -> None:
    reply = broken_reply(answer(), 1, [error_event(code)]) if is_streamed else error_reply(429, "spent", code)
    said, _ = ask("openai-responses", reply)
    assert hint in str(said.error_message)
    assert not is_retryable_assistant_error(said)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (failed_answer("server_error", "boom"), "server_error: boom"),
        (responses_answer(status="failed"), "the response is failed"),
        (responses_answer(message("x"), status="cancelled"), "the response is cancelled"),
        (broken_reply(answer(message("half")), 4, [error_event("server_error", "boom")]), "server_error: boom"),
        (broken_reply(answer(message("half")), 4, [("error", {"error": {"message": "in", "code": "c"}})]), "c: in"),
        (
            responses_answer(message("x"), status="incomplete", incomplete_details={"reason": "content_filter"}),
            "the response is incomplete: content_filter",
        ),
        (
            broken_reply(answer(message("half")), 5),
            "the connection closed too early: stream ended before a terminal response event",
        ),
        (broken_reply(answer(message("half")), 5, [b"data: {oops\n\n"]), "an event that is not JSON"),
        (Reply.sse([]), "ended without an answer"),
        (Reply.text("<html>hello</html>"), "ended without an answer"),
        (responses_answer(), "without text or a tool call"),
        (responses_answer(message("  ")), "without text or a tool call"),
        (responses_answer(function_call("ls", is_told_done=False)), "unfinished tool call"),
        (Reply.json({"error": {"message": "late", "code": "x"}}), "x: late"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(api: str, reply: ScriptedReply, expected: str) -> None:
    said, _ = ask(api, reply)
    assert said.stop_reason == "error"
    assert expected in str(said.error_message)


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_is_cut_keeps_what_had_come(api: str) -> None:
    said, count = ask(api, broken_reply(answer(message("half an answer")), 5, [Cut()]), max_retries=2)
    assert (said.stop_reason, count) == ("error", 1)
    assert said.text == "half an"
    assert is_retryable_assistant_error(said)


@pytest.mark.parametrize("api", APIS)
def test_a_lost_connection_is_worth_asking_again(api: str) -> None:
    said, _ = ask(api, Reply.drop())
    assert is_retryable_assistant_error(said)


@pytest.mark.parametrize("api", APIS)
def test_a_silent_server_times_out(api: str) -> None:
    said, _ = ask(api, broken_reply(answer(message("half")), 4, [Stall()]), timeout_ms=100)
    assert "timed out" in str(said.error_message)


@pytest.mark.parametrize("api", APIS)
def test_an_abort_ends_the_stream_at_once(api: str) -> None:
    controller = AbortController()

    async def read(url: str) -> tuple[list[AssistantMessageEvent], float]:
        options = StreamOptions(api_key=TOKEN, signal=controller.signal, transport="sse")
        events: list[AssistantMessageEvent] = []
        aborted_at = 0.0
        async for event in get_api(api).stream(model(url, api=api), [SYSTEM, USER], options):
            events.append(event)
            if isinstance(event, TextDelta) and not controller.signal.aborted:
                asyncio.get_running_loop().call_soon(controller.abort)
                aborted_at = time.monotonic()
        return events, time.monotonic() - aborted_at

    with FakeServer([broken_reply(answer(message("half an answer")), 5, [Stall()])]) as server:
        events, took_s = asyncio.run(read(f"{server.url}/v1"))
        server.wait_until_idle()
    last = events[-1]
    assert isinstance(last, StreamError)
    assert (last.reason, last.error.text) == ("aborted", "half an")
    assert took_s < 5
    assert event_names(events).count("error") == 1


@pytest.mark.parametrize("api", APIS)
def test_an_abort_before_the_request_sends_nothing(api: str) -> None:
    controller = AbortController()
    controller.abort()
    said, count = ask(api, GOOD, signal=controller.signal)
    assert (said.stop_reason, count) == ("aborted", 0)


@pytest.mark.parametrize("api", APIS)
def test_images_that_the_server_refuses_are_left_out(api: str) -> None:
    forget_refused_images()
    turns: list[Message] = [
        SYSTEM,
        UserMessage(content=[TextContent("see"), ImageContent("AAAA", "image/png")], timestamp=1),
    ]
    events, requests = exchange(
        error_reply(400, "Invalid image data"),
        GOOD,
        messages=turns,
        fields={"api": api},
        api_key=TOKEN,
        transport="sse",
    )
    said = final_message(events)
    forget_refused_images()
    assert said.text == "fine"
    assert "input_image" not in str(requests[1].json)
    assert [diagnostic.type for diagnostic in said.diagnostics or ()] == ["refused_images_fallback"]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "reply",
    [
        Reply.text(f"rejected {TOKEN}", 401),
        Reply.json({"error": {"message": f"bad Authorization: Bearer {TOKEN}", "code": "x"}}, 403),
        Reply.json({"error": {"message": f"api-key: {TOKEN}", "code": "x"}}, 500),
        failed_answer("x", f"rejected {TOKEN}"),
        broken_reply(answer(), 1, [error_event("x", f"rejected {TOKEN}")]),
        Reply.text(f"an odd page with {TOKEN}"),
        Reply.drop(),
    ],
)
def test_the_key_never_shows_up_in_what_is_kept(api: str, reply: ScriptedReply) -> None:
    said, _ = ask(api, reply)
    assert said.stop_reason == "error"
    kept = msgspec.json.encode(said).decode()
    assert "canary-credential" not in kept
    assert TOKEN.split(".")[1] not in kept


@pytest.mark.parametrize("api", APIS)
def test_a_hook_that_fails_ends_the_stream_as_an_event(api: str) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("mine")

    for name in ("on_payload", "on_response", "on_provider_stream_event"):
        said, _ = ask(api, GOOD, **{name: broken})
        assert "KeyError" in str(said.error_message)


def test_importing_one_api_imports_no_other() -> None:
    homes = {
        "openai_responses": ["azure_openai_responses", "openai_codex_responses", "openai_completions"],
        "azure_openai_responses": ["openai_responses", "openai_codex_responses", "openai_completions"],
        "openai_codex_responses": ["openai_responses", "azure_openai_responses", "openai_completions", "websockets"],
    }
    for home, others in homes.items():
        code = f"import sys, pinyon.ai.apis.{home}; print(sorted(sys.modules))"
        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for other in others:
            name = other if other == "websockets" else f"pinyon.ai.apis.{other}"
            assert f"'{name}'" not in loaded
        for heavy in ("'httpcore2'", "'openai'", "'pydantic'"):
            assert heavy not in loaded


def test_the_key_is_sent_where_each_api_wants_it() -> None:
    _, requests = exchange(GOOD, session_id="sid")
    assert requests[0].path == "/v1/responses"
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert requests[0].headers["session-id"] == requests[0].headers["x-client-request-id"] == "sid"
    assert requests[0].headers["user-agent"].startswith("pinyon/")


@pytest.mark.parametrize(
    ("fields", "options", "names"),
    [
        ({"compat": {"sessionAffinityFormat": "openai-nosession"}}, {}, ["x-client-request-id"]),
        ({"compat": {"sessionAffinityFormat": "openrouter"}}, {}, ["x-session-id"]),
        ({"provider": "openrouter"}, {}, ["x-session-id"]),
        ({}, {"cache_retention": "none"}, []),
        ({"api": "azure-openai-responses"}, {}, []),
    ],
)
def test_affinity_headers_follow_the_format(fields: dict[str, Any], options: dict[str, Any], names: list[str]) -> None:
    _, requests = exchange(GOOD, fields=fields, session_id="sid", **options)
    headers = requests[0].headers
    assert [name for name in ("session-id", "x-client-request-id", "x-session-id") if name in headers] == names
