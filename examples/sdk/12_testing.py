"""Tests of a program with an agent in it. Run with pytest: `pinyon` is a plugin, its fixtures are there."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinyon import AssistantMessage, Message, define_tool
from pinyon.testing import FauxProvider, faux_assistant_message, faux_tool_call


@define_tool
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def test_the_tool_is_called_with_what_the_model_says(pinyon_session: Callable[..., Any]) -> None:
    session = pinyon_session(faux_tool_call("shout", {"text": "hello"}), "Done.", custom_tools=[shout])
    result = session.run("Shout hello")
    assert result.text == "Done."
    assert "HELLO" in str(session.messages[-2].content)


def test_files_are_written_in_the_scratch_project(pinyon_agent: Callable[..., Any], pinyon_project: Path) -> None:
    async def scene() -> None:
        async with pinyon_agent(faux_tool_call("write", {"path": "a.txt", "content": "x"}), "Done.") as session:
            await session.run("Write a file")

    asyncio.run(scene())
    assert (pinyon_project / "a.txt").read_text("utf-8") == "x"


def test_the_prompt_reaches_the_model(pinyon_session: Callable[..., Any], pinyon_model: FauxProvider) -> None:
    seen: list[str] = []

    def answer(messages: list[Message], *_: object) -> AssistantMessage:
        seen.append(str(messages[-1].content))
        return faux_assistant_message("Fine.")

    pinyon_model.append_responses([answer])
    pinyon_session().run("Mind the gap")
    assert "Mind the gap" in seen[0]


@pytest.mark.usefixtures("pinyon_block_requests")
def test_real_requests_are_errors() -> None:
    assert os.environ["PINYON_MODEL_REQUESTS"] == "loopback"
