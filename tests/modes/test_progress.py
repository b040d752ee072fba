"""The line that shows what a one-shot run is doing."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import Home
from tests.cli.terminal import Terminal

from pinyon.agent.event import AgentEnd, AgentStart, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.event import TextDelta, ThinkingDelta
from pinyon.ai.usage import Usage
from pinyon.coding.event import AutoRetryStart, CompactionStart, SessionEvent
from pinyon.modes.progress import Progress
from pinyon.testing.fake_openai import call, openai_answer
from pinyon.testing.fake_server import FakeServer

ERASE = "\r\x1b[K"
START = ToolExecutionStart(tool_call_id="c", tool_name="bash", args={"command": "sleep 1\n\x1b[2Jx"})
END = ToolExecutionEnd(tool_call_id="c", tool_name="bash", result=AgentToolResult(content=[]), is_error=False)


def drawn(*events: SessionEvent) -> str:
    """What stands on the line a while after the events, and what is left at the end."""

    async def scenario() -> str:
        stream = io.StringIO()
        async with Progress(stream) as line:
            for event in events:
                line.hear(event)
            await asyncio.sleep(0.6)
            shown = stream.getvalue()
        assert stream.getvalue() == shown + (ERASE if shown and not shown.endswith(ERASE) else "")
        return shown

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([AgentStart()], "waiting for the model"),
        ([AgentStart(), MessageUpdate(Usage(), ThinkingDelta(0, "x"))], "thinking"),
        ([AgentStart(), MessageUpdate(Usage(), TextDelta(0, "x"))], "writing"),
        ([AgentStart(), START], "bash sleep 1 x"),
        ([AgentStart(), START, END], "waiting for the model"),
        ([CompactionStart(reason="threshold")], "summarising earlier messages"),
        ([AutoRetryStart(attempt=1, max_attempts=3, delay_ms=5, error_message="429")], "trying again (1/3): 429"),
    ],
)
def test_the_line_says_what_the_run_is_doing(events: list[SessionEvent], text: str) -> None:
    shown = drawn(*events)
    assert text in shown
    assert "\x1b[2J" not in shown
    assert "\n" not in shown


def test_nothing_is_drawn_without_a_run_or_after_it() -> None:
    assert drawn() == ""
    assert drawn(AgentStart(), AgentEnd(messages=[])) == ""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    replies = [openai_answer("", calls=[call("bash", {"command": "sleep 1; echo hi"})]), openai_answer("All done.")]
    with FakeServer(replies) as server:
        yield Home(tmp_path, server.url)


def environment(home: Home, term: str) -> dict[str, str]:
    base = {"PATH": os.environ["PATH"], "HOME": str(home.path), "PI_CODING_AGENT_DIR": str(home.agent_dir)}
    return {**base, "PI_OFFLINE": "1", "TERM": term}


def on_a_terminal(home: Home, *arguments: str, term: str = "xterm") -> str:
    command = [sys.executable, "-m", "pinyon", "--model", "fake/m", *arguments]
    with Terminal(command, environment(home, term), home.project) as terminal:
        before = terminal.wait_for("All done.")
        assert terminal.end() == 0
        return before + terminal.shown[len(before) :]


def test_a_person_at_a_terminal_sees_the_tool_and_then_only_the_answer(home: Home) -> None:
    shown = on_a_terminal(home, "-p", "go")
    assert "bash sleep 1; echo hi" in shown
    assert shown.rsplit(ERASE, 1)[-1].strip() == "All done."


@pytest.mark.parametrize(("arguments", "term"), [(("--quiet",), "xterm"), ((), "dumb"), (("--mode", "json"), "xterm")])
def test_quiet_simple_terminals_and_other_modes_show_no_line(home: Home, arguments: tuple[str, ...], term: str) -> None:
    assert "\x1b[K" not in on_a_terminal(home, *arguments, "-p", "go", term=term)


def test_without_a_terminal_nothing_is_drawn(home: Home) -> None:
    process = home.start("-p", "go", stdout=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (out, err) == (b"All done.\n", b"")
