"""The read tool on real files: windows, notices, encodings, images, refusals, bounded memory."""

from __future__ import annotations

import asyncio
import base64
import codecs
import io
import os
import subprocess
import threading
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pinyon._util.abort import AbortController, AbortSignal, OperationAbortedError
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.model import ImageLimits, ImageResize, InputLimits, Model
from pinyon.errors import ToolError
from pinyon.tools import file_stream
from pinyon.tools.file_stream import read_blocks
from pinyon.tools.operations.local import LocalReadOperations
from pinyon.tools.operations.protocol import ReadOperations
from pinyon.tools.read import MAX_IMAGE_FILE_BYTES, ReadRequest, read_file, requested_lines

CHINESE = "第一行：你好，世界。\n第二行：这是一个测试文件。\n"


def read(
    path: Path | str,
    offset: Any = None,
    limit: Any = None,
    *,
    cwd: Path | str = "/",
    operations: ReadOperations | None = None,
    signal: AbortSignal | None = None,
    **options: Any,
) -> AgentToolResult:
    start, count = requested_lines({"offset": offset, "limit": limit})
    request = ReadRequest(str(path), start, count, **options)
    return asyncio.run(read_file(request, str(cwd), operations or LocalReadOperations(), signal or AbortSignal()))


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert result.structured_content == block.text
    return block.text


def split_notice(text: str) -> tuple[str, str]:
    body, _, notice = text.rpartition("\n\n[")
    assert notice.endswith("]")
    return body, notice[:-1]


def image_bytes(width: int, height: int, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, kind, **options)
    return buffer.getvalue()


def model(**fields: Any) -> Model:
    return Model(id="m-1", name="m", api="a", provider="p", base_url="http://x", **fields)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.txt"


# windows


def test_a_small_file_comes_as_it_is(file: Path) -> None:
    file.write_bytes("alpha\r\nbeta\tγ\n\n".encode())
    result = read(file)
    assert text_of(result) == "alpha\r\nbeta\tγ\n\n"
    assert not result.details
    assert not result.is_error


@pytest.mark.parametrize(
    ("offset", "limit", "body", "left", "next_offset"),
    [
        (None, None, "a\nb\n", None, None),
        (None, 1, "a", 1, 2),
        (None, 2, "a\nb\n", None, None),
        (None, 3, "a\nb\n", None, None),
        (2, None, "b\n", None, None),
        (2, 1, "b\n", None, None),
        (0, 0, "a", 1, 2),
        (-5, -1, "a", 1, 2),
        (1.9, 1.9, "a", 1, 2),
        ("1", "1", "a", 1, 2),
    ],
)
def test_offset_and_limit_choose_lines(
    file: Path, offset: Any, limit: Any, body: str, left: int | None, next_offset: int | None
) -> None:
    file.write_bytes(b"a\nb\n")
    result = read(file, offset, limit)
    text = text_of(result)
    assert not result.details
    if left is None:
        assert text == body
        return
    shown, notice = split_notice(text)
    assert shown == body
    assert f"{left} more" in notice
    assert f"offset={next_offset}" in notice


def test_a_window_in_the_middle_says_what_follows(file: Path) -> None:
    file.write_text("".join(f"line {number}\n" for number in range(1, 11)))
    body, notice = split_notice(text_of(read(file, 3, 2)))
    assert body == "line 3\nline 4"
    assert "6 more" in notice
    assert "offset=5" in notice


@pytest.mark.parametrize("ending", ["", "\n"])
@pytest.mark.parametrize("offset", [11, 50])
def test_an_offset_past_the_end_is_an_error_with_the_line_count(file: Path, offset: int, ending: str) -> None:
    file.write_text("\n".join("x" * 10) + ending)
    with pytest.raises(ToolError, match="10 lines") as failure:
        read(file, offset)
    assert f"{offset}" in str(failure.value)
    assert "x" in text_of(read(file, 10))


def test_an_empty_file_is_an_empty_text(file: Path) -> None:
    file.touch()
    assert text_of(read(file)) == ""
    with pytest.raises(ToolError, match="0 lines"):
        read(file, 2)


@pytest.mark.parametrize("value", ["three", "", [1], float("inf"), float("nan")])
def test_other_values_for_a_number_of_lines_are_refused(value: Any) -> None:
    with pytest.raises(ToolError, match="offset"):
        requested_lines({"offset": value})


def test_null_is_an_absent_number() -> None:
    assert requested_lines({"offset": None, "limit": None}) == requested_lines({}) == (0, None)


@given(
    st.lists(st.sampled_from(["", "a", "bc"]), max_size=8),
    st.booleans(),
    st.integers(-1, 9),
    st.none() | st.integers(-1, 9),
)
def test_windows_put_together_are_the_file(lines: list[str], ends: bool, offset: int, limit: int | None) -> None:
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    total = text.count("\n") + (bool(text) and not text.endswith("\n"))
    start, count = max(1, offset), None if limit is None else max(1, limit)
    operations = MemoryOperations(text.encode())
    if start > 1 and start > total:
        with pytest.raises(ToolError, match=f"{total} lines"):
            read("f", offset, limit, operations=operations)
        return
    shown = text_of(read("f", offset, limit, operations=operations))
    chosen = text.splitlines(keepends=True)[start - 1 :]
    if count is None or count >= len(chosen):
        assert shown == "".join(chosen)
    else:
        body, notice = split_notice(shown)
        assert body == "".join(chosen[:count]).removesuffix("\n")
        assert f"{len(chosen) - count} more" in notice
        assert f"offset={start + count}" in notice


class MemoryOperations:
    """A file in memory, loaded as a whole."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def read_file(self, path: str) -> bytes:
        return self.data

    async def access(self, path: str) -> None:
        pass


# output limits


@pytest.mark.parametrize("ending", ["", "\n"])
def test_two_thousand_lines_are_shown_whole(file: Path, ending: str) -> None:
    text = "\n".join(map(str, range(2000))) + ending
    file.write_text(text)
    assert text_of(read(file)) == text


def test_more_lines_are_cut_and_the_rest_counted(file: Path) -> None:
    file.write_text("".join(f"{number}\n" for number in range(1, 3001)))
    result = read(file)
    body, notice = split_notice(text_of(result))
    assert body == "\n".join(str(number) for number in range(1, 2001))
    for fact in ("1-2000", "3000", "offset=2001"):
        assert fact in notice
    assert "50.0KB" not in notice
    truncation = result.details["truncation"]
    assert truncation == {
        "content": body,
        "truncated": True,
        "truncatedBy": "lines",
        "totalLines": 3000,
        "totalBytes": file.stat().st_size,
        "outputLines": 2000,
        "outputBytes": len(body),
        "lastLinePartial": False,
        "firstLineExceedsLimit": False,
        "maxLines": 2000,
        "maxBytes": 51200,
    }
    assert text_of(read(file, 2001)) == "".join(f"{number}\n" for number in range(2001, 3001))


def test_fifty_kilobytes_are_the_other_limit(file: Path) -> None:
    file.write_text(("x" * 99 + "\n") * 600)
    result = read(file, 11)
    body, notice = split_notice(text_of(result))
    assert len(body) == 51199
    for fact in ("11-522", "600", "50.0KB", "offset=523"):
        assert fact in notice
    assert result.details["truncation"]["truncatedBy"] == "bytes"
    assert result.details["truncation"]["totalLines"] == 590


def test_a_limit_above_what_fits_is_cut_like_any_text(file: Path) -> None:
    file.write_text("x\n" * 5000)
    result = read(file, 1, 3000)
    assert "1-2000 of 5000" in split_notice(text_of(result))[1]
    assert result.details["truncation"]["totalLines"] == 3000


def test_a_first_line_over_the_limit_is_only_described(tmp_path: Path) -> None:
    file = tmp_path / "it's long.txt"
    file.write_text("short\n" + "y" * 60_000 + "\nlast\n")
    result = read("it's long.txt", 2, cwd=tmp_path)
    text = text_of(result)
    assert text[0] + text[-1] == "[]"
    assert "y" * 20 not in text
    for fact in ("Line 2", "58.6KB", "50.0KB", "sed -n '2p' ", "head -c 51200"):
        assert fact in text
    command = text[text.index("sed -n") : -1]
    run = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    assert run.stdout == b"y" * 51200
    assert result.details["truncation"]["firstLineExceedsLimit"] is True
    assert result.details["truncation"]["content"] == ""


def test_a_line_over_the_limit_further_down_ends_the_window(file: Path) -> None:
    file.write_text("short\n" + "y" * 60_000 + "\nlast\n")
    body, notice = split_notice(text_of(read(file)))
    assert body == "short"
    assert "1-1 of 3" in notice
    assert "offset=2" in notice


# encodings


def test_utf8_keeps_its_mark(file: Path) -> None:
    file.write_bytes(codecs.BOM_UTF8 + b"x\n")
    assert text_of(read(file)) == "\ufeffx\n"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_with_a_mark_are_decoded(file: Path, codec: str) -> None:
    mark = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }[codec]
    file.write_bytes(mark + "hello\nwörld \U0001f600\n".encode(codec))
    assert text_of(read(file)) == "hello\nwörld \U0001f600\n"
    assert split_notice(text_of(read(file, 1, 1)))[0] == "hello"


def test_a_guessed_encoding_is_decoded_and_named(file: Path) -> None:
    file.write_bytes(CHINESE.encode("gbk"))
    body, notice = split_notice(text_of(read(file)))
    assert body == CHINESE
    assert "GB18030" in notice


def test_a_guess_deep_in_an_ascii_file_is_the_same(file: Path) -> None:
    file.write_bytes(b"# header line\n" * 30_000 + CHINESE.encode("gbk"))
    body, notice = split_notice(text_of(read(file, 30_001)))
    assert body == CHINESE
    assert "GB18030" in notice
    assert "GB18030" not in text_of(read(file, 1, 1))


def test_bytes_that_are_no_text_are_shown_as_such_with_a_notice(file: Path) -> None:
    file.write_bytes("漢字 ok\n".encode() * 3 + b"bad \xff byte\n" + b"fine\n")
    body, notice = split_notice(text_of(read(file)))
    assert "bad \ufffd byte" in body
    assert "\ufffd" in notice
    assert text_of(read(file, 5)) == "fine\n"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF" + bytes(2000), "ELF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG"),
        (b"PK\x03\x04" + bytes(30), "ZIP"),
        (bytes(1100), "unknown"),
        (b"II*\0" + bytes(50), "TIFF"),
        (b"\xff\xd8\xff\xf7" + bytes(50), "JPEG"),
    ],
)
def test_binary_files_are_refused_with_kind_and_size(file: Path, data: bytes, kind: str) -> None:
    file.write_bytes(data)
    with pytest.raises(ToolError, match=kind) as failure:
        read(file)
    size = "2.0KB" if len(data) > 2000 else f"{len(data) / 1024:.1f}KB" if len(data) >= 1024 else f"{len(data)}B"
    assert size in str(failure.value)
    assert "f.txt" in str(failure.value)


def test_a_large_binary_file_is_refused_by_its_beginning(file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.truncate(3 * 1024**3)
        sparse.seek(0, os.SEEK_END)
        sparse.write(b"\nlast\n")
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match=r"3072\.0MB"):
            read(file, 1, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


# images


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_is_attached_with_the_type_of_its_content(tmp_path: Path, kind: str) -> None:
    data = image_bytes(6, 4, kind)
    (tmp_path / "x.txt").write_bytes(data)
    result = read("x.txt", cwd=tmp_path)
    note, image = result.content
    assert isinstance(note, TextContent)
    assert isinstance(image, ImageContent)
    mime_type = f"image/{kind.lower()}"
    assert mime_type in note.text
    assert (base64.b64decode(image.data), image.mime_type) == (data, mime_type)
    assert result.structured_content == {
        "type": "image",
        "data": image.data,
        "mimeType": mime_type,
        "note": note.text,
    }
    assert not result.details


def test_hints_stand_on_lines_of_their_own(file: Path) -> None:
    file.write_bytes(image_bytes(2500, 10, "BMP"))
    note, image = read(file).content
    assert isinstance(note, TextContent)
    assert isinstance(image, ImageContent)
    lines = note.text.split("\n")
    assert len(lines) == 3
    assert "image/bmp" in lines[1]
    assert "2500x10" in lines[2]
    assert image.mime_type == "image/png"


def test_an_image_larger_than_a_block_is_read_whole(file: Path) -> None:
    pixels = os.urandom(400 * 400 * 3)
    Image.frombytes("RGB", (400, 400), pixels).save(file, "PNG")
    image = read(file).content[1]
    assert isinstance(image, ImageContent)
    assert base64.b64decode(image.data) == file.read_bytes()


@pytest.mark.parametrize("data", [image_bytes(50, 50)[:50], image_bytes(50, 50, "JPEG")[:200]])
def test_an_image_that_does_not_decode_is_a_short_text(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    text = text_of(read(file))
    assert "image/" in text
    assert "omitted" in text
    assert len(text) < 300


def test_an_image_file_of_absurd_size_is_not_loaded(file: Path) -> None:
    file.write_bytes(image_bytes(5, 5, "JPEG"))
    os.truncate(file, MAX_IMAGE_FILE_BYTES + 1)
    assert "64.0MB" in text_of(read(file))


def test_html_in_a_png_name_is_text(tmp_path: Path) -> None:
    (tmp_path / "fake.png").write_text("<!DOCTYPE html>")
    assert text_of(read("fake.png", cwd=tmp_path)) == "<!DOCTYPE html>"


def test_an_animated_png_is_not_attached(file: Path) -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    frames[0].save(file, "PNG", save_all=True, append_images=frames[1:])
    with pytest.raises(ToolError, match="animated PNG"):
        read(file)


def test_the_limits_of_the_model_win_over_those_of_the_tool(file: Path) -> None:
    file.write_bytes(image_bytes(300, 300))
    limits = InputLimits(images=ImageLimits(resize=ImageResize(max_width=30)))
    result = read(file, model=model(input=["text", "image"], input_limits=limits), resize=ImageResize(max_width=200))
    assert "30x30" in str(result.structured_content["note"])
    result = read(file, model=model(input=["text", "image"]), resize=ImageResize(max_width=200))
    assert "200x200" in str(result.structured_content["note"])
    assert "300x300" not in str(read(file, auto_resize=False, resize=ImageResize(max_width=200)).content[0])


def test_a_model_without_image_input_is_named_in_the_details(file: Path) -> None:
    file.write_bytes(image_bytes(3, 3))
    assert read(file, model=model()).details == {"imageUnsupportedByModel": "m-1"}
    assert not read(file, model=model(input=["text", "image"])).details


# paths and failures


def test_a_missing_file_is_named_with_its_error_code(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="ENOENT") as failure:
        read("none.txt", cwd=tmp_path)
    assert str(tmp_path / "none.txt") in str(failure.value)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="EISDIR"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(file: Path) -> None:
    file.touch(mode=0)
    with pytest.raises(ToolError, match="EACCES"):
        read(file)


def test_a_failing_access_check_is_reported(file: Path) -> None:
    class Denying(LocalReadOperations):
        async def access(self, path: str) -> None:
            raise PermissionError(13, "Permission denied", path)

    with pytest.raises(ToolError, match="EACCES"):
        read(file, operations=Denying())


def test_a_file_that_may_not_be_read_is_not_replaced_by_one_of_a_similar_name(tmp_path: Path) -> None:
    class Denying(LocalReadOperations):
        async def access(self, path: str) -> None:
            if "\u2019" not in path:
                raise PermissionError(13, "Permission denied", path)

    (tmp_path / "it\u2019s.txt").write_text("other")
    with pytest.raises(ToolError, match="EACCES"):
        read("it's.txt", cwd=tmp_path, operations=Denying())


def test_a_screenshot_name_with_a_plain_blank_is_found(tmp_path: Path) -> None:
    (tmp_path / "Shot at 3.04\u202fPM.txt").write_text("found")
    assert text_of(read("Shot at 3.04 PM.txt", cwd=tmp_path)) == "found"


def test_a_name_that_is_no_utf8_can_be_read_through_a_url(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("found")
    assert text_of(read(f"file://{tmp_path}/caf%E9")) == "found"


# special and growing files


def test_files_without_a_size_are_read_to_their_end() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    assert "Threads:" in text_of(read("/proc/self/status"))


def test_endless_devices_are_refused_as_binary() -> None:
    with pytest.raises(ToolError, match="binary"):
        read("/dev/zero")


def test_an_empty_device_is_an_empty_text() -> None:
    assert text_of(read("/dev/null")) == ""


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader_keeps_it_open = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"first\n")

    def finish() -> None:
        os.write(writer, b"second\n")
        os.close(writer)

    late = threading.Timer(0.1, finish)
    late.start()
    try:
        assert text_of(read(pipe)) == "first\nsecond\n"
    finally:
        late.join()
        os.close(reader_keeps_it_open)


def test_a_silent_pipe_ends_with_the_abort(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def scenario() -> None:
        keep = [os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), os.open(pipe, os.O_WRONLY)]
        controller = AbortController()
        call = read_file(ReadRequest(str(pipe)), "/", LocalReadOperations(), controller.signal)
        task = asyncio.create_task(call)
        await asyncio.sleep(0.05)
        controller.abort()
        with pytest.raises(OperationAbortedError):
            await task
        for descriptor in keep:
            os.close(descriptor)

    asyncio.run(scenario())


def test_a_terminal_is_refused() -> None:
    main, terminal = os.openpty()
    try:
        with pytest.raises(ToolError, match="terminal"):
            read(os.ttyname(terminal))
    finally:
        os.close(main)
        os.close(terminal)


def test_a_growing_file_ends_where_it_ended_at_the_start(file: Path) -> None:
    file.write_bytes(b"x" * (file_stream.BLOCK_BYTES + 10))

    async def scenario() -> int:
        size = 0
        async for block in read_blocks(str(file)):
            size += len(block)
            with file.open("ab") as log:
                log.write(b"more" * 100_000)
        return size

    assert asyncio.run(scenario()) == file_stream.BLOCK_BYTES + 10


def test_a_shrinking_file_ends_early(file: Path) -> None:
    file.write_bytes(b"x" * (file_stream.BLOCK_BYTES * 3))

    async def scenario() -> int:
        size = 0
        async for block in read_blocks(str(file)):
            size += len(block)
            os.truncate(file, 10)
        return size

    assert asyncio.run(scenario()) == file_stream.BLOCK_BYTES


def test_descriptors_are_closed_however_reading_ends(file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.write(b"text\n" * 20_000)
        sparse.truncate(300 * file_stream.BLOCK_BYTES)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("no /proc here")

    async def cancel_after(delay_s: float) -> None:
        task = asyncio.create_task(read_file(ReadRequest(str(file)), "/", LocalReadOperations(), AbortSignal()))
        await asyncio.sleep(delay_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def scenario() -> None:
        for turn in range(8):
            await cancel_after(turn * 0.0004)
        await asyncio.sleep(0.05)

    asyncio.run(asyncio.sleep(0))
    before = len(list(folder.iterdir()))
    asyncio.run(scenario())
    assert len(list(folder.iterdir())) <= before


# abort and bounded memory


def test_an_abort_before_the_start_reads_nothing(file: Path) -> None:
    file.write_text("x")
    controller = AbortController()
    controller.abort()
    with pytest.raises(OperationAbortedError):
        read(file, signal=controller.signal)


def test_an_abort_ends_a_read_that_hangs() -> None:
    class Hanging(MemoryOperations):
        async def read_file(self, path: str) -> bytes:
            controller.abort()
            await asyncio.Event().wait()
            return b""

    controller = AbortController()
    with pytest.raises(OperationAbortedError):
        read("f", operations=Hanging(b""), signal=controller.signal)


def test_a_long_text_is_read_in_bounded_memory(file: Path) -> None:
    with file.open("wb") as log:
        for _ in range(60):
            log.write((b"x" * 99 + b"\n") * 10_000)
    tracemalloc.start()
    try:
        result = read(file, 1, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "599995 more" in split_notice(text_of(result))[1]
    assert peak < 4_000_000


def test_one_endless_line_is_read_in_bounded_memory(file: Path) -> None:
    with file.open("wb") as log:
        for _ in range(60):
            log.write(b"y" * 1_000_000)
    tracemalloc.start()
    try:
        result = read(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "57.2MB" in text_of(result)
    assert peak < 4_000_000


def test_what_follows_is_counted_only_so_far(file: Path) -> None:
    file.write_text("x\n" * 2_000_000)
    notice = split_notice(text_of(read(file, 1, 5, count_ahead_bytes=1_000_000)))[1]
    assert "more than" in notice
    assert "offset=6" in notice
    notice = split_notice(text_of(read(file, count_ahead_bytes=1_000_000)))[1]
    assert "1-2000 of more than" in notice
    last = text_of(read(file, 2_000_000, count_ahead_bytes=1_000_000))
    assert last == "x\n"
    with pytest.raises(ToolError, match="2000000 lines"):
        read(file, 2_000_001, count_ahead_bytes=1_000_000)


# other operations


def test_whole_files_of_other_operations_are_windowed_too() -> None:
    operations = MemoryOperations(b"line\n" * 200_000)
    assert "199999 more" in text_of(read("f", 1, 1, operations=operations))
    with pytest.raises(ToolError, match=r"binary.*more than|binary.*KB"):
        read("f", operations=MemoryOperations(bytes(100_000)))


def test_streams_of_tiny_blocks_are_recognised() -> None:
    class Dripping(MemoryOperations):
        async def create_read_stream(self, path: str, *, signal: AbortSignal | None = None) -> AsyncIterator[bytes]:
            for at in range(len(self.data)):
                yield self.data[at : at + 1]

    data = codecs.BOM_UTF16_LE + "hi\nthere\n".encode("utf-16-le")
    assert text_of(read("f", operations=Dripping(data))) == "hi\nthere\n"
    assert isinstance(read("f", operations=Dripping(image_bytes(3, 3))).content[1], ImageContent)


@pytest.mark.parametrize(("answer", "is_image"), [("image/png", True), (None, False)])
def test_operations_may_decide_what_is_an_image(answer: str | None, is_image: bool) -> None:
    class Deciding(MemoryOperations):
        async def detect_image_mime_type(self, path: str) -> str | None:
            return answer

    operations = Deciding(image_bytes(3, 3))
    if is_image:
        assert isinstance(read("f", operations=operations).content[1], ImageContent)
    else:
        with pytest.raises(ToolError, match="binary"):
            read("f", operations=operations)
