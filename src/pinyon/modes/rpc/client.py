"""A program's side of RPC mode: `RpcClient` starts `pinyon --mode rpc` and speaks the protocol with it.

    async with RpcClient(model="anthropic/claude-sonnet-4-5") as client:
        await client.prompt_and_wait("What is in this folder?")
        print(await client.get_last_assistant_text())

Every command is a method. A refused command raises `RpcError` with the server's text. What the server tells unasked
comes to listeners as the events that a session in the same process gives.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from pinyon.ai.codec import message_from_wire
from pinyon.ai.message import AgentMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.coding.event import AgentSettled, CompactionResult
from pinyon.coding.statistics import SessionStats
from pinyon.modes.rpc.client_event import RpcEvent, UiRequest, decode_event
from pinyon.modes.rpc.client_tree import tree_of_entries
from pinyon.modes.rpc.connection import RpcConnection, RpcError

DEFAULT_TIMEOUT_S = 30.0
IDLE_TIMEOUT_S = 60.0

QueueMode = Literal["all", "one-at-a-time"]
Disposition = Literal["started", "queued", "handled"]
EventListener = Callable[[RpcEvent], None]
Image = Mapping[str, Any]
"""`{"type": "image", "data": <base64>, "mimeType": …}`"""


class RpcState(msgspec.Struct, rename="camel", kw_only=True):
    """What the session is and does. `session_file` is None for a session in memory, `session_name` without a name."""

    model: Model | None = None
    thinking_level: ThinkingLevel
    is_streaming: bool
    is_compacting: bool
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    session_file: str | None = None
    session_id: str
    session_name: str | None = None
    auto_compaction_enabled: bool
    message_count: int
    pending_message_count: int


class BashResult(msgspec.Struct, rename="camel", kw_only=True):
    """What a shell command gave. `exit_code` is None when it was cancelled."""

    output: str
    exit_code: int | None = None
    cancelled: bool
    truncated: bool
    full_output_path: str | None = None


class ForkMessage(msgspec.Struct, rename="camel"):
    """A user message that the session can be forked before."""

    entry_id: str
    text: str


class RpcCommand(msgspec.Struct, rename="camel", kw_only=True):
    """A command that a prompt may name; `source_info` says where it comes from."""

    name: str
    description: str | None = None
    source: str
    source_info: dict[str, Any] = {}


class RpcClient:
    """An RPC session in a child process. Start it with `start` or as an asynchronous context manager."""

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        provider: str | None = None,
        model: str | None = None,
        args: Sequence[str] = (),
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Prepare the child process.

        `command` is the agent's command (default: this Pinyon); `--mode rpc`, `provider`, `model` and `args` are added
        to it, and `env` to this process's environment. `timeout_s` bounds the wait for each response.
        """
        chosen = [*(("--provider", provider) if provider else ()), *(("--model", model) if model else ())]
        base = list(command) if command is not None else [sys.executable, "-m", "pinyon"]
        self._connection = RpcConnection([*base, "--mode", "rpc", *chosen, *args], cwd, env or {}, self._take)
        self._timeout_s = timeout_s
        self._listeners: list[EventListener] = []

    # The process.

    async def start(self) -> None:
        """Start the server. Raises `RpcError` when it ends at once."""
        await self._connection.start()

    async def stop(self) -> None:
        """End the server: with SIGTERM, after a second for good."""
        await self._connection.stop()

    async def close(self) -> int:
        """Close the server's input and wait for its end; returns its exit code."""
        return await self._connection.close()

    @property
    def stderr(self) -> str:
        """The last lines that the server wrote to its standard error."""
        return self._connection.stderr

    async def __aenter__(self) -> RpcClient:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def request(self, name: str, /, *, timeout_s: float | None = None, **fields: Any) -> Any:
        """Send a command by its protocol name and camelCase fields; gives the `data` of its response, None without one.

        Fields of None are left out. Raises `RpcError`.
        """
        given = {field: value for field, value in fields.items() if value is not None}
        return await self._connection.request({"type": name, **given}, timeout_s or self._timeout_s)

    # Events.

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener(event)` with everything that is no response; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _take(self, line: bytes) -> None:
        if not self._listeners:
            return
        event = decode_event(line)
        if event is not None:
            for listener in tuple(self._listeners):
                listener(event)

    async def respond_ui(
        self,
        request: UiRequest | str,
        *,
        value: str | None = None,
        confirmed: bool | None = None,
        cancelled: bool = False,
    ) -> None:
        """Answer a question of the session: with `value`, with `confirmed`, or by cancelling it."""
        request_id = request.id if isinstance(request, UiRequest) else request
        answer: dict[str, Any] = {"type": "extension_ui_response", "id": request_id}
        if cancelled:
            answer["cancelled"] = True
        elif confirmed is not None:
            answer["confirmed"] = confirmed
        else:
            answer["value"] = value
        await self._connection.send(answer)

    async def wait_for_idle(self, timeout_s: float = IDLE_TIMEOUT_S) -> None:
        """Wait until the running prompt has settled. Raises `RpcError` after `timeout_s`."""
        await self.collect_events(timeout_s)

    async def collect_events(self, timeout_s: float = IDLE_TIMEOUT_S) -> list[RpcEvent]:
        """The events from now on until the running prompt has settled."""
        with _Collector(self) as collector:
            return await collector.until_settled(timeout_s)

    async def prompt_and_wait(
        self, message: str, images: Sequence[Image] = (), *, timeout_s: float = IDLE_TIMEOUT_S
    ) -> list[RpcEvent]:
        """Send a prompt and wait until it has settled; gives its events, none for a prompt that was handled at once."""
        with _Collector(self) as collector:
            if await self.prompt(message, images) == "handled":
                return []
            return await collector.until_settled(timeout_s)

    # Messages.

    async def prompt(
        self,
        message: str,
        images: Sequence[Image] = (),
        *,
        streaming_behavior: Literal["steer", "followUp"] | None = None,
    ) -> Disposition:
        """Send a prompt; answered once it is accepted."""
        data = await self.request(
            "prompt", message=message, images=list(images) or None, streamingBehavior=streaming_behavior
        )
        return _disposition(data)

    async def steer(self, message: str, images: Sequence[Image] = ()) -> Disposition:
        """Queue a message for after the present turn."""
        return _disposition(await self.request("steer", message=message, images=list(images) or None))

    async def follow_up(self, message: str, images: Sequence[Image] = ()) -> Disposition:
        """Queue a message for the end of the run."""
        return _disposition(await self.request("follow_up", message=message, images=list(images) or None))

    async def abort(self) -> None:
        """Stop everything; returns when it has settled."""
        await self.request("abort")

    async def clear_queue(self) -> tuple[list[str], list[str]]:
        """Drop the waiting messages; gives the texts of the steering ones and of the follow-ups."""
        data = await self.request("clear_queue")
        return data["steering"], data["followUp"]

    async def compact(self, custom_instructions: str | None = None, *, timeout_s: float = 600.0) -> CompactionResult:
        """Summarise earlier history."""
        data = await self.request("compact", customInstructions=custom_instructions, timeout_s=timeout_s)
        return msgspec.convert(data, CompactionResult)

    async def abort_retry(self) -> None:
        """End the pause before a repeated request."""
        await self.request("abort_retry")

    async def bash(
        self, command: str, *, exclude_from_context: bool = False, timeout_s: float = 24 * 3600.0
    ) -> BashResult:
        """Run a shell command of the user."""
        data = await self.request(
            "bash", command=command, excludeFromContext=exclude_from_context or None, timeout_s=timeout_s
        )
        return msgspec.convert(data, BashResult)

    async def abort_bash(self) -> None:
        """Stop all shell commands of the user."""
        await self.request("abort_bash")

    # State.

    async def get_state(self) -> RpcState:
        """What the session is and does."""
        state = msgspec.convert(await self.request("get_state"), RpcState)
        if state.model is not None and state.model.key == ("unknown", "unknown"):
            state.model = None
        return state

    async def get_messages(self) -> list[AgentMessage]:
        """The context as it is."""
        return [message_from_wire(message) for message in (await self.request("get_messages"))["messages"]]

    async def get_session_stats(self) -> SessionStats:
        """Totals over all entries."""
        return msgspec.convert(await self.request("get_session_stats"), SessionStats)

    async def get_last_assistant_text(self) -> str | None:
        """Text of the last complete answer, None where there is none."""
        text: str | None = (await self.request("get_last_assistant_text") or {}).get("text")
        return text

    async def get_entries(self, since: str | None = None) -> tuple[list[dict[str, Any]], str | None]:
        """The entries (after the one called `since`) as they stand in the file, and the id of the leaf."""
        data = await self.request("get_entries", since=since)
        return data["entries"], data["leafId"]

    async def get_tree(self) -> tuple[list[dict[str, Any]], str | None]:
        """The entries as nested `{entry, children, label?}` objects, and the id of the leaf.

        It is put together here: a long conversation is nested deeper than JSON parsers follow.
        """
        entries, leaf_id = await self.get_entries()
        return tree_of_entries(entries), leaf_id

    async def get_fork_messages(self) -> list[ForkMessage]:
        """The user messages that the session can be forked before."""
        return msgspec.convert((await self.request("get_fork_messages"))["messages"], list[ForkMessage])

    async def get_commands(self) -> list[RpcCommand]:
        """The commands that a prompt may name."""
        return msgspec.convert((await self.request("get_commands"))["commands"], list[RpcCommand])

    async def set_session_name(self, name: str) -> None:
        """Name the session."""
        await self.request("set_session_name", name=name)

    # Model and settings.

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Switch to a model that has credentials."""
        return msgspec.convert(await self.request("set_model", provider=provider, modelId=model_id), Model)

    async def cycle_model(self) -> Model | None:
        """Switch to the next model; None where there is only one."""
        data = await self.request("cycle_model")
        return msgspec.convert(data["model"], Model) if data is not None else None

    async def get_available_models(self) -> list[Model]:
        """The models that have credentials."""
        return msgspec.convert((await self.request("get_available_models"))["models"], list[Model])

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Change the thinking level; the model's nearest one is taken."""
        await self.request("set_thinking_level", level=level)

    async def cycle_thinking_level(self) -> ThinkingLevel | None:
        """Switch to the next level; None for a model that does not think."""
        data = await self.request("cycle_thinking_level")
        level: ThinkingLevel | None = data["level"] if data is not None else None
        return level

    async def get_available_thinking_levels(self) -> list[ThinkingLevel]:
        """The levels of the model."""
        levels: list[ThinkingLevel] = (await self.request("get_available_thinking_levels"))["levels"]
        return levels

    async def set_steering_mode(self, mode: QueueMode) -> None:
        """How many steering messages a turn takes; stored in the user's settings."""
        await self.request("set_steering_mode", mode=mode)

    async def set_follow_up_mode(self, mode: QueueMode) -> None:
        """How many follow-ups a turn takes; stored in the user's settings."""
        await self.request("set_follow_up_mode", mode=mode)

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Switch automatic compaction; stored in the user's settings."""
        await self.request("set_auto_compaction", enabled=enabled)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Switch automatic retry; stored in the user's settings."""
        await self.request("set_auto_retry", enabled=enabled)

    # Sessions. Each says whether something kept the present session in place.

    async def new_session(self, parent_session: str | None = None) -> bool:
        """Start an empty session; True where that was called off."""
        return _cancelled(await self.request("new_session", parentSession=parent_session))

    async def switch_session(self, session_path: str | Path) -> bool:
        """Open another session file; True where that was called off."""
        return _cancelled(await self.request("switch_session", sessionPath=str(session_path)))

    async def fork(self, entry_id: str) -> tuple[str | None, bool]:
        """Go on in a new session from before a user message; gives its text, and whether that was called off."""
        data = await self.request("fork", entryId=entry_id)
        return data.get("text"), _cancelled(data)

    async def clone(self) -> bool:
        """Go on in a copy of the session; True where that was called off."""
        return _cancelled(await self.request("clone"))

    async def export_html(self, output_path: str | Path | None = None) -> str:
        """Write the page of the session; gives its path."""
        data = await self.request("export_html", outputPath=str(output_path) if output_path is not None else None)
        path: str = data["path"]
        return path


class _Collector:
    """Events of a client while entered; entered before the prompt that they belong to."""

    def __init__(self, client: RpcClient) -> None:
        self._client = client
        self._events: list[RpcEvent] = []
        self._settled = asyncio.Event()

    def __enter__(self) -> _Collector:
        self._end = self._client.subscribe(self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _take(self, event: RpcEvent) -> None:
        self._events.append(event)
        if isinstance(event, AgentSettled):
            self._settled.set()

    async def until_settled(self, timeout_s: float) -> list[RpcEvent]:
        try:
            await asyncio.wait_for(self._settled.wait(), timeout_s)
        except TimeoutError:
            raise RpcError(f"the prompt has not settled within {timeout_s:g} s", self._client.stderr) from None
        return self._events


def _disposition(data: Any) -> Disposition:
    disposition: Disposition = data["disposition"]
    return disposition


def _cancelled(data: Any) -> bool:
    return data.get("cancelled") is True
