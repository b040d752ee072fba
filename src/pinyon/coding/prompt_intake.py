"""How a text becomes a prompt: commands leave first, hooks see the rest, and what is left is queued or sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pinyon._util.clock import Clock
from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.message import UserMessage
from pinyon.coding.hooks import PromptInput, PromptSource, SessionHooks
from pinyon.coding.message_queue import MessageQueue, QueueName
from pinyon.coding.prompt_expansion import Expansion
from pinyon.coding.prompt_images import image_from
from pinyon.errors import ConfigError

PromptImage: TypeAlias = ImageContent | dict[str, Any]
"""An image block, or an object that `image_from` understands."""


class PromptIntake:
    """Takes texts and images as programs give them, and hands on what is meant for the model."""

    def __init__(
        self, *, hooks: SessionHooks, queue: MessageQueue, clock: Clock, expand: Expansion | None = None
    ) -> None:
        self._hooks = hooks
        self._queue = queue
        self._clock = clock
        self._expand = expand

    async def accept(
        self, text: str, images: Sequence[PromptImage], source: PromptSource, *, expand: bool = True
    ) -> PromptInput | None:
        """The prompt that is left for the model; None when a command or a hook handled it.

        Commands run and templates are replaced only where `expand` is set.
        """
        if expand and self._is_command(text):
            name, _, args = text[1:].partition(" ")
            await self._hooks.run_command(name, args)
            return None
        return await self._transformed(text, images, source, expand=expand)

    async def accept_to_queue(
        self, message: str | UserMessage, images: Sequence[PromptImage], source: PromptSource, queue: QueueName
    ) -> bool:
        """Queue a message; False when a hook handled it. Raises `ConfigError` for a command, which cannot wait."""
        if isinstance(message, UserMessage):
            self._queue.add(message, queue)
            return True
        if self._is_command(message):
            name = message[1:].partition(" ")[0]
            raise ConfigError(f"the command {'/' + name!r} cannot be queued; send it as a prompt")
        prompt = await self._transformed(message, images, source, expand=True)
        if prompt is None:
            return False
        self._queue.add(self.user_message(prompt), queue)
        return True

    def user_message(self, prompt: PromptInput) -> UserMessage:
        """The message that a prompt is sent as, with the present time."""
        content: list[UserBlock] = [TextContent(text=prompt.text), *prompt.images]
        return UserMessage(content=content, timestamp=self._clock.now_ms())

    def _is_command(self, text: str) -> bool:
        return text.startswith("/") and self._hooks.is_command(text[1:].partition(" ")[0])

    async def _transformed(
        self, text: str, images: Sequence[PromptImage], source: PromptSource, *, expand: bool
    ) -> PromptInput | None:
        given = PromptInput(text=text, images=[image_from(image) for image in images], source=source)
        prompt = await self._hooks.transform_input(given)
        if prompt.handled:
            return None
        if expand:
            prompt.text = await self._hooks.expand(prompt.text)
            if self._expand is not None:
                prompt.text = self._expand(prompt.text)
        return prompt
