"""What `@file` arguments add to the first message."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path

import pytest

from pinyon.cli.prompt_input import read_files


@pytest.mark.skipif(sys.platform == "win32", reason="there are no device files")
@pytest.mark.parametrize(("sent", "text"), [(b"first line\n", "first line\n"), (b"BM", "BM")])
def test_a_pipe_is_read_once_and_whole(tmp_path: Path, sent: bytes, text: str) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, sent)
        os.close(writing)
        attached = read_files([f"/dev/fd/{reading}"], tmp_path)
    finally:
        os.close(reading)
    assert f">\n{text}\n</file>" in attached.text


@pytest.mark.parametrize(
    "data",
    [b"\xc3\xa4", codecs.BOM_UTF8 + b"\xc3\xa4", "\ufeff\xe4".encode("utf-16-le"), "\ufeff\xe4".encode("utf-16-be")],
)
def test_byte_order_marks_say_how_text_is_encoded(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f").write_bytes(data)
    assert read_files(["f"], tmp_path).text == f'<file name="{tmp_path / "f"}">\n\xe4\n</file>\n'
