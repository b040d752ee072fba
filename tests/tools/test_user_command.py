"""Commands that users run: cleaned, kept, cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pinyon._util.abort import AbortController, AbortSignal
from pinyon.env import ExecutionError
from pinyon.tools.operations import BashExecOptions
from pinyon.tools.printable import MAX_HELD_CHARACTERS, PrintableStream, to_printable
from pinyon.tools.user_command import BashResult, execute_bash

PIECES = st.sampled_from(
    ["a", "m", "\n", "\t", "\r", "\x1b", "[", "]", "\x1b[31m", "\x1b[1;38:5:2m", "\x1b]0;title\x07", "\x1b]8;;u\x1b\\"]
)


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def run(command: str, folder: Path, **options: Any) -> BashResult:
    return asyncio.run(execute_bash(command, folder, **options))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;2;3Hx", "x"),
        ("\x1b[?25lx\x1b[?25h", "x"),
        ("\x1b[>4;2mx", "x"),
        ("\x9b31mx", "x"),
        ("\x1b(Bx", "x"),
        ("\x1b=x", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;x\x9cy", "y"),
        ("a\x00\x07\x08b\x7f\x85c", "abc"),
        ("\ufff9x\ufffb", "x"),
        ("10%\r20%\r\n", "10%20%\n"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("ünï 😀", "ünï 😀"),
        ("brackets [31m stay", "brackets [31m stay"),
    ],
)
def test_only_plain_text_is_left(text: str, expected: str) -> None:
    assert to_printable(text) == expected
    stream = PrintableStream()
    assert stream.feed(text) + stream.finish() == expected


@given(st.lists(PIECES), st.data())
def test_the_text_does_not_depend_on_where_blocks_end(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    stream = PrintableStream()
    parts = [stream.feed(whole[a:b]) for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    result = "".join([*parts, stream.finish()])
    assert result == to_printable(whole)
    assert not any(char < " " and char not in "\t\n" for char in result)


def test_a_sequence_without_end_holds_little_back() -> None:
    stream = PrintableStream()
    shown = stream.feed("\x1b]0;" + "x" * 1000)
    assert len(shown) > 1000 - MAX_HELD_CHARACTERS


def test_output_and_exit_code_are_the_result(tmp_path: Path) -> None:
    assert run("echo visible; exit 2", tmp_path) == BashResult(output="visible\n", exit_code=2)


def test_output_is_cleaned_and_streamed(tmp_path: Path) -> None:
    chunks: list[str] = []
    command = r"""printf '\033['; sleep 0.2; printf '31mred\r\n'; printf '\xc3'; sleep 0.2; printf '\xa9\n'"""
    result = run(command, tmp_path, on_chunk=chunks.append)
    assert result.output == "red\né\n" == "".join(chunks)


def test_a_prefix_comes_first(tmp_path: Path) -> None:
    assert run("echo $X", tmp_path, command_prefix="X=1").output == "1\n"


def test_a_shell_can_be_named(tmp_path: Path) -> None:
    assert run("echo $0", tmp_path, shell_path="/bin/sh").output == "/bin/sh\n"
    with pytest.raises(ExecutionError, match="nowhere"):
        run("echo $0", tmp_path, shell_path="/nowhere")


def test_no_session_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_SESSION_ID", "outer")
    assert run('echo "[$PI_SESSION_ID]"', tmp_path).output == "[]\n"


def test_an_abort_gives_the_output_so_far(tmp_path: Path) -> None:
    controller = AbortController()
    result = run(
        "echo start; sleep 20", tmp_path, signal=controller.signal, on_chunk=lambda _: controller.abort("enough")
    )
    assert result == BashResult(output="start\n", cancelled=True)
    assert result.exit_code is UNSET


def test_several_run_at_once(tmp_path: Path) -> None:
    async def work() -> list[BashResult]:
        return await asyncio.gather(*(execute_bash(f"echo {n}", tmp_path) for n in range(3)))

    assert [result.output for result in asyncio.run(work())] == ["0\n", "1\n", "2\n"]


def test_many_lines_are_cut_and_saved(tmp_path: Path, temporary_folder: Path) -> None:
    result = run("seq 1 3000; printf '\\033[1mend\\n'", tmp_path)
    (file,) = temporary_folder.iterdir()
    assert result.truncated
    assert result.full_output_path == str(file)
    assert result.output == "\n".join([*map(str, range(1002, 3001)), "end"])
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 3001)) + "end\n"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_large_output_stays_bounded(tmp_path: Path, temporary_folder: Path) -> None:
    result = run("head -c 3000000 /dev/zero | tr '\\0' x", tmp_path)
    (file,) = temporary_folder.iterdir()
    assert result.truncated
    assert result.output == "x" * 51200
    assert file.stat().st_size == 3_000_000


class FakeOperations:
    def __init__(self, blocks: list[bytes], outcome: int | Exception | None) -> None:
        self._blocks = blocks
        self._outcome = outcome

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        assert options.env is None
        assert options.timeout_seconds is None
        for block in self._blocks:
            options.on_data(block)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


@pytest.mark.parametrize("blocks", [[b"x" * 110_000 + b"\n", b"end\n"], [b"x" * 1000] * 400 + [b"\nend\n"]])
def test_what_went_from_memory_counts_as_cut(tmp_path: Path, blocks: list[bytes], temporary_folder: Path) -> None:
    result = run("x", tmp_path, operations=FakeOperations(blocks, 0))
    assert result.output == "end"
    assert result.truncated
    assert Path(result.full_output_path or "").read_bytes() == b"".join(blocks)


def test_no_exit_code_is_left_out(tmp_path: Path) -> None:
    assert run("x", tmp_path, operations=FakeOperations([b"x"], None)) == BashResult(output="x")


def test_failures_of_the_operations_come_through(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        run("x", tmp_path, operations=FakeOperations([], OSError("gone")))


def test_an_abort_of_other_operations_is_recognised_by_the_signal(tmp_path: Path) -> None:
    controller = AbortController()
    controller.abort()
    operations = FakeOperations([b"partial"], RuntimeError("stopped"))
    assert run("x", tmp_path, operations=operations, signal=controller.signal) == BashResult(
        output="partial", cancelled=True
    )
