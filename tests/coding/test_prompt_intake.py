import asyncio
from typing import Any

import pytest

from pinyon.agent.agent import Agent
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import UserMessage
from pinyon.coding.event import QueueUpdate, SessionEvent
from pinyon.coding.hooks import PromptInput, SessionHooks
from pinyon.coding.message_queue import MessageQueue
from pinyon.coding.prompt_intake import PromptIntake
from pinyon.errors import ConfigError
from pinyon.testing.fake_clock import FakeClock


class ScriptedHooks(SessionHooks):
    """Knows the command `/greet`, handles what says so, and puts a template's text in for `/review`."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def is_command(self, name: str) -> bool:
        return name == "greet"

    async def run_command(self, name: str, args: str) -> None:
        self.ran.append((name, args))

    async def transform_input(self, prompt: PromptInput) -> PromptInput:
        prompt.handled = prompt.text == "handle this"
        return prompt

    async def expand(self, text: str) -> str:
        return text.replace("/review", "Review the change")


class Door:
    """A prompt intake with its queue."""

    def __init__(self) -> None:
        self.hooks = ScriptedHooks()
        self.events: list[SessionEvent] = []
        self.agent = Agent()
        queue = MessageQueue(self.agent, self.events.append)
        self.intake = PromptIntake(hooks=self.hooks, queue=queue, clock=FakeClock(now_ms=9))

    def accept(self, text: str, *, expand: bool = True, images: Any = ()) -> PromptInput | None:
        return asyncio.run(self.intake.accept(text, images, "sdk", expand=expand))

    def queue(self, message: str | UserMessage) -> bool:
        return asyncio.run(self.intake.accept_to_queue(message, (), "sdk", "steer"))


def test_a_command_runs_with_what_stands_behind_its_name_and_leaves_no_prompt() -> None:
    door = Door()
    assert door.accept("/greet the world ") is None
    assert door.hooks.ran == [("greet", "the world ")]


def test_a_command_is_plain_text_where_nothing_is_expanded() -> None:
    door = Door()
    prompt = door.accept("/greet and /review", expand=False)
    assert prompt is not None
    assert (prompt.text, door.hooks.ran) == ("/greet and /review", [])


def test_templates_are_replaced_and_handled_prompts_are_not_passed_on() -> None:
    door = Door()
    prompt = door.accept("/review please")
    assert prompt is not None
    assert prompt.text == "Review the change please"
    assert door.accept("handle this") is None


def test_images_may_be_blocks_or_their_wire_objects() -> None:
    prompt = Door().accept("look", images=[{"type": "image", "data": "AA==", "mimeType": "image/png"}])
    assert prompt is not None
    assert prompt.images == [ImageContent(data="AA==", mime_type="image/png")]
    with pytest.raises(ConfigError, match="mimeType"):
        Door().accept("look", images=[{"type": "text", "text": "no image"}])


def test_a_queued_text_is_announced_and_given_to_the_agent() -> None:
    door = Door()
    assert door.queue("/review")
    assert door.events == [QueueUpdate(steering=["Review the change"], follow_up=[])]
    (message,) = door.agent.peek_queued_messages()
    assert message == UserMessage(content=[TextContent(text="Review the change")], timestamp=9)


def test_a_ready_message_is_queued_as_it_is() -> None:
    door, message = Door(), UserMessage(content="/greet", timestamp=1)
    assert door.queue(message)
    assert door.agent.peek_queued_messages() == [message]


def test_commands_and_handled_texts_do_not_wait() -> None:
    door = Door()
    with pytest.raises(ConfigError, match="'/greet' cannot be queued"):
        door.queue("/greet you")
    assert not door.queue("handle this")
    assert door.events == []
