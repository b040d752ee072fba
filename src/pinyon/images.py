"""The image pipeline for programs that embed Pinyon: type from content, and images made fit for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.tools.image import (
        ImageBounds,
        ProcessImageResult,
        ResizeResult,
        image_bounds,
        image_bounds_for,
        process_image,
        resize_image,
        resize_image_decision,
    )
    from pinyon.tools.image_content import NormalisedImage, normalise_image, normalise_images
    from pinyon.tools.image_type import detect_image_mime_type, detect_supported_image_mime_type_from_file

__all__ = [
    "ImageBounds",
    "NormalisedImage",
    "ProcessImageResult",
    "ResizeResult",
    "detect_image_mime_type",
    "detect_supported_image_mime_type_from_file",
    "image_bounds",
    "image_bounds_for",
    "normalise_image",
    "normalise_images",
    "process_image",
    "resize_image",
    "resize_image_decision",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.tools.image": (
            "ImageBounds",
            "ProcessImageResult",
            "ResizeResult",
            "image_bounds",
            "image_bounds_for",
            "process_image",
            "resize_image",
            "resize_image_decision",
        ),
        "pinyon.tools.image_content": ("NormalisedImage", "normalise_image", "normalise_images"),
        "pinyon.tools.image_type": ("detect_image_mime_type", "detect_supported_image_mime_type_from_file"),
    },
)
