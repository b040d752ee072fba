"""Random conversations: whatever happens, no entry is lost and every request pairs calls with results."""

import asyncio
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinyon._util.abort import OperationAbortedError
from pinyon.agent.define_tool import define_tool
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message, faux_tool_call
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.transform import transform_messages
from pinyon.coding.compaction.instruction import SYSTEM_PROMPT
from pinyon.coding.compaction.summary import SummaryError
from pinyon.coding.pi_agent import PiAgent
from pinyon.errors import SessionError
from pinyon.resources.settings import SettingsManager
from pinyon.session.local import LocalSessionManager
from pinyon.session.session import Session

SETTINGS = {"retry": {"baseDelayMs": 0, "maxRetries": 1}, "compaction": {"keepRecentTokens": 60}}


@define_tool
async def work(text: str) -> str:
    """Do something."""
    if text == "fail":
        raise ValueError("failed")
    return text * 20


def call(text: str) -> Any:
    return faux_tool_call("work", {"text": text})


def failure(text: str) -> AssistantMessage:
    return faux_assistant_message("partly", stop_reason="error", error_message=text)


ANSWERS: dict[str, list[AssistantMessage]] = {
    "text": [faux_assistant_message("a plain answer")],
    "tools": [faux_assistant_message([call("one"), call("fail")]), faux_assistant_message([call("two")])],
    "retry": [failure("529 overloaded")],
    "retry tools": [faux_assistant_message(call("one")), failure("529 overloaded")],
    "given up": [failure("529 overloaded"), failure("529 overloaded")],
    "refused": [failure("400 no such thing")],
    "overflow": [failure("prompt is too long: 300000 tokens > 200000 maximum")],
    "cut": [faux_assistant_message([call("cut")], stop_reason="length")],
    "empty": [faux_assistant_message([])],
    "aborted": [faux_assistant_message([call("one"), call("two")])],
}

STEPS = st.one_of(
    st.tuples(st.just("prompt"), st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("queue"), st.sampled_from(["steer", "followUp"])),
    st.tuples(st.just("compact"), st.just(None)),
    st.tuples(st.just("navigate"), st.tuples(st.integers(0, 40), st.booleans())),
    st.tuples(st.just("fork"), st.integers(0, 40)),
    st.tuples(st.just("note"), st.sampled_from(["label", "name", "custom", "model"])),
    st.tuples(st.just("kill"), st.floats(0, 1)),
)


class Play:
    """One conversation on files, and what is known of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faux = FauxProvider()
        self.planned: list[AssistantMessage] = []
        self.requests: list[list[Message]] = []
        self.known: dict[Path, dict[str, bytes]] = {}
        self.size_before = 0
        self.numbers = itertools.count()

    @property
    def tree(self) -> Session:
        return self.pi.session.session

    async def open(self, path: Path | None = None) -> None:
        manager = LocalSessionManager(cwd=self.folder, session_dir=self.folder / "sessions")
        self.pi = await PiAgent.create(
            cwd=self.folder,
            agent_dir=self.folder / "agent",
            session_manager=manager,
            settings_manager=SettingsManager.in_memory(SETTINGS),
            model=self.faux.get_model(),
            stream_fn=self.stream,
            custom_tools=[work],
            tools=["work"],
        )
        await self.pi.create_agent_session(session=await manager.open_session(path) if path else None)

    def stream(self, model: Any, messages: list[Message], options: Any) -> Any:
        self.requests.append(list(messages))
        is_summary = isinstance(messages[0], SystemMessage) and messages[0].content == SYSTEM_PROMPT
        if is_summary or not self.planned:
            response = faux_assistant_message("a summary" if is_summary else "fine")
        else:
            response = self.planned.pop(0)
        self.faux.set_responses([response])
        return self.faux.stream(model, messages, options)

    async def step(self, what: str, how: Any) -> None:
        file = self.pi.session.session_file
        self.size_before = file.stat().st_size if file is not None and file.exists() else 0
        await getattr(self, what)(how)
        self.remember()

    async def prompt(self, kind: str) -> None:
        self.planned = list(ANSWERS[kind])
        if kind != "aborted":
            await self.pi.session.prompt(f"question {next(self.numbers)} " * 10)
            return
        stop = self.pi.session.subscribe(self.abort_at_tool)
        await self.pi.session.prompt("question to be aborted")
        stop()

    def abort_at_tool(self, event: Any) -> None:
        if type(event).__name__ == "ToolExecutionStart":
            self.pi.session.agent.abort()

    async def queue(self, how: str) -> None:
        send = self.pi.session.steer if how == "steer" else self.pi.session.follow_up
        await send(f"queued {next(self.numbers)}")

    async def compact(self, _: None) -> None:
        try:
            await self.pi.session.compact()
        except (SessionError, SummaryError, OperationAbortedError):
            return

    async def navigate(self, how: tuple[int, bool]) -> None:
        index, summarize = how
        entries = self.tree.get_entries()
        if entries:
            await self.pi.session.navigate_tree(entries[index % len(entries)].id, summarize=summarize)

    async def fork(self, index: int) -> None:
        users = [entry for entry in self.tree.get_entries() if isinstance(entry.message, UserMessage)]
        if users and self.tree.is_stored():
            target = users[index % len(users)].id
            source = [entry.id for entry in self.tree.get_branch(target)]
            await self.pi.fork(target, position="at")
            kept = [entry.id for entry in self.tree.get_entries()]
            assert [entry_id for entry_id in source if entry_id in kept] == kept[: len(set(source) & set(kept))]

    async def note(self, kind: str) -> None:
        session, leaf = self.pi.session, self.tree.get_leaf_id()
        if kind == "label" and leaf is not None:
            session.set_label(leaf, "here")
        elif kind == "name":
            session.set_session_name("name")
        elif kind == "custom":
            await session.send_custom_message("n", "a note")
        else:
            await session.set_model(self.faux.get_model())

    async def kill(self, share: float) -> None:
        """Go on with a copy of the file as it is when the process dies within the last writes."""
        file = self.pi.session.session_file
        if file is None or not file.exists():
            return
        data = file.read_bytes()
        cut = self.size_before + round((len(data) - self.size_before) * share)
        copy = file.with_name(f"killed-{next(self.numbers)}.jsonl")
        copy.write_bytes(data[:cut])
        whole = [line for line in data[:cut].split(b"\n") if is_json(line)]
        if not whole:
            copy.unlink()
            return
        await self.pi.dispose()
        await self.open(copy)
        ids = {entry.id for entry in self.tree.get_entries()}
        assert {json.loads(line)["id"] for line in whole[1:]} <= ids

    def remember(self) -> None:
        """Every line that was in a file is still in it, unchanged."""
        file = self.pi.session.session_file
        if file is not None and file.exists():
            lines = {json.loads(line)["id"]: line for line in file.read_bytes().split(b"\n") if is_json(line)}
            before = self.known.setdefault(file, {})
            assert before.items() <= lines.items()
            before.update(lines)
            stored = {entry.id: entry.line for entry in self.tree.get_entries()}
            assert stored.items() <= lines.items()
        for path, lines in self.known.items():
            if path != file:
                kept = path.read_bytes()
                assert all(line in kept for line in lines.values())


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def check_pairing(messages: Sequence[Message]) -> None:
    """Each result follows the answer with its call, each call has exactly one result before the next answer."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert message.tool_call_id in open_calls
            open_calls.remove(message.tool_call_id)
        elif isinstance(message, SystemMessage):
            continue
        else:
            assert open_calls == []
            open_calls = [c.id for c in message.tool_calls] if isinstance(message, AssistantMessage) else []
    assert open_calls == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=2, max_size=9))
def test_no_entry_is_lost_and_every_request_is_well_formed(steps: list[tuple[str, Any]]) -> None:
    async def main(folder: Path) -> None:
        play = Play(folder)
        await play.open()
        for what, how in [("prompt", "text"), *steps, ("prompt", "text")]:
            await play.step(what, how)
        for request in play.requests:
            check_pairing(transform_messages(request, play.faux.get_model()))
        await play.pi.dispose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
