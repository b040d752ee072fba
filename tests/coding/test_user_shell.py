import asyncio
from pathlib import Path

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortSignal, until_aborted
from pinyon.ai.message import BashExecutionMessage
from pinyon.coding.event import BashExecutionUpdate, SessionEvent
from pinyon.coding.user_shell import UserShell
from pinyon.errors import PinyonError
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session
from pinyon.testing.fake_clock import FakeClock
from pinyon.tools.operations.protocol import BashExecOptions


class ScriptedShell:
    """Operations that print the command and end with a code, or wait until they are aborted."""

    def __init__(self, code: int = 0, *, waits: bool = False) -> None:
        self._code = code
        self._waits = waits
        self.commands: list[str] = []

    async def exec(self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None) -> int:
        self.commands.append(command)
        options.on_data(f"ran {command} in {cwd}\n".encode())
        if self._waits:
            assert signal is not None
            await until_aborted(asyncio.Event().wait(), signal)
        return self._code


class Desk:
    """A user shell on a session in memory."""

    def __init__(self, folder: Path, settings: dict[str, object] | None = None) -> None:
        self.session = Session.in_memory(folder)
        self.events: list[SessionEvent] = []
        self.is_busy = False
        self.refreshed = 0
        self.shell = UserShell(
            session=self.session,
            settings=SettingsManager.in_memory(settings or {}),
            is_busy=lambda: self.is_busy,
            emit=self.events.append,
            refresh=self._refresh,
            clock=FakeClock(now_ms=5),
        )

    def _refresh(self) -> None:
        self.refreshed += 1

    def recorded(self) -> list[BashExecutionMessage]:
        messages = [entry.message for entry in self.session.get_entries()]
        return [message for message in messages if isinstance(message, BashExecutionMessage)]


def test_a_command_is_shown_as_it_runs_and_recorded_with_its_end(tmp_path: Path) -> None:
    desk, chunks = Desk(tmp_path), list[str]()
    result = asyncio.run(
        desk.shell.run("make", on_chunk=chunks.append, run_id="7", operations=ScriptedShell(3)),
    )
    shown = f"ran make in {tmp_path}\n"
    assert (result.exit_code, result.output.strip()) == (3, shown.strip())
    assert chunks == [shown]
    assert desk.events == [BashExecutionUpdate(delta=shown, id="7")]
    (message,) = desk.recorded()
    assert (message.command, message.exit_code, message.timestamp) == ("make", 3, 5)
    assert message.exclude_from_context is UNSET
    assert desk.refreshed == 1


def test_during_a_run_the_record_waits_for_its_end(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.is_busy = True
    for command in ("one", "two"):
        asyncio.run(desk.shell.run(command, operations=ScriptedShell()))
    assert desk.recorded() == []
    desk.shell.flush()
    assert [message.command for message in desk.recorded()] == ["one", "two"]
    desk.shell.flush()
    assert (len(desk.recorded()), desk.refreshed) == (2, 1)


def test_an_excluded_command_is_stored_but_not_part_of_a_request(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    asyncio.run(desk.shell.run("secret", exclude_from_context=True, operations=ScriptedShell()))
    assert [message.exclude_from_context for message in desk.recorded()] == [True]


def test_the_prefix_of_the_settings_precedes_the_command_but_is_not_recorded(tmp_path: Path) -> None:
    desk, operations = Desk(tmp_path, {"shellCommandPrefix": "set -u"}), ScriptedShell()
    asyncio.run(desk.shell.run("make", operations=operations))
    assert operations.commands == ["set -u\nmake"]
    assert [message.command for message in desk.recorded()] == ["make"]


def test_an_abort_stops_every_command_and_keeps_what_it_printed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    async def scene() -> None:
        commands = [
            asyncio.ensure_future(desk.shell.run(name, operations=ScriptedShell(waits=True))) for name in ("a", "b")
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert desk.shell.is_running
        desk.shell.abort()
        assert [result.cancelled for result in await asyncio.gather(*commands)] == [True, True]
        assert not desk.shell.is_running

    asyncio.run(scene())
    assert [(message.cancelled, "ran" in message.output) for message in desk.recorded()] == [(True, True)] * 2


def test_a_command_that_cannot_start_leaves_no_record(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "gone")
    with pytest.raises(PinyonError):
        asyncio.run(desk.shell.run("true"))
    assert (desk.recorded(), desk.shell.is_running) == ([], False)
