"""Images on their way to a model: really decoded, turned upright, brought below the limits, encoded the smaller way.

Everything here is blocking work of pure functions; callers in an event loop run it in a thread.
"""

from __future__ import annotations

import base64
import io
import math
import struct
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pinyon.ai.model import ImageResize, Model
from pinyon.tools.truncate import format_size

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 100_000_000
"""Largest image that is decoded; a small file can claim to be far larger."""

_JPEG_QUALITIES = (85, 70, 55, 40)
_INLINE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TYPE_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-ms-bmp": "image/bmp",
    "image/vnd.microsoft.icon": "image/x-icon",
}
_DECODERS = {
    "image/png": ("PngImagePlugin", "PngImageFile"),
    "image/jpeg": ("JpegImagePlugin", "JpegImageFile"),
    "image/gif": ("GifImagePlugin", "GifImageFile"),
    "image/webp": ("WebPImagePlugin", "WebPImageFile"),
    "image/bmp": ("BmpImagePlugin", "BmpImageFile"),
    "image/tiff": ("TiffImagePlugin", "TiffImageFile"),
    "image/avif": ("AvifImagePlugin", "AvifImageFile"),
    "image/x-icon": ("IcoImagePlugin", "IcoImageFile"),
}
_ORIENTATION_TAG = 0x0112
_DECODER_FAILURES = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    MemoryError,
    struct.error,
)


class ImageBounds(msgspec.Struct, frozen=True):
    """Largest image to send: pixels, and characters of its base64 text, which must stay below `max_bytes`."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    jpeg_quality: int = 80


class ResizeResult(msgspec.Struct, frozen=True):
    """An image that fits: encoded bytes (not base64), its type, and its size before and after.

    The original size is that of the upright image.
    """

    data: bytes
    mime_type: str
    original_width: int
    original_height: int
    width: int
    height: int
    was_resized: bool


class ProcessImageResult(msgspec.Struct, frozen=True):
    """An image ready to attach (`ok`, base64 `data`, `mime_type`, `hints`), or `message` saying why there is none."""

    ok: bool
    data: str = ""
    mime_type: str = ""
    hints: tuple[str, ...] = ()
    message: str = ""


def image_bounds(*layers: ImageResize | None) -> ImageBounds:
    """The bounds that result from the defaults and `layers`, later ones winning field by field."""
    values: dict[str, int] = {}
    for layer in layers:
        for name in ImageBounds.__struct_fields__:
            value = UNSET if layer is None else getattr(layer, name)
            if value is not UNSET:
                values[name] = max(1, int(value))
    return ImageBounds(**values)


def image_bounds_for(model: Model | None, resize: ImageResize | None = None) -> ImageBounds:
    """The bounds for images that go to `model`: what it states wins over `resize`, that over the defaults."""
    limits = model.input_limits if model is not None else UNSET
    images = limits.images if limits else UNSET
    return image_bounds(resize, (images.resize or None) if images else None)


def process_image(
    data: bytes, mime_type: str, *, auto_resize: bool = True, bounds: ImageBounds | None = None
) -> ProcessImageResult:
    """Make an image fit to be attached.

    Types that models do not take become PNG. Without `auto_resize` the size stays as it is. Hints are bracketed lines
    for the model about what was changed.
    """
    source = _TYPE_ALIASES.get(mime_type, mime_type)
    hints: list[str] = []
    final = source
    if source not in _INLINE_TYPES:
        converted = _as_png(data, source)
        if converted is None:
            return ProcessImageResult(False, message=f"Image omitted: {source} data could not be converted to PNG.")
        data, final = converted, "image/png"
    if not auto_resize:
        if source in _INLINE_TYPES and _decoded(data, final) is None:
            return _damaged(final)
        return _ready(data, final, _conversion_hints(source, final))
    fitted = resize_image(data, final, bounds)
    if fitted is None:
        return _damaged(final) if _decoded(data, final) is None else _too_large(bounds or ImageBounds())
    hints = _conversion_hints(source, fitted.mime_type) if final != source else []
    if fitted.was_resized:
        hints.append(_dimension_hint(fitted))
    return _ready(fitted.data, fitted.mime_type, hints)


def _ready(data: bytes, mime_type: str, hints: list[str]) -> ProcessImageResult:
    return ProcessImageResult(True, base64.b64encode(data).decode("ascii"), mime_type, tuple(hints))


def _damaged(mime_type: str) -> ProcessImageResult:
    return ProcessImageResult(
        False,
        message=f"Image omitted: the {mime_type} data is damaged or larger than {MAX_PIXELS // 10**6} megapixels.",
    )


def _too_large(bounds: ImageBounds) -> ProcessImageResult:
    return ProcessImageResult(
        False, message=f"Image omitted: it could not be brought below {format_size(bounds.max_bytes)} of base64."
    )


def _conversion_hints(source: str, final: str) -> list[str]:
    return [f"[Converted from {source} to {final}.]"] if source != final else []


def _dimension_hint(fitted: ResizeResult) -> str:
    hundredths = (200 * fitted.original_width + fitted.width) // (2 * fitted.width)
    factor = f"{hundredths // 100}.{hundredths % 100:02d}"
    return (
        f"[Shown at {fitted.width}x{fitted.height}, the original is {fitted.original_width}x{fitted.original_height}: "
        f"multiply coordinates by {factor} to find them in the original.]"
    )


def resize_image_decision(data: bytes, mime_type: str) -> ResizeResult | None:
    """What the pipeline makes of an image under the default bounds; None where nothing fits or decodes."""
    return resize_image(data, mime_type)


def resize_image(data: bytes, mime_type: str, bounds: ImageBounds | None = None) -> ResizeResult | None:
    """The image within `bounds`: the original bytes where they fit, else re-encoded and, if need be, scaled down.

    None for data that does not decode, for more than `MAX_PIXELS`, and where no encoding gets below the limit.
    """
    bounds = bounds or ImageBounds()
    mime_type = _TYPE_ALIASES.get(mime_type, mime_type)
    image = _opened(data, mime_type)
    if image is None:
        return None
    orientation = _orientation(image, mime_type)
    size = _upright_size(image.size, orientation)
    fits = size[0] <= bounds.max_width and size[1] <= bounds.max_height and _base64_len(len(data)) < bounds.max_bytes
    target = _target_size(size, bounds)
    if not fits and mime_type == "image/jpeg":
        doubled = _upright_size((2 * target[0], 2 * target[1]), orientation)
        image.draft(None, doubled)
    if not _load(image):
        return None
    if fits:
        return ResizeResult(data, mime_type, *size, *size, was_resized=False)
    return _shrink(_plain(_upright(image, orientation)), size, target, bounds)


def _base64_len(size_bytes: int) -> int:
    return (size_bytes + 2) // 3 * 4


def _target_size(size: tuple[int, int], bounds: ImageBounds) -> tuple[int, int]:
    width, height = size
    if width > bounds.max_width:
        width, height = bounds.max_width, _round(height * bounds.max_width / width)
    if height > bounds.max_height:
        width, height = _round(width * bounds.max_height / height), bounds.max_height
    return max(1, width), max(1, height)


def _round(value: float) -> int:
    return math.floor(value + 0.5)


def _shrink(image: Image, size: tuple[int, int], target: tuple[int, int], bounds: ImageBounds) -> ResizeResult | None:
    from PIL.Image import Resampling

    while True:
        scaled = image if image.size == target else image.resize(target, Resampling.LANCZOS)
        encoded = _encode(scaled, bounds)
        if encoded is not None:
            return ResizeResult(*encoded, *size, *target, was_resized=True)
        smaller = (max(1, int(target[0] * 0.75)), max(1, int(target[1] * 0.75)))
        if smaller == target:
            return None
        target = smaller


def _encode(image: Image, bounds: ImageBounds) -> tuple[bytes, str] | None:
    """The first that fits of: the smaller of PNG and JPEG, the other one, JPEG of falling quality."""
    limit = (bounds.max_bytes - 1) // 4 * 3
    opaque = image if image.mode in ("RGB", "L") else image.convert("RGB")
    jpeg = _as_jpeg(opaque, min(bounds.jpeg_quality, 100))
    # a PNG that outgrows the JPEG cannot win, so its encoding stops there
    png = _save_png(image, min(len(jpeg), limit))
    if png is not None:
        return png, "image/png"
    if len(jpeg) <= limit:
        return jpeg, "image/jpeg"
    for quality in _JPEG_QUALITIES:
        jpeg = _as_jpeg(opaque, quality)
        if len(jpeg) <= limit:
            return jpeg, "image/jpeg"
    return None


def _as_jpeg(image: Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


class _BufferFullError(Exception):
    """Raised inside an encoder that has written more than is wanted."""


class _BoundedBuffer(io.BytesIO):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self._limit:
            raise _BufferFullError
        return super().write(data)


def _save_png(image: Image, limit: int) -> bytes | None:
    buffer = _BoundedBuffer(limit)
    try:
        image.save(buffer, "PNG")
    except _BufferFullError:
        return None
    return buffer.getvalue()


def _as_png(data: bytes, mime_type: str) -> bytes | None:
    image = _decoded(data, mime_type)
    if image is None:
        return None
    buffer = io.BytesIO()
    _plain(_upright(image, _orientation(image, mime_type))).save(buffer, "PNG")
    return buffer.getvalue()


def _decoded(data: bytes, mime_type: str) -> Image | None:
    image = _opened(data, mime_type)
    return image if image is not None and _load(image) else None


def _opened(data: bytes, mime_type: str) -> Image | None:
    """The image with its header read, by the one decoder of its type; None for damaged data and too many pixels."""
    try:
        image = _open_as(io.BytesIO(data), mime_type)
    except _DECODER_FAILURES:
        return None
    width, height = image.size
    return image if 0 < width * height <= MAX_PIXELS else None


def _open_as(file: io.BytesIO, mime_type: str) -> Image:
    # What a decoder warns of, such as damaged metadata, is no news for a user and must not disturb a screen. Its class
    # itself checks no pixel count, so a bomb is refused by our own limit and without a warning.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    decoder = _DECODERS.get(mime_type)
    if decoder is None:
        raise ValueError(f"no decoder for {mime_type!r}")
    module, name = decoder
    image: Image = getattr(import_module(f"PIL.{module}"), name)(file)
    return image


def _load(image: Image) -> bool:
    try:
        image.load()
    except _DECODER_FAILURES:
        return False
    return True


def _orientation(image: Image, mime_type: str) -> int:
    if mime_type == "image/png":
        return 1
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except _DECODER_FAILURES:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _upright_size(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    return (size[1], size[0]) if orientation >= 5 else size


def _upright(image: Image, orientation: int) -> Image:
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _plain(image: Image) -> Image:
    """The pixels as RGB, RGBA or 8-bit grey, without metadata."""
    mode = image.mode
    if mode.startswith("I"):
        plain = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif mode in ("LA", "PA", "La", "RGBa", "RGBA") or "transparency" in image.info:
        plain = image.convert("RGBA")
    elif mode in ("1", "L", "F"):
        plain = image.convert("L")
    else:
        plain = image.convert("RGB")
    plain = plain.copy() if plain is image else plain
    plain.info = {}
    return plain
