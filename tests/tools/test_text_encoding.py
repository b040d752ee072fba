"""Encodings of files: found from their bytes, decoded and encoded without a loss."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tools.binary_kind import binary_kind
from pinyon.tools.text_encoding import StreamDecoder, TextEncoding, decode_losslessly, detect_encoding

CHINESE = "第一行：你好，世界。\n第二行：这是一个测试文件。\n"
TRADITIONAL = "這是一個測試。我們在這裡學習，他說他會來。\n"
JAPANESE = "これは日本語のテキストです。よろしくお願いします。\n"
KOREAN = "안녕하세요. 이것은 한국어 문장입니다. 파일을 읽는 시험을 하고 있다.\n"
RUSSIAN = "Привет, мир. Это проверка чтения файла в старой кодировке.\n"
GERMAN = "Grüße aus Köln: die Straße ist für alle schön und groß.\n"
FRENCH = "L'été dernier, j'ai mangé à la crêperie où ça coûtait 3 francs.\n"


def codec_of(data: bytes, *, complete: bool = True) -> str | None:
    encoding = detect_encoding(data, complete=complete)
    return None if encoding is None else encoding.codec


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, codec: str) -> None:
    text = "hello 世界 \U0001f600\n"
    data = mark + text.encode(codec)
    encoding = detect_encoding(data, complete=True)
    assert encoding is not None
    assert (encoding.codec, encoding.mark, encoding.guessed) == (codec, mark, False)
    assert encoding.decode(data) == text
    assert mark + encoding.encode(text) == data


@pytest.mark.parametrize("text", ["\U0001f600", "ab\U0001f600", "", "x"])
def test_a_short_marked_text_is_recognised(text: str) -> None:
    assert codec_of(codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == "utf-16-le"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised(codec: str) -> None:
    encoding = detect_encoding("Windows Registry\r\nkey=value\r\n".encode(codec), complete=True)
    assert encoding is not None
    assert (encoding.codec, encoding.guessed) == (codec, True)


@pytest.mark.parametrize(
    ("text", "codec", "found"),
    [
        (CHINESE, "gbk", "gb18030"),
        ("你好，世界\n中文测试\n", "gbk", "gb18030"),
        ("name = 中文\n", "gbk", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (KOREAN, "euc_kr", "cp949"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8_r", "koi8_r"),
        (RUSSIAN, "cp866", "cp866"),
        (GERMAN, "cp1252", "cp1252"),
        (FRENCH, "latin-1", "cp1252"),
        ("caf\u00e9\n", "latin-1", "cp1252"),
    ],
)
def test_legacy_text_is_recognised_by_its_frequent_characters(text: str, codec: str, found: str) -> None:
    encoding = detect_encoding(text.encode(codec), complete=True)
    assert encoding is not None
    assert (encoding.codec, encoding.guessed) == (found, True)
    assert encoding.decode(text.encode(codec)) == text


@pytest.mark.parametrize("codec", ["gbk", "shift_jis", "cp1251", "utf-8"])
def test_a_sample_that_ends_inside_a_character_is_still_recognised(codec: str) -> None:
    text = {"gbk": CHINESE, "shift_jis": JAPANESE}.get(codec, RUSSIAN)
    data = text.encode(codec)
    expected = codec_of(data)
    assert expected is not None
    for cut in (1, 2, 3):
        assert codec_of(data[:-1][:-cut], complete=False) == expected


@pytest.mark.parametrize(
    "data",
    [b"", b"plain\n", b"\x1b[31mred\x1b[0m\n", b"a\r\nb\rc", b"page\x0cbreak", "é漢😀".encode(), b"x" * 9000 + b"\0"],
)
def test_other_text_is_utf8(data: bytes) -> None:
    encoding = detect_encoding(data, complete=True)
    assert encoding is not None
    assert (encoding.codec, encoding.guessed) == ("utf-8", False)


def test_a_stray_byte_in_utf8_text_does_not_change_its_encoding() -> None:
    data = (CHINESE * 3).encode() + b"\xff\n"
    encoding = detect_encoding(data, complete=True)
    assert encoding is not None
    assert (encoding.codec, encoding.guessed) == ("utf-8", False)
    assert encoding.encode(encoding.decode(data)) == data


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(100), "ELF program or library"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "PDF document"),
        (b"\x1f\x8b\x08\x00abc", "gzip data"),
        (b"PK\x03\x04\x14\x00", "ZIP archive or a document format built on it"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG image"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"\xff\xd8\xff\xf7abc", "JPEG image"),
        (bytes(4096), "unknown format"),
        (bytes(range(1, 32)) * 4 + b"\xff\xfe\xfd", "unknown format"),
        (b"\xff\xfe" + bytes(800), "unknown format"),
        (b"ustar".rjust(262, b"\0") + bytes(100), "tar archive"),
    ],
)
def test_binary_data_is_refused_and_named(data: bytes, kind: str) -> None:
    assert detect_encoding(data, complete=True) is None
    assert binary_kind(data) == kind


@given(st.binary(max_size=200))
def test_whatever_is_taken_for_utf8_text_survives_unchanged(data: bytes) -> None:
    encoding = detect_encoding(data, complete=True)
    if encoding is not None and encoding.is_utf8:
        assert encoding.mark + encoding.encode(encoding.decode(data)) == data


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE]),
    st.sampled_from(["", CHINESE, JAPANESE, RUSSIAN]),
    st.sampled_from(["gb18030", "shift_jis", "koi8_r", "utf-16-le"]),
)
def test_a_whole_file_survives_decoding_and_encoding(data: bytes, mark: bytes, text: str, codec: str) -> None:
    data = mark + text.encode(codec, "ignore") + data
    decoded = decode_losslessly(data)
    assert decoded.encoding.mark + decoded.encoding.encode(decoded.text) == data


def test_a_mark_before_half_a_character_is_not_believed() -> None:
    data = codecs.BOM_UTF16_LE + "hello".encode("utf-16-le") + b"x"
    assert decode_losslessly(data).encoding.codec == "utf-8"


@given(st.text(max_size=60), st.integers(1, 7), st.sampled_from(["utf-8", "utf-16-le", "utf-32-be"]))
def test_a_stream_decodes_like_the_whole(text: str, size: int, codec: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    data = text.encode(codec)
    decoder = StreamDecoder(TextEncoding(codec, codec))
    pieces = [decoder.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert "".join(pieces) + decoder.feed(b"", final=True) == text
    assert not decoder.has_invalid_bytes


@given(st.binary(max_size=60), st.integers(1, 7))
def test_invalid_bytes_become_replacement_characters(data: bytes, size: int) -> None:
    data = "漢".encode() + data
    decoder = StreamDecoder(TextEncoding("utf-8", "UTF-8"))
    pieces = [decoder.feed(data[at : at + size]) for at in range(0, len(data), size)]
    text = "".join(pieces) + decoder.feed(b"", final=True)
    if decoder.encoding.is_utf8:
        assert text == data.decode("utf-8", "replace")
        assert decoder.has_invalid_bytes == ("\ufffd" in text and "\ufffd".encode() not in data) or b"\xef" in data


def test_the_mark_of_utf16_is_no_text_and_that_of_utf8_is() -> None:
    for mark, codec, expected in ((codecs.BOM_UTF16_LE, "utf-16-le", "hi"), (codecs.BOM_UTF8, "utf-8", "\ufeffhi")):
        data = mark + "hi".encode(codec)
        encoding = detect_encoding(data, complete=True)
        assert encoding is not None
        assert StreamDecoder(encoding).feed(data, final=True) == expected


def test_ascii_at_the_beginning_leaves_the_encoding_open() -> None:
    decoder = StreamDecoder(TextEncoding("utf-8", "UTF-8"))
    assert decoder.feed(b"# header\n") == "# header\n"
    assert decoder.feed(CHINESE.encode("gbk"), final=True) == CHINESE
    assert (decoder.encoding.codec, decoder.has_invalid_bytes) == ("gb18030", False)
