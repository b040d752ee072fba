"""The write tool on real files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, AbortSignal, OperationAbortedError
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.operations.local import LocalWriteOperations
from pinyon.tools.write import write_file


def write(cwd: Path, path: str, content: Any, signal: AbortSignal | None = None) -> AgentToolResult:
    params = {"path": path, "content": content}
    return asyncio.run(write_file(params, str(cwd), LocalWriteOperations(), signal or AbortSignal()))


@pytest.mark.parametrize("content", ["", "a\r\nb\rc\n", "no newline", "\ufeffmarked", "漢字 ✓ \U0001f600\n", "nul \0"])
def test_the_content_is_written_byte_for_byte(tmp_path: Path, content: str) -> None:
    result = write(tmp_path, "f.txt", content)
    assert (tmp_path / "f.txt").read_bytes() == content.encode()
    assert isinstance(result.content[0], TextContent)
    assert "f.txt" in result.content[0].text
    assert not result.details


def test_folders_are_created(tmp_path: Path) -> None:
    write(tmp_path, "a/b/../c/f.txt", "x")
    assert (tmp_path / "a" / "c" / "f.txt").read_text() == "x"


def test_absolute_paths_and_a_leading_at_sign_are_understood(tmp_path: Path) -> None:
    write(tmp_path, str(tmp_path / "one"), "1")
    write(tmp_path, "@two", "2")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["one", "two"]


def test_an_existing_file_keeps_its_mode_and_links_are_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("much longer than what follows")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to(target)
    write(tmp_path, "link", "short")
    assert (tmp_path / "link").is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("short", 0o640)


def test_a_directory_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError, match="EISDIR") as failure:
        write(tmp_path, "d", "x")
    assert str(tmp_path / "d") in str(failure.value)


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(ToolError, match=r"ENOTDIR|EEXIST"):
        write(tmp_path, "f/g", "x")


@pytest.mark.parametrize("content", [None, 3, ["x"]])
def test_content_must_be_text(tmp_path: Path, content: Any) -> None:
    with pytest.raises(ToolError, match="content"):
        write(tmp_path, "f", content)
    assert not (tmp_path / "f").exists()


def test_lone_surrogates_are_replaced_and_pairs_joined(tmp_path: Path) -> None:
    write(tmp_path, "f", "a\ud83d b\ud83d\ude00")
    assert (tmp_path / "f").read_text(encoding="utf-8") == "a\ufffd b\U0001f600"


def test_replacement_characters_do_not_take_the_place_of_bytes(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"caf\xe9 \x81\n")
    with pytest.raises(ToolError, match="bytes"):
        write(tmp_path, "f", "caf\ufffd \ufffd\nmore\n")
    assert file.read_bytes() == b"caf\xe9 \x81\n"
    write(tmp_path, "f", "café\n")
    write(tmp_path, "f", "café \ufffd\n")
    assert file.read_text(encoding="utf-8") == "café \ufffd\n"
    write(tmp_path, "new", "\ufffd")


def test_operations_that_cannot_read_still_write(tmp_path: Path) -> None:
    written: dict[str, str | bytes] = {}

    class WriteOnly:
        async def write_file(self, path: str, content: str | bytes) -> None:
            written[path] = content

        async def mkdir(self, path: str) -> None:
            written[path] = "folder"

    asyncio.run(write_file({"path": "d/f", "content": "\ufffd"}, "/w", WriteOnly(), AbortSignal()))
    assert written == {"/w/d": "folder", "/w/d/f": "\ufffd"}


def test_writes_of_one_file_keep_the_order_of_the_calls(tmp_path: Path) -> None:
    async def scenario() -> None:
        operations = LocalWriteOperations()
        await asyncio.gather(
            *(
                write_file({"path": "f", "content": str(number) * 50_000}, str(tmp_path), operations, AbortSignal())
                for number in range(8)
            )
        )

    asyncio.run(scenario())
    assert (tmp_path / "f").read_text() == "7" * 50_000


def test_an_abort_is_noticed_between_the_steps(tmp_path: Path) -> None:
    controller = AbortController()

    class Aborting(LocalWriteOperations):
        async def mkdir(self, path: str) -> None:
            await super().mkdir(path)
            controller.abort()

    with pytest.raises(OperationAbortedError):
        asyncio.run(write_file({"path": "d/f", "content": "x"}, str(tmp_path), Aborting(), controller.signal))
    assert not (tmp_path / "d" / "f").exists()
    with pytest.raises(OperationAbortedError):
        write(tmp_path, "g", "x", controller.signal)
    assert not (tmp_path / "g").exists()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot reserve space")
def test_a_disk_that_is_too_small_leaves_the_old_content(tmp_path: Path) -> None:
    import resource

    write(tmp_path, "f", "old content")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ToolError, match="EFBIG"):
            write(tmp_path, "f", "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "f").read_text() == "old content"


def test_a_device_can_be_written(tmp_path: Path) -> None:
    write(tmp_path, os.devnull, "x")
    assert not Path(os.devnull).is_file()
