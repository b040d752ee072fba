"""A function's docstring read as a tool description: the prose for the model and a line for each parameter.

Parameters are recognised in Google (`Args:`), NumPy (`Parameters` underlined) and Sphinx (`:param name:`) form.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import msgspec

_GOOGLE_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Notes?|Examples?|Attributes|See Also|Warnings?):\s*$"
)
_NUMPY_RULE = re.compile(r"-{3,}\s*$")
_PARAMETER_SECTIONS = {"Args", "Arguments", "Parameters"}
_GOOGLE_PARAMETER = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_PARAMETER = re.compile(r"\*{0,2}(\w+)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r":(param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_SPHINX_OTHER = re.compile(r":(type|returns?|rtype|raises?|yields?)\b[^:]*:")


class Docstring(msgspec.Struct):
    """`description` without the sections; `parameters` maps a name to its text on one line."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring; None and texts of any other form give what prose there is."""
    prose: list[str] = []
    parameters: dict[str, list[str]] = {}
    for section, lines in _sections(inspect.cleandoc(text or "").splitlines()):
        if section in _PARAMETER_SECTIONS:
            _read_parameters(lines, parameters)
        elif not section:
            prose.extend(_without_fields(lines, parameters))
    return Docstring(
        description="\n".join(prose).strip(),
        parameters={name: " ".join(" ".join(parts).split()) for name, parts in parameters.items()},
    )


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Sections in order as name and lines; the prose before and between them has an empty name."""
    name, collected, index = "", list[str](), 0
    while index < len(lines):
        line = lines[index]
        heading = _GOOGLE_SECTION.match(line)
        underlined = index + 1 < len(lines) and line.strip() and _NUMPY_RULE.match(lines[index + 1])
        if heading or underlined:
            yield name, collected
            name, collected = (heading[1] if heading else line.strip()), []
            index += 1 if underlined else 0
        else:
            collected.append(line)
        index += 1
    yield name, collected


def _read_parameters(lines: list[str], found: dict[str, list[str]]) -> None:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    base = min(indents, default=0)
    current: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        is_entry = len(line) - len(line.lstrip()) == base
        google = _GOOGLE_PARAMETER.match(line.strip()) if is_entry and base > 0 else None
        numpy = _NUMPY_PARAMETER.match(line.strip()) if is_entry and base == 0 else None
        if google:
            current = found.setdefault(google[1], [google[2]])
        elif numpy:
            current = found.setdefault(numpy[1], [])
        else:
            current.append(line)


def _without_fields(lines: list[str], found: dict[str, list[str]]) -> list[str]:
    """The lines that are prose; Sphinx fields and their continuation lines go to `found` or are dropped."""
    prose: list[str] = []
    current: list[str] | None = None
    for line in lines:
        field = _SPHINX_FIELD.match(line)
        if field:
            current = found.setdefault(field[2], [field[3]])
        elif _SPHINX_OTHER.match(line):
            current = []
        elif current is not None and line.startswith((" ", "\t")):
            current.append(line)
        else:
            current = None
            prose.append(line)
    return prose
