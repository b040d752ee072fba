"""Built-in tools as agents and products get them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pinyon import tools
from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, FixedToolContext
from pinyon.ai.content import TextContent
from pinyon.ai.model import Model
from pinyon.ai.tool import JsonSchemaSampling
from pinyon.errors import ToolError
from pinyon.tools.catalogue import TOOL_NAMES, TOOL_SNIPPETS, get_experimental_tool_sampling
from pinyon.tools.factory import (
    create_edit_tool,
    create_read_tool,
    create_tool,
    create_tool_definition,
    create_write_tool,
)
from pinyon.tools.operations.local import LocalReadOperations

MASK = "<<description>>"
TEXT = {"type": "string", "description": MASK}
NUMBER = {"type": "number", "description": MASK}
EDIT_ITEM = {"type": "object", "required": ["oldText", "newText"], "properties": {"oldText": TEXT, "newText": TEXT}}
PARAMETERS: dict[str, dict[str, Any]] = {
    "read": {"type": "object", "required": ["path"], "properties": {"path": TEXT, "offset": NUMBER, "limit": NUMBER}},
    "edit": {
        "type": "object",
        "required": ["path", "edits"],
        "properties": {"path": TEXT, "edits": {"type": "array", "items": EDIT_ITEM, "description": MASK}},
    },
    "write": {"type": "object", "required": ["path", "content"], "properties": {"path": TEXT, "content": TEXT}},
}
MINE = ("read", "edit", "write")


def masked(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: MASK if key == "description" else masked(value) for key, value in schema.items()}
    return schema


def key_order(schema: Any) -> Any:
    return [(key, key_order(value)) for key, value in schema.items()] if isinstance(schema, dict) else None


def call(tool: AgentTool, **params: Any) -> AgentToolResult:
    async def run() -> AgentToolResult:
        outcome = tool.execute("id", params, AbortSignal(), lambda _: None)
        return outcome if isinstance(outcome, AgentToolResult) else await outcome

    return asyncio.run(run())


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("name", MINE)
def test_a_schema_has_the_shared_shape_and_key_order(name: str) -> None:
    declared = masked(create_tool(name, "/w").declaration().parameters)
    assert declared == PARAMETERS[name]
    assert key_order(declared) == key_order(PARAMETERS[name])


@pytest.mark.parametrize("name", MINE)
def test_a_definition_has_the_words_that_a_product_needs(name: str) -> None:
    definition = create_tool_definition(name, "/w")
    assert (definition.name, definition.label, definition.prompt_snippet) == (name, name, TOOL_SNIPPETS[name])
    assert definition.prompt_guidelines
    assert definition.exposure == "direct"
    assert definition.execution_mode is None
    sampling = definition.declaration().constrained_sampling
    assert sampling == JsonSchemaSampling(strict="prefer")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("read", ["jpg", "png", "gif", "webp", "bmp", "attachment", "2000 lines", "50KB", "offset", "limit"]),
        ("edit", ["exact", "once", "overlap", "unchanged", "one edit"]),
        ("write", ["created", "folders", "overwritten"]),
    ],
)
def test_a_description_conveys_what_a_model_must_know(name: str, facts: list[str]) -> None:
    description = create_tool(name, "/w").description
    for fact in facts:
        assert fact in description


def test_only_read_has_an_output_schema() -> None:
    schemas = {name: create_tool_definition(name, "/w").output_schema for name in MINE}
    assert schemas["edit"] is schemas["write"] is None
    assert schemas["read"] is not None
    assert [option["type"] for option in schemas["read"]["anyOf"]] == ["string", "object"]


def test_the_tools_work_in_their_directory(tmp_path: Path) -> None:
    call(create_write_tool(tmp_path), path="a/f.txt", content="one\ntwo\n")
    edit = create_edit_tool(tmp_path)
    assert edit.prepare_arguments is not None
    call(edit, **edit.prepare_arguments({"path": "a/f.txt", "oldText": "two", "newText": "2"}))
    assert text_of(call(create_read_tool(str(tmp_path)), path="a/f.txt")) == "one\n2\n"


def test_the_context_overrides_the_directory_and_names_the_model(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("here")
    definition = create_tool_definition("read", "/nowhere")
    result = asyncio.run(definition.run({"path": "f"}, FixedToolContext(cwd=tmp_path)))
    assert text_of(result) == "here"
    (tmp_path / "i").write_bytes(_one_pixel_png())
    model = Model(id="blind", name="b", api="a", provider="p", base_url="u")
    result = asyncio.run(definition.run({"path": "i"}, FixedToolContext(cwd=tmp_path, model=model)))
    assert result.details == {"imageUnsupportedByModel": "blind"}


def _one_pixel_png() -> bytes:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (1, 1)).save(buffer, "PNG")
    return buffer.getvalue()


def test_given_operations_are_used(tmp_path: Path) -> None:
    class Elsewhere(LocalReadOperations):
        async def access(self, path: str) -> None:
            asked.append(path)
            raise FileNotFoundError(2, "No such file or directory", path)

    asked: list[str] = []
    with pytest.raises(ToolError, match="ENOENT"):
        call(create_read_tool("/w", operations=Elsewhere()), path="f")
    assert asked == ["/w/f"]
    options = {"operations": Elsewhere()}
    with pytest.raises(ToolError, match="ENOENT"):
        call(create_tool("read", "/v", options=options), path="f")
    assert asked[-1] == "/v/f"


@pytest.mark.parametrize("name", ["web_fetch", "Read", "", "nope"])
def test_another_name_is_an_error_that_lists_the_names(name: str) -> None:
    with pytest.raises(ValueError, match="powershell") as failure:
        create_tool(name, "/w")
    assert repr(name) in str(failure.value)
    assert isinstance(failure.value, ToolError)


def test_the_names_stand_in_their_order() -> None:
    assert TOOL_NAMES == ("read", "bash", "powershell", "edit", "write", "grep", "find", "ls")
    assert set(TOOL_SNIPPETS) == {*TOOL_NAMES, "web_fetch"}


@pytest.mark.parametrize(("value", "enabled"), [("1", True), ("true", False), ("", False), (None, False)])
def test_experimental_sampling_follows_its_switch(
    monkeypatch: pytest.MonkeyPatch, value: str | None, enabled: bool
) -> None:
    if value is None:
        monkeypatch.delenv("PI_EXPERIMENTAL", raising=False)
    else:
        monkeypatch.setenv("PI_EXPERIMENTAL", value)
    assert (get_experimental_tool_sampling() is not None) is enabled


def test_the_room_exports_what_it_names() -> None:
    assert sorted(tools.__all__) == dir(tools)
    assert all(getattr(tools, name) is not None for name in tools.__all__)


def test_making_the_tools_imports_none_of_their_work() -> None:
    code = (
        "import sys; from pinyon.tools.factory import create_tool\n"
        "for name in ('read', 'edit', 'write'): create_tool(name, '/')\n"
        "heavy = {'PIL', 'difflib', 'pinyon.tools.read', 'pinyon.tools.edit', 'pinyon.tools.write'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
