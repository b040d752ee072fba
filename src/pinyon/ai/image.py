"""Image models: one request, one answer with images.

A failed request is an answer whose `stop_reason` is `error` or `aborted`; nothing raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Literal, Protocol, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.clock import now_ms
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.http_error import error_text, is_abort
from pinyon.ai.model import InputKind, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.errors import ModelError

ImageBlock: TypeAlias = TextContent | ImageContent


class ImageModel(msgspec.Struct, rename="camel", kw_only=True):
    """An image model of one provider; `output` lists what it gives."""

    id: str
    api: str
    provider: str
    base_url: str
    name: str = ""
    input: list[InputKind] = msgspec.field(default_factory=lambda: ["text"])
    output: list[InputKind] = msgspec.field(default_factory=lambda: ["image"])
    cost: ModelCost = msgspec.field(default_factory=ModelCost)
    headers: dict[str, str] | UnsetType = UNSET
    type: Literal["image"] = "image"


class GeneratedImages(msgspec.Struct, rename="camel", kw_only=True):
    """The answer of an image model: texts and images in `output`."""

    api: str
    provider: str
    model: str
    output: list[ImageBlock]
    stop_reason: Literal["stop", "error", "aborted"]
    timestamp: int
    response_id: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


class ImageApi(Protocol):
    """A module that speaks one image API."""

    async def ask(
        self, model: ImageModel, prompt: Sequence[ImageBlock], options: StreamOptions, answer: GeneratedImages
    ) -> None:
        """Fill in the answer; raises `PinyonError`."""
        ...


_APIS = {"openrouter-images": "pinyon.ai.apis.openrouter_images"}


def image_apis() -> list[str]:
    """The names of the APIs that image models may have."""
    return sorted(_APIS)


async def generate_images(
    model: ImageModel, prompt: str | Sequence[ImageBlock], options: StreamOptions | None = None
) -> GeneratedImages:
    """Ask `model` for images by a text, or by texts and images."""
    options = options or StreamOptions()
    answer = GeneratedImages(
        api=model.api, provider=model.provider, model=model.id, output=[], stop_reason="stop", timestamp=now_ms()
    )
    try:
        blocks = [TextContent(prompt)] if isinstance(prompt, str) else list(prompt)
        await _api(model).ask(model, blocks, options, answer)
    except Exception as error:  # noqa: BLE001 - whatever fails is told in the answer, as for streams
        aborted = is_abort(error, options.signal)
        answer.stop_reason = "aborted" if aborted else "error"
        secrets = [options.api_key or "", *(value or "" for value in (options.headers or {}).values())]
        answer.error_message = "Request was aborted" if aborted else error_text(error, secrets)
    return answer


def _api(model: ImageModel) -> ImageApi:
    home = _APIS.get(model.api)
    if home is None:
        known = ", ".join(image_apis())
        raise ModelError(f"unknown image API {model.api!r}; an image model's `api` must be one of: {known}")
    return cast("ImageApi", import_module(home))
