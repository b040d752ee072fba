"""What the interactive mode is started with, and what it says while the parts are put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from pinyon.coding.pi_agent import PiAgent

StartNotice = Callable[[Literal["info", "warning", "error"], str], None]


class StartPrompt(msgspec.Struct):
    """A prompt of the command line."""

    text: str
    images: Sequence[object] = ()


class InteractiveStart(msgspec.Struct, kw_only=True):
    """How to get an agent, and what to do first.

    `create` builds services and session; it is called after the first paint, and tells what people should know through
    its argument. `prompts` are sent in order. `resume` opens the list of sessions first.
    """

    create: Callable[[StartNotice], Awaitable[PiAgent]]
    prompts: Callable[[], Awaitable[list[StartPrompt]]] | None = None
    resume: bool = False
    cwd: Path
    agent_dir: Path | None = None
    is_verbose: bool = False
    theme: str | None = None
    tui_mode: Literal["fullscreen", "regular"] | None = None
    create_demo: Callable[[], Awaitable[tuple[PiAgent, str]]] | None = None
    """Makes an agent with a scripted model in a scratch project, and the prompt that it answers."""
    early_bytes: int = 0
    """How much was typed before the terminal was in raw mode and waits to be read."""
    terminal_attributes: list[Any] | None = None
    """What the terminal is set to at the end, where the first picture has changed it already."""
