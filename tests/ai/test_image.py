"""Image models over loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.image import GeneratedImages, ImageModel, generate_images, image_apis
from pinyon.ai.model import ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply

KEY = "image-key-SECRET-123"
IMAGES = [{"image_url": {"url": "data:image/png;base64,AAAA"}}, {"image_url": "data:image/webp;base64,BBBB"}]
DOCUMENT: dict[str, Any] = {
    "id": "gen-1",
    "choices": [{"message": {"content": "here", "images": [*IMAGES, {"image_url": {"url": "https://x"}}, 5]}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
}


def ask(
    reply: Reply, prompt: Any = "draw", options: Any = None, **fields: Any
) -> tuple[GeneratedImages, list[RecordedRequest]]:
    with FakeServer([reply]) as server:
        defaults: dict[str, Any] = {"id": "img", "api": "openrouter-images", "provider": "openrouter"}
        defaults |= {"base_url": server.url, "input": ["text", "image"], "cost": ModelCost(input=1, output=2)}
        model = ImageModel(**(defaults | fields))
        return asyncio.run(generate_images(model, prompt, options or StreamOptions(api_key=KEY))), server.requests


def test_an_image_is_asked_for_and_read() -> None:
    answer, (request,) = ask(Reply.json(DOCUMENT), [TextContent("draw"), ImageContent("CCCC", "image/jpeg")])
    assert answer.stop_reason == "stop"
    assert answer.response_id == "gen-1"
    assert answer.output == [TextContent("here"), ImageContent("AAAA", "image/png"), ImageContent("BBBB", "image/webp")]
    assert (request.path, request.headers["authorization"]) == ("/chat/completions", f"Bearer {KEY}")
    assert request.json == {
        "model": "img",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "draw"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,CCCC"}},
                ],
            }
        ],
        "stream": False,
        "modalities": ["image"],
    }


def test_texts_are_asked_for_where_the_model_gives_them() -> None:
    _, (request,) = ask(Reply.json(DOCUMENT), output=["image", "text"])
    assert request.json["modalities"] == ["image", "text"]


def test_tokens_and_cost_are_counted_and_a_reported_total_wins() -> None:
    usage = ask(Reply.json(DOCUMENT))[0].usage
    assert usage is not UNSET
    assert (usage.input, usage.cache_read, usage.output, usage.total_tokens) == (6, 4, 5, 15)
    assert usage.cost.total == pytest.approx(16e-6)
    reported = {**DOCUMENT, "usage": {**DOCUMENT["usage"], "cost": 0.25, "is_byok": False}}
    usage = ask(Reply.json(reported))[0].usage
    assert usage is not UNSET
    assert (usage.cost.total, usage.cost.total_from_provider) == (0.25, True)


@pytest.mark.parametrize(
    ("reply", "fields", "prompt", "words"),
    [
        (Reply.json({"choices": []}), {}, "draw", "without an image"),
        (Reply.json({"choices": [{"message": {"content": " "}}]}), {}, "draw", "without an image"),
        (Reply.text("<html>"), {}, "draw", "<html>"),
        (Reply.json({"error": {"message": f"bad {KEY}"}}, 401), {}, "draw", "401"),
        (Reply.json(DOCUMENT), {}, " ", "empty"),
        (Reply.json(DOCUMENT), {"input": ["text"]}, [ImageContent("CCCC", "image/png")], "texts only"),
        (Reply.json(DOCUMENT), {"api": "other"}, "draw", "'other'"),
    ],
)
def test_what_goes_wrong_is_told_in_the_answer(reply: Reply, fields: dict[str, Any], prompt: Any, words: str) -> None:
    answer, _ = ask(reply, prompt, **fields)
    assert answer.stop_reason == "error"
    assert words in str(answer.error_message)
    assert KEY not in str(answer)
    assert image_apis() == ["openrouter-images"]


def test_a_missing_key_and_an_abort_are_told_too() -> None:
    answer, requests = ask(Reply.json(DOCUMENT), options=StreamOptions())
    assert "'openrouter'" in str(answer.error_message)
    controller = AbortController()
    controller.abort()
    answer, more = ask(Reply.json(DOCUMENT), options=StreamOptions(api_key=KEY, signal=controller.signal))
    assert answer.stop_reason == "aborted"
    assert not requests
    assert not more
