"""Files that were dropped on the terminal: it pastes their paths, quoted in one way or another."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAX_CHARS = 1000
_MAX_BYTES = 32 * 1024 * 1024


def pasted_image(text: str, cwd: Path) -> Path | None:
    """The image file that a paste is the path of, None where it is anything else."""
    text = text.strip()
    if not text or "\n" in text or len(text) > _MAX_CHARS or not text.lower().rstrip("'\"").endswith(_SUFFIXES):
        return None
    path = cwd / Path(_unquoted(text)).expanduser()
    try:
        return path if path.is_file() and path.stat().st_size <= _MAX_BYTES else None
    except OSError:
        return None


def _unquoted(text: str) -> str:
    if text.startswith("file://"):
        return unquote(urlsplit(text).path)
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text
