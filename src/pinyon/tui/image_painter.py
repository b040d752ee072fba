"""Drawing images on terminals that can: the graphics protocol of kitty, and the inline images of iTerm2 (OSC 1337).

Text is written by the screen; images go over the cells that were left free for them, after each frame in which they
came, moved or were cut by the edge.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from io import BytesIO

from pinyon.tui.capability import ImageProtocol
from pinyon.tui.picture import Picture, Placement

_CHUNK_CHARS = 4096


class ImagePainter:
    """Keeps what is on the terminal. `write` sends to it."""

    def __init__(self, protocol: ImageProtocol, write: Callable[[str], object]) -> None:
        self.protocol: ImageProtocol = protocol
        self._write = write
        self._sent: dict[int, tuple[int, int]] = {}
        self._shown: dict[int, Placement] = {}

    def paint(self, wanted: Iterable[Placement]) -> None:
        """Show these images and no others."""
        new = {placement.picture.number: placement for placement in wanted}
        for number in self._shown.keys() - new.keys():
            self._remove(number)
        for placement in new.values():
            if self._shown.get(placement.picture.number) != placement:
                self._show(placement)
        self._shown = new

    def forget(self) -> None:
        """The terminal was cleared: what was there must be drawn anew."""
        self._shown = {}

    def clear(self) -> None:
        """Take all images away, as at the end."""
        self.paint(())
        if self.protocol == "kitty" and self._sent:
            self._write("\x1b_Ga=d,d=A,q=2\x1b\\")
            self._sent.clear()

    def _show(self, placement: Placement) -> None:
        command = self._kitty(placement) if self.protocol == "kitty" else _iterm2(placement)
        if command:
            self._write(f"\x1b7\x1b[{placement.y + 1};{placement.x + 1}H{command}\x1b8")

    def _remove(self, number: int) -> None:
        if self.protocol == "kitty":
            self._write(f"\x1b_Ga=d,d=i,i={number},p=1,q=2\x1b\\")

    def _kitty(self, placement: Placement) -> str:
        number = placement.picture.number
        if number not in self._sent:
            png = png_data(placement.picture)
            if png is None:
                return ""
            self._sent[number] = placement.picture.size or (1, 1)
            self._write(_transmission(number, base64.b64encode(png).decode("ascii")))
        width, height = self._sent[number]
        top = placement.first_row * height // placement.rows
        part = max(1, placement.shown_rows * height // placement.rows)
        cut = f",x=0,y={top},w={width},h={part}" if placement.shown_rows < placement.rows else ""
        return f"\x1b_Ga=p,i={number},p=1,c={placement.columns},r={placement.shown_rows}{cut},C=1,q=2\x1b\\"


def _transmission(number: int, data: str) -> str:
    pieces = [data[at : at + _CHUNK_CHARS] for at in range(0, len(data), _CHUNK_CHARS)]
    parts = []
    for index, piece in enumerate(pieces):
        head = f"a=t,f=100,i={number},q=2," if index == 0 else "q=2,"
        parts.append(f"\x1b_G{head}m={int(index + 1 < len(pieces))};{piece}\x1b\\")
    return "".join(parts)


def _iterm2(placement: Placement) -> str:
    data = png_data(placement.picture, placement)
    if data is None:
        return ""
    size = f"width={placement.columns};height={placement.shown_rows};preserveAspectRatio=0;size={len(data)}"
    return f"\x1b]1337;File=inline=1;{size}:{base64.b64encode(data).decode('ascii')}\x07"


def png_data(picture: Picture, placement: Placement | None = None) -> bytes | None:
    """The image as PNG, cut to the rows that are shown; None where it cannot be decoded."""
    from PIL import Image, UnidentifiedImageError

    try:
        raw = base64.b64decode(picture.image.data)
        is_cut = placement is not None and placement.shown_rows < placement.rows
        if picture.image.mime_type == "image/png" and not is_cut:
            return raw
        with Image.open(BytesIO(raw)) as image:
            shown = image.convert("RGBA")
            if placement is not None and is_cut:
                top = placement.first_row * image.height // placement.rows
                bottom = (placement.first_row + placement.shown_rows) * image.height // placement.rows
                shown = shown.crop((0, top, image.width, max(top + 1, bottom)))
            target = BytesIO()
            shown.save(target, "PNG")
            return target.getvalue()
    except (UnidentifiedImageError, OSError, ValueError):
        return None
