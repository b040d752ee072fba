from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.coding.scripted_pi import Scripted, run_scripted, text_of

from pinyon._util.abort import OperationAbortedError
from pinyon.agent.define_tool import define_tool
from pinyon.agent.event import AgentEvent, MessageEnd
from pinyon.agent.hook import AfterToolCallResult, BeforeToolCallResult
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, CustomMessage, SystemMessage, UserMessage
from pinyon.ai.model import ThinkingLevel
from pinyon.coding.hooks import (
    CompactionAnswer,
    CompactionRequest,
    OwnSummary,
    PromptInput,
    RunStart,
    SessionHooks,
    UserCommandAnswer,
)
from pinyon.tools.user_command import BashResult

SMALL = {"compaction": {"keepRecentTokens": 1}}


@define_tool
async def ping(text: str) -> str:
    """Answer."""
    return f"pong {text}"


def test_a_forced_prompt_is_sent_and_not_stored(tmp_path: Path) -> None:
    class Forcing(SessionHooks):
        async def before_agent_start(self, prompt: PromptInput) -> RunStart:
            extra = CustomMessage(custom_type="x", content="extra", display=True, timestamp=1)
            return RunStart(messages=[extra], system_prompt="FORCED" if prompt.text == "one" else None)

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        system = [message for message in scripted.requests[0] if isinstance(message, SystemMessage)]
        assert [message.content for message in system] == ["FORCED"]
        assert system[0].tools_added
        assert scripted.texts_sent(0) == ["one", "extra"]
        assert "FORCED" not in "".join(entry.line.decode() for entry in scripted.session.session.get_entries())
        await scripted.session.prompt("two")
        assert "FORCED" not in [getattr(message, "content", "") for message in scripted.requests[1]]

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path, hooks=Forcing())


def test_a_finished_message_may_be_replaced_and_everybody_sees_the_same(tmp_path: Path) -> None:
    class Replacing(SessionHooks):
        async def message_end(self, message: AgentMessage) -> AgentMessage | None:
            if isinstance(message, AssistantMessage):
                return faux_assistant_message("changed")
            return UserMessage(content="wrong role", timestamp=1) if isinstance(message, SystemMessage) else None

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        heard = [event.message for event in scripted.events if isinstance(event, MessageEnd)]
        assert text_of(heard[-1]) == "changed"
        assert text_of(scripted.session.messages[-1]) == "changed"
        assert isinstance(scripted.session.messages[0], SystemMessage)

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path, hooks=Replacing())


def test_hooks_hear_an_event_before_the_listeners(tmp_path: Path) -> None:
    class Hearing(SessionHooks):
        def __init__(self) -> None:
            self.order: list[str] = []

        async def on_agent_event(self, event: AgentEvent) -> None:
            self.order.append(f"hook {type(event).__name__}")

    hooks = Hearing()

    async def play(scripted: Scripted) -> None:
        scripted.session.subscribe(lambda event: hooks.order.append(f"listener {type(event).__name__}"))
        await scripted.session.prompt("one")
        assert hooks.order[:2] == ["hook AgentStart", "listener AgentStart"]
        assert hooks.order[-3:] == ["hook AgentEnd", "listener AgentEnd", "listener AgentSettled"]

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path, hooks=hooks)


def test_calls_may_be_refused_and_results_changed(tmp_path: Path) -> None:
    class Guard(SessionHooks):
        async def before_tool_call(self, call: Any, signal: Any) -> BeforeToolCallResult | None:
            del signal
            return BeforeToolCallResult(block=True, reason="not this") if call.args["text"] == "bad" else None

        async def after_tool_call(self, call: Any, signal: Any) -> AfterToolCallResult | None:
            del call, signal
            return AfterToolCallResult(content=[TextContent(text="other")])

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("go")
        assert scripted.texts_sent(1)[2:] == ["not this", "other"]

    calls = [faux_tool_call("ping", {"text": "bad"}), faux_tool_call("ping", {"text": "good"})]
    answers = [faux_assistant_message(calls), faux_assistant_message("done")]
    run_scripted(answers, play, cwd=tmp_path, hooks=Guard(), custom_tools=[ping])


def test_the_messages_of_one_request_may_be_changed_without_a_trace(tmp_path: Path) -> None:
    class Changing(SessionHooks):
        async def transform_context(self, messages: list[AgentMessage]) -> list[AgentMessage]:
            return [*messages, UserMessage(content="added", timestamp=1)]

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        assert scripted.texts_sent(0) == ["one", "added"]
        assert "added" not in [text_of(message) for message in scripted.session.messages]

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path, hooks=Changing())


def test_before_it_settles_a_session_may_be_sent_on_once_more(tmp_path: Path) -> None:
    class Again(SessionHooks):
        def __init__(self) -> None:
            self.session: Any = None

        async def before_settle(self) -> bool:
            session, self.session = self.session, None
            if session is None:
                return False
            session.session.append_message(UserMessage(content="and now?", timestamp=1))
            session.refresh()
            return True

    hooks = Again()

    async def play(scripted: Scripted) -> None:
        hooks.session = scripted.session
        await scripted.session.prompt("one")
        assert scripted.texts_sent(1) == ["one", "a", "and now?"]
        assert scripted.names().count("agent_settled") == 1

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path, hooks=hooks)


class Compacting(SessionHooks):
    def __init__(self, answer: CompactionAnswer | None) -> None:
        self.answer = answer
        self.told: list[str] = []

    async def before_compact(self, request: CompactionRequest) -> CompactionAnswer | None:
        self.told.append(f"before {request.reason} {request.custom_instructions}")
        return self.answer

    async def compacted(self, entry: Any, *, reason: Any, will_retry: bool, from_extension: bool) -> None:
        self.told.append(f"compacted {entry.summary} {reason} {from_extension} {will_retry}")

    async def compaction_failed(self, *, reason: Any, error_message: Any, aborted: bool, will_retry: bool) -> None:
        self.told.append(f"failed {reason} {error_message is not None} {aborted} {will_retry}")


async def compacted(scripted: Scripted) -> Any:
    for text in ("one", "two"):
        await scripted.session.prompt(text * 50)
    return await scripted.session.compact("focus")


TURNS = [faux_assistant_message("a"), faux_assistant_message("b")]


def test_a_hook_may_write_the_summary_of_a_compaction(tmp_path: Path) -> None:
    hooks = Compacting(CompactionAnswer(summary=OwnSummary(summary="mine", details={"k": 1})))

    async def play(scripted: Scripted) -> None:
        result = await compacted(scripted)
        assert (result.summary, result.details) == ("mine", {"k": 1})
        assert len(scripted.requests) == 2
        entry = scripted.session.session.get_leaf_entry()
        assert entry is not None
        assert entry.from_hook
        assert hooks.told == ["before manual focus", "compacted mine manual True False"]

    run_scripted(TURNS, play, cwd=tmp_path, settings=SMALL, hooks=hooks)


def test_a_hook_may_cancel_a_compaction(tmp_path: Path) -> None:
    hooks = Compacting(CompactionAnswer(cancel=True))

    async def play(scripted: Scripted) -> None:
        with pytest.raises(OperationAbortedError):
            await compacted(scripted)
        assert hooks.told == ["before manual focus", "failed manual False True False"]

    run_scripted(TURNS, play, cwd=tmp_path, settings=SMALL, hooks=hooks)


def test_a_hook_hears_of_a_summary_that_failed(tmp_path: Path) -> None:
    hooks = Compacting(None)

    async def play(scripted: Scripted) -> None:
        with pytest.raises(Exception, match="empty"):
            await compacted(scripted)
        assert hooks.told[-1] == "failed manual True False False"

    run_scripted([*TURNS, faux_assistant_message(" ")], play, cwd=tmp_path, settings=SMALL, hooks=hooks)


def test_a_hook_may_answer_a_command_of_the_user(tmp_path: Path) -> None:
    class Shell(SessionHooks):
        async def user_command(self, command: str, *, exclude_from_context: bool, cwd: str) -> UserCommandAnswer:
            assert not exclude_from_context
            return UserCommandAnswer(result=BashResult(output=f"{command} in {Path(cwd).name}", exit_code=0))

    async def play(scripted: Scripted) -> None:
        result = await scripted.session.execute_bash("never runs here")
        assert result.output == f"never runs here in {tmp_path.name}"
        entry = scripted.session.session.get_leaf_entry()
        assert entry is not None
        assert entry.role == "bashExecution"

    run_scripted([], play, cwd=tmp_path, hooks=Shell())


def test_every_change_of_the_thinking_level_is_told_once(tmp_path: Path) -> None:
    class Hearing(SessionHooks):
        def __init__(self) -> None:
            self.levels: list[tuple[ThinkingLevel, ThinkingLevel]] = []

        def thinking_level_selected(self, level: ThinkingLevel, previous: ThinkingLevel) -> None:
            self.levels.append((level, previous))

    hooks = Hearing()

    async def play(scripted: Scripted) -> None:
        session = scripted.session
        reasoning = msgspec.structs.replace(scripted.faux.get_model(), id="thinking", reasoning=True)
        await session.set_model(reasoning)
        session.set_thinking_level("low")
        session.set_thinking_level("low")
        assert session.cycle_thinking_level() == "medium"
        await session.set_model(scripted.faux.get_model())

    run_scripted([], play, cwd=tmp_path, hooks=hooks, thinking_level="off")
    assert hooks.levels[-3:] == [("low", hooks.levels[-3][1]), ("medium", "low"), ("off", "medium")]
    assert all(level != previous for level, previous in hooks.levels)
