"""Indirections in configuration values: variables, escapes and commands."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.config_command import CommandOutcome, command_output
from pinyon.ai.config_value import (
    ConfigValueError,
    ConfigValues,
    Resolution,
    expand,
    is_resolvable,
    layered,
    missing_names,
    variable_names,
)

CANARY = "sk-canary-0123456789abcdef"
LOOK_UP = layered({"KEY": "one", "EMPTY": ""}, {"KEY": "two", "OTHER": "other"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("$KEY", "one"),
        ("${KEY}", "one"),
        ("Bearer ${OTHER}!", "Bearer other!"),
        ("$KEY$OTHER", "oneother"),
        ("$$KEY", "$KEY"),
        ("$!cmd", "!cmd"),
        ("${bad-name}", "${bad-name}"),
        ("$1", "$1"),
        ("cost$", "cost$"),
        ("$", "$"),
        ("a$ b", "a$ b"),
        ("${}", "${}"),
        ("${KEY", "${KEY"),
        ("", ""),
    ],
)
def test_variables_and_escapes_are_expanded(value: str, expected: str) -> None:
    assert expand(value, LOOK_UP) == Resolution(value=expected)


@pytest.mark.parametrize(
    ("value", "names"), [("$MISSING", "'MISSING'"), ("$KEY-$EMPTY-${NOPE}-$EMPTY", "'EMPTY', 'NOPE'")]
)
def test_missing_or_empty_variables_leave_the_whole_value_unresolved_and_are_named(value: str, names: str) -> None:
    resolution = expand(value, LOOK_UP)
    assert resolution.value is None
    assert names in str(resolution.problem)


def test_the_variables_of_a_value_are_listed_once_each() -> None:
    assert variable_names("$B ${A} $B $$C") == ["B", "A"]
    assert variable_names("!echo $A") == []
    assert missing_names("$KEY $X", LOOK_UP) == ["X"]


@pytest.mark.parametrize(
    ("value", "resolvable"), [("x", True), ("$KEY", True), ("$MISSING", False), ("!false", True), ("", False)]
)
def test_resolvability_is_judged_without_running_commands(value: str, resolvable: bool) -> None:
    assert is_resolvable(value, LOOK_UP) is resolvable


@given(st.text())
def test_escaped_dollars_bring_any_text_through(text: str) -> None:
    escaped = text.replace("$", "$$")
    assert expand(escaped, layered()) == Resolution(value=text)


def output_of(command: str, timeout_s: float = 10) -> CommandOutcome:
    return asyncio.run(command_output(command, timeout_s=timeout_s))


@pytest.mark.parametrize(
    ("command", "text"),
    [("echo key", "key"), ("printf '  a b\\n\\n'", "a b"), ("echo key; sleep 30 &", "key"), ("cat; echo end", "end")],
)
def test_the_trimmed_output_of_a_command_counts(command: str, text: str) -> None:
    started = time.monotonic()
    assert output_of(command) == CommandOutcome(text=text)
    assert time.monotonic() - started < 8, "neither a background child nor an open input is waited for"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("echo", "command 'echo' printed nothing"),
        ("echo key; exit 3", "command 'echo' ended with exit code 3"),
        ("kill -9 $$", "signal 9"),
        ("no-such-program-here", "program not found"),
        ("printf '\\377'", "not UTF-8"),
        ("yes", "more than 1 MiB"),
        ("VAR=1 cat /no/such/file", "command 'cat' ended with exit code 1"),
        ("echo 'unbalanced", "ended with exit code"),
    ],
)
def test_a_command_that_fails_gives_a_reason(command: str, problem: str) -> None:
    outcome = output_of(command)
    assert outcome.text is None
    assert problem in str(outcome.problem)


def test_a_hanging_command_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = f"trap '' TERM; (trap '' TERM; sh -c 'echo $$ > {pid_file}; exec sleep 60'); sleep 60"
    outcome = output_of(command, timeout_s=0.5)
    assert "did not finish within 0.5 s" in str(outcome.problem)
    assert has_ended(int(pid_file.read_text()))


def test_cancelling_the_caller_ends_the_command(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    async def run() -> None:
        task = asyncio.create_task(command_output(f"echo $$ > {pid_file}; exec sleep 60"))
        async with asyncio.timeout(20):
            while not (pid_file.exists() and pid_file.read_text().strip()):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert has_ended(int(pid_file.read_text()))


def has_ended(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "command",
    [CANARY, f"echo {CANARY}; exit 1", f"TOKEN={CANARY} false", f"'{CANARY}", f"printf '{CANARY}\\n' >&2; false"],
)
def test_neither_a_command_nor_its_output_appears_in_a_problem(command: str) -> None:
    assert CANARY not in repr(output_of(command))


def test_resolved_values_do_not_appear_in_representations() -> None:
    assert CANARY not in repr(Resolution(value=CANARY))
    assert CANARY not in repr(output_of(f"echo {CANARY}"))


class ScriptedCommands:
    """Answers commands from a list and counts the runs."""

    def __init__(self, *outcomes: CommandOutcome) -> None:
        self.outcomes = list(outcomes)
        self.runs = 0

    async def __call__(self, command: str) -> CommandOutcome:
        self.runs += 1
        await asyncio.sleep(0)
        return self.outcomes[min(self.runs, len(self.outcomes)) - 1]


class ManualClock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.ms = 0.0

    def now_ms(self) -> int:
        return int(self.ms)

    def monotonic_ms(self) -> float:
        return self.ms

    async def sleep(self, delay_s: float) -> None:
        self.ms += delay_s * 1000


def test_results_and_failures_of_commands_are_remembered() -> None:
    good, bad = ScriptedCommands(CommandOutcome(text="k")), ScriptedCommands(CommandOutcome(problem="p"))

    async def run() -> None:
        for commands in (good, bad):
            values = ConfigValues(run_command=commands)
            assert await values.resolve("!x", LOOK_UP) == await values.resolve("!x", LOOK_UP)
            await values.resolve("!y", LOOK_UP)

    asyncio.run(run())
    assert (good.runs, bad.runs) == (2, 2)


def test_results_expire_and_failures_may_be_tried_again() -> None:
    commands = ScriptedCommands(CommandOutcome(problem="p"), CommandOutcome(text="a"), CommandOutcome(text="b"))
    clock = ManualClock()
    values = ConfigValues(lifetime_s=60, keep_failures=False, run_command=commands, clock=clock)

    async def ask() -> str | None:
        return (await values.resolve("!x", LOOK_UP)).value

    async def run() -> list[str | None]:
        answers = [await ask(), await ask(), await ask()]
        clock.ms = 60_001
        return [*answers, await ask()]

    assert asyncio.run(run()) == [None, "a", "a", "b"]


def test_tasks_that_ask_for_one_command_at_once_share_a_run() -> None:
    commands = ScriptedCommands(CommandOutcome(text="k"))
    values = ConfigValues(run_command=commands)

    async def run() -> list[Resolution]:
        return list(await asyncio.gather(*(values.resolve("!x", LOOK_UP) for _ in range(5))))

    assert {resolution.value for resolution in asyncio.run(run())} == {"k"}
    assert commands.runs == 1


def test_a_cancelled_run_does_not_cancel_those_who_wait_for_it() -> None:
    gate = asyncio.Event()
    runs = 0

    async def command(_: str) -> CommandOutcome:
        nonlocal runs
        runs += 1
        if runs == 1:
            await gate.wait()
        return CommandOutcome(text="k")

    async def run() -> str | None:
        values = ConfigValues(run_command=command)
        first = asyncio.create_task(values.resolve("!x", LOOK_UP))
        await asyncio.sleep(0)
        second = asyncio.create_task(values.resolve("!x", LOOK_UP))
        await asyncio.sleep(0)
        first.cancel()
        return (await second).value

    assert asyncio.run(run()) == "k"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("$MISSING", "'MISSING' is not set"),
        ("!exit 4", "exit code 4"),
        ("", "empty"),
        ("!printf 'a\\nb'", "line break"),
    ],
)
def test_a_required_value_that_leads_nowhere_names_its_target(value: str, reason: str) -> None:
    with pytest.raises(ConfigValueError, match=f"^API key for provider 'x': .*{reason}"):
        asyncio.run(ConfigValues().require(value, LOOK_UP, "API key for provider 'x'"))


def test_a_required_value_is_returned() -> None:
    assert asyncio.run(ConfigValues().require("Bearer $KEY", LOOK_UP, "header")) == "Bearer one"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_process_that_ignores_the_end_of_its_command_is_killed(tmp_path: Path) -> None:
    child = f"trap '' TERM; echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; while :; do sleep 0.05; done"
    outcome = asyncio.run(command_output(f'sh -c "{child.replace("$", chr(92) + "$")}" & wait', timeout_s=1.5))
    assert "did not finish" in str(outcome.problem)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(1000):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    pytest.fail("it lives on")
