from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.env.conformance import HELLO, NOTHING, SHOW_FOLDER, SHOW_VARIABLE, SLEEP, EnvConformance, run

from pinyon.env import CommandCall, ExecutionEnv, ExecutionError, MemoryEnv


async def scripted_shell(call: CommandCall) -> int:
    """Stands for a shell that knows the commands of the suite."""
    match call.command:
        case str() as command if command == HELLO:
            call.write_stdout("héllo\n")
            call.write_stderr("oops\n")
            return 3
        case str() as command if command == SHOW_VARIABLE:
            call.write_stdout(f"{call.env.get('PINYON_TEST_A', '')}|{call.env.get('PINYON_TEST_BASE', '')}")
        case str() as command if command == SHOW_FOLDER:
            call.write_stdout(f"{call.cwd}\n")
        case str() as command if command == SLEEP:
            call.write_stdout("before\n")
            await asyncio.sleep(30)
            call.write_stdout("after\n")
        case str() as command if command == NOTHING:
            pass
        case unknown:
            raise AssertionError(unknown)
    return 0


@pytest.fixture
def env() -> ExecutionEnv:
    return MemoryEnv(run=scripted_shell, env={"PINYON_TEST_BASE": "base"})


@pytest.fixture
def link(env: MemoryEnv) -> Callable[[str, str], None]:
    # The loop of the test is not the one that made the files, which is fine: nothing here waits.
    def create(path: str, target: str) -> None:
        with pytest.raises(StopIteration):
            env.create_symlink(path, target).send(None)

    return create


class TestMemoryEnv(EnvConformance):
    pass


def test_files_can_be_given_at_the_start() -> None:
    env = MemoryEnv({"a.txt": "text", "/other/b.bin": b"\xff"}, cwd="/project")
    assert run(env.read_text_file("/project/a.txt")) == "text"
    assert run(env.read_binary_file("/other/b.bin")) == b"\xff"


def test_without_a_handler_commands_are_refused() -> None:
    with pytest.raises(ExecutionError, match="no shell") as caught:
        run(MemoryEnv().exec("echo hi"))
    assert caught.value.code == "shell_unavailable"


def test_the_variables_of_this_process_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINYON_TEST_BASE", "leak")
    assert run(MemoryEnv(run=scripted_shell).exec(SHOW_VARIABLE)).stdout == "|"


def test_a_handler_works_on_the_files() -> None:
    async def touch(call: CommandCall) -> int:
        await call.files.write_file(call.command.removeprefix("touch "), "")
        return 0

    async def work() -> bool:
        env = MemoryEnv(run=touch)
        await env.exec("touch made.txt")
        return await env.exists("made.txt")

    assert run(work())


def test_a_directory_moves_with_what_it_holds() -> None:
    async def work() -> None:
        env = MemoryEnv({"a/b/c.txt": "x"})
        await env.rename_file("a", "z")
        assert await env.read_text_file("z/b/c.txt") == "x"
        with pytest.raises(OSError, match="itself"):
            await env.rename_file("z", "z/b/z")
        with pytest.raises(OSError, match="root"):
            await env.remove("/", recursive=True)

    run(work())
