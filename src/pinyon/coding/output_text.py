"""Finding the JSON value in what a model said: in a fenced block, as the whole text, or somewhere between words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pinyon._util import json as _json

MAX_STARTS = 64
"""Brackets that are tried as the beginning of a value; a text with more is no answer."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)^ {0,3}\1", re.DOTALL | re.MULTILINE)
_BRACKET = re.compile(r"[{\[]")


def json_values(text: str) -> Iterator[Any]:
    """The JSON values of a text, the likeliest answer first: the whole text, fenced blocks, then objects and arrays
    among the words, of each the last one first.
    """
    for candidate in (text, *(match[2] for match in reversed(list(_FENCE.finditer(text))))):
        try:
            yield _json.decode(candidate.strip())
        except _json.JsonError:
            continue
    yield from reversed(list(_embedded(text)))


def _embedded(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), 0
    for _ in range(MAX_STARTS):
        found = _BRACKET.search(text, position)
        if found is None:
            return
        try:
            value, position = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            position = found.end()
            continue
        yield value
