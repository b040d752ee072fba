"""Skills: instructions in a file of their own that the model reads when a task calls for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Skill(msgspec.Struct, kw_only=True):
    """A skill: name, one description, its file and the folder that relative paths in it start from.

    With `disable_model_invocation` the model is not told about it; users can still call it. `source_info` tells where
    it was found.
    """

    name: str
    description: str
    file_path: str
    base_dir: str
    disable_model_invocation: bool = False
    source_info: Any = None


def format_skills_for_prompt(skills: Sequence[Skill], reader: str | None = "read") -> str:
    """The part of a system prompt that lists skills; empty where none is visible.

    `reader` is the tool that reads a skill's file; None names no tool.
    """
    visible = [skill for skill in skills if not skill.disable_model_invocation]
    if not visible:
        return ""
    how = f"load its file with the {reader} tool" if reader else "load its file"
    lines = [
        "Skills are extra instructions for particular kinds of work.",
        f"When a task fits a skill's description, {how} before you start.",
        "Paths inside a skill are relative to the folder of its file; turn them into absolute paths for tools.",
        "",
        "<available_skills>",
    ]
    for skill in visible:
        lines += [
            "  <skill>",
            f"    <name>{skill.name.translate(_ESCAPES)}</name>",
            f"    <description>{skill.description.translate(_ESCAPES)}</description>",
            f"    <location>{skill.file_path.translate(_ESCAPES)}</location>",
            "  </skill>",
        ]
    return "\n".join([*lines, "</available_skills>"])
