"""Output of commands: what is kept, what is shown, and the file that has everything."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tools.command_output import STRUCTURED_HALF_BYTES, CommandOutput
from pinyon.tools.operations.command import WholeCharacters, unfinished_bytes
from pinyon.tools.truncate import truncate_tail

PIECES = st.sampled_from([b"a", b"\n", "é".encode(), "😀".encode(), b"\xff", b"\xc3", b"\x1b[31m", b"\r\n"])


def fed(blocks: Iterable[bytes], folder: Path | None = None) -> CommandOutput:
    output = CommandOutput("bash", None if folder is None else str(folder))
    for block in blocks:
        output.feed(block)
    output.finish()
    return output


def shown(output: CommandOutput) -> str:
    return output.view().text


@given(st.lists(PIECES), st.data())
def test_the_text_does_not_depend_on_where_blocks_end(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    blocks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert shown(fed(blocks)) == shown(fed([whole])) == whole.decode("utf-8", "replace")


@given(st.text(st.sampled_from("aé€😀\n")), st.data())
def test_streams_are_passed_on_in_whole_characters(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    passed: list[bytes] = []
    stream = WholeCharacters(passed.append)
    for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        stream.feed(whole[begin:end])
    assert "".join(block.decode() for block in passed) == text


@given(st.lists(PIECES), st.data())
def test_no_byte_of_a_stream_is_lost(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    passed: list[bytes] = []
    stream = WholeCharacters(passed.append)
    for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        stream.feed(whole[begin:end])
    stream.finish()
    assert b"".join(passed) == whole


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"abc", 0),
        ("é".encode(), 0),
        (b"a\xc3", 1),
        (b"\xe2\x82", 2),
        (b"\xf0\x9f\x98", 3),
        (b"\xf0\x9f\x98\x80", 0),
        (b"\x80\x80\x80\x80", 0),
        (b"\xff", 0),
    ],
)
def test_unfinished_characters_are_measured(data: bytes, expected: int) -> None:
    assert unfinished_bytes(data) == expected


@pytest.mark.parametrize("blocks", [[b"\xef\xbb\xbfhi"], [b"\xef", b"\xbb", b"\xbfhi"]])
def test_a_leading_byte_order_mark_is_dropped(blocks: list[bytes]) -> None:
    assert shown(fed(blocks)) == "hi"


def test_what_only_begins_like_a_byte_order_mark_stays() -> None:
    assert shown(fed([b"\xef", b"\xbb"])) == "\ufffd"
    assert shown(fed([b"a", b"\xef\xbb\xbf"])) == "a\ufeff"


def test_a_first_byte_that_begins_no_mark_is_shown_at_once() -> None:
    output = CommandOutput("bash")
    output.feed(b"h")
    assert shown(output) == "h"


@pytest.mark.parametrize("count", [1999, 2000])
def test_two_thousand_lines_are_shown_whole(tmp_path: Path, count: int) -> None:
    text = "x\n" * count
    view = fed([text.encode()], tmp_path).view()
    assert view.text == text
    assert (view.notices(), view.details()) == ([], {})
    assert list(tmp_path.iterdir()) == []


def test_one_line_more_is_cut_and_saved(tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(1, 2002))
    output = fed([text[:100].encode(), text[100:].encode()], tmp_path)
    view = output.view()
    assert view.text.split("\n")[0] == "2"
    assert (view.truncation.truncated_by, view.truncation.total_lines, view.truncation.output_lines) == (
        "lines",
        2001,
        2000,
    )
    (file,) = tmp_path.iterdir()
    assert view.full_output_path == str(file)
    assert file.read_text() == text
    assert file.stat().st_mode & 0o777 == 0o600
    assert view.notices() == ["Only lines 2-2001 of 2001 fit here", f"All of it is in {file}"]


@pytest.mark.parametrize(("size", "is_cut"), [(51200, False), (51201, True)])
def test_fifty_kilobytes_are_shown_whole(tmp_path: Path, size: int, is_cut: bool) -> None:
    view = fed([b"x" * size], tmp_path).view()
    assert view.truncation.truncated is is_cut
    assert len(view.text) == 51200
    assert len(list(tmp_path.iterdir())) == is_cut


def test_the_file_has_the_raw_bytes(tmp_path: Path) -> None:
    raw = (b"\xef\xbb\xbf\xff\xfe\x1b[31m\r\n" * 6000) + b"\xc3"
    view = fed([raw[at : at + 777] for at in range(0, len(raw), 777)], tmp_path).view()
    assert Path(view.full_output_path or "").read_bytes() == raw


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_end_of_a_last_line_that_is_too_long_is_shown(tmp_path: Path, end: str) -> None:
    view = fed([f"start\n{'x' * 150_000}{end}".encode()], tmp_path).view()
    assert view.text == "x" * 51200
    assert view.truncation.last_line_partial
    assert view.notices()[0] == "Only the last 50.0KB of line 2 fit here, which is 146.5KB long"


def test_a_long_line_before_short_ones_does_not_hide_them(tmp_path: Path) -> None:
    text = "before\n" * 10 + "x" * 120_000 + "\n" + "after\n" * 10
    view = fed([text.encode()], tmp_path).view()
    assert view.text == "\n".join(["after"] * 10)
    assert view.truncation.truncated_by == "bytes"
    assert view.notices()[0] == "Only lines 12-21 of 21 fit here (limit of 50.0KB)"


@pytest.mark.parametrize("line", ["x", "é" * 30, "😀" * 70])
def test_the_shown_end_is_that_of_the_whole_text(tmp_path: Path, line: str) -> None:
    text = "".join(f"{n} {line}\n" for n in range(9000))
    raw = text.encode()
    view = fed([raw[at : at + 4099] for at in range(0, len(raw), 4099)], tmp_path).view()
    assert view.truncation == truncate_tail(text)


def test_a_view_while_output_comes_counts_the_open_line(tmp_path: Path) -> None:
    output = CommandOutput("bash", str(tmp_path))
    output.feed(b"one\ntwo")
    assert (output.view().text, output.total_lines) == ("one\ntwo", 2)
    output.feed(b"\n")
    assert output.total_lines == 2
    output.finish()


@pytest.mark.parametrize("extra", [0, 1])
def test_programs_get_the_whole_output_or_both_ends(tmp_path: Path, extra: int) -> None:
    size = 2 * STRUCTURED_HALF_BYTES + extra
    raw = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    text = fed([raw[at : at + 65536] for at in range(0, size, 65536)], tmp_path).beginning_and_end()
    if extra == 0:
        assert text == raw.decode()
    else:
        assert (
            text
            == f"{raw[:STRUCTURED_HALF_BYTES].decode()}\n[1 bytes left out]\n{raw[-STRUCTURED_HALF_BYTES:].decode()}"
        )


def test_both_ends_split_no_character(tmp_path: Path) -> None:
    raw = b"x" + "😀".encode() * 400_000
    text = fed([raw[at : at + 65536] for at in range(0, len(raw), 65536)], tmp_path).beginning_and_end()
    assert "\ufffd" not in text
    head, note, tail = text.split("\n")
    omitted = int(note.split()[0].removeprefix("["))
    assert len(head.encode()) + omitted + len(tail.encode()) == len(raw)


def test_memory_stays_bounded(tmp_path: Path) -> None:
    import tracemalloc

    output = CommandOutput("bash", str(tmp_path))
    tracemalloc.start()
    for _ in range(600):
        output.feed(b"x" * 99 + b"\n" + b"y" * 65436)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    output.finish()
    assert peak < 4_000_000


def test_a_file_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    view = fed([b"x\n" * 3000], tmp_path / "missing").view()
    assert view.full_output_path is None
    assert view.notices()[1] == "The full output could not be saved: No such file or directory"
    assert "fullOutputPath" not in view.details()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    import resource
    import signal

    # A limit on file sizes fails writes like a full disk does.
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, limits[1]))
    try:
        output = CommandOutput("bash", str(tmp_path))
        for _ in range(3):
            output.feed(b"x\n" * 30_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old_handler)
    output.feed(b"what comes after the gap\n")
    output.finish()
    view = output.view()
    assert Path(view.full_output_path or "").read_bytes() == b"x\n" * 40_000
    assert view.notices()[1].startswith("What could be saved until a failure (File too large) is in ")
