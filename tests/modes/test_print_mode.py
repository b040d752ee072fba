import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon.ai.apis.faux import Response, faux_assistant_message
from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, ToolResultMessage, UserMessage
from pinyon.modes.output import OutputWriter
from pinyon.modes.print_mode import PrintFormat, fault_of_answer, run_print_mode

REFUSED = faux_assistant_message("", stop_reason="error", error_message="400 bad thing")


def printed(folder: Path, mode: PrintFormat, prompts: Sequence[str], answers: Sequence[Response]) -> tuple[int, str]:
    """Exit code and output of a run on scripted answers."""
    path = folder / "out"

    async def play(scripted: Scripted) -> int:
        with path.open("wb") as file:
            return await run_print_mode(scripted.pi, mode, messages=prompts, writer=OutputWriter(file.fileno()))

    return run_scripted(answers, play, cwd=folder), path.read_text()


def test_text_mode_prints_the_last_answer_alone(tmp_path: Path) -> None:
    answers = [faux_assistant_message("first"), faux_assistant_message("second\x1b[31m")]
    assert printed(tmp_path, "text", ["a", "b"], answers) == (0, "second\n")


def test_json_mode_prints_the_header_and_every_event_as_a_line(tmp_path: Path) -> None:
    code, output = printed(tmp_path, "json", ["a"], [faux_assistant_message("fine")])
    kinds = [json.loads(line)["type"] for line in output.splitlines()]
    assert (code, kinds[0], kinds[1], kinds[-1]) == (0, "session", "agent_start", "agent_settled")


def test_only_the_last_answer_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = faux_assistant_message("fine")
    assert printed(tmp_path, "text", ["a", "b"], [REFUSED, fine]) == (0, "fine\n")
    assert printed(tmp_path, "text", ["a", "b"], [fine, REFUSED]) == (1, "")
    assert capsys.readouterr().err == "400 bad thing\n"


def test_without_prompts_nothing_is_printed(tmp_path: Path) -> None:
    assert printed(tmp_path, "text", [], []) == (0, "")


RESULT = ToolResultMessage(
    tool_call_id="c", tool_name="stop", content=[TextContent(text="x")], is_error=False, timestamp=0
)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (faux_assistant_message("fine"), None),
        (RESULT, None),
        (None, "without an answer"),
        (UserMessage(content="hi", timestamp=0), "without an answer"),
        (REFUSED, "400 bad thing"),
        (faux_assistant_message("half", stop_reason="aborted"), "'aborted'"),
        (faux_assistant_message("half", stop_reason="length"), "cut at the output limit"),
        (faux_assistant_message("  "), "no text"),
    ],
)
def test_a_fault_says_why_an_answer_is_not_complete(message: AgentMessage | None, fault: str | None) -> None:
    said: Any = fault_of_answer(message)
    assert (said is None) if fault is None else fault in said
