import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.coding.scripted_pi import text_of

from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.ai.message import SystemMessage, UserMessage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.hooks import SessionHooks, SessionStart
from pinyon.coding.pi_agent import PiAgent
from pinyon.errors import SessionError
from pinyon.resources.settings import SettingsManager
from pinyon.session.error import (
    EntryNotFoundError,
    MissingSessionCwdError,
    NotASessionError,
    SessionInUseError,
    SessionReadOnlyError,
)
from pinyon.session.lease import SessionLease, find_writer
from pinyon.session.local import LocalSessionManager
from pinyon.session.memory import InMemorySessionManager


class Noting(SessionHooks):
    """Notes what happens to sessions; `allows` decides on replacements."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.allows = True

    async def before_switch(self, reason: str, target_session_file: str | None) -> bool:
        self.notes.append(f"before {reason}")
        return self.allows

    async def before_fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        self.notes.append(f"before fork {position}")
        return self.allows

    async def shutdown(self, reason: str, target_session_file: str | None) -> None:
        self.notes.append(f"shutdown {reason}")

    async def session_started(self, start: SessionStart) -> None:
        self.notes.append(f"start {start.reason} {bool(start.previous_session_file)}")


class House:
    """A `PiAgent` on files with a model that answers everything with its number."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.cwd = folder / "project"
        self.cwd.mkdir(exist_ok=True)
        self.faux = FauxProvider()
        self.hooks = Noting()
        self.options: dict[str, Any] = {
            "cwd": self.cwd,
            "agent_dir": folder / "agent",
            "session_manager": LocalSessionManager(cwd=self.cwd, agent_dir=folder / "agent"),
            "settings_manager": SettingsManager.in_memory(),
            "model": self.faux.get_model(),
            "stream_fn": self.faux.stream,
            "hooks": self.hooks,
            **options,
        }

    def play(self, scene: Callable[[PiAgent], Any]) -> None:
        async def main() -> None:
            self.faux.set_responses([faux_assistant_message(f"answer {n}") for n in range(20)])
            async with await PiAgent.create(**self.options) as pi:
                await pi.create_agent_session()
                await scene(pi)

        asyncio.run(main())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def spoken(pi: PiAgent) -> list[str]:
    return [text_of(message) for message in pi.session.messages if not isinstance(message, SystemMessage)]


def id_of(pi: PiAgent, text: str) -> str:
    for entry in pi.session.session.get_entries():
        if entry.message is not None and text_of(entry.message) == text:
            return entry.id
    raise AssertionError(text)


def test_a_replacement_asks_first_then_ends_the_old_session_and_starts_the_new_one(house: House) -> None:
    async def scene(pi: PiAgent) -> None:
        notes = house.hooks.notes
        old = pi.session
        await old.prompt("one")
        pi.set_rebind_session(lambda session: notes.append(f"rebind {session is pi.session}"))
        pi.set_before_session_invalidate(lambda: notes.append("invalidate"))
        notes.clear()

        async def setup(session: AgentSession) -> None:
            notes.append("setup")
            session.session.append_message(UserMessage(content="set up", timestamp=1))

        change = await pi.new_session(setup=setup, with_session=lambda session: notes.append("with"))
        assert not change.cancelled
        assert pi.session is not old
        assert notes == [
            "before new",
            "shutdown new",
            "invalidate",
            "start new True",
            "setup",
            "rebind True",
            "with",
        ]
        assert spoken(pi) == ["set up"]

    house.play(scene)
    assert house.hooks.notes[-1] == "invalidate"
    assert house.hooks.notes[-2] == "shutdown quit"


def test_what_the_hooks_refuse_changes_nothing(house: House) -> None:
    async def scene(pi: PiAgent) -> None:
        await pi.session.prompt("one")
        old, file = pi.session, pi.session.session_file
        assert file is not None
        house.hooks.allows = False
        assert (await pi.new_session()).cancelled
        assert (await pi.switch_session(file)).cancelled
        assert (await pi.fork(id_of(pi, "one"))).cancelled
        assert (await pi.clone()).cancelled
        assert (await pi.import_from_jsonl(file)).cancelled
        assert pi.session is old

    house.play(scene)


def test_a_target_that_cannot_be_opened_leaves_the_active_session(house: House, tmp_path: Path) -> None:
    foreign, gone = tmp_path / "notes.jsonl", tmp_path / "gone.jsonl"
    foreign.write_text('{"hello":1}\n')
    gone.write_text('{"type":"session","version":3,"id":"g","timestamp":"","cwd":"/no/such/folder"}\n')

    async def scene(pi: PiAgent) -> None:
        await pi.session.prompt("one")
        old = pi.session
        with pytest.raises(NotASessionError):
            await pi.switch_session(foreign)
        with pytest.raises(MissingSessionCwdError):
            await pi.switch_session(gone)
        with pytest.raises(MissingSessionCwdError):
            await pi.import_from_jsonl(gone)
        with pytest.raises(EntryNotFoundError):
            await pi.fork("nope")
        with pytest.raises(SessionError, match="no user message"):
            await pi.fork(id_of(pi, "answer 0"))
        assert pi.session is old
        await pi.session.prompt("two")
        assert spoken(pi) == ["one", "answer 0", "two", "answer 1"]

    house.play(scene)


def test_a_fork_goes_on_before_a_message_or_at_an_entry_and_leaves_the_source(house: House) -> None:
    async def scene(pi: PiAgent) -> None:
        for text in ("one", "two"):
            await pi.session.prompt(text)
        source = pi.session.session_file
        assert source is not None
        before = source.read_bytes()
        fork = await pi.fork(id_of(pi, "two"))
        assert fork.selected_text == "two"
        assert spoken(pi) == ["one", "answer 0"]
        assert pi.session.session.get_header().parent_session == str(source)
        await pi.fork(id_of(pi, "answer 0"), position="at")
        assert spoken(pi) == ["one", "answer 0"]
        await pi.switch_session(source)
        await pi.clone()
        assert spoken(pi) == ["one", "answer 0", "two", "answer 1"]
        first = await pi.fork(id_of(pi, "one"))
        assert (first.selected_text, spoken(pi)) == ("one", [])
        assert source.read_bytes() == before

    house.play(scene)


def test_switching_to_the_session_that_is_open_opens_it_again(house: House) -> None:
    async def scene(pi: PiAgent) -> None:
        await pi.session.prompt("one")
        file = pi.session.session_file
        assert file is not None
        assert find_writer(file) is not None
        await pi.switch_session(file)
        assert find_writer(file) is not None
        await pi.session.prompt("two")
        assert spoken(pi) == ["one", "answer 0", "two", "answer 1"]

    house.play(scene)


def test_sessions_in_memory_are_kept_listed_opened_and_forked(tmp_path: Path) -> None:
    house = House(tmp_path, session_manager=InMemorySessionManager(cwd=tmp_path / "project"))

    async def scene(pi: PiAgent) -> None:
        await pi.session.prompt("one")
        first = pi.session.session_id
        await pi.fork(id_of(pi, "one"))
        await pi.session.prompt("other")
        assert {info.first_message for info in await pi.session_manager.list_sessions()} == {"one", "other"}
        await pi.switch_session(first)
        assert spoken(pi) == ["one", "answer 0"]
        await pi.clone()
        assert spoken(pi) == ["one", "answer 0"]
        assert pi.session.session_id != first

    house.play(scene)


def stored(house: House) -> Path:
    """The file of a session that nobody has open."""
    files: list[Path] = []

    async def scene(pi: PiAgent) -> None:
        await pi.session.prompt("stored")
        assert pi.session.session_file is not None
        files.append(pi.session.session_file)

    house.play(scene)
    return files[0]


def test_a_session_that_another_writer_has_is_refused_and_the_active_one_stays(house: House) -> None:
    path, lease = stored(house), SessionLease()
    lease.acquire(path)

    async def scene(pi: PiAgent) -> None:
        old = pi.session
        with pytest.raises(SessionInUseError):
            await pi.switch_session(path)
        assert pi.session is old
        lease.release()
        await pi.switch_session(path)
        assert spoken(pi) == ["stored", "answer 0"]

    house.play(scene)


def test_a_session_that_another_writer_has_may_be_forked(tmp_path: Path) -> None:
    path, lease = stored(House(tmp_path)), SessionLease()
    lease.acquire(path)
    before = path.read_bytes()

    async def scene(pi: PiAgent) -> None:
        await pi.switch_session(path)
        await pi.session.prompt("mine")
        assert spoken(pi) == ["stored", "answer 0", "mine", "answer 0"]
        assert pi.session.session_file != path
        assert pi.session.session.get_header().parent_session == str(path)

    House(tmp_path, if_in_use="fork").play(scene)
    assert path.read_bytes() == before
    lease.release()


def test_a_session_that_another_writer_has_may_be_read_only(tmp_path: Path) -> None:
    path, lease = stored(House(tmp_path)), SessionLease()
    lease.acquire(path)
    before = path.read_bytes()

    async def scene(pi: PiAgent) -> None:
        await pi.switch_session(path)
        assert pi.session.is_read_only
        assert spoken(pi) == ["stored", "answer 0"]
        with pytest.raises(SessionReadOnlyError):
            await pi.session.prompt("no")
        with pytest.raises(SessionReadOnlyError):
            await pi.session.compact()
        with pytest.raises(SessionReadOnlyError):
            await pi.session.execute_bash("echo no")
        await pi.session.navigate_tree(id_of(pi, "stored"))
        await pi.clone()
        await pi.session.prompt("in a copy")

    House(tmp_path, if_in_use="read-only").play(scene)
    assert path.read_bytes() == before
    lease.release()


def test_disposing_twice_and_asking_too_early_are_harmless_and_clear(house: House) -> None:
    async def main() -> None:
        pi = await PiAgent.create(**house.options)
        with pytest.raises(SessionError, match="create_agent_session"):
            _ = pi.session
        await pi.create_agent_session()
        await pi.dispose()
        await pi.dispose()
        assert house.hooks.notes == ["start startup False", "shutdown quit"]
        assert pi.take_unreported_diagnostics() == pi.diagnostics
        assert pi.take_unreported_diagnostics() == []

    asyncio.run(main())


def test_the_file_is_free_after_the_agent_is_disposed(house: House) -> None:
    path = stored(house)
    assert find_writer(path) is None
    assert [file.suffix for file in path.parent.iterdir()] == [".jsonl"]
