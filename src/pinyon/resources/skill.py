"""Skills: instructions in a file of their own that the model reads when a task calls for them.

The files follow the Agent Skills format: front matter with `name` and `description`, then Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pinyon.resources.block_attribute import attribute_text, plain_text
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.front_matter import FrontMatterError, parse_front_matter
from pinyon.resources.source_info import SourceInfo
from pinyon.resources.text_file import read_text_file

SKILL_FILE = "SKILL.md"
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_CALL = re.compile(r"/skill:([^ ]*)(?: (.*))?\Z", re.DOTALL)
_ENVELOPE = re.compile(
    r'<skill name="([^"]*)" location="([^"]*)">\n[^\n]*\n\n(.*?)\n</skill>(?:\n\n(.*))?\Z', re.DOTALL
)


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
    source_info: SourceInfo | None = None


class CalledSkill(msgspec.Struct, frozen=True):
    """A prompt that called a skill, taken apart again: its name, file and instructions, and what the user added."""

    name: str
    location: str
    content: str
    message: str | None


def load_skill(
    path: Path, diagnostics: list[ResourceDiagnostic], source_info: SourceInfo | None = None
) -> Skill | None:
    """The skill in a file; None where it is none. What is wrong with it is told, for a loose Markdown file only when
    it says that it is a skill by having a description.
    """
    is_loose = path.name != SKILL_FILE
    try:
        parsed = parse_front_matter(read_text_file(path))
    except OSError as error:
        _warn(diagnostics, path, f"cannot be read: {error.strerror or error}")
        return None
    except FrontMatterError as error:
        if not is_loose:
            _warn(diagnostics, path, str(error))
        return None
    values = parsed.values
    description = values.get("description")
    if not isinstance(description, str) or not description.strip():
        if not is_loose:
            _warn(diagnostics, path, "a skill needs a description in its front matter; it is not loaded")
        return None
    name = values.get("name")
    skill = Skill(
        name=name if isinstance(name, str) and name else path.parent.name,
        description=description,
        file_path=str(path),
        base_dir=str(path.parent),
        disable_model_invocation=values.get("disable-model-invocation") is True,
        source_info=source_info,
    )
    for problem in (parsed.mended, *_problems(skill)):
        if problem is not None:
            _warn(diagnostics, path, problem)
    return skill


def _problems(skill: Skill) -> list[str]:
    name, found = skill.name, []
    if len(skill.description) > MAX_DESCRIPTION_CHARS:
        found.append(f"the description has {len(skill.description)} characters, more than {MAX_DESCRIPTION_CHARS}")
    if len(name) > MAX_NAME_CHARS:
        found.append(f"the name has {len(name)} characters, more than {MAX_NAME_CHARS}")
    if not re.fullmatch(r"[a-z0-9-]+", name):
        found.append(f"the name {name!r} should hold only small letters, digits and '-'")
    if name.startswith("-") or name.endswith("-"):
        found.append(f"the name {name!r} should not begin or end with '-'")
    if "--" in name:
        found.append(f"the name {name!r} should not hold '--'")
    return found


def _warn(diagnostics: list[ResourceDiagnostic], path: Path, problem: str) -> None:
    diagnostics.append(ResourceDiagnostic("warning", f"skill {str(path)!r}: {problem}", str(path)))


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


def expand_skill_call(text: str, skills: Mapping[str, Skill]) -> str:
    """A prompt `/skill:name …` with the skill's instructions in its place; any other text unchanged.

    Raises `OSError` or `FrontMatterError` where the skill's file cannot be read any more.
    """
    call = _CALL.match(text)
    skill = skills.get(call[1]) if call is not None else None
    if call is None or skill is None:
        return text
    body = parse_front_matter(read_text_file(Path(skill.file_path))).body
    about = f"Relative paths in this skill start from {attribute_text(skill.base_dir)}."
    name, location = attribute_text(skill.name), attribute_text(skill.file_path)
    block = f'<skill name="{name}" location="{location}">\n{about}\n\n{body}\n</skill>'
    added = (call[2] or "").strip()
    return f"{block}\n\n{added}" if added else block


def parse_skill_call(text: str) -> CalledSkill | None:
    """The parts of what `expand_skill_call` made, for display; None for any other text."""
    found = _ENVELOPE.match(text)
    if found is None:
        return None
    return CalledSkill(plain_text(found[1]), plain_text(found[2]), found[3], found[4])
