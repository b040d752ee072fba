"""In which encoding a file holds its text, so that it is shown as it is meant and written back byte for byte.

Order of evidence: a byte order mark; valid UTF-8; NUL bytes in the pattern of unmarked UTF-16; otherwise NUL bytes mean
binary; a legacy encoding whose typical characters are there. What remains is UTF-8 with stray bytes.
"""

from __future__ import annotations

import codecs
import re

import msgspec

from pinyon.tools.binary_kind import has_binary_signature
from pinyon.tools.charset import guess_charset

NUL_WINDOW_BYTES = 8192
"""A NUL among so many first bytes makes a file binary."""

SAMPLE_BYTES = 65536
"""How much of a file is looked at to find its encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16BE"),
)
_HARMLESS_CONTROLS = frozenset(b"\t\n\v\f\r\b\x1b\x1a")
_DELETE = 0x7F
_WIDE_BYTE = re.compile(rb"[\x80-\xff]")


class TextEncoding(msgspec.Struct, frozen=True):
    """An encoding as it was found: Python codec, name for people, byte order mark, and whether it was guessed.

    `lossless` says that bytes which the codec cannot decode survive decoding and encoding as lone surrogates.
    """

    codec: str
    label: str
    mark: bytes = b""
    guessed: bool = False

    @property
    def is_utf8(self) -> bool:
        """Whether this is UTF-8, with or without a mark."""
        return self.codec == "utf-8"

    def decode(self, data: bytes) -> str:
        """The text after the mark; bytes that are not text become lone surrogates that `encode` turns back.

        Raises `UnicodeDecodeError` where the codec has no such form and the bytes do not fit it.
        """
        return data[len(self.mark) :].decode(self.codec, self._errors)

    def encode(self, text: str) -> bytes:
        """Bytes of a piece of text without a mark; raises `UnicodeEncodeError` for what the codec cannot hold."""
        return text.encode(self.codec, self._errors)

    @property
    def _errors(self) -> str:
        if self.is_utf8:
            return "surrogateescape"
        return "surrogatepass" if self.codec.startswith("utf-") else "strict"


UTF8 = TextEncoding("utf-8", "UTF-8")
"""UTF-8 without a mark."""


def detect_encoding(sample: bytes, *, complete: bool) -> TextEncoding | None:
    """The encoding of a file that begins with `sample`, None for a binary file.

    With `complete` the sample is the whole file; otherwise its last character may be cut.
    """
    marked = _marked_encoding(sample)
    if marked is not None:
        return marked
    head = sample[:NUL_WINDOW_BYTES]
    if b"\0" in head:
        return _unmarked_utf16(head)
    if sample.isascii() or is_utf8(sample, complete=complete):
        return UTF8
    return None if has_binary_signature(sample) else _other_encoding(sample, complete=complete)


def _marked_encoding(sample: bytes) -> TextEncoding | None:
    for mark, codec, label in _MARKS:
        if not sample.startswith(mark):
            continue
        if codec == "utf-8":
            return TextEncoding(codec, label, mark)
        if _looks_like_text(sample[len(mark) : SAMPLE_BYTES], codec):
            return TextEncoding(codec, label, mark)
    return None


def _looks_like_text(data: bytes, codec: str) -> bool:
    text = codecs.getincrementaldecoder(codec)("replace").decode(data)  # a cut last character does not count
    odd = sum(char < " " and char not in "\t\n\r\f" for char in text) + text.count("\ufffd")
    return odd * 20 <= len(text)


def _unmarked_utf16(head: bytes) -> TextEncoding | None:
    even, odd = head[0::2], head[1::2]
    for codec, label, zeros, letters in (("utf-16-le", "UTF-16LE", odd, even), ("utf-16-be", "UTF-16BE", even, odd)):
        mostly_zero = zeros.count(0) * 10 >= len(zeros) * 7
        if len(head) >= 4 and mostly_zero and not letters.count(0) and _looks_like_text(head, codec):
            return TextEncoding(codec, label, guessed=True)
    return None


def is_utf8(sample: bytes, *, complete: bool) -> bool:
    """Whether `sample` is valid UTF-8; without `complete` its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, complete)
    except UnicodeDecodeError:
        return False
    return True


def _other_encoding(sample: bytes, *, complete: bool) -> TextEncoding | None:
    """The encoding of a text that is not valid UTF-8, judged from its first non-ASCII bytes; None for binary data."""
    head = sample[:SAMPLE_BYTES]
    controls = sum((byte < 0x20 and byte not in _HARMLESS_CONTROLS) or byte == _DELETE for byte in head)
    if controls * 20 > len(head):
        return None
    wide_byte = _WIDE_BYTE.search(sample)
    start = wide_byte.start() if wide_byte else 0
    window = sample[start : start + SAMPLE_BYTES]
    complete = complete and start + SAMPLE_BYTES >= len(sample)
    loose = window.decode("utf-8", "surrogateescape")
    stray = sum("\udc80" <= char <= "\udcff" for char in loose)
    wide = sum(char > "\x7f" for char in loose) - stray
    guess = guess_charset(window, complete=complete) if stray > wide else None
    return UTF8 if guess is None else TextEncoding(guess.codec, guess.label, guessed=True)


class DecodedText(msgspec.Struct, frozen=True):
    """A whole file as text, in an encoding that gives back the same bytes."""

    encoding: TextEncoding
    text: str


def decode_losslessly(data: bytes) -> DecodedText:
    """Decode a whole file so that encoding the text again, after the mark, gives `data` byte for byte.

    What has no better reading is UTF-8 whose other bytes are lone surrogates, binary data included.
    """
    encoding = detect_encoding(data, complete=True) or UTF8
    try:
        text = encoding.decode(data)
        if encoding.mark + encoding.encode(text) == data:
            return DecodedText(encoding, text)
    except UnicodeError:
        pass  # the guess was wrong, and UTF-8 with stray bytes holds anything
    return DecodedText(UTF8, UTF8.decode(data))


class StreamDecoder:
    """Decodes a file block by block; invalid bytes become U+FFFD and set `has_invalid_bytes`.

    While only ASCII has been seen the encoding is not settled: the first block that is not UTF-8 decides.
    """

    def __init__(self, encoding: TextEncoding) -> None:
        self.encoding = encoding
        self.has_invalid_bytes = False
        self._settled = not encoding.is_utf8 or bool(encoding.mark)
        self._decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
        self._mark_left = 0 if encoding.is_utf8 else len(encoding.mark)

    def feed(self, block: bytes, *, final: bool = False) -> str:
        """Text of the next block."""
        if self._mark_left:
            block, self._mark_left = block[self._mark_left :], 0
        undecoded = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError:
            block = undecoded + block
            self._change_decoder(block)
            text = self._decoder.decode(block, final)
        self._settled = self._settled or not block.isascii()
        return text

    def _change_decoder(self, data: bytes) -> None:
        encoding = None if self._settled else _other_encoding(data, complete=False)
        if encoding is not None and not encoding.is_utf8:
            self.encoding = encoding
        else:
            self.has_invalid_bytes = True
        self._settled = True
        self._decoder = codecs.getincrementaldecoder(self.encoding.codec)("replace")
