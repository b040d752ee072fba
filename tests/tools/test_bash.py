"""The bash tool with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, AbortSignal, OperationAbortedError
from pinyon.agent.tool import AgentToolResult, FixedToolContext, ToolContext
from pinyon.ai.content import TextContent
from pinyon.ai.model import Model
from pinyon.env import CommandCall, ExecutionError, LocalEnv, MemoryEnv, ShellTimeoutError
from pinyon.errors import PinyonError, ToolError
from pinyon.tools.bash import create_bash_tool, create_bash_tool_definition
from pinyon.tools.command import SpawnContext
from pinyon.tools.operations import BashExecOptions
from pinyon.tools.powershell import create_powershell_tool_definition

GOLDEN_PARAMETERS = {
    "type": "object",
    "required": ["command"],
    "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
}


class Call:
    """One call of the tool and what it gave."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.definition = create_bash_tool_definition(folder, **options)
        self.controller = AbortController()
        self.updates: list[AgentToolResult] = []

    def __call__(self, command: str, timeout: Any = None, ctx: ToolContext | None = None) -> AgentToolResult:
        params = {"command": command} if timeout is None else {"command": command, "timeout": timeout}

        async def work() -> AgentToolResult:
            outcome = self.definition.execute(
                "call", params, self.controller.signal, self.update, ctx or FixedToolContext()
            )
            assert not isinstance(outcome, AgentToolResult)
            return await outcome

        return asyncio.run(work())

    def update(self, result: AgentToolResult) -> None:
        self.updates.append(result)


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def bash(tmp_path: Path) -> Call:
    return Call(tmp_path)


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_descriptions(value) for key, value in schema.items() if key != "description"}
    return schema


def test_the_declaration_is_the_recorded_one(tmp_path: Path) -> None:
    tool = create_bash_tool_definition(tmp_path)
    assert json.dumps(without_descriptions(tool.parameters)) == json.dumps(GOLDEN_PARAMETERS)
    sampling = tool.constrained_sampling
    assert sampling
    assert getattr(sampling, "strict", None) == "prefer"
    for fact in ("2000 lines", "50KB", "temporary file", "seconds", "working directory"):
        assert fact in tool.description
    assert tool.label == tool.name == "bash"


def test_output_is_the_result(bash: Call) -> None:
    result = bash("echo out; echo err >&2")
    assert sorted(text_of(result).split()) == ["err", "out"]
    assert not result.details
    assert not result.is_error
    assert result.structured_content["exit_code"] == 0
    assert "full_output_path" not in result.structured_content


def test_a_failure_is_a_result_with_its_exit_code(bash: Call) -> None:
    result = bash("echo hi; exit 3")
    assert text_of(result) == "hi\n\n\nExit code: 3"
    assert result.is_error is True
    assert not result.details
    assert result.structured_content == {
        "output": "hi\n",
        "truncated": False,
        "exit_code": 3,
        "wall_time_seconds": result.structured_content["wall_time_seconds"],
    }
    assert list(result.structured_content) == ["output", "truncated", "exit_code", "wall_time_seconds"]


def test_no_output_is_said(bash: Call) -> None:
    assert text_of(bash("true")) == "(no output)"
    assert text_of(bash("exit 1")) == "(no output)\n\nExit code: 1"


def test_death_by_a_signal_is_an_error(bash: Call) -> None:
    result = bash("kill -9 $$")
    assert result.is_error is True
    assert "137" in text_of(result)


def test_the_input_is_empty(bash: Call) -> None:
    assert text_of(bash("cat; echo rc=$?")) == "rc=0\n"


def test_commands_run_in_the_folder(tmp_path: Path, bash: Call) -> None:
    assert text_of(bash("pwd")) == f"{tmp_path.resolve()}\n"
    other = tmp_path / "other"
    other.mkdir()
    assert text_of(bash("pwd", ctx=FixedToolContext(cwd=other))) == f"{other.resolve()}\n"


def test_a_missing_folder_is_named_and_the_next_call_works(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    call = Call(folder)
    with pytest.raises(PinyonError, match=re.escape(str(folder))):
        call("echo hi")
    folder.mkdir()
    assert text_of(call("echo hi")) == "hi\n"


def test_a_missing_shell_is_named(tmp_path: Path) -> None:
    with pytest.raises(PinyonError, match="no-such-shell"):
        Call(tmp_path, shell_path="/no-such-shell")("echo hi")


def test_another_shell_can_be_named(tmp_path: Path) -> None:
    assert text_of(Call(tmp_path, shell_path="/bin/sh")("echo $0")) == "/bin/sh\n"


def test_a_prefix_is_a_line_before_the_command(tmp_path: Path) -> None:
    call = Call(tmp_path, command_prefix="shopt -s expand_aliases\nalias greet='echo hello'")
    assert text_of(call("greet you")) == "hello you\n"


@pytest.mark.parametrize("command", ["sleep 30 & echo hi", "nohup sleep 30 >/dev/null & echo hi"])
def test_a_background_process_is_not_waited_for(bash: Call, command: str) -> None:
    result = bash(f"{command}; echo pid $!", timeout=20)
    match = re.search(r"pid (\d+)", text_of(result))
    assert match is not None
    os.kill(int(match[1]), 9)


def test_a_background_writer_keeps_the_exit_code_in_the_timeout(bash: Call) -> None:
    with pytest.raises(ToolError) as caught:
        bash("(while true; do echo tick; sleep 0.05; done) & exit 3", timeout=1.5)
    text = str(caught.value)
    assert text.startswith("tick\n")
    assert re.search(r"of 1\.5 seconds.*code 3 after [01]\.\d seconds.*background", text)


def test_a_timeout_keeps_the_output(bash: Call) -> None:
    with pytest.raises(ToolError) as caught:
        bash("echo before; sleep 30", timeout=1)
    assert str(caught.value) == "before\n\n\nStopped: the timeout of 1 seconds is over."


def test_an_abort_keeps_the_output(bash: Call) -> None:
    def abort(result: AgentToolResult) -> None:
        if result.content:
            bash.controller.abort()

    bash.update = abort  # type: ignore[method-assign]
    with pytest.raises(ToolError) as caught:
        bash("echo before; sleep 30")
    assert str(caught.value) == "before\n\n\nStopped: the command was aborted."


def test_nothing_runs_after_an_abort(tmp_path: Path, bash: Call) -> None:
    bash.controller.abort()
    with pytest.raises(OperationAbortedError):
        bash("touch made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        (0, "above 0"),
        (-5, "above 0"),
        (float("nan"), "above 0"),
        (float("inf"), "above 0"),
        ("abc", "above 0"),
        (99_999_999, "2147483.647.*milliseconds"),
        (2147483.648, "2147483.647"),
    ],
)
def test_an_impossible_timeout_is_refused_before_anything_runs(
    tmp_path: Path, bash: Call, timeout: Any, expected: str
) -> None:
    with pytest.raises(ToolError, match=expected):
        bash("touch made", timeout=timeout)
    assert list(tmp_path.iterdir()) == []
    assert bash.updates == []


@pytest.mark.parametrize("timeout", [180_000, 2147483.647, 7.5])
def test_a_long_timeout_is_fine(bash: Call, timeout: float) -> None:
    assert text_of(bash("echo hi", timeout=timeout)) == "hi\n"


def test_split_characters_and_escapes_arrive_whole(bash: Call) -> None:
    command = (
        r"""printf '\xc3'; sleep 0.15; printf 'E' >&2; sleep 0.15; printf '\xa9\n'; """
        r"""printf '\033['; sleep 0.15; printf '31mred\n'; printf '\xff\xfe'"""
    )
    text = text_of(bash(command))
    assert text.replace("E", "") == "é\n\x1b[31mred\n\ufffd\ufffd"
    assert "E" in text


def test_carriage_returns_and_escapes_stay(bash: Call) -> None:
    assert text_of(bash(r"printf 'a\r\nb\033[0m\0c'")) == "a\r\nb\x1b[0m\0c"


def test_long_output_shows_the_end_and_names_the_file(bash: Call, temporary_folder: Path) -> None:
    result = bash("seq 1 5000")
    (file,) = temporary_folder.iterdir()
    assert re.fullmatch(r"pi-bash-[0-9a-f]{16}\.log", file.name)
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 5001))
    assert file.stat().st_mode & 0o777 == 0o600
    text = text_of(result)
    assert text.startswith("3001\n")
    assert text.endswith(f"5000\n\n[Only lines 3001-5000 of 5000 fit here. All of it is in {file}]")
    assert result.details["fullOutputPath"] == str(file)
    assert result.details["truncation"]["truncatedBy"] == "lines"
    assert result.structured_content["output"] == file.read_text()
    assert result.structured_content["truncated"] is False
    assert "full_output_path" not in result.structured_content


def test_programs_get_both_ends_of_a_very_long_output(bash: Call) -> None:
    result = bash("seq 1 300000")
    structured = result.structured_content
    assert structured["truncated"] is True
    assert structured["full_output_path"] == result.details["fullOutputPath"]
    assert structured["output"].startswith("1\n2\n")
    assert structured["output"].endswith("\n300000\n")
    assert "bytes left out]" in structured["output"]


def test_a_failure_after_long_output_keeps_details(bash: Call) -> None:
    result = bash("seq 1 3000; exit 9")
    assert result.is_error is True
    assert result.details["truncation"]["totalLines"] == 3000
    assert text_of(result).endswith("]\n\nExit code: 9")


def test_a_huge_single_line_shows_its_end(bash: Call) -> None:
    result = bash("echo start; head -c 200000 /dev/zero | tr '\\0' x; echo END")
    text = text_of(result)
    assert "xEND\n\n[Only the last 50.0KB of line 2 fit here, which is 195.3KB long. All of it is in " in text


def test_updates_begin_empty_and_end_with_everything(bash: Call) -> None:
    bash("echo one; sleep 0.3; echo two")
    assert bash.updates[0] == AgentToolResult([])
    assert text_of(bash.updates[1]) == "one\n"
    assert bash.updates[1].details == {}
    assert text_of(bash.updates[-1]) == "one\ntwo\n"


def test_updates_are_throttled_and_name_the_file_at_once(bash: Call) -> None:
    result = bash("for n in $(seq 1 4000); do echo $n; done; sleep 0.25; seq 1 2000")
    assert len(bash.updates) < 40
    assert bash.updates[-1].details["fullOutputPath"] == result.details["fullOutputPath"]
    assert text_of(bash.updates[-1]) == text_of(result).rpartition("\n\n[")[0]


class FakeSession:
    def __init__(self, file: str | None) -> None:
        self._file = file

    def get_session_id(self) -> str:
        return "session-1"

    def get_session_file(self) -> str | None:
        return self._file


def context(file: str | None, model: Model | None) -> FixedToolContext:
    return FixedToolContext(session=FakeSession(file), model=model, thinking_level="high")


@pytest.fixture
def model() -> Model:
    return Model(id="model-1", name="Model", api="faux", provider="fake", base_url="")


SHOW_SESSION = "env | grep ^PI_ | sort"


def test_commands_know_session_and_model(
    tmp_path: Path, bash: Call, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PI_OFFLINE", raising=False)
    for name in ("PI_SESSION_ID", "PI_SESSION_FILE", "PI_MODEL"):
        monkeypatch.setenv(name, "outer")
    assert text_of(bash(SHOW_SESSION, ctx=context("/s.jsonl", model))).splitlines() == [
        "PI_MODEL=model-1",
        "PI_PROVIDER=fake",
        "PI_REASONING_LEVEL=high",
        "PI_SESSION_FILE=/s.jsonl",
        "PI_SESSION_ID=session-1",
    ]
    in_memory = text_of(bash(SHOW_SESSION, ctx=context(None, None)))
    assert in_memory == "PI_REASONING_LEVEL=high\nPI_SESSION_ID=session-1\n"
    assert text_of(bash(SHOW_SESSION)) == "(no output)"
    hidden = Call(tmp_path, expose_session_environment=False)
    assert text_of(hidden(SHOW_SESSION, ctx=context("/s.jsonl", model))) == "(no output)"


def test_the_guideline_goes_with_the_variables(tmp_path: Path) -> None:
    (guideline,) = create_bash_tool_definition(tmp_path).prompt_guidelines
    assert "PI_" in guideline
    assert create_bash_tool_definition(tmp_path, expose_session_environment=False).prompt_guidelines == ()


def test_the_spawn_hook_has_the_last_word(tmp_path: Path, model: Model) -> None:
    seen: list[SpawnContext] = []
    (tmp_path / "sub").mkdir()

    def hook(spawn: SpawnContext) -> SpawnContext:
        seen.append(spawn)
        env = {**spawn.env, "EXTRA": "1", "PI_MODEL": "mine"}
        return SpawnContext(command=f"{spawn.command}; pwd", cwd=str(tmp_path / "sub"), env=env)

    call = Call(tmp_path, command_prefix="X=prefix", spawn_hook=hook)
    result = call("echo $X $EXTRA $PI_MODEL", ctx=context(None, model))
    assert text_of(result) == f"prefix 1 mine\n{(tmp_path / 'sub').resolve()}\n"
    assert seen[0].command == "X=prefix\necho $X $EXTRA $PI_MODEL"
    assert seen[0].env["PI_MODEL"] == "model-1"


def test_the_managed_folder_is_first_on_the_path(tmp_path: Path, bash: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    assert text_of(bash("echo $PATH")).startswith(f"{tmp_path / 'agent' / 'bin'}:")


class FakeOperations:
    def __init__(self, act: Callable[[BashExecOptions], int | None]) -> None:
        self._act = act

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        return self._act(options)


def failing(error: Exception) -> FakeOperations:
    def act(options: BashExecOptions) -> int | None:
        options.on_data(b"partial")
        raise error

    return FakeOperations(act)


def test_no_exit_code_is_success(tmp_path: Path) -> None:
    def act(options: BashExecOptions) -> int | None:
        options.on_data(b"done")
        return None

    result = Call(tmp_path, operations=FakeOperations(act))("x")
    assert text_of(result) == "done"
    assert not result.is_error
    assert "exit_code" not in result.structured_content


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("aborted"), "Stopped: the command was aborted."),
        (RuntimeError("timeout:12"), "Stopped: the timeout of 12 seconds is over."),
        (RuntimeError("timeout:0.5"), "Stopped: the timeout of 0.5 seconds is over."),
        (ShellTimeoutError(7), "Stopped: the timeout of 7 seconds is over."),
        (OperationAbortedError(), "Stopped: the command was aborted."),
    ],
)
def test_endings_are_recognised_by_type_and_by_message(tmp_path: Path, error: Exception, status: str) -> None:
    with pytest.raises(ToolError) as caught:
        Call(tmp_path, operations=failing(error))("x")
    assert str(caught.value) == f"partial\n\n{status}"


def test_other_failures_stay_as_they_are(tmp_path: Path) -> None:
    error = OSError("the container is gone")
    with pytest.raises(OSError, match="container") as caught:
        Call(tmp_path, operations=failing(error))("x")
    assert caught.value is error


def test_an_environment_runs_the_command_with_its_own_variables(tmp_path: Path, model: Model) -> None:
    calls: list[CommandCall] = []

    async def handler(call: CommandCall) -> int:
        calls.append(call)
        call.write_stdout("héllo\n")
        return 4

    env = MemoryEnv({"/project/a": ""}, run=handler, env={"HOME": "/there", "PI_SESSION_ID": "outer"})
    call = Call(Path("/project"), env=env)
    assert text_of(call("run it", ctx=context(None, None))) == "héllo\n\n\nExit code: 4"
    assert (calls[0].command, calls[0].cwd) == ("run it", "/project")
    assert calls[0].env == {"HOME": "/there", "PI_SESSION_ID": "session-1", "PI_REASONING_LEVEL": "high"}


def test_a_local_environment_does_not_leak_an_outer_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_SESSION_ID", "outer")
    monkeypatch.setenv("PINYON_TEST_OUTER", "seen")
    call = Call(tmp_path, env=LocalEnv(str(tmp_path)))
    assert text_of(call("echo [$PI_SESSION_ID] $PINYON_TEST_OUTER")) == "[] seen\n"


def test_an_environment_ends_commands_at_the_timeout(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"(?s)before.*timeout of 1 seconds"):
        Call(tmp_path, env=LocalEnv(str(tmp_path)))("echo before; sleep 30", timeout=1)


def test_surrogates_in_a_command_are_replaced(bash: Call) -> None:
    assert text_of(bash("echo x\ud83d\ude00y\ud83d z\udcff")) == "x😀y\ufffd z\ufffd\n"


UNDER_ASCII = r"""
import asyncio, sys
from pinyon.tools import create_bash_tool_definition, create_find_tool_definition, create_grep_tool_definition
from pinyon.tools import create_ls_tool_definition

async def show(create, **params):
    result = await create(sys.argv[1]).run(params)
    sys.stdout.buffer.write(result.content[0].text.strip().encode() + b"\n")

async def main():
    await show(create_bash_tool_definition, command="echo \u4f60\u597d > \u4f60.txt; cat *.txt")
    await show(create_ls_tool_definition)
    await show(create_find_tool_definition, pattern="*.txt")
    await show(create_grep_tool_definition, pattern="\u597d")

asyncio.run(main())
"""


def test_the_locale_of_the_system_does_not_matter(tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
    output = subprocess.run(
        [sys.executable, "-c", UNDER_ASCII, str(tmp_path)], env=env, capture_output=True, check=True
    ).stdout
    assert output.decode().split("\n") == ["你好", "你.txt", "你.txt", "你.txt:1: 你好", ""]


def test_a_tool_without_a_context_runs(tmp_path: Path) -> None:
    tool = create_bash_tool(tmp_path)

    async def work() -> AgentToolResult:
        outcome = tool.execute("call", {"command": "echo hi"}, AbortSignal(), lambda _: None)
        assert not isinstance(outcome, AgentToolResult)
        return await outcome

    assert text_of(asyncio.run(work())) == "hi\n"


def test_calls_run_side_by_side(tmp_path: Path) -> None:
    definition = create_bash_tool_definition(tmp_path)

    async def work() -> list[str]:
        results = await asyncio.gather(*(definition.run({"command": f"echo {n}"}) for n in range(8)))
        return [text_of(result) for result in results]

    assert asyncio.run(work()) == [f"{n}\n" for n in range(8)]


@pytest.mark.skipif(os.name == "nt", reason="PowerShell works there")
def test_powershell_refuses_off_windows(tmp_path: Path) -> None:
    definition = create_powershell_tool_definition(tmp_path)
    with pytest.raises(ExecutionError, match="Windows"):
        asyncio.run(definition.run({"command": "dir"}))
    with pytest.raises(ToolError, match="bash"):
        asyncio.run(create_powershell_tool_definition(tmp_path, env=MemoryEnv()).run({"command": "dir"}))
    assert json.dumps(without_descriptions(definition.parameters)) == json.dumps(GOLDEN_PARAMETERS)


def test_powershell_runs_on_given_operations(tmp_path: Path) -> None:
    def act(options: BashExecOptions) -> int | None:
        options.on_data(b"x\n" * 3000)
        return 0

    definition = create_powershell_tool_definition(tmp_path, operations=FakeOperations(act))
    result = asyncio.run(definition.run({"command": "dir"}))
    assert Path(result.details["fullOutputPath"]).name.startswith("pi-powershell-")
