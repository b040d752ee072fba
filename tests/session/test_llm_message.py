"""What models are told about messages that only hosts know."""

from __future__ import annotations

import pytest
from tests.session.samples import answer, text_of, user

from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.message import (
    AgentMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from pinyon.session.llm_message import convert_to_llm


def told(message: object) -> str:
    (converted,) = convert_to_llm([message])  # type: ignore[list-item]
    assert isinstance(converted, UserMessage)
    assert converted.timestamp == 7
    return text_of(converted)


def bash(output: str = "out", **fields: object) -> BashExecutionMessage:
    values = {"cancelled": False, "truncated": False, "timestamp": 7, **fields}
    return BashExecutionMessage(command="make x", output=output, **values)  # type: ignore[arg-type]


def test_messages_that_models_know_pass_unchanged() -> None:
    messages: list[AgentMessage] = [
        SystemMessage(content="s", timestamp=1),
        user("u"),
        answer("a"),
        ToolResultMessage(tool_call_id="t", tool_name="n", content=[], is_error=False, timestamp=1),
    ]
    converted = convert_to_llm(messages)
    assert all(new is old for new, old in zip(converted, messages, strict=True))


def test_a_command_is_told_with_its_output() -> None:
    text = told(bash(exit_code=0))
    assert text.splitlines()[0].endswith("`make x`")
    assert text.endswith("\n```\nout\n```")


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (bash("", exit_code=0), "printed nothing"),
        (bash(exit_code=3), "\n\nThe command exited with code 3"),
        (bash(exit_code=3.0), "code 3"),
        (bash(cancelled=True, exit_code=1), "\n\n(the user stopped"),
        (bash(truncated=True, full_output_path="/tmp/full"), "/tmp/full]"),
    ],
)
def test_a_command_is_told_with_how_it_ended(message: BashExecutionMessage, part: str) -> None:
    assert part in told(message)


@pytest.mark.parametrize(
    ("message", "part"),
    [(bash(exit_code=0), "code"), (bash(), "code"), (bash(exit_code=None), "code"), (bash(truncated=True), "[Output")],
)
def test_nothing_is_said_about_what_is_not_worth_it(message: BashExecutionMessage, part: str) -> None:
    assert part not in told(message)


def test_excluded_commands_and_unknown_roles_are_left_out() -> None:
    assert convert_to_llm([bash(exclude_from_context=True), UnknownMessage(role="future")]) == []


def test_custom_messages_become_user_messages() -> None:
    text = CustomMessage(custom_type="x", content="hello", display=False, timestamp=7)
    assert told(text) == "hello"
    blocks: list[UserBlock] = [TextContent("t"), ImageContent(data="", mime_type="image/png")]
    (converted,) = convert_to_llm([CustomMessage(custom_type="x", content=blocks, display=True, timestamp=7)])
    assert isinstance(converted, UserMessage)
    assert converted.content == blocks


def test_summaries_stand_in_their_tags() -> None:
    compaction = told(CompactionSummaryMessage(summary="S", tokens_before=1, timestamp=7))
    branch = told(BranchSummaryMessage(summary="S", from_id="x", timestamp=7))
    assert compaction.endswith("\n\n<summary>\nS\n</summary>")
    assert branch.endswith("\n\n<summary>\nS</summary>")
    assert compaction.split("\n")[0] != branch.split("\n")[0]
