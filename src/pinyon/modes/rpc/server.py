"""The RPC server: every line gets exactly one answer, and nothing that a line holds ends the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from pinyon._util import json as _json
from pinyon.coding.agent_session import StreamingBehavior
from pinyon.errors import PinyonError
from pinyon.modes.output import OutputClosedError, OutputWriter
from pinyon.modes.rpc.command import COMMANDS, NO_DATA, BadCommandError, choice_field, images_field, text_field
from pinyon.modes.rpc.interface import RpcInterface
from pinyon.modes.rpc.line_reader import read_lines

if TYPE_CHECKING:
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.event import SessionEvent
    from pinyon.coding.pi_agent import PiAgent

_BEHAVIORS: tuple[StreamingBehavior, ...] = ("steer", "followUp")


async def run_rpc_mode(
    pi: PiAgent,
    *,
    lines: AsyncIterator[bytes] | None = None,
    writer: OutputWriter | None = None,
    open_session: Callable[[], Awaitable[object]] | None = None,
) -> int:
    """Serve `pi` until the input ends; returns the exit code. Disposes `pi`.

    `lines` are the commands (default: standard input), `writer` takes responses and events (default: descriptor 1).
    `open_session()` makes the first session where there is none yet; questions that come up on the way can be answered,
    and commands wait for its end. What it raises is raised here.
    """
    out = OutputWriter(1) if writer is None else writer
    server = _Server(pi, out)
    if open_session is None:
        server.attach(pi.session)
    pi.set_bind_session(server.attach)
    pi.ui = server.ui
    try:
        return await server.serve(read_lines(0) if lines is None else lines, open_session)
    except OutputClosedError:
        return 1
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        server.is_closing = True
        server.ui.close()
        await pi.dispose()
        await out.flush()
        out.tell_fault()


class _Server:
    """Answers commands; each runs as a task of its own, so that a slow one holds none back."""

    def __init__(self, pi: PiAgent, out: OutputWriter) -> None:
        self._pi = pi
        self._out = out
        self._is_open = asyncio.Event()
        self.is_closing = False
        self.ui = RpcInterface(lambda line: out.write_json(_json.encode(line)))

    def attach(self, session: AgentSession) -> None:
        """Forward the events of a session."""
        session.subscribe(self._forward)
        session.add_gate(self._out.drain)

    def _forward(self, event: SessionEvent) -> None:
        if not self.is_closing:
            self._out.write_json(_json.encode(event))

    async def serve(self, lines: AsyncIterator[bytes], open_session: Callable[[], Awaitable[object]] | None) -> int:
        """Answer lines until there are no more or the reader of the answers is gone.

        A client that does not read its answers is not read from either, so that they do not pile up.
        """
        running: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as tasks:
            opening = tasks.create_task(self._open(open_session))
            reading = tasks.create_task(self._read(lines, tasks, running))
            watching = tasks.create_task(self._stop_without_reader(reading))
            await asyncio.wait([reading])
            watching.cancel()
            self.ui.close()
            await opening
            await asyncio.sleep(0)  # commands that waited for the session get their turn
            self.is_closing = True
            await self._pi.session.abort()
            for task in tuple(running):
                task.cancel()
        return 1 if self._out.closed.is_set() else 0

    async def _read(
        self, lines: AsyncIterator[bytes], tasks: asyncio.TaskGroup, running: set[asyncio.Task[None]]
    ) -> None:
        async for line in lines:
            if not await self._has_reader():
                return
            task = tasks.create_task(self._answer(line))
            running.add(task)
            task.add_done_callback(running.discard)
            await asyncio.sleep(0)

    async def _stop_without_reader(self, reading: asyncio.Task[None]) -> None:
        """The next line may never come, so a closed output does not wait for it."""
        await self._out.closed.wait()
        reading.cancel()

    async def _open(self, open_session: Callable[[], Awaitable[object]] | None) -> None:
        if open_session is not None:
            await open_session()
        self._is_open.set()

    async def _has_reader(self) -> bool:
        try:
            await self._out.drain()
        except OutputClosedError:
            return False
        return True

    async def _answer(self, line: bytes) -> None:
        try:
            command = _json.decode(line)
        except _json.JsonError as error:
            self._respond({"command": "parse", "success": False, "error": f"not a JSON line: {error}"})
            return
        if not isinstance(command, dict) or not isinstance(command.get("type"), str):
            known = {"id": command["id"]} if isinstance(command, dict) and "id" in command else {}
            text = "a command is a JSON object with a 'type' that names it"
            self._respond({**known, "success": False, "error": text})
            return
        if command["type"] == "extension_ui_response":
            self.ui.take_response(command)
        else:
            if not self._is_open.is_set():
                await self._is_open.wait()
            await self._run(command)

    async def _run(self, command: Mapping[str, Any]) -> None:
        name = command["type"]
        head = {"id": command["id"]} if "id" in command else {}
        head["command"] = name
        try:
            if name == "prompt":
                await self._prompt(command, head)
                return
            function = COMMANDS.get(name)
            if function is None:
                raise BadCommandError(f"unknown command {name!r}")  # noqa: TRY301 - answered like every other failure
            data = await function(self._pi, command)
        except asyncio.CancelledError:
            raise
        except PinyonError as error:
            self._respond({**head, "success": False, "error": str(error)})
        except Exception as error:  # noqa: BLE001 - the border of the mode: a fault of one command ends no session
            self._respond({**head, "success": False, "error": f"internal fault: {error!r}"})
        else:
            self._respond({**head, "success": True} if data is NO_DATA else {**head, "success": True, "data": data})

    async def _prompt(self, command: Mapping[str, Any], head: Mapping[str, Any]) -> None:
        """Answer when it is clear what becomes of the prompt; what happens later is told by events."""
        answered = False

        def answer(disposition: str) -> None:
            nonlocal answered
            answered = True
            self._respond({**head, "success": True, "data": {"disposition": disposition}})

        behavior = None
        if command.get("streamingBehavior") is not None:
            behavior = choice_field(command, "streamingBehavior", _BEHAVIORS)
        try:
            await self._pi.session.prompt(
                text_field(command, "message"),
                images=images_field(command),
                streaming_behavior=behavior,
                source="rpc",
                preflight_result=answer,
            )
        except PinyonError:
            if not answered:
                raise

    def _respond(self, fields: Mapping[str, Any]) -> None:
        ordered = {"id": fields["id"]} if "id" in fields else {}
        self._out.write_json(_json.encode({**ordered, "type": "response", **fields}))
