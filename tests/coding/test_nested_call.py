from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted, text_of

from pinyon.agent.define_tool import define_tool
from pinyon.agent.event import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pinyon.agent.tool import AgentToolResult, ToolDefinition
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.content import TextContent
from pinyon.ai.message import NestedCalls, ToolResultMessage
from pinyon.ai.usage import Usage
from pinyon.coding.nested_call import MAX_CALLS, MAX_ERROR_CHARS


@define_tool
async def echo(text: str) -> str:
    """Say it again."""
    if text == "bad":
        raise ValueError("x" * 2000)
    return text


async def _spend(*_: Any) -> AgentToolResult:
    return AgentToolResult(content=[TextContent(text="spent")], usage=Usage(input=5, total_tokens=5))


SPEND = ToolDefinition(name="spend", description="Spend.", parameters={"type": "object"}, execute=_spend)


def calling(work: Any) -> ToolDefinition:
    """A tool that does `work(ctx)`, a coroutine that gives its text."""

    async def execute(tool_call_id: str, params: Any, signal: Any, on_update: Any, ctx: Any) -> AgentToolResult:
        del tool_call_id, params, signal, on_update
        return AgentToolResult(content=[TextContent(text=await work(ctx))])

    return ToolDefinition(name="outer", description="Call others.", parameters={"type": "object"}, execute=execute)


def outcome(tmp_path: Path, work: Any, check: Any) -> None:
    """Play one call of the tool and check `(scripted, its result message)`."""

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("go")
        [result] = [m for m in scripted.session.messages if isinstance(m, ToolResultMessage)]
        check(scripted, result)

    answers = [faux_assistant_message(faux_tool_call("outer", {}, id="c1")), faux_assistant_message("done")]
    run_scripted(answers, play, cwd=tmp_path, custom_tools=[echo, SPEND, calling(work)])


def record_of(message: ToolResultMessage) -> NestedCalls:
    assert message.nested_calls
    return message.nested_calls


def test_calls_of_a_tool_are_told_with_their_parent_and_recorded_in_its_result(tmp_path: Path) -> None:
    async def work(ctx: Any) -> str:
        first = await ctx.execute_tool("echo", {"text": "one"})
        second = await ctx.execute_tool("spend", {})
        return text_of(first) + text_of(second)

    def check(scripted: Scripted, result: ToolResultMessage) -> None:
        assert text_of(result) == "onespent"
        told = [e for e in scripted.events if isinstance(e, ToolExecutionStart | ToolExecutionEnd)]
        ids = [(type(e).__name__[13:], e.tool_call_id, e.parent_tool_call_id or None) for e in told]
        assert ids == [
            ("Start", "c1", None),
            ("Start", "c1/1", "c1"),
            ("End", "c1/1", "c1"),
            ("Start", "c1/2", "c1"),
            ("End", "c1/2", "c1"),
            ("End", "c1", None),
        ]
        record = record_of(result)
        assert record.complete
        assert [(call.id, call.name, call.status) for call in record.calls] == [
            ("c1/1", "echo", "ok"),
            ("c1/2", "spend", "ok"),
        ]
        assert record.calls[0].arguments == {"text": "one"}
        assert result.usage
        assert result.usage.total_tokens == 5
        stored = scripted.session.session.build_session_projection().messages
        assert any(isinstance(m, ToolResultMessage) and m.nested_calls for m in stored)

    outcome(tmp_path, work, check)


@pytest.mark.parametrize(
    ("name", "args"),
    [("echo", {"text": "bad"}), ("echo", {}), ("nothing", {}), ("outer_missing", {"x": 1})],
)
def test_a_failure_is_a_result_and_the_record_keeps_a_short_text(tmp_path: Path, name: str, args: Any) -> None:
    async def work(ctx: Any) -> str:
        result = await ctx.execute_tool(name, args)
        return f"failed {result.is_error}"

    def check(scripted: Scripted, result: ToolResultMessage) -> None:
        del scripted
        assert text_of(result) == "failed True"
        [call] = record_of(result).calls
        assert call.status == "error"
        assert call.error
        assert len(call.error) <= MAX_ERROR_CHARS

    outcome(tmp_path, work, check)


def test_the_record_is_bounded(tmp_path: Path) -> None:
    async def work(ctx: Any) -> str:
        await ctx.execute_tool("echo", {"text": "y" * 9000})
        for _ in range(5):
            await ctx.execute_tool("echo", {"text": "y" * 8000})
        for _ in range(MAX_CALLS):
            await ctx.execute_tool("echo", {"text": ""})
        return "many"

    def check(scripted: Scripted, result: ToolResultMessage) -> None:
        del scripted
        record = record_of(result)
        assert (len(record.calls), record.complete) == (MAX_CALLS, False)
        first = record.calls[0]
        assert not first.arguments
        assert first.arguments_bytes == 9000 + len('{"text":""}')
        assert [bool(call.arguments) for call in record.calls[1:6]] == [True, True, True, True, False]

    outcome(tmp_path, work, check)


def test_progress_of_a_nested_call_is_told(tmp_path: Path) -> None:
    async def work(ctx: Any) -> str:
        return text_of(await ctx.execute_tool("bash", {"command": "echo hi"}))

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("go")
        updates = [e for e in scripted.events if isinstance(e, ToolExecutionUpdate)]
        assert all(event.parent_tool_call_id == "c1" for event in updates)
        [result] = [m for m in scripted.session.messages if isinstance(m, ToolResultMessage)]
        assert "hi" in text_of(result)

    answers = [faux_assistant_message(faux_tool_call("outer", {}, id="c1")), faux_assistant_message("done")]
    run_scripted(answers, play, cwd=tmp_path, custom_tools=[calling(work)])
