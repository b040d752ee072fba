"""What every execution environment must do. Each implementation runs this suite.

Commands are limited to the few that `SCRIPT_COMMANDS` names, so that an environment without a real shell can stand in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from pinyon._util.abort import AbortController
from pinyon.env import (
    ExecutionEnv,
    ExecutionError,
    FileError,
    FileKind,
    ShellAbortedError,
    ShellExecOptions,
    ShellResult,
    ShellTimeoutError,
)
from pinyon.errors import EnvError

Result = TypeVar("Result")

HELLO = "printf 'héllo\\n'; printf 'oops\\n' >&2; exit 3"
SHOW_VARIABLE = 'printf "%s|%s" "$PINYON_TEST_A" "$PINYON_TEST_BASE"'
SHOW_FOLDER = "pwd"
SLEEP = "echo before; sleep 30; echo after"
NOTHING = ":"


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


class EnvConformance:
    """Mix this in and give the fixture `env`: an empty environment whose base variables hold PINYON_TEST_BASE=base."""

    def test_relative_paths_count_from_cwd(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            assert await env.absolute_path("a/../b.txt") == await env.absolute_path("b.txt")
            assert (await env.absolute_path("b.txt")).startswith(env.cwd)
            assert await env.absolute_path(env.cwd) == env.cwd

        run(work())

    def test_paths_are_joined(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            joined = await env.join_path(["a", "b", "c.txt"])
            assert await env.absolute_path(joined) == await env.absolute_path("a/b/c.txt")
            assert await env.join_path([]) == ""

        run(work())

    def test_text_is_written_and_read_back_byte_for_byte(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("deep/er/a.txt", "äöü\r\nzwei\n")
            assert await env.read_binary_file("deep/er/a.txt") == "äöü\r\nzwei\n".encode()
            assert await env.read_text_file("deep/er/a.txt") == "äöü\r\nzwei\n"

        run(work())

    def test_bytes_are_written_and_read_back(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("a.bin", b"\x00\xff\xfe")
            assert await env.read_binary_file("a.bin") == b"\x00\xff\xfe"
            assert await env.read_text_file("a.bin") == "\x00\ufffd\ufffd"

        run(work())

    def test_writing_replaces_and_appending_adds(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("a.txt", "long content")
            await env.write_file("a.txt", "one\n")
            await env.append_file("a.txt", "two\n")
            await env.append_file("new/b.txt", b"first")
            assert await env.read_text_file("a.txt") == "one\ntwo\n"
            assert await env.read_text_file("new/b.txt") == "first"

        run(work())

    @pytest.mark.parametrize(
        ("max_lines", "expected"),
        [(0, ["a", "b", "c"]), (-1, ["a", "b", "c"]), (1, ["a"]), (2, ["a", "b"]), (9, ["a", "b", "c"])],
    )
    def test_lines_are_read_up_to_a_number(self, env: ExecutionEnv, max_lines: int, expected: list[str]) -> None:
        async def work() -> None:
            await env.write_file("a.txt", "a\nb\r\nc\n")
            assert await env.read_text_lines("a.txt", max_lines) == expected
            await env.write_file("empty.txt", "")
            assert await env.read_text_lines("empty.txt", max_lines) == []

        run(work())

    def test_a_last_line_without_an_end_is_a_line(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("a.txt", "a\n\nc")
            assert await env.read_text_lines("a.txt") == ["a", "", "c"]

        run(work())

    def test_renaming_replaces_the_target(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("a.txt", "new")
            await env.write_file("b.txt", "old")
            await env.rename_file("a.txt", "b.txt")
            assert await env.read_text_file("b.txt") == "new"
            assert not await env.exists("a.txt")
            with pytest.raises(FileError) as caught:
                await env.rename_file("missing", "b.txt")
            assert caught.value.code == "not_found"
            assert await env.read_text_file("b.txt") == "new"

        run(work())

    def test_stat_tells_kind_size_and_time(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.write_file("d/a.txt", "12345")
            info = await env.stat("d/a.txt")
            assert (info.name, info.kind, info.size) == ("a.txt", FileKind.FILE, 5)
            assert info.path == await env.absolute_path("d/a.txt")
            assert info.mtime > 0
            folder = await env.stat("d")
            assert (folder.name, folder.kind) == ("d", FileKind.DIRECTORY)

        run(work())

    def test_listing_gives_the_direct_children_by_name(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            for path in ("b.txt", "a/inner.txt", ".hidden"):
                await env.write_file(path, "x")
            listed = await env.list_dir(".")
            assert [(info.name, info.kind.value) for info in listed] == [
                (".hidden", "file"),
                ("a", "directory"),
                ("b.txt", "file"),
            ]
            assert [info.path for info in listed] == [await env.absolute_path(info.name) for info in listed]

        run(work())

    def test_links_are_not_followed_by_stat_and_listing(
        self, env: ExecutionEnv, link: Callable[[str, str], None]
    ) -> None:
        async def work() -> None:
            await env.write_file("real/a.txt", "x")
            link("way", "real")
            link("broken", "nowhere")
            assert (await env.stat("way")).kind is FileKind.SYMLINK
            kinds = {info.name: info.kind for info in await env.list_dir("")}
            assert kinds == {"real": "directory", "way": "symlink", "broken": "symlink"}
            assert await env.read_text_file("way/a.txt") == "x"
            real = await env.canonical_path("real/a.txt")
            assert await env.canonical_path("way/a.txt") == real
            assert not await env.exists("broken")
            with pytest.raises(FileError) as caught:
                await env.canonical_path("broken")
            assert caught.value.code == "not_found"

        run(work())

    def test_writing_goes_through_a_link(self, env: ExecutionEnv, link: Callable[[str, str], None]) -> None:
        async def work() -> None:
            await env.write_file("real.txt", "old")
            link("way.txt", "real.txt")
            link("fresh.txt", "made.txt")
            await env.write_file("way.txt", "new")
            await env.write_file("fresh.txt", "made")
            assert await env.read_text_file("real.txt") == "new"
            assert await env.read_text_file("made.txt") == "made"
            assert (await env.stat("way.txt")).kind is FileKind.SYMLINK

        run(work())

    def test_links_in_a_circle_end_in_an_error(self, env: ExecutionEnv, link: Callable[[str, str], None]) -> None:
        async def work() -> None:
            link("a", "b")
            link("b", "a")
            with pytest.raises(FileError):
                await env.read_text_file("a")
            with pytest.raises(FileError):
                await env.exists("a")

        run(work())

    @pytest.mark.parametrize(
        ("method", "path", "code"),
        [
            ("read_binary_file", "missing.txt", "not_found"),
            ("read_text_file", "missing.txt", "not_found"),
            ("read_text_lines", "missing.txt", "not_found"),
            ("stat", "missing.txt", "not_found"),
            ("list_dir", "missing", "not_found"),
            ("canonical_path", "missing", "not_found"),
            ("remove", "missing", "not_found"),
            ("read_binary_file", "folder", "is_directory"),
            ("read_text_lines", "folder", "is_directory"),
            ("list_dir", "file.txt", "not_directory"),
            ("read_text_file", "file.txt/below", "not_directory"),
            ("exists", "file.txt/below", "not_directory"),
            ("read_text_file", "nul\0byte", "invalid"),
            ("remove", "folder", "invalid"),
        ],
    )
    def test_failures_carry_code_and_path(self, env: ExecutionEnv, method: str, path: str, code: str) -> None:
        async def work() -> None:
            await env.write_file("file.txt", "x")
            await env.write_file("folder/x", "x")
            with pytest.raises(FileError) as caught:
                await getattr(env, method)(path)
            error = caught.value
            assert error.code == code
            assert path in error.path
            assert isinstance(error, EnvError)
            assert isinstance(error, OSError)
            assert error.errno is not None
            assert repr(path)[1:-1] in str(error)

        run(work())

    def test_writing_onto_a_directory_fails(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.create_dir("folder")
            for write in (env.write_file, env.append_file):
                with pytest.raises(FileError) as caught:
                    await write("folder", "x")
                assert caught.value.code == "is_directory"
            await env.write_file("file", "x")
            with pytest.raises(FileError):
                await env.write_file("file/below.txt", "x")

        run(work())

    def test_directories_are_created_and_removed(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.create_dir("a/b/c")
            await env.create_dir("a/b/c")
            assert (await env.stat("a/b/c")).kind is FileKind.DIRECTORY
            with pytest.raises(FileError):
                await env.create_dir("x/y", recursive=False)
            with pytest.raises(FileError):
                await env.create_dir("a", recursive=False)
            await env.create_dir("a/single", recursive=False)
            await env.write_file("a/b/file", "x")
            await env.remove("a", recursive=True)
            assert not await env.exists("a")
            await env.remove("a", force=True)

        run(work())

    def test_removing_a_link_keeps_its_target(self, env: ExecutionEnv, link: Callable[[str, str], None]) -> None:
        async def work() -> None:
            await env.write_file("real/a.txt", "x")
            link("way", "real")
            await env.remove("way", recursive=True)
            assert await env.exists("real/a.txt")
            assert not await env.exists("way")

        run(work())

    def test_temporary_files_are_gone_after_cleanup(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            folder = await env.create_temp_dir("some-")
            file = await env.create_temp_file("other-", ".log")
            await env.write_file(await env.join_path([folder, "x"]), "x")
            assert (await env.stat(folder)).kind is FileKind.DIRECTORY
            assert (await env.stat(file)).size == 0
            assert "some-" in folder
            assert "other-" in file
            assert file.endswith(".log")
            await env.cleanup()
            assert not await env.exists(folder)
            assert not await env.exists(file)
            await env.cleanup()

        run(work())

    def test_a_command_gives_both_outputs_and_its_exit_code(self, env: ExecutionEnv) -> None:
        result = run(env.exec(HELLO))
        assert (result.stdout, result.stderr, result.exit_code) == ("héllo\n", "oops\n", 3)

    def test_output_is_passed_on_as_it_comes(self, env: ExecutionEnv) -> None:
        out: list[str] = []
        err: list[str] = []
        options = ShellExecOptions(on_stdout=out.append, on_stderr=err.append, collect=False)
        result = run(env.exec(HELLO, options))
        assert "".join(out) == "héllo\n"
        assert "".join(err) == "oops\n"
        assert (result.stdout, result.stderr) == ("", "")

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (ShellExecOptions(env={"PINYON_TEST_A": "one"}), "one|base"),
            (ShellExecOptions(env={"PINYON_TEST_A": "one", "PINYON_TEST_BASE": "mine"}), "one|mine"),
            (ShellExecOptions(env={"PINYON_TEST_A": "one"}, inherit_env=False), "one|"),
            (ShellExecOptions(unset_env=("PINYON_TEST_BASE",)), "|"),
        ],
    )
    def test_variables_are_inherited_and_overridden(
        self, env: ExecutionEnv, options: ShellExecOptions, expected: str
    ) -> None:
        assert run(env.exec(SHOW_VARIABLE, options)).stdout == expected

    def test_commands_run_in_the_folder_asked_for(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            await env.create_dir("sub")
            inner = await env.exec(SHOW_FOLDER, ShellExecOptions(cwd="sub"))
            assert inner.stdout.strip() == await env.canonical_path("sub")
            assert (await env.exec(SHOW_FOLDER)).stdout.strip() == await env.canonical_path("")
            with pytest.raises(ExecutionError, match="no-such-folder") as caught:
                await env.exec(NOTHING, ShellExecOptions(cwd="no-such-folder"))
            assert caught.value.code == "spawn_error"

        run(work())

    def test_a_timeout_ends_a_command(self, env: ExecutionEnv) -> None:
        seen: list[str] = []
        with pytest.raises(ShellTimeoutError) as caught:
            run(env.exec(SLEEP, ShellExecOptions(timeout_seconds=1, on_stdout=seen.append)))
        assert (caught.value.code, caught.value.seconds) == ("timeout", 1)
        assert "".join(seen) == "before\n"

    @pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 99_999_999])
    def test_an_impossible_timeout_is_refused(self, env: ExecutionEnv, seconds: float) -> None:
        with pytest.raises(ExecutionError) as caught:
            run(env.exec(NOTHING, ShellExecOptions(timeout_seconds=seconds)))
        assert caught.value.code == "timeout"
        assert not isinstance(caught.value, ShellTimeoutError)

    @pytest.mark.parametrize("seconds", [None, 0, -5])
    def test_no_timeout_is_no_limit(self, env: ExecutionEnv, seconds: float | None) -> None:
        assert run(env.exec(HELLO, ShellExecOptions(timeout_seconds=seconds))).exit_code == 3

    def test_an_abort_ends_a_command(self, env: ExecutionEnv) -> None:
        controller = AbortController()

        def abort_on_output(text: str) -> None:
            assert text == "before\n"
            controller.abort()

        with pytest.raises(ShellAbortedError) as caught:
            run(env.exec(SLEEP, ShellExecOptions(signal=controller.signal, on_stdout=abort_on_output)))
        assert caught.value.code == "aborted"

    def test_nothing_starts_after_an_abort(self, env: ExecutionEnv) -> None:
        controller = AbortController()
        controller.abort()
        with pytest.raises(ShellAbortedError):
            run(env.exec(HELLO, ShellExecOptions(signal=controller.signal)))

    def test_a_failing_listener_ends_the_command(self, env: ExecutionEnv) -> None:
        def fail(text: str) -> None:
            raise ValueError(f"cannot use {text!r}")

        with pytest.raises(ExecutionError, match="cannot use") as caught:
            run(env.exec(SLEEP, ShellExecOptions(on_stdout=fail)))
        assert caught.value.code == "callback_error"

    def test_commands_run_side_by_side(self, env: ExecutionEnv) -> None:
        async def work() -> list[str]:
            results = await asyncio.gather(
                *(env.exec(SHOW_VARIABLE, ShellExecOptions(env={"PINYON_TEST_A": str(n)})) for n in range(4))
            )
            return [result.stdout for result in results]

        assert run(work()) == [f"{n}|base" for n in range(4)]

    def test_cleanup_ends_what_still_runs(self, env: ExecutionEnv) -> None:
        async def work() -> None:
            started = asyncio.Event()
            command = asyncio.create_task(env.exec(SLEEP, ShellExecOptions(on_stdout=lambda _: started.set())))
            await started.wait()
            await env.cleanup()
            (outcome,) = await asyncio.gather(command, return_exceptions=True)
            was_aborted = isinstance(outcome, ExecutionError) and outcome.code == "aborted"
            was_killed = isinstance(outcome, ShellResult) and outcome.exit_code > 128
            assert was_aborted or was_killed

        run(work())
