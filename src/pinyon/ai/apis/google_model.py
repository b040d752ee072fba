"""What the id of a model tells about how Google's APIs want to be asked for it."""

from __future__ import annotations

import re

_GENERATION = re.compile(r"^gemini-(\d+)")
_NEWEST = re.compile(r"^gemini-(pro|flash|flash-lite)-latest")
_BY_LEVEL = re.compile(r"^(gemini-3(\.\d+)?-(pro|flash)|gemini-([4-9]|\d{2,})|gemma-?4)")
_OTHER_VENDORS = ("claude-", "gpt-oss-")
_ALWAYS_THINKS = re.compile(r"^gemini-2\.5-pro")


def plain_id(model_id: str) -> str:
    """The id in lower case, without the collection before it."""
    return model_id.rpartition("/")[2].lower()


def is_gemini_3(model_id: str) -> bool:
    """Whether this is a Gemini of the third or a later generation."""
    name = plain_id(model_id)
    generation = _GENERATION.match(name)
    return int(generation[1]) >= 3 if generation else bool(_NEWEST.match(name))


def thinks_by_level(model_id: str) -> bool:
    """Whether thinking is asked for by a level; other models take a budget of tokens."""
    name = plain_id(model_id)
    return bool(_BY_LEVEL.match(name) or _NEWEST.match(name))


def always_thinks(model_id: str) -> bool:
    """Whether the model refuses a request that switches thinking off."""
    return bool(_ALWAYS_THINKS.match(plain_id(model_id)))


def wants_call_ids(model_id: str) -> bool:
    """Whether calls and their results are matched by ids; other models match them by name and order."""
    return is_gemini_3(model_id) or plain_id(model_id).startswith(_OTHER_VENDORS)


def nests_images(model_id: str) -> bool:
    """Whether a tool result may hold images; older Gemini models get them in a turn of their own."""
    return is_gemini_3(model_id) or not plain_id(model_id).startswith("gemini-")
