"""The ls tool on real directories."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.agent.tool import AgentToolResult, FixedToolContext
from pinyon.ai.content import TextContent
from pinyon.env import LocalEnv, MemoryEnv
from pinyon.errors import ToolError
from pinyon.tools.listing import list_directory
from pinyon.tools.ls import create_ls_tool_definition
from pinyon.tools.operations import DirectoryEntry, EntryStat
from pinyon.tools.shown_name import shown_name


def ls(folder: Path | str, env: Any = None, **params: Any) -> AgentToolResult:
    return asyncio.run(create_ls_tool_definition(folder, env=env).run(params))


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def test_the_declaration_names_the_limits(tmp_path: Path) -> None:
    tool = create_ls_tool_definition(tmp_path)
    assert list(tool.parameters["properties"]) == ["path", "limit"]
    assert json.loads(json.dumps(tool.parameters)).get("required") is None
    assert "500 entries" in tool.description
    assert "50KB" in tool.description
    assert tool.constrained_sampling is None
    assert tool.prompt_guidelines == ()


def test_entries_are_sorted_without_case_and_directories_marked(tmp_path: Path) -> None:
    for name in ("b.txt", "C.txt", "a.txt", ".hidden", "Z"):
        (tmp_path / name).write_text("")
    (tmp_path / "dir").mkdir()
    (tmp_path / "to-dir").symlink_to("dir")
    (tmp_path / "to-file").symlink_to("a.txt")
    (tmp_path / "broken").symlink_to("nowhere")
    result = ls(tmp_path)
    assert text_of(result).split("\n") == [
        ".hidden",
        "a.txt",
        "b.txt",
        "C.txt",
        "dir/",
        "to-dir/",
        "to-file",
        "Z",
    ]
    assert not result.details


def test_a_path_may_be_relative_or_absolute(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("")
    assert text_of(ls(tmp_path, path="sub")) == "x"
    assert text_of(ls("/", path=str(tmp_path / "sub"))) == "x"
    assert text_of(ls(tmp_path / "sub", path="..")) == "sub/"
    definition = create_ls_tool_definition("/nowhere")
    assert text_of(asyncio.run(definition.run({}, FixedToolContext(cwd=tmp_path)))) == "sub/"


def test_an_empty_directory_is_said_to_be_empty(tmp_path: Path) -> None:
    assert text_of(ls(tmp_path)) == "(empty directory)"


@pytest.mark.parametrize(
    ("limit", "shown", "is_cut"),
    [(2, 2, True), (3, 3, True), (4, 4, False), (5, 4, False), (0, 1, True), (-3, 1, True), (2.9, 2, True)],
)
def test_the_limit_is_told_only_when_there_is_more(tmp_path: Path, limit: float, shown: int, is_cut: bool) -> None:
    for name in "abcd":
        (tmp_path / name).write_text("")
    result = ls(tmp_path, limit=limit)
    entries, _, notice = text_of(result).partition("\n\n")
    assert entries.split("\n") == list("abcd")[:shown]
    if is_cut:
        assert f"limit={shown * 2}" in notice
        assert result.details == {"entryLimitReached": shown}
    else:
        assert (notice, bool(result.details)) == ("", False)


def test_fifty_kilobytes_are_the_most(tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"{n:03d}{'x' * 200}").write_text("")
    result = ls(tmp_path)
    assert "50.0KB" in text_of(result)
    assert result.details["truncation"]["truncatedBy"] == "bytes"
    assert result.details["truncation"]["totalLines"] == 300
    assert text_of(ls(tmp_path, limit=290)).endswith("to see more. Cut at the limit of 50.0KB]")


def test_failures_name_the_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("missing", "file", "file/below"):
        with pytest.raises(ToolError, match=re.escape(repr(str(tmp_path / path)))):
            ls(tmp_path, path=path)
    with pytest.raises(ToolError, match="not a directory"):
        ls(tmp_path, path="file")
    with pytest.raises(ToolError, match="limit"):
        ls(tmp_path, limit="many")


def test_odd_names_are_shown_harmlessly(tmp_path: Path) -> None:
    for name in ("esc\x1b[2J.txt", "new\nline", os.fsdecode(b"latin\xe9"), "ünï😀", "c1\x9bx"):
        (tmp_path / name).write_text("")
    assert text_of(ls(tmp_path)).split("\n") == [
        r"c1\x9bx",
        r"esc\x1b[2J.txt",
        "latin\ufffd",
        r"new\nline",
        "ünï😀",
    ]
    assert text_of(ls(tmp_path)).encode()


@pytest.mark.parametrize(
    ("name", "expected"), [("a\tb\r", r"a\tb\r"), ("a\u2028b", r"a\u2028b"), ("\udcff", "\ufffd"), ("plain", "plain")]
)
def test_names_become_one_valid_line(name: str, expected: str) -> None:
    assert shown_name(name) == expected


def test_an_environment_is_listed(tmp_path: Path) -> None:
    env = MemoryEnv({"/w/b/x": "", "/w/a": ""}, cwd="/w")
    asyncio.run(env.create_symlink("/w/link", "b"))
    asyncio.run(env.create_symlink("/w/broken", "nowhere"))
    assert text_of(ls("/w", env)) == "a\nb/\nlink/"
    with pytest.raises(ToolError, match="missing"):
        ls("/w", env, path="missing")
    (tmp_path / "x").write_text("")
    assert text_of(ls(tmp_path, LocalEnv(str(tmp_path)))) == "x"


class HangingOperations:
    async def exists(self, path: str) -> bool:
        await asyncio.sleep(60)
        return True

    async def stat(self, path: str) -> EntryStat:
        return EntryStat(is_directory=True)

    async def readdir(self, path: str) -> list[str]:
        return []

    async def list_entries(self, path: str) -> list[DirectoryEntry]:
        return []


def test_an_abort_ends_a_listing_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        await list_directory({}, str(tmp_path), HangingOperations(), controller.signal)

    with pytest.raises(OperationAbortedError):
        asyncio.run(work())
