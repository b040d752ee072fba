"""Prompts of an editor as prompts of a session: text, pictures, and files that it embeds or points to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import schema

from pinyon.ai.content import ImageContent


def prompt_of_blocks(blocks: Sequence[Any]) -> tuple[str, list[ImageContent]]:
    """Text and images of a prompt, in their order. Sound is left out: no model of a session takes it."""
    texts: list[str] = []
    images: list[ImageContent] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                texts.append(block.text)
            case schema.ImageContentBlock():
                images.append(ImageContent(data=block.data, mime_type=block.mime_type))
            case schema.ResourceContentBlock():
                texts.append(f"@{_path_of(block.uri)}")
            case schema.EmbeddedResourceContentBlock():
                texts += _embedded(block.resource, images)
            case _:
                continue
    return "\n".join(texts), images


def _embedded(resource: Any, images: list[ImageContent]) -> list[str]:
    if isinstance(resource, schema.TextResourceContents):
        return [f'<file name="{_path_of(resource.uri)}">\n{resource.text}\n</file>']
    if (resource.mime_type or "").startswith("image/"):
        images.append(ImageContent(data=resource.blob, mime_type=resource.mime_type))
    return [f"@{_path_of(resource.uri)}"]


def _path_of(uri: str) -> str:
    """The path of a `file:` address; any other address as it is (RFC 8089)."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
