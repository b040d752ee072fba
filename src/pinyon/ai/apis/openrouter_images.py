"""Images by OpenRouter's chat completions: the answer's message holds them as data URLs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.cost import reported_total, token_cost
from pinyon.ai.image import GeneratedImages, ImageBlock, ImageModel
from pinyon.ai.json_request import JsonClient
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object
from pinyon.errors import ModelError, ProviderError


async def ask(model: ImageModel, prompt: Sequence[ImageBlock], options: StreamOptions, answer: GeneratedImages) -> None:
    """See `ImageApi.ask`."""
    client = JsonClient(model.provider, model.base_url, options, headers=model.headers or None)
    content = [_part(model, block) for block in prompt if not isinstance(block, TextContent) or block.text.strip()]
    if not content:
        raise ModelError("there is nothing to make an image of: the prompt is empty")
    body = {
        "model": model.id,
        "messages": [{"role": "user", "content": content}],
        "stream": False,
        "modalities": [kind for kind in ("image", "text") if kind in model.output],
    }
    document = await client.post("chat/completions", body)
    if isinstance(document.get("id"), str):
        answer.response_id = document["id"]
    if isinstance(document.get("usage"), dict):
        answer.usage = _usage(model, document["usage"])
    answer.output = _output(document)
    if not answer.output:
        raise ProviderError("the server answered without an image or a text")


def _part(model: ImageModel, block: ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    if "image" not in model.input:
        raise ModelError(f"the image model {model.id!r} takes texts only")
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _output(document: dict[str, Any]) -> list[ImageBlock]:
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    if not isinstance(message, dict):
        return []
    text = message.get("content")
    blocks: list[ImageBlock] = [TextContent(text)] if isinstance(text, str) and text.strip() else []
    return blocks + [image for item in message.get("images") or () if (image := _image(item)) is not None]


def _image(item: Any) -> ImageContent | None:
    place = item.get("image_url") if isinstance(item, dict) else None
    url = place.get("url") if isinstance(place, dict) else place
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[len("data:") :].partition(",")
    mime_type, _, coding = head.partition(";")
    return ImageContent(data, mime_type or "image/png") if data and coding == "base64" else None


def _usage(model: ImageModel, raw: dict[str, Any]) -> Usage:
    details = json_object(raw.get("prompt_tokens_details"))
    prompt, cached = json_count(raw.get("prompt_tokens")), json_count(details.get("cached_tokens"))
    written = json_count(details.get("cache_write_tokens"))
    usage = Usage(
        input=max(0, prompt - cached - written),
        output=json_count(raw.get("completion_tokens")),
        cache_read=cached,
        cache_write=written,
    )
    usage.total_tokens = prompt + usage.output
    usage.cost = token_cost(model.cost, usage)
    total = reported_total(raw)
    if total is not None:
        usage.cost.total, usage.cost.total_from_provider = total, True
    return usage
