"""What a file is that cannot be read as text, named from its first bytes.

Signatures are those that the formats themselves define (see the IANA media type registrations and the file-format pages
of the Library of Congress).
"""

from __future__ import annotations

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x7fELF", "ELF program or library"),
    (0, b"MZ", "Windows program or library"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xce\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xfe\xed\xfa\xcf", "Mach-O program or library"),
    (0, b"\xfe\xed\xfa\xce", "Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "Java class or universal Mach-O file"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"!<arch>\n", "static library or package archive"),
    (0, b"%PDF-", "PDF document"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "older Office document"),
    (0, b"PK\x03\x04", "ZIP archive or a document format built on it"),
    (0, b"PK\x05\x06", "empty ZIP archive"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ\0", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"\x04\x22\x4d\x18", "lz4 data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (257, b"ustar", "tar archive"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"PAR1", "Parquet data"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5 data"),
    (0, b"\x93NUMPY", "NumPy array"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (0, b"BM", "BMP image"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"\0\0\1\0", "icon"),
    (0, b"8BPS", "Photoshop image"),
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"ID3", "MP3 audio"),
    (0, b"\x1a\x45\xdf\xa3", "Matroska or WebM video"),
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftyphei", "HEIC image"),
    (4, b"ftypmif1", "HEIF image"),
    (4, b"ftyp", "MP4 audio or video"),
    (0, b"wOFF", "WOFF font"),
    (0, b"wOF2", "WOFF2 font"),
    (0, b"\0\1\0\0", "TrueType font"),
    (0, b"OTTO", "OpenType font"),
)


def binary_kind(head: bytes) -> str:
    """Name of the format that `head`, the first bytes of a binary file, begins; `unknown format` without a match."""
    for offset, signature, kind in _SIGNATURES:
        if head.startswith(signature, offset):
            return "animated PNG image" if kind == "PNG image" and b"acTL" in head[:4100] else kind
    return "unknown format"


def has_binary_signature(head: bytes) -> bool:
    """Whether `head` begins a known binary format."""
    return binary_kind(head) != "unknown format"
