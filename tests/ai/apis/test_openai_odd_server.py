"""Answers of servers that speak chat completions in their own way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.ai.apis.completions import ask

from pinyon.testing.fake_openai import delta_chunk, sse_reply
from pinyon.testing.fake_server import Reply, encode_sse

STREAM = b"".join(
    encode_sse(None, chunk) for chunk in (delta_chunk({"content": "hey"}), delta_chunk({}, "stop"), "[DONE]")
)
DOCUMENT = json.dumps({"choices": [{"message": {"content": "hey"}, "finish_reason": "stop"}]}, indent=1).encode()


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json; charset=utf-8", "text/plain"])
@pytest.mark.parametrize("body", [STREAM, DOCUMENT, b"\n " + DOCUMENT], ids=["stream", "document", "after-blanks"])
def test_the_body_counts_and_not_the_type_it_is_given(body: bytes, content_type: str) -> None:
    message = ask(Reply(headers={"content-type": content_type}, body=[body])).message
    assert (message.stop_reason, message.text) == ("stop", "hey")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"message": "overloaded upstream", "code": 529}, "overloaded upstream (code 529)"),
        ({"error": {"message": "no room"}}, "no room"),
        ("went wrong", "went wrong"),
    ],
)
@pytest.mark.parametrize("hooks", [{}, {"on_provider_stream_event": lambda _event, _model: None}])
def test_an_event_named_error_ends_the_answer_with_what_it_says(data: Any, said: str, hooks: Any) -> None:
    message = ask(Reply.sse([(None, delta_chunk({"content": "half"})), ("error", data)]), **hooks).message
    assert (message.stop_reason, message.text, message.error_message) == ("error", "half", said)


def test_an_error_field_that_says_nothing_is_none() -> None:
    message = ask(sse_reply([{**delta_chunk({"content": "hey"}, "stop"), "error": {}}])).message
    assert (message.stop_reason, message.text) == ("stop", "hey")


def test_a_document_that_is_no_answer_is_shown() -> None:
    message = ask(Reply.json({"detail": "Not signed in"})).message
    assert message.stop_reason == "error"
    assert "Not signed in" in (message.error_message or "")


def test_call_numbers_that_are_texts_tell_calls_apart() -> None:
    def fragments(*texts: str, **fields: Any) -> dict[str, Any]:
        calls = [{"index": str(n), "function": {"arguments": text, **fields}} for n, text in enumerate(texts)]
        return delta_chunk({"tool_calls": calls})

    reply = sse_reply([fragments('{"a"', '{"b"', name="ls"), fragments(":1}", ":2}"), delta_chunk({}, "tool_calls")])
    assert [call.arguments for call in ask(reply).message.tool_calls] == [{"a": 1}, {"b": 2}]
