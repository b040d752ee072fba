"""Text files that users wrote: read as UTF-8 whatever the locale, without a byte order mark."""

from __future__ import annotations

import codecs
import errno
from pathlib import Path

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""More than any prompt may be long; devices that never end stop here."""


def decode_text(data: bytes) -> str:
    """The text of `data`: UTF-16 where its byte order mark says so, else UTF-8 with U+FFFD for broken bytes."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def read_text_file(path: Path) -> str:
    """The text of a file with its line ends as they are; raises `OSError`, also above `MAX_TEXT_BYTES`."""
    with path.open("rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_TEXT_BYTES // 1024**2} MiB", str(path))
    return decode_text(data)
