from pathlib import Path

from pinyon.prompt import BuildSystemPromptOptions, build_prompt_sections
from pinyon.resources import load_project_context_files

cwd = Path.cwd()
sections = build_prompt_sections(
    BuildSystemPromptOptions(
        cwd=str(cwd),
        selected_tools=["read", "grep"],
        tool_snippets={"read": "Reads files", "grep": "Searches text"},
        context_files=load_project_context_files(cwd),
    )
)
for name, text in sections.items():
    print(f"{name}: {len(text)} characters")
