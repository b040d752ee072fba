from __future__ import annotations

import inspect
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pinyon.sync
from pinyon.agent.define_tool import define_tool
from pinyon.agent.event import MessageUpdate
from pinyon.ai.apis.faux import FauxProvider, Response, faux_assistant_message, faux_tool_call
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import AgentSettled, SessionEvent
from pinyon.coding.limit import Limits
from pinyon.coding.loop_thread import LoopClosedError, LoopThread
from pinyon.coding.pi_agent import PiAgent
from pinyon.coding.sync_agent import SyncPiAgent
from pinyon.coding.sync_session import SyncSession, create_sync_session
from pinyon.errors import AgentBusyError, ModelError
from pinyon.resources.settings import SettingsManager
from pinyon.session.memory import InMemorySessionManager

StartAgent = Callable[..., SyncPiAgent]
LONG = faux_assistant_message("word " * 2000)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartAgent]:
    made: list[SyncPiAgent] = []

    def make(*responses: Response, **options: Any) -> SyncPiAgent:
        faux = FauxProvider()
        faux.set_responses(list(responses))
        pi = SyncPiAgent.create(
            **{
                "cwd": tmp_path,
                "agent_dir": tmp_path / "agent",
                "session_manager": InMemorySessionManager(cwd=tmp_path),
                "settings_manager": SettingsManager.in_memory({}),
                "model": faux.get_model(),
                "stream_fn": faux.stream,
                **options,
            }
        )
        made.append(pi)
        return pi

    yield make
    for pi in made:
        pi.dispose()


def test_a_script_prompts_and_reads_answers_without_a_loop(start: StartAgent) -> None:
    pi = start(faux_assistant_message("one"), faux_assistant_message("two"))
    session = pi.create_agent_session()
    assert session.prompt("hello") == "started"
    assert session.get_last_assistant_text() == "one"
    result = session.run("again", limits=Limits(max_turns=3))
    assert (result.text, session.message_count, session.is_idle) == ("two", 5, True)
    assert pi.session.session_id == session.session_id
    assert pi.cwd == Path(session.cwd)


def test_a_script_gets_typed_answers(start: StartAgent) -> None:
    class City(msgspec.Struct):
        name: str

    session = start(faux_assistant_message('{"name": "Ulm"}')).create_agent_session()
    assert session.run("a city", output=City).output == City("Ulm")


def test_a_script_loops_over_events(start: StartAgent) -> None:
    session = start(faux_assistant_message("one")).create_agent_session()
    heard: list[SessionEvent] = []
    session.subscribe(heard.append)
    assert list(session.stream("hello")) == heard
    assert isinstance(heard[-1], AgentSettled)


def test_leaving_the_loop_aborts_the_run(start: StartAgent) -> None:
    session = start(LONG, faux_assistant_message("two")).create_agent_session()
    for event in session.stream("hello"):
        if isinstance(event, MessageUpdate):
            break
    assert session.is_idle
    assert session.run("again").text == "two"


def test_output_goes_where_the_script_says(start: StartAgent) -> None:
    out = io.StringIO()
    assert start(faux_assistant_message("one")).create_agent_session().run_print(out, "x") == "one"
    assert out.getvalue() == "one\n"


def test_errors_reach_the_caller(start: StartAgent) -> None:
    with pytest.raises(ModelError):
        start(model=None).create_agent_session().run("x")


def test_sessions_are_replaced_as_in_the_asynchronous_api(start: StartAgent) -> None:
    pi = start(faux_assistant_message("one"))
    first = pi.create_agent_session()
    first.run("x")
    assert not pi.new_session().cancelled
    assert pi.session.session_id != first.session_id
    assert pi.session.message_count == 0


def test_tools_and_listeners_run_in_the_thread_and_may_not_wait_for_the_session(start: StartAgent) -> None:
    seen: list[object] = []

    @define_tool
    async def look() -> str:
        """Look around."""
        seen.append(threading.current_thread().name)
        seen.append(session.is_streaming)
        with pytest.raises(AgentBusyError, match="must not wait"):
            session.prompt("again")
        return "nothing"

    pi = start(
        faux_assistant_message([faux_tool_call("look", {})]), faux_assistant_message("done"), custom_tools=[look]
    )
    session = pi.create_agent_session()
    assert session.run("x").text == "done"
    assert seen == ["pinyon-sync", True]


def test_another_thread_can_abort(start: StartAgent) -> None:
    session = start(LONG).create_agent_session()
    streaming = threading.Event()
    session.subscribe(lambda event: streaming.set() if isinstance(event, MessageUpdate) else None)

    def stop() -> None:
        streaming.wait()
        session.abort()

    helper = threading.Thread(target=stop)
    helper.start()
    result = session.run("x")
    helper.join()
    assert result.stop_reason in ("aborted", "stop")
    assert session.is_idle


def test_what_is_closed_says_so_and_leaves_no_thread(start: StartAgent) -> None:
    with start(faux_assistant_message("one")) as pi:
        session = pi.create_agent_session()
    with pytest.raises(LoopClosedError):
        session.run("x")
    pi.dispose()
    assert "pinyon-sync" not in {thread.name for thread in threading.enumerate()}


def test_a_start_that_fails_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        SyncPiAgent.create(no_such_option=1)  # type: ignore[call-arg]
    assert "pinyon-sync" not in {thread.name for thread in threading.enumerate()}


def test_a_session_from_explicit_parts(tmp_path: Path) -> None:
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("one")])
    options = pinyon.sync.SessionOptions(model=faux.get_model(), stream_fn=faux.stream, cwd=tmp_path)
    with create_sync_session(options) as session:
        assert session.run("x").text == "one"


def members(kind: type, *without: str) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")} - set(without)


@pytest.mark.parametrize(
    ("plain", "twin", "left_out"),
    [(AgentSession, SyncSession, {"add_gate"}), (PiAgent, SyncPiAgent, set())],
)
def test_the_twin_has_every_member_of_the_original(plain: type, twin: type, left_out: set[str]) -> None:
    assert members(plain) - members(twin) == left_out


@pytest.mark.parametrize("name", ["prompt", "compact", "set_model", "execute_bash", "append_entry", "subscribe"])
def test_members_keep_signature_and_words(name: str, start: StartAgent) -> None:
    session = start().create_agent_session()
    ours, theirs = getattr(session, name), getattr(session.target, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)


def test_the_module_gives_the_asynchronous_names() -> None:
    assert pinyon.sync.PiAgent is SyncPiAgent
    assert pinyon.sync.AgentSession is SyncSession
    assert pinyon.sync.create_coding_session is create_sync_session
    with pytest.raises(AttributeError, match="no_such"):
        pinyon.sync.no_such  # noqa: B018


def test_a_loop_passes_its_exceptions_on_and_goes_on() -> None:
    loop = LoopThread()

    async def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        loop.run(fail())
    assert loop.call(lambda: 1) == 1
    loop.close()


SLEEPER = """
import asyncio, sys
from pinyon.sync import SessionOptions, create_coding_session
from pinyon.testing import FauxProvider

async def wait(*_):
    print("waiting", flush=True)
    await asyncio.sleep(3600)

faux = FauxProvider()
faux.set_responses([wait])
session = create_coding_session(SessionOptions(model=faux.get_model(), stream_fn=faux.stream))
events = []
session.subscribe(events.append)
try:
    session.run("x")
except KeyboardInterrupt:
    print("interrupted", session.is_idle, type(events[-1]).__name__)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_aborts_the_call_and_the_program_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted True AgentSettled\n"
    assert process.returncode == 0
