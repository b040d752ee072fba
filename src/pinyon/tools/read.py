"""The read tool: text in windows of lines, images as attachments, everything else refused with its kind and size."""

from __future__ import annotations

import asyncio
import errno
import math
import shlex
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal, until_aborted
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.model import ImageResize, Model
from pinyon.errors import ToolError
from pinyon.tools.binary_kind import binary_kind
from pinyon.tools.image_type import SNIFF_BYTES, detect_image_mime_type
from pinyon.tools.line_window import LineWindow, WindowContent
from pinyon.tools.operations.protocol import (
    ImageTypeOperations,
    ReadOperations,
    SizedReadOperations,
    StreamReadOperations,
)
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.path import read_path_candidates
from pinyon.tools.text_encoding import SAMPLE_BYTES, StreamDecoder, detect_encoding
from pinyon.tools.truncate import DEFAULT_MAX_BYTES, format_size, with_notices

COUNT_AHEAD_BYTES = 256 * 1024 * 1024
"""How far past the shown window the lines of a file are counted; beyond it notices say "more than"."""

MAX_IMAGE_FILE_BYTES = 64 * 1024 * 1024
"""Largest image file that is loaded to be scaled down."""

_SLICE_BYTES = 256 * 1024
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


class ReadRequest(msgspec.Struct, frozen=True):
    """One call: the path as given, the lines asked for, and what decides how an image is shown.

    `start` is the zero-based first line, `limit` the number of lines (None: as many as fit).
    """

    path: str
    start: int = 0
    limit: int | None = None
    model: Model | None = None
    auto_resize: bool = True
    resize: ImageResize | None = None
    count_ahead_bytes: int = COUNT_AHEAD_BYTES


def requested_lines(params: dict[str, Any]) -> tuple[int, int | None]:
    """Zero-based first line and number of lines of a call.

    Null means absent, texts that are numbers count as such, fractions are cut off and values below 1 mean 1.
    """
    offset, limit = _whole_number(params, "offset"), _whole_number(params, "limit")
    return max(1, offset or 1) - 1, None if limit is None else max(1, limit)


def _whole_number(params: dict[str, Any], name: str) -> int | None:
    value = params.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ToolError(f"{name!r} must be a number of lines, got {value!r}")
    return int(number)


async def read_file(request: ReadRequest, cwd: str, operations: ReadOperations, signal: AbortSignal) -> AgentToolResult:
    """Read what the request asks for; an abort ends it at once.

    Raises `ToolError` for a file that is missing, unreadable, binary or shorter than the requested offset.
    """
    return await until_aborted(_read(request, cwd, operations, signal), signal)


async def _read(request: ReadRequest, cwd: str, operations: ReadOperations, signal: AbortSignal) -> AgentToolResult:
    path = await _locate(request.path, cwd, operations)
    try:
        mime_type = None
        if isinstance(operations, ImageTypeOperations):
            mime_type = await operations.detect_image_mime_type(path)
        async with aclosing(_blocks(path, operations, signal)) as blocks:
            sample, complete = await _first_sample(blocks)
            if not isinstance(operations, ImageTypeOperations):
                mime_type = detect_image_mime_type(sample[:SNIFF_BYTES])
            if mime_type is not None:
                return await _read_image(request, mime_type, sample, blocks)
            encoding = detect_encoding(sample, complete=complete)
            if encoding is None:
                raise await _binary_refusal(request.path, path, operations, sample, complete)
            return await _read_text(request, StreamDecoder(encoding), sample, blocks)
    except OSError as error:
        raise _access_error(path, error) from error


async def _locate(path: str, cwd: str, operations: ReadOperations) -> str:
    failure: FileAccessError | None = None
    for candidate in read_path_candidates(path, cwd):
        try:
            await operations.access(candidate)
        except OSError as error:
            failure = failure or _access_error(candidate, error)
            if error.errno not in _NOT_THERE:
                break
        else:
            return candidate
    raise failure or ToolError(f"Path {path!r} names no file.")


def _access_error(path: str, error: OSError) -> FileAccessError:
    advice = "List a directory with ls." if error.errno == errno.EISDIR else ""
    return FileAccessError("read", path, error, advice)


async def _blocks(path: str, operations: ReadOperations, signal: AbortSignal) -> AsyncGenerator[bytes, None]:
    if not isinstance(operations, StreamReadOperations):
        data = await operations.read_file(path)
        for at in range(0, len(data), _SLICE_BYTES):
            yield data[at : at + _SLICE_BYTES]
        return
    stream = operations.create_read_stream(path, signal=signal)
    try:
        async for block in stream:
            yield block
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


async def _first_sample(blocks: AsyncGenerator[bytes, None]) -> tuple[bytes, bool]:
    """The first bytes, enough to tell what the file is, and whether they are the whole file."""
    sample = b""
    async for block in blocks:
        sample = sample + block if sample else block
        if len(sample) >= SAMPLE_BYTES:
            return sample, False
    return sample, True


async def _binary_refusal(
    shown: str, path: str, operations: ReadOperations, sample: bytes, complete: bool
) -> ToolError:
    if complete:
        size = format_size(len(sample))
    elif isinstance(operations, SizedReadOperations):
        size = format_size(max(len(sample), await operations.size(path)))
    else:
        size = f"more than {format_size(len(sample))}"
    return ToolError(
        f"Cannot read {shown!r} as text: it is a binary file ({binary_kind(sample)}, {size}). "
        "Look into it with a command made for its format."
    )


async def _read_text(
    request: ReadRequest, decoder: StreamDecoder, sample: bytes, blocks: AsyncGenerator[bytes, None]
) -> AgentToolResult:
    window = LineWindow(request.start, request.limit)
    window.feed(decoder.feed(sample))
    ahead, counted_all = 0, True
    async for block in blocks:
        ahead += len(block) if window.is_settled else 0
        if ahead > request.count_ahead_bytes:
            counted_all = False
            break
        window.feed(decoder.feed(block))
    if counted_all:
        window.feed(decoder.feed(b"", final=True))
    if window.total_lines <= request.start > 0:
        raise ToolError(
            f"Offset {request.start + 1} is past the end of {request.path!r}, which has {window.total_lines} lines."
        )
    return _text_result(request, window, decoder, counted_all)


def _text_result(
    request: ReadRequest, window: LineWindow, decoder: StreamDecoder, counted_all: bool
) -> AgentToolResult:
    content = window.finish()
    cut = content.truncation
    text = cut.content
    notices = []
    if cut.first_line_exceeds_limit:
        notices.append(_long_line_notice(request, window, counted_all))
    elif cut.truncated or content.end_line < content.total_lines or not counted_all:
        notices.append(_more_notice(request, content, counted_all))
    notices += _encoding_notices(decoder, text)
    text = f"[{'. '.join(notices)}]" if cut.first_line_exceeds_limit else with_notices(text, notices)
    details = {"truncation": cut.to_json()} if cut.truncated else UNSET
    return AgentToolResult([TextContent(text)], details=details, structured_content=text)


def _long_line_notice(request: ReadRequest, window: LineWindow, counted_all: bool) -> str:
    number = request.start + 1
    at_least = "" if counted_all or window.total_lines > request.start + 1 else "more than "
    size, limit = format_size(window.first_line_bytes), format_size(DEFAULT_MAX_BYTES)
    command = f"sed -n '{number}p' {shlex.quote(request.path)} | head -c {DEFAULT_MAX_BYTES}"
    return f"Line {number} is {at_least}{size} long, over the limit of {limit}. Show its beginning with: {command}"


def _more_notice(request: ReadRequest, content: WindowContent, counted_all: bool) -> str:
    cut, more_than = content.truncation, "" if counted_all else "more than "
    if not cut.truncated:
        left = content.total_lines - content.end_line
        return f"{more_than}{left} more lines in the file. Use offset={content.end_line + 1} to continue"
    last = request.start + cut.output_lines
    limit = f" (limit of {format_size(cut.max_bytes)})" if cut.truncated_by == "bytes" else ""
    shown = f"Lines {request.start + 1}-{last} of {more_than}{content.total_lines}{limit}"
    return f"{shown}. Use offset={last + 1} to continue"


def _encoding_notices(decoder: StreamDecoder, text: str) -> list[str]:
    if decoder.encoding.guessed and not text.isascii():
        return [f"Decoded as {decoder.encoding.label}, which is a guess; edits keep the encoding"]
    if decoder.has_invalid_bytes and "\ufffd" in text:
        return [f"Bytes that are not {decoder.encoding.label} are shown as \ufffd; edits elsewhere keep them"]
    return []


async def _read_image(
    request: ReadRequest, mime_type: str, sample: bytes, blocks: AsyncGenerator[bytes, None]
) -> AgentToolResult:
    from pinyon.tools.image import image_bounds_for, process_image

    data = bytearray(sample)
    async for block in blocks:
        data += block
        if len(data) > MAX_IMAGE_FILE_BYTES:
            limit = format_size(MAX_IMAGE_FILE_BYTES)
            return _text(f"File of type {mime_type}.\nImage omitted: the file is larger than {limit}.")
    bounds = image_bounds_for(request.model, request.resize)
    image = await asyncio.to_thread(
        process_image, bytes(data), mime_type, auto_resize=request.auto_resize, bounds=bounds
    )
    if not image.ok:
        return _text(f"File of type {mime_type}.\n{image.message}")
    note = "\n".join([f"Image of type {image.mime_type}.", *image.hints])
    structured = {"type": "image", "data": image.data, "mimeType": image.mime_type, "note": note}
    return AgentToolResult(
        [TextContent(note), ImageContent(image.data, image.mime_type)],
        details=_unsupported_details(request.model),
        structured_content=structured,
    )


def _text(text: str) -> AgentToolResult:
    return AgentToolResult([TextContent(text)], structured_content=text)


def _unsupported_details(model: Model | None) -> Any:
    if model is None or "image" in model.input:
        return UNSET
    return {"imageUnsupportedByModel": model.id}
