"""The image pipeline on real image data."""

from __future__ import annotations

import asyncio
import base64
import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pinyon import images
from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.model import ImageResize
from pinyon.tools.image import (
    ImageBounds,
    ResizeResult,
    image_bounds,
    process_image,
    resize_image,
    resize_image_decision,
)
from pinyon.tools.image_content import normalise_image, normalise_images
from pinyon.tools.image_type import detect_image_mime_type, detect_supported_image_mime_type_from_file

Colour = tuple[int, int, int]


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def flat(width: int, height: int, kind: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    return encode(Image.new(mode, (width, height)), kind, **options)


def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    pixels = random.Random(7).randbytes(width * height * 3)
    return encode(
        Image.frombytes("RGB", (width, height), pixels), kind, **({"compress_level": 1} if kind == "PNG" else {})
    )


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb_png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", body) + png_chunk(b"IEND", b"")


def animated_gif() -> bytes:
    frames = [Image.new("P", (8, 8), colour) for colour in (0, 1, 2)]
    return encode(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=50)


def opened(data: bytes | str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data) if isinstance(data, str) else data))


# what a file holds


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (flat(2, 2), "image/png"),
        (flat(2, 2, "JPEG"), "image/jpeg"),
        (flat(2, 2, "GIF", "P"), "image/gif"),
        (animated_gif(), "image/gif"),
        (flat(2, 2, "WEBP"), "image/webp"),
        (flat(2, 2, "BMP"), "image/bmp"),
        (flat(2, 2, "BMP", "1"), "image/bmp"),
        (flat(2, 2, "TIFF"), None),
        (encode(Image.new("RGB", (2, 2)), "PNG", save_all=True, append_images=[Image.new("RGB", (2, 2), "red")]), None),
        (b"\xff\xd8\xff\xf7" + bytes(20), None),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"GIF88a" + bytes(20), None),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"<!DOCTYPE html>", None),
        (b"BM is how this sentence begins, and it goes on for a while", None),
        (b"BM", None),
        (b"BM" + struct.pack("<IHHI", 10, 0, 0, 26) + bytes(20), None),
        (b"BM" + struct.pack("<IHHI", 99, 0, 0, 26) + struct.pack("<I", 20) + bytes(20), None),
        (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", bytes(13)), "image/png"),
        (b"", None),
    ],
)
def test_the_type_comes_from_the_content(tmp_path: Path, data: bytes, mime_type: str | None) -> None:
    assert detect_image_mime_type(data) == mime_type
    file = tmp_path / "misleading.png"
    file.write_bytes(data)
    assert detect_supported_image_mime_type_from_file(file) == mime_type


def test_an_old_bmp_header_is_an_image() -> None:
    body = bytes(4)
    head = b"BM" + struct.pack("<IHHI", 26 + len(body), 0, 0, 26) + struct.pack("<IHHHH", 12, 1, 1, 1, 24)
    assert detect_image_mime_type(head + body) == "image/bmp"
    two_planes = b"BM" + struct.pack("<IHHI", 30, 0, 0, 26) + struct.pack("<IHHHH", 12, 1, 1, 2, 24)
    assert detect_image_mime_type(two_planes + body) is None


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        detect_supported_image_mime_type_from_file(tmp_path / "none.png")


# the resize decision


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((3001, 2001), (2000, 1334)),
        ((3000, 10), (2000, 7)),
        ((2000, 2000), (2000, 2000)),
        ((10, 4001), (5, 2000)),
        ((1, 6000), (1, 2000)),
        ((2001, 1), (2000, 1)),
    ],
)
def test_an_image_is_scaled_into_the_bounds(size: tuple[int, int], shown: tuple[int, int]) -> None:
    result = resize_image_decision(flat(*size, mode="L"), "image/png")
    assert result is not None
    assert (result.original_width, result.original_height) == size
    assert (result.width, result.height) == shown == opened(result.data).size
    assert result.was_resized == (size != shown)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_within_the_bounds_keeps_its_bytes(kind: str) -> None:
    data = flat(20, 10, kind)
    assert resize_image(data, f"image/{kind.lower()}") == ResizeResult(
        data, f"image/{kind.lower()}", 20, 10, 20, 10, was_resized=False
    )


def test_the_base64_length_must_stay_strictly_below_the_limit() -> None:
    data = noise(40, 40)
    length = len(base64.b64encode(data))
    kept = resize_image(data, "image/png", ImageBounds(max_bytes=length + 1))
    changed = resize_image(data, "image/png", ImageBounds(max_bytes=length))
    assert kept is not None
    assert changed is not None
    assert (kept.was_resized, changed.was_resized) == (False, True)
    assert len(base64.b64encode(changed.data)) < length


def test_noise_becomes_jpeg_at_the_same_size_because_that_is_smaller() -> None:
    result = resize_image(noise(1600, 1600), "image/png")
    assert result is not None
    assert (result.mime_type, result.width, result.height, result.was_resized) == ("image/jpeg", 1600, 1600, True)
    assert len(base64.b64encode(result.data)) < 4_718_592


def test_a_drawing_stays_png_because_that_is_smaller() -> None:
    result = resize_image(flat(2500, 2500), "image/png")
    assert result is not None
    assert result.mime_type == "image/png"


def test_a_twelve_megapixel_noise_png_gets_below_the_limit() -> None:
    result = resize_image(noise(4000, 3000), "image/png")
    assert result is not None
    assert len(base64.b64encode(result.data)) < 4_718_592
    assert (result.original_width, result.width, result.height) == (4000, 2000, 1500)


def test_quality_falls_before_the_size_does() -> None:
    data = noise(200, 200)
    first = encode(opened(data), "JPEG", quality=80)
    lowest = encode(opened(data), "JPEG", quality=40)
    bounds = ImageBounds(max_bytes=(len(first) + len(lowest)) // 2 * 4 // 3)
    result = resize_image(data, "image/png", bounds)
    assert result is not None
    assert (result.width, result.mime_type) == (200, "image/jpeg")
    smaller = resize_image(data, "image/png", ImageBounds(max_bytes=len(lowest)))
    assert smaller is not None
    assert smaller.width == 150


def test_an_impossible_limit_gives_nothing() -> None:
    assert resize_image(noise(50, 50), "image/png", ImageBounds(max_bytes=10)) is None


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_upright_before_it_is_measured(kind: str, orientation: int) -> None:
    picture = Image.new("RGB", (2400, 1200), "blue")
    picture.paste((255, 0, 0), (0, 0, 1200, 600))
    exif = Image.Exif()
    exif[0x0112] = orientation
    result = resize_image(encode(picture, kind, exif=exif), f"image/{kind.lower()}")
    assert result is not None
    upright = (1200, 2400) if orientation >= 5 else (2400, 1200)
    assert (result.original_width, result.original_height) == upright
    assert max(result.width, result.height) == 2000
    shown = opened(result.data).convert("RGB")
    corners = {"left top": (50, 50), "right top": (-50, 50), "right bottom": (-50, -50), "left bottom": (50, -50)}
    red = [name for name, (x, y) in corners.items() if _is_red(shown.getpixel((x % shown.width, y % shown.height)))]
    expected = [
        "left top",
        "right top",
        "right bottom",
        "left bottom",
        "left top",
        "right top",
        "right bottom",
        "left bottom",
    ]
    assert red == [expected[orientation - 1]]


def _is_red(pixel: Any) -> bool:
    return bool(pixel[0] > 150 and pixel[2] < 100)


def test_a_bad_orientation_counts_as_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 99
    result = resize_image(flat(2400, 1200, "JPEG", exif=exif), "image/jpeg")
    assert result is not None
    assert (result.width, result.height) == (2000, 1000)


def test_damaged_orientation_data_counts_as_upright() -> None:
    data = flat(2400, 1200, "JPEG")
    segment = b"Exif\0\0II*\0\xff\xff\xff\xff" + bytes(8)
    data = data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]
    result = resize_image(data, "image/jpeg")
    assert result is not None
    assert (result.width, result.height) == (2000, 1000)


def test_a_small_photo_keeps_its_orientation_tag() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = flat(40, 20, "JPEG", exif=exif)
    result = resize_image(data, "image/jpeg")
    assert result is not None
    assert (result.data, result.width, result.height) == (data, 20, 40)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
def test_every_pixel_format_can_be_scaled(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    data = flat(2100, 30, kind, mode)
    result = resize_image(data, f"image/{kind.lower()}")
    assert result is not None
    assert result.was_resized
    assert opened(result.data).size == (2000, 29)


def test_sixteen_bit_grey_keeps_its_brightness() -> None:
    image = Image.new("I;16", (2100, 30), 0x8000)
    result = resize_image(encode(image, "PNG"), "image/png")
    assert result is not None
    assert abs(int(opened(result.data).convert("L").getpixel((5, 5)) or 0) - 128) <= 2  # type: ignore[arg-type]


def test_transparency_survives_in_png() -> None:
    result = resize_image(flat(2100, 30, mode="RGBA"), "image/png")
    assert result is not None
    assert opened(result.data).mode == "RGBA"


# the whole pipeline


def test_a_fitting_image_passes_without_hints() -> None:
    data = flat(4, 4)
    result = process_image(data, "image/png")
    assert (result.ok, base64.b64decode(result.data), result.mime_type, result.hints) == (True, data, "image/png", ())


def test_bmp_becomes_png_with_a_hint() -> None:
    result = process_image(flat(4, 4, "BMP"), "image/bmp")
    assert (result.ok, result.mime_type, opened(result.data).size) == (True, "image/png", (4, 4))
    assert len(result.hints) == 1
    assert "image/bmp" in result.hints[0]
    assert "image/png" in result.hints[0]


def test_a_large_bmp_has_both_hints_in_order() -> None:
    result = process_image(flat(2250, 10, "BMP"), "image/bmp")
    assert [("image/bmp" in hint, "2250x10" in hint) for hint in result.hints] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("width", "factor"), [(2250, "1.13"), (3001, "1.50"), (2000, None), (2010, "1.01"), (8000, "4.00")]
)
def test_the_dimension_hint_names_sizes_and_factor(width: int, factor: str | None) -> None:
    hints = process_image(flat(width, 2, mode="L"), "image/png").hints
    if factor is None:
        assert hints == ()
    else:
        assert f"{width}x2" in hints[0]
        assert "2000x" in hints[0]
        assert factor in hints[0]
        assert hints[0][0] + hints[0][-1] == "[]"


def test_without_resizing_only_conversion_happens() -> None:
    data = flat(3000, 2)
    assert base64.b64decode(process_image(data, "image/png", auto_resize=False).data) == data
    converted = process_image(flat(3000, 2, "BMP"), "image/bmp", auto_resize=False)
    assert opened(converted.data).size == (3000, 2)
    assert len(converted.hints) == 1


@pytest.mark.parametrize("auto_resize", [True, False])
@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (flat(50, 50)[:60], "image/png"),
        (noise(50, 50)[:-2000], "image/png"),
        (flat(50, 50, "JPEG")[:100], "image/jpeg"),
        (b"GIF89a" + bytes(30), "image/gif"),
        (b"RIFF\0\0\0\0WEBP" + bytes(30), "image/webp"),
        (b"BM" + bytes(60), "image/bmp"),
        (b"<svg/>", "image/svg+xml"),
        (b"", "image/png"),
        (bomb_png(60_000, 60_000), "image/png"),
        (bomb_png(9_500, 10_600), "image/png"),
    ],
)
def test_what_does_not_decode_is_left_out_with_a_reason(data: bytes, mime_type: str, auto_resize: bool) -> None:
    result = process_image(data, mime_type, auto_resize=auto_resize)
    assert (result.ok, result.data) == (False, "")
    assert "omitted" in result.message


def test_what_cannot_get_small_enough_says_so() -> None:
    result = process_image(noise(50, 50), "image/png", bounds=ImageBounds(max_bytes=10))
    assert not result.ok
    assert "10B" in result.message


def test_a_fitting_animation_keeps_its_frames() -> None:
    data = animated_gif()
    assert base64.b64decode(process_image(data, "image/gif").data) == data


def test_bounds_are_merged_field_by_field() -> None:
    assert image_bounds() == ImageBounds(2000, 2000, 4_718_592, 80)
    tool = ImageResize(max_width=100, jpeg_quality=50)
    model = ImageResize(max_width=300, max_bytes=0)
    assert image_bounds(tool, None, model) == ImageBounds(300, 2000, 1, 50)


# images in messages


def block(data: bytes, mime_type: str) -> ImageContent:
    return ImageContent(base64.b64encode(data).decode(), mime_type)


def test_images_in_a_message_are_made_fit_and_hints_follow_them() -> None:
    small = block(flat(4, 4), "image/png")
    content: list[UserBlock] = [TextContent("a"), small, block(flat(2500, 4), "image/png"), TextContent("b")]
    blocks = asyncio.run(normalise_images(content))
    assert [type(item).__name__ for item in blocks] == [
        "TextContent",
        "ImageContent",
        "ImageContent",
        "TextContent",
        "TextContent",
    ]
    assert blocks[1] is small
    assert isinstance(blocks[3], TextContent)
    assert "2500x4" in blocks[3].text
    assert blocks[4] is content[3]


def test_a_mislabelled_image_gets_its_real_type() -> None:
    fixed = asyncio.run(normalise_image(block(flat(4, 4, "JPEG"), "image/png")))
    assert isinstance(fixed.block, ImageContent)
    assert (fixed.block.mime_type, fixed.hints) == ("image/jpeg", ())


@pytest.mark.parametrize(
    "image",
    [
        ImageContent("not base64!", "image/png"),
        ImageContent("", "image/png"),
        block(b"<!DOCTYPE html>", "image/png"),
        block(b"\x89PNG\r\n\x1a\n" + bytes(40), "image/png"),
    ],
)
def test_an_image_that_no_provider_would_take_becomes_text(image: ImageContent) -> None:
    fixed = asyncio.run(normalise_image(image)).block
    assert isinstance(fixed, TextContent)
    assert "omitted" in fixed.text


@pytest.mark.parametrize(("kind", "mime_type"), [("TIFF", "image/tiff"), ("ICO", "image/x-icon")])
def test_other_formats_of_extensions_become_png(kind: str, mime_type: str) -> None:
    fixed = asyncio.run(normalise_image(block(flat(16, 16, kind), mime_type)))
    assert isinstance(fixed.block, ImageContent)
    assert fixed.block.mime_type == "image/png"
    assert len(fixed.hints) == 1


def test_a_data_url_is_unwrapped() -> None:
    data = base64.b64encode(flat(4, 4)).decode()
    fixed = asyncio.run(normalise_image(ImageContent(f"data:image/png;base64,{data}", "image/png"))).block
    assert isinstance(fixed, ImageContent)
    assert fixed.data == data


def test_the_pipeline_is_public() -> None:
    assert images.resize_image_decision is resize_image_decision
    assert sorted(images.__all__) == dir(images)
    assert all(getattr(images, name) is not None for name in images.__all__)
