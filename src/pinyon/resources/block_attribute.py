"""Names and paths inside the tags that mark blocks of a prompt: none may end its tag and go on as something else."""

from __future__ import annotations

_ESCAPES = {'"': "&quot;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\r": "&#13;"}
_TABLE = str.maketrans(_ESCAPES)


def attribute_text(value: str) -> str:
    """The value for between the quotes of a tag. Ordinary names and paths stay as they are, also with `&`."""
    return value.translate(_TABLE)


def one_line(path: str) -> str:
    """A path as the text of a block: it neither begins a line of its own nor ends the block."""
    return path.replace("\n", "&#10;").replace("\r", "&#13;").replace("</", "&lt;/")


def plain_text(value: str) -> str:
    """What `attribute_text` was given."""
    for character, escape in _ESCAPES.items():
        value = value.replace(escape, character)
    return value
