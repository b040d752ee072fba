"""Where code outside of the session takes part in it: expansion of prompts, commands, and what precedes a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pinyon.ai.content import ImageContent
from pinyon.ai.message import AgentMessage

PromptSource = Literal["interactive", "rpc", "extension", "sdk"]


class PromptInput(msgspec.Struct):
    """A prompt on its way into the session; `handled` means that nothing is left for the model."""

    text: str
    images: Sequence[ImageContent] = ()
    source: PromptSource = "sdk"
    handled: bool = False


class SessionHooks:
    """The hooks of a session, each doing nothing. Derive and override what is wanted."""

    def is_command(self, name: str) -> bool:
        """Whether `/name` runs a command instead of going to the model."""
        del name
        return False

    async def run_command(self, name: str, args: str) -> None:
        """Run a command that `is_command` named."""

    async def transform_input(self, prompt: PromptInput) -> PromptInput:
        """See a prompt first: change it, or handle it."""
        return prompt

    async def expand(self, text: str) -> str:
        """Replace skill and template references of a prompt by their text."""
        return text

    async def before_agent_start(self, prompt: PromptInput) -> list[AgentMessage]:
        """Messages to send after the prompt of a run."""
        del prompt
        return []
