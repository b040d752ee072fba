"""Prompt templates: Markdown files that a prompt calls by `/name`, with places for arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pinyon.resources.argument import split_arguments, substitute
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.front_matter import FrontMatterError, parse_front_matter
from pinyon.resources.source_info import SourceInfo
from pinyon.resources.text_file import read_text_file

SUFFIX = ".md"
_SHOWN_CHARS = 60
_CALL = re.compile(r"/(\S+)(?:\s(.*))?\Z", re.DOTALL)


class PromptTemplate(msgspec.Struct, kw_only=True, frozen=True):
    """A template: its name, one line about it, a hint on its arguments, and its text."""

    name: str
    description: str
    content: str
    file_path: str
    argument_hint: str | None = None
    source_info: SourceInfo | None = None


def load_prompt_template(
    path: Path, diagnostics: list[ResourceDiagnostic], source_info: SourceInfo | None = None
) -> PromptTemplate | None:
    """The template in a file; None, with a warning, where it cannot be read."""
    try:
        parsed = parse_front_matter(read_text_file(path))
    except (OSError, FrontMatterError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        diagnostics.append(ResourceDiagnostic("warning", f"prompt template {str(path)!r}: {reason}", str(path)))
        return None
    if parsed.mended is not None:
        diagnostics.append(ResourceDiagnostic("warning", f"prompt template {str(path)!r}: {parsed.mended}", str(path)))
    described, hint = parsed.values.get("description"), parsed.values.get("argument-hint")
    return PromptTemplate(
        name=path.name.removesuffix(SUFFIX),
        description=described if isinstance(described, str) and described else _first_line(parsed.body),
        content=parsed.body,
        file_path=str(path),
        argument_hint=hint if isinstance(hint, str) and hint else None,
        source_info=source_info,
    )


def _first_line(body: str) -> str:
    line = next((line.strip() for line in body.split("\n") if line.strip()), "")
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}..."


def expand_prompt_template(text: str, templates: Mapping[str, PromptTemplate]) -> str:
    """A prompt that calls a template, with the template in its place; any other text unchanged."""
    call = _CALL.match(text)
    template = templates.get(call[1]) if call is not None else None
    if call is None or template is None:
        return text
    return substitute(template.content, split_arguments(call[2] or ""))
