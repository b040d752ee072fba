"""Images inside messages: made fit for the model wherever they come from (prompts, steering, tools, extensions)."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence

import msgspec

from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.tools.image import ImageBounds, process_image
from pinyon.tools.image_type import SNIFF_BYTES, detect_image_mime_type


class NormalisedImage(msgspec.Struct, frozen=True):
    """An image block that models can take, or a text block that says why there is none; `hints` are for the model."""

    block: ImageContent | TextContent
    hints: tuple[str, ...] = ()


async def normalise_images(
    content: Sequence[UserBlock], bounds: ImageBounds | None = None, *, auto_resize: bool = True
) -> list[UserBlock]:
    """The blocks with every image made fit; hints follow their image as a text block."""
    blocks: list[UserBlock] = []
    for block in content:
        if not isinstance(block, ImageContent):
            blocks.append(block)
            continue
        image = await normalise_image(block, bounds, auto_resize=auto_resize)
        blocks.append(image.block)
        if image.hints:
            blocks.append(TextContent("\n".join(image.hints)))
    return blocks


async def normalise_image(
    image: ImageContent, bounds: ImageBounds | None = None, *, auto_resize: bool = True
) -> NormalisedImage:
    """One image made fit. Its type is taken from its content; an image that does not decode becomes a text block."""
    return await asyncio.to_thread(_normalise, image, bounds, auto_resize)


def _normalise(image: ImageContent, bounds: ImageBounds | None, auto_resize: bool) -> NormalisedImage:
    data = _decode_base64(image.data)
    if data is None:
        return NormalisedImage(TextContent("[Image omitted: its data is not base64.]"))
    mime_type = detect_image_mime_type(data[:SNIFF_BYTES]) or image.mime_type
    result = process_image(data, mime_type, auto_resize=auto_resize, bounds=bounds)
    if not result.ok:
        return NormalisedImage(TextContent(f"[{result.message}]"))
    if result.data == image.data and result.mime_type == image.mime_type:
        return NormalisedImage(image)
    return NormalisedImage(ImageContent(result.data, result.mime_type), result.hints)


def _decode_base64(text: str) -> bytes | None:
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True) or None
    except (binascii.Error, ValueError):
        return None
