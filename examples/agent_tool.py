import asyncio
from pathlib import Path
from typing import Any, Literal

from pinyon.agent import FixedToolContext, ToolContext, define_tool


@define_tool(prompt_snippet="Count the lines of a file", execution_mode="sequential")
def count_lines(path: str, ctx: ToolContext, blank: Literal["count", "skip"] = "count") -> dict[str, Any]:
    """Count the lines of a text file.

    Args:
        path: file, relative to the working directory
        blank: whether blank lines count
    """
    lines = ((ctx.cwd or Path.cwd()) / path).read_text("utf-8").splitlines()
    return {"path": path, "lines": sum(blank == "count" or line.strip() != "" for line in lines)}


print(count_lines.parameters["properties"]["blank"])
here = FixedToolContext(cwd=Path(__file__).parent)
result = asyncio.run(count_lines.run({"path": Path(__file__).name, "blank": "skip"}, here))
print(result.structured_content)
