"""Images of prompts: the shapes that programs pass, and fitting them to what the model takes."""

from __future__ import annotations

from typing import Any

from pinyon.ai.codec import block_from_wire
from pinyon.ai.content import ImageContent, UserBlock
from pinyon.ai.model import Model
from pinyon.errors import ConfigError
from pinyon.resources.settings import SettingsManager


def image_from(value: ImageContent | dict[str, Any]) -> ImageContent:
    """An image block from a block, its wire object, or `{type, source: {type: "base64", mediaType, data}}`."""
    block = block_from_wire(value) if isinstance(value, dict) else value
    if not isinstance(block, ImageContent):
        raise ConfigError("an image needs base64 'data' and a 'mimeType', or a base64 'source' with 'mediaType'")
    return block


async def fit_images(content: list[UserBlock], model: Model | None, settings: SettingsManager) -> list[UserBlock]:
    """Scale images down to the limits of the model; a hint follows each image that was changed."""
    from pinyon.tools.image import image_bounds_for
    from pinyon.tools.image_content import normalise_images

    return await normalise_images(content, image_bounds_for(model), auto_resize=settings.get_image_auto_resize())
