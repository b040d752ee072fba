from __future__ import annotations

import os
import sys

import pytest

from pinyon._util.os_text import file_name, native_arguments, native_environment, native_text, readable_name

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="texts stay texts there")


@POSIX
def test_texts_become_utf8_and_raw_bytes_come_back() -> None:
    assert native_text("ü\udcff") == b"\xc3\xbc\xff"
    assert native_arguments(["a", "ü"]) == [b"a", b"\xc3\xbc"]
    assert native_environment({"A": "ü"}) == {b"A": b"\xc3\xbc"}


@POSIX
def test_half_characters_are_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        native_text("\ud83d")


@POSIX
@pytest.mark.parametrize(
    ("text", "stored"),
    [("plain", b"plain"), ("ü", b"\xc3\xbc"), ("a\udcffb", b"a\xffb"), ("\ud83d\ude00 \ud83d", "😀 \ufffd".encode())],
)
def test_file_functions_get_the_bytes_of_utf8(text: str, stored: bytes) -> None:
    assert os.fsencode(file_name(text)) == stored


@pytest.mark.parametrize(
    ("name", "expected"),
    [("plain", "plain"), ("ünï", "ünï"), ("a\udcffb", "a\ufffdb"), ("x\ud83d", "x\ufffd"), ("\udcc3\udcbc", "ü")],
)
def test_names_are_readable(name: str, expected: str) -> None:
    assert readable_name(name) == expected
