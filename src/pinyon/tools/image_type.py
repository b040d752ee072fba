"""Which image a file holds, decided by its first bytes and never by its name.

Layouts: PNG (W3C), JPEG (ITU T.81), GIF89a, WebP (RFC 9649), BMP (Windows `BITMAPFILEHEADER` and info headers).
"""

from __future__ import annotations

import os
from pathlib import Path

SNIFF_BYTES = 4100
"""How many first bytes decide."""

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def detect_image_mime_type(head: bytes) -> str | None:
    """MIME type of the supported image that `head` begins; None for everything else, animated PNG included."""
    if head.startswith(b"\xff\xd8\xff"):
        is_jpeg_ls = head[3:4] == b"\xf7"
        return None if is_jpeg_ls else "image/jpeg"
    if head.startswith(_PNG_SIGNATURE):
        return "image/png" if _is_still_png(head) else None
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return "image/bmp" if head.startswith(b"BM") and _is_bmp(head) else None


def detect_supported_image_mime_type_from_file(path: str | os.PathLike[str]) -> str | None:
    """MIME type of the supported image in a file, None for other files; raises `OSError` for an unreadable one."""
    with Path(path).open("rb") as file:
        return detect_image_mime_type(file.read(SNIFF_BYTES))


def _is_still_png(head: bytes) -> bool:
    if len(head) < 16 or head[8:16] != b"\0\0\0\rIHDR":
        return False
    at = len(_PNG_SIGNATURE)
    while at + 8 <= min(len(head), SNIFF_BYTES):
        kind = head[at + 4 : at + 8]
        if kind == b"acTL":
            return False
        if kind == b"IDAT":
            return True
        at += 12 + int.from_bytes(head[at : at + 4], "big")
    return True


def _is_bmp(head: bytes) -> bool:
    if len(head) < 26:
        return False
    declared_size, pixel_offset, info_size = _number(head, 2, 4), _number(head, 10, 4), _number(head, 14, 4)
    if 0 < declared_size < 26 or pixel_offset < 14 + info_size or 0 < declared_size <= pixel_offset:
        return False
    if info_size == 12:
        planes, depth = _number(head, 22, 2), _number(head, 24, 2)
    elif 40 <= info_size <= 124 and len(head) >= 30:
        planes, depth = _number(head, 26, 2), _number(head, 28, 2)
    else:
        return False
    return planes == 1 and depth in {1, 4, 8, 16, 24, 32}


def _number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")
