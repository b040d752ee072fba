"""Text files that users wrote: read as UTF-8 whatever the locale, without a byte order mark."""

from __future__ import annotations

import codecs
from pathlib import Path

from pinyon._util.safe_path import read_file

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""More than any prompt may be long; devices that never end stop here."""


def decode_text(data: bytes) -> str:
    """The text of `data`: UTF-16 where its byte order mark says so, else UTF-8 with U+FFFD for broken bytes."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def read_text_file(path: Path) -> str:
    """The text of a file with its line ends as they are. Raises `OSError`, also for pipes and above the limit."""
    return decode_text(read_file(path, MAX_TEXT_BYTES))


def read_given_text(path: Path) -> str:
    """Like `read_text_file` for a path of the command line: that may be a pipe, which is read to its end."""
    if not path.is_fifo():
        return read_text_file(path)
    with path.open("rb") as pipe:
        return decode_text(pipe.read(MAX_TEXT_BYTES))
