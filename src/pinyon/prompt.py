"""The system prompt, as programs that embed Pinyon need it."""

from __future__ import annotations

from pinyon.coding.prompt import (
    BuildSystemPromptOptions,
    build_prompt_sections,
    build_system_prompt,
    diff_sections,
    render_sections,
)

__all__ = [
    "BuildSystemPromptOptions",
    "build_prompt_sections",
    "build_system_prompt",
    "diff_sections",
    "render_sections",
]
