"""The System One classifier API, as its vendor (`typesafe-system-one`) and Cloudflare Workers AI serve it.

Flags in a model's `compat`: `imageInput` says how images are sent (`assets`, the default, `images` or
`state-image-urls`), `sendImageOptInHeader` whether the header goes with them that the vendor asks for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pinyon.ai.classify import BoolQuestion, ClassifierModel, ClassifyContext, RawAnswers, read_answer, read_usage
from pinyon.ai.json_request import JsonClient
from pinyon.ai.option import StreamOptions
from pinyon.errors import ProviderError

VENDOR_API = "typesafe-system-one"
OPT_IN_HEADER = "TypeSafe-Danger-Zone-Images"
WIRE_BOOL = "noul"


async def ask(model: ClassifierModel, context: ClassifyContext, options: StreamOptions) -> RawAnswers:
    """See `ClassifierApi.ask`."""
    is_vendor = model.api == VENDOR_API
    headers = dict(model.headers or {})
    if context.images and (model.compat or {}).get("sendImageOptInHeader", is_vendor):
        headers[OPT_IN_HEADER] = "true"
    client = JsonClient(model.provider, model.base_url, options, headers=headers)
    body = _body(model, context)
    if is_vendor:
        answer = await client.post("systemone", {"model": model.id, **body})
    else:
        answer = _unwrapped(await client.post("run", {"model": model.id, "input": body}))
    given = answer.get("answers")
    if not isinstance(given, dict):
        raise ProviderError("the server gave no answers")
    read = {
        name: read_answer(name, question, given.get(name), bool_field=WIRE_BOOL)
        for name, question in context.questions.items()
    }
    return RawAnswers(read, read_usage(answer.get("usage")))


def _body(model: ClassifierModel, context: ClassifyContext) -> dict[str, Any]:
    questions: dict[str, Any] = {}
    for name, question in context.questions.items():
        wire = msgspec.to_builtins(question)
        questions[name] = {**wire, "type": WIRE_BOOL} if isinstance(question, BoolQuestion) else wire
        questions[name] = {
            "type": questions[name].pop("type"),
            "instructions": question.instructions,
            **questions[name],
        }
    body: dict[str, Any] = {"state": context.state, "questions": questions}
    return body if not context.images else _with_images(body, model, context)


def _with_images(body: dict[str, Any], model: ClassifierModel, context: ClassifyContext) -> dict[str, Any]:
    urls = [f"data:{image.mime_type};base64,{image.data}" for image in context.images]
    match (model.compat or {}).get("imageInput") or "assets":
        case "images":
            return body | {"images": urls}
        case "state-image-urls":
            parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            return body | {"state": [*parts, context.state]}
        case _:
            names = [f"<image-{number}>" for number in range(1, len(urls) + 1)]
            assets = {
                name: {"type": "image", "format": image.mime_type.partition("/")[2], "data_base64": image.data}
                for name, image in zip(names, context.images, strict=True)
            }
            return body | {"state": [*names, context.state], "assets": assets}


def _unwrapped(envelope: dict[str, Any]) -> dict[str, Any]:
    """What stands in Cloudflare's envelope. Raises `ProviderError` with its errors where it reports failure."""
    result = envelope.get("result")
    if envelope.get("success") is False or not isinstance(result, dict):
        errors = envelope.get("errors")
        texts = [str(error.get("message")) for error in errors or () if isinstance(error, dict)]
        raise ProviderError("; ".join(texts) or "the server gave no result")
    return result
