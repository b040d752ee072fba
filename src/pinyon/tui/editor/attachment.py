"""What stands in the editor for more than itself: large pastes and images, each one character of the buffer.

A character of a private-use plane stands for each, so that the cursor, deleting and undo treat it as one, and a text
typed by hand can never be mistaken for one.
"""

from __future__ import annotations

import re

import msgspec

from pinyon.ai.content import ImageContent

FIRST_MARK = 0xF0000
_LAST_MARK = 0xFFFFD
MARK = re.compile("[\U000f0000-\U000ffffd]")
PASTE_LINES = 10
PASTE_CHARS = 1000


class Attachment(msgspec.Struct, frozen=True):
    """A pasted text, or an image. `size` is that of the image in pixels."""

    text: str = ""
    image: ImageContent | None = None
    size: tuple[int, int] | None = None


class Attachments:
    """All that was attached since the start, by its mark; nothing is forgotten, so undo can bring it back."""

    def __init__(self) -> None:
        self._items: dict[str, Attachment] = {}

    def add(self, attachment: Attachment) -> str:
        """Keep an attachment; returns the character that stands for it."""
        mark = chr(min(FIRST_MARK + len(self._items), _LAST_MARK))
        self._items[mark] = attachment
        return mark

    def get(self, mark: str) -> Attachment | None:
        """The attachment of a mark, None for any other character."""
        return self._items.get(mark)

    def labels(self, text: str) -> dict[str, str]:
        """How the marks in `text` are shown. Texts and images are counted in the order in which they came."""
        labels: dict[str, str] = {}
        pastes = images = 0
        for mark in sorted(set(MARK.findall(text))):
            attachment = self._items.get(mark)
            if attachment is None:
                labels[mark] = "\ufffd"
            elif attachment.image is not None:
                images += 1
                size = f" {attachment.size[0]}x{attachment.size[1]}" if attachment.size else ""
                labels[mark] = f"[image #{images}{size}]"
            else:
                pastes += 1
                labels[mark] = f"[paste #{pastes} {_extent(attachment.text)}]"
        return labels

    def expand(self, text: str) -> str:
        """`text` with every pasted text in place of its mark; images leave nothing."""
        return MARK.sub(lambda match: item.text if (item := self._items.get(match[0])) else "", text)

    def images(self, text: str) -> list[ImageContent]:
        """The images whose marks stand in `text`, in its order."""
        found = (self._items.get(mark) for mark in MARK.findall(text))
        return [item.image for item in found if item is not None and item.image is not None]


def is_large(text: str) -> bool:
    """Whether a pasted text is better shown as a mark."""
    return text.count("\n") >= PASTE_LINES or len(text) > PASTE_CHARS


def _extent(text: str) -> str:
    lines = text.count("\n") + 1
    return f"+{lines} lines" if lines > PASTE_LINES else f"{len(text)} chars"


def without_marks(text: str) -> str:
    """Foreign text with the characters that are our marks replaced."""
    return MARK.sub("\ufffd", text)
