"""The prompts of a start: piped text, `@file` arguments and message arguments."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from pinyon.ai.content import ImageContent
from pinyon.errors import ConfigError
from pinyon.resources.text_file import decode_text

MAX_ATTACHED_BYTES = 64 * 1024 * 1024
"""More than any model takes; a device that never ends stops here."""


class FileText(msgspec.Struct):
    """What `@file` arguments add to the first message."""

    text: str = ""
    images: list[ImageContent] = msgspec.field(default_factory=list)


class StartPrompts(msgspec.Struct):
    """The first message with its images, and the messages that follow it one by one."""

    first: str | None
    images: list[ImageContent]
    others: list[str]


def start_prompts(
    messages: Sequence[str], files: Sequence[str], cwd: Path, *, piped: Callable[[bool], str]
) -> StartPrompts:
    """Put the prompts together: piped text, then file text, then the first message argument, without a separator.

    `piped(has_prompt)` reads standard input. Raises `ConfigError` for a file that is missing or cannot be read.
    """
    attached = read_files(files, cwd)
    stdin_text = piped(bool(messages or files))
    parts = [part for part in (stdin_text, attached.text, messages[0] if messages else "") if part]
    return StartPrompts(first="".join(parts) or None, images=attached.images, others=list(messages[1:]))


def read_files(files: Sequence[str], cwd: Path) -> FileText:
    """Read `@file` arguments: images become attachments, texts are wrapped with their absolute path."""
    attached = FileText()
    for name in files:
        _attach(name, cwd, attached)
    return attached


def _attach(name: str, cwd: Path, attached: FileText) -> None:
    from pinyon.tools.image_type import SNIFF_BYTES, detect_image_mime_type
    from pinyon.tools.path import resolve_read_path

    path = Path(resolve_read_path(name, str(cwd)))
    try:
        if path.is_dir():
            raise ConfigError(f"@{name}: {str(path)!r} is a folder; name a file in it")
        with path.open("rb") as file:
            data = file.read(MAX_ATTACHED_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"@{name}: there is no file {str(path)!r}") from None
    except OSError as error:
        raise ConfigError(f"@{name}: {str(path)!r} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_ATTACHED_BYTES:
        raise ConfigError(
            f"@{name}: {str(path)!r} is larger than {MAX_ATTACHED_BYTES // 1024**2} MiB; name it in the prompt "
            "instead, the model reads parts of it"
        )
    mime_type = detect_image_mime_type(data[:SNIFF_BYTES])
    if mime_type is not None:
        attached.images.append(ImageContent(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type))
        attached.text += f'<file name="{path}"></file>\n'
    elif data:
        attached.text += f'<file name="{path}">\n{_text(name, data)}\n</file>\n'


def _text(name: str, data: bytes) -> str:
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"@{name}: the file is binary ({len(data)} bytes); attach text or a supported image")
    return decode_text(data)
