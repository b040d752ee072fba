"""The system prompt as ordered, named sections, so that a session stores and sends only the sections that changed.

Every section but `preamble` is wrapped in a tag of its name. No date or time appears: the prompt stays byte-identical
from turn to turn, which prompt caches need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pinyon._util import config as _config
from pinyon._util.text import clean_surrogates
from pinyon.errors import ConfigError
from pinyon.resources.block_attribute import attribute_text, one_line
from pinyon.resources.context_file import ContextFile
from pinyon.resources.settings import DEFAULT_TOOL_NAMES
from pinyon.resources.skill import Skill, format_skills_for_prompt

_SECTION_NAME = re.compile(r"[a-z][a-z0-9_-]*")

_IDENTITY = (
    "You are a coding assistant working inside Pinyon, an agent for the terminal and for scripts. "
    "You help the user with the tools that are declared to you, such as for looking at files, running commands, and "
    "writing and changing code."
)

_SHELLS = ("bash", "powershell")
_SEARCH_TOOLS = frozenset({"grep", "find", "ls"})

DOC_TOPICS: tuple[tuple[str, str], ...] = (
    ("command line, flags", "docs/cli.md"),
    ("settings", "docs/settings.md"),
    ("skills, prompt templates, themes, context files", "docs/resources.md"),
    ("use from Python (SDK)", "docs/sdk.md"),
    ("models, providers and local servers", "docs/models.md"),
    ("trust and security", "docs/security.md"),
    ("differences from pi", "docs/compatibility.md"),
)
"""What the documentation covers, and the file under the package's root that covers it."""


class BuildSystemPromptOptions(msgspec.Struct, kw_only=True):
    """What a system prompt is made of.

    `selected_tools` are the declared tools in their order; `hidden_tools` of them can be called but are not shown to
    the model. `tool_snippets` and `tool_guidelines` go by tool name. `sections` are texts of extensions by section
    name; one with the name of a built-in section replaces it. `force_system_prompt` replaces the rendered text as a
    whole and leaves the sections alone. The path fields default to what is installed with the package.
    """

    cwd: str
    custom_prompt: str | None = None
    force_system_prompt: str | None = None
    selected_tools: Sequence[str] = DEFAULT_TOOL_NAMES
    hidden_tools: Sequence[str] = ()
    tool_snippets: Mapping[str, str] = {}
    tool_guidelines: Mapping[str, Sequence[str]] = {}
    prompt_guidelines: Sequence[str] = ()
    append_system_prompt: str | None = None
    sections: Mapping[str, str] = {}
    context_files: Sequence[ContextFile] = ()
    skills: Sequence[Skill] = ()
    readme_path: Path | str | None = None
    docs_path: Path | str | None = None
    examples_path: Path | str | None = None


def build_system_prompt(options: BuildSystemPromptOptions) -> str:
    """The whole prompt as one text. Raises `ConfigError` for a section name that cannot be used."""
    if options.force_system_prompt is not None:
        return options.force_system_prompt
    return render_sections(build_prompt_sections(options))


def build_prompt_sections(options: BuildSystemPromptOptions) -> dict[str, str]:
    """The non-empty sections by name, in order, as they are sent. Raises `ConfigError` for a bad section name."""
    visible = [name for name in options.selected_tools if name not in options.hidden_tools]
    bodies = {"preamble": options.custom_prompt or _IDENTITY}
    if not options.custom_prompt:
        bodies["tools"] = _tools(visible, options.tool_snippets)
        bodies["rules"] = _rules(visible, options)
        bodies["docs"] = _docs(options)
    bodies["addendum"] = options.append_system_prompt or ""
    bodies["project_context"] = _project_context(options.context_files)
    bodies["skills"] = _skills(options, visible)
    bodies["cwd"] = one_line(options.cwd.replace("\\", "/"))
    for name, body in options.sections.items():
        bodies[_checked_name(name)] = body
    return {name: _wrap(name, clean_surrogates(body)) for name, body in bodies.items() if body}


def render_sections(sections: Mapping[str, str]) -> str:
    """The text of sections: those that are not empty, joined by blank lines."""
    return "\n\n".join(text for text in sections.values() if text)


def diff_sections(current: Mapping[str, str | None], desired: Mapping[str, str]) -> dict[str, str | None]:
    """The patch that turns `current` sections into `desired` ones: changed and new texts, None for what goes away."""
    patch: dict[str, str | None] = {name: text for name, text in desired.items() if current.get(name) != text}
    patch.update((name, None) for name, text in current.items() if text is not None and name not in desired)
    return patch


def _wrap(name: str, body: str) -> str:
    return body if name == "preamble" else f"<{name}>\n{body}\n</{name}>"


def _checked_name(name: str) -> str:
    if name == "preamble" or not _SECTION_NAME.fullmatch(name):
        raise ConfigError(
            f"prompt section {name!r} cannot be used: start with a lower-case letter, go on with lower-case letters, "
            "digits, '_' or '-', and leave 'preamble' to the custom prompt"
        )
    return name


def _tools(visible: Sequence[str], snippets: Mapping[str, str]) -> str:
    lines = [f"- {name}: {snippets[name]}" for name in visible if snippets.get(name)]
    listing = "\n".join(lines) or "(none)"
    return f"{listing}\n\nThe project may declare more tools than these; use what is declared to you."


def _rules(visible: Sequence[str], options: BuildSystemPromptOptions) -> str:
    rules = [*_shell_rule(visible)]
    for name in visible:
        rules += options.tool_guidelines.get(name, ())
    rules += options.prompt_guidelines
    rules += ["Keep answers short and to the point", "Name files by paths that the user can find"]
    trimmed = (rule.strip() for rule in rules)
    return "\n".join(f"- {rule}" for rule in dict.fromkeys(trimmed) if rule)


def _shell_rule(visible: Sequence[str]) -> Iterable[str]:
    shells = [name for name in _SHELLS if name in visible]
    if not shells or _SEARCH_TOOLS.intersection(visible):
        return ()
    return (f"List folders, search text and find files with {' or '.join(shells)}",)


def _docs(options: BuildSystemPromptOptions) -> str:
    readme = options.readme_path or _config.readme_path()
    docs = options.docs_path or _config.docs_path()
    examples = options.examples_path or _config.examples_path()
    topics = "; ".join(f"{topic}: {file}" for topic, file in DOC_TOPICS)
    return "\n".join(
        (
            "Documentation of Pinyon itself, only for when the user asks about it or wants it changed or extended:",
            f"- Overview: {readme}",
            f"- Pages: {docs}",
            f"- Examples: {examples}",
            "- In the list below, docs/... means the folder of pages and examples/... the folder of examples",
            f"- {topics}",
            "- Before you change or extend Pinyon, read the pages that concern the task to their end",
        )
    )


def _project_context(files: Sequence[ContextFile]) -> str:
    if not files:
        return ""
    blocks = [
        f'<project_instructions path="{attribute_text(file.path)}">\n{file.content}\n</project_instructions>'
        for file in files
    ]
    return "\n\n".join(["Instructions for this project and its folders:", *blocks])


def _skills(options: BuildSystemPromptOptions, visible: Sequence[str]) -> str:
    """The list of skills where some tool can read their files; a hidden reader is used but not named."""
    for reader in ("read", "bash"):
        if reader in visible:
            return format_skills_for_prompt(options.skills, reader)
    if "read" in options.selected_tools or "bash" in options.selected_tools:
        return format_skills_for_prompt(options.skills, None)
    return ""
