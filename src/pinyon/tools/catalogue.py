"""Names of the built-in tools, the sets they form, and the line that introduces each in the system prompt."""

from __future__ import annotations

from pinyon._util.config import are_experimental_features_enabled
from pinyon.ai.tool import JsonSchemaSampling
from pinyon.errors import ToolError

TOOL_NAMES: tuple[str, ...] = ("read", "bash", "powershell", "edit", "write", "grep", "find", "ls")
"""The built-in tools in the order in which they are listed."""

CODING_TOOL_NAMES: tuple[str, ...] = ("read", "bash", "edit", "write")
"""The tools that are active by default."""

READ_ONLY_TOOL_NAMES: tuple[str, ...] = ("read", "grep", "find", "ls")
"""The tools that change nothing."""

TOOL_SNIPPETS: dict[str, str] = {
    "read": "Read a file",
    "bash": "Run bash commands such as ls, grep and find",
    "powershell": "Run PowerShell commands",
    "edit": "Replace exact text in a file, several separate places in one call",
    "write": "Create a file or overwrite it",
    "grep": "Search in file contents, leaving out what .gitignore names",
    "find": "Find files by a glob pattern, leaving out what .gitignore names",
    "ls": "List a directory",
    "web_fetch": "Fetch a URL as readable text",
}
"""One line for each tool; `web_fetch` is the name of a tool that hosts may add."""


class UnknownToolError(ToolError, ValueError):
    """Raised when a built-in tool is asked for by a name that none has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no built-in tool {name!r}; the names are {', '.join(TOOL_NAMES)}.")
        self.name = name


def get_experimental_tool_sampling() -> JsonSchemaSampling | None:
    """The sampling that experimental features ask for (`PI_EXPERIMENTAL=1`): arguments that follow the schema."""
    return JsonSchemaSampling(strict="prefer") if are_experimental_features_enabled() else None
