import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted, text_of

from pinyon._util.abort import AbortSignal
from pinyon.agent.agent import Agent
from pinyon.agent.define_tool import define_tool
from pinyon.agent.hook import BeforeToolCallResult
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message, faux_text, faux_tool_call
from pinyon.ai.message import SystemMessage, UserMessage
from pinyon.coding.coding_session import SessionOptions, create_coding_session
from pinyon.coding.limit import Limits
from pinyon.compaction import CompactionSettings, compaction_transform
from pinyon.errors import AgentBusyError, ModelError
from pinyon.session.recorder import SessionRecorder
from pinyon.session.session import Session


@define_tool
async def ping(text: str) -> str:
    """Answer."""
    return f"pong {text}"


class Bench:
    """A model that gives `answers`; `requests` is what it was asked, with the options."""

    def __init__(self, *answers: Any) -> None:
        self.faux = FauxProvider()
        self.faux.set_responses([faux_assistant_message(answer) for answer in answers])
        self.requests: list[tuple[list[Any], Any]] = []

    def stream(self, model: Any, messages: Any, options: Any) -> Any:
        self.requests.append((list(messages), options))
        return self.faux.stream(model, messages, options)

    def options(self, folder: Path, **options: Any) -> SessionOptions:
        return SessionOptions(model=self.faux.get_model(), cwd=folder, stream_fn=self.stream, **options)


def test_options_reach_the_request(tmp_path: Path) -> None:
    bench = Bench("done")

    async def main() -> None:
        options = bench.options(
            tmp_path,
            system_prompt="BE BRIEF",
            session_id="mine",
            temperature=0.5,
            max_tokens=99,
            cache_retention="long",
            max_retries=4,
            timeout_ms=1234,
            max_retry_delay_ms=77,
            transport="sse",
            headers={"x-own": "1", "user-agent": None},
            tool_names=["read", "ls"],
        )
        session = await create_coding_session(options)
        result = await session.run("hello")
        assert (result.text, session.session_id, session.cwd) == ("done", "mine", str(tmp_path))
        messages, sent = bench.requests[0]
        assert (sent.temperature, sent.max_tokens, sent.cache_retention) == (0.5, 99, "long")
        assert (sent.max_retries, sent.timeout_ms, sent.max_retry_delay_ms) == (4, 1234, 77)
        assert (sent.transport, sent.session_id) == ("sse", "mine")
        assert sent.headers == {"x-own": "1", "user-agent": None}
        assert isinstance(messages[0], SystemMessage)
        assert [tool.name for tool in messages[0].tools_added or ()] == ["read", "ls"]
        assert messages[0].sections
        assert messages[0].sections["preamble"] == "BE BRIEF"
        assert session.session_file is None
        await session.dispose()

    asyncio.run(main())


def test_own_tools_take_the_place_of_the_built_in_ones_and_hooks_guard_them(tmp_path: Path) -> None:
    bench = Bench([faux_tool_call("ping", {"text": "a"}), faux_tool_call("ping", {"text": "b"})], "done")

    def before(call: Any, signal: AbortSignal) -> BeforeToolCallResult | None:
        del signal
        return BeforeToolCallResult(block=True, reason="no a") if call.args["text"] == "a" else None

    async def main() -> None:
        session = await create_coding_session(bench.options(tmp_path, tools=[ping.bind()], before_tool_call=before))
        assert session.get_active_tool_names() == ["ping"]
        await session.run("go")
        assert [text_of(message) for message in bench.requests[1][0][-2:]] == ["no a", "pong b"]

    asyncio.run(main())


def test_a_conversation_may_be_continued_and_limited(tmp_path: Path) -> None:
    bench = Bench(faux_tool_call("ping", {"text": "a"}), "never")
    earlier = Session.in_memory(tmp_path)
    earlier.append_message(UserMessage(content="before", timestamp=1))

    async def main() -> None:
        options = bench.options(tmp_path, session=earlier, tools=[ping], limits=[Limits(max_turns=1)])
        session = await create_coding_session(options)
        result = await session.run("go")
        assert result.limit == "turns"
        assert [text_of(message) for message in bench.requests[0][0] if isinstance(message, UserMessage)] == [
            "before",
            "go",
        ]

    asyncio.run(main())


def test_a_model_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        asyncio.run(create_coding_session(SessionOptions(model="nobody/nothing-at-all", cwd=tmp_path)))


def test_only_a_session_with_compaction_settings_compacts(tmp_path: Path) -> None:
    async def main(compaction: CompactionSettings | None, expected: int) -> None:
        bench = Bench("one", "two", "summary", "three", "four")
        session = await create_coding_session(bench.options(tmp_path, compaction=compaction))
        assert session.auto_compaction_enabled is (compaction is not None)
        for text in ("a", "b", "c"):
            await session.prompt(text * 4000)
        summaries = [entry for entry in session.session.get_entries() if entry.type == "compaction"]
        assert bool(summaries) is bool(expected)

    window = FauxProvider().get_model().context_window
    small = CompactionSettings(reserve_tokens=window - 1500, keep_recent_tokens=1, session_id="route")
    asyncio.run(main(small, 1))
    asyncio.run(main(None, 0))


def test_an_agent_without_a_session_sends_a_summary_in_place_of_older_turns() -> None:
    bench = Bench("first", "second", "summary", "third", "fourth")
    window = bench.faux.get_model().context_window
    settings = CompactionSettings(reserve_tokens=window - 1500, keep_recent_tokens=1, session_id="route")

    async def main() -> None:
        agent = Agent(stream_fn=bench.stream, initial_state={"model": bench.faux.get_model()})
        agent.transform_context = compaction_transform(settings, bench.faux.get_model(), bench.stream)
        for text in ("a", "b", "c", "d"):
            await agent.prompt(text * 3000 if text in "ab" else text)
        texts = [[text_of(message) for message in messages] for messages, _ in bench.requests]
        summaries = [index for index, sent in enumerate(texts) if "<conversation>" in sent[-1]]
        assert summaries
        assert bench.requests[summaries[0]][1].session_id == "route"
        assert "<summary>" in texts[-1][0]
        assert texts[-1][-1] == "d"
        assert len(agent.state.messages) == 8

    asyncio.run(main())


def test_a_summary_that_fails_leaves_the_messages_of_an_agent_as_they_are() -> None:
    bench = Bench("first", " ", "second")
    settings = CompactionSettings(reserve_tokens=10**9, keep_recent_tokens=1)

    async def main() -> None:
        agent = Agent(stream_fn=bench.stream, initial_state={"model": bench.faux.get_model()})
        agent.transform_context = compaction_transform(settings, bench.faux.get_model(), bench.stream)
        await agent.prompt("a" * 50)
        await agent.prompt("b")
        assert [text_of(message) for message in bench.requests[-1][0]] == ["a" * 50, "first", "b"]

    asyncio.run(main())


def test_history_is_loaded_without_a_request_and_a_reset_starts_over(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        session = scripted.session
        session.load_history([UserMessage(content="old", timestamp=1), faux_assistant_message("answer")])
        assert scripted.requests == []
        await session.prompt("new")
        assert scripted.texts_sent(0) == ["old", "answer", "new"]
        await session.follow_up("waits")
        session.reset()
        assert (session.messages, session.pending_message_count) == ([], 0)
        await session.prompt("fresh")
        assert scripted.texts_sent(1) == ["fresh"]
        assert [message.text for message in session.get_user_messages_for_forking()] == ["old", "new", "fresh"]

        refused: list[str] = []

        async def during(*_: Any) -> Any:
            for attempt in (session.reset, lambda: session.load_history([])):
                with pytest.raises(AgentBusyError) as raised:
                    attempt()
                refused.append(str(raised.value))
            return faux_assistant_message("x")

        scripted.faux.set_responses([during])
        await session.prompt("busy")
        assert len(refused) == 2

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)


def test_a_recorder_gets_every_finished_message_until_it_is_taken_off(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        recorder = SessionRecorder.start(tmp_path, scripted.session.model, session_dir=tmp_path)
        stop = scripted.session.attach_recorder(recorder)
        await scripted.session.prompt("one")
        stop()
        await scripted.session.prompt("two")
        assert recorder.path is not None
        kinds = [text_of(message) for message in Session.open(recorder.path).build_session_context().messages]
        assert kinds[1:] == ["one", "a"]

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)


def test_a_run_can_be_printed_as_plain_text(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        out = io.StringIO()
        assert await scripted.session.run_print(out, "go") == "all\x07 done"
        assert out.getvalue() == "looking\n[ping]\n[ping failed]\nall done\n"
        await scripted.session.prompt("quiet")
        assert out.getvalue().endswith("all done\n")

    first = faux_assistant_message([faux_text("looking"), faux_tool_call("ping", {})])
    run_scripted(
        [first, faux_assistant_message("all\x07 done"), faux_assistant_message("x")],
        play,
        cwd=tmp_path,
        custom_tools=[ping],
    )


def test_models_and_levels_are_cycled_through_what_can_be_used(tmp_path: Path) -> None:
    from pinyon.ai.model import Model
    from pinyon.ai.resolver import ScopedModel

    def model(name: str, *, reasoning: bool = False) -> Model:
        return Model(id=name, name=name, api="faux", provider="faux", base_url="", reasoning=reasoning)

    one, two, three = model("one"), model("two", reasoning=True), model("three")

    async def play(scripted: Scripted) -> None:
        session = scripted.session
        assert await session.cycle_model() is None or session.model is not None
        session.set_scoped_models([ScopedModel(one), ScopedModel(two, "high"), ScopedModel(three)])
        first = await session.cycle_model()
        assert first is not None
        assert (first.model.id, first.is_scoped, first.thinking_level) == ("one", True, "off")
        second = await session.cycle_model()
        assert second is not None
        assert (second.model.id, second.thinking_level) == ("two", "high")
        assert session.cycle_thinking_level() == "off"
        assert session.cycle_thinking_level() == "minimal"
        back = await session.cycle_model("backward")
        assert back is not None
        assert back.model.id == "one"
        assert session.cycle_thinking_level() is None
        around = await session.cycle_model("backward")
        assert around is not None
        assert around.model.id == "three"
        session.set_scoped_models([ScopedModel(three)])
        assert await session.cycle_model() is None
        changes = [entry.model_id for entry in session.session.get_entries() if entry.type == "model_change"]
        assert changes[-4:] == ["one", "two", "one", "three"]

    run_scripted([], play, cwd=tmp_path)


def test_a_model_outside_of_the_scope_steps_to_its_first_or_last(tmp_path: Path) -> None:
    from pinyon.ai.model import Model
    from pinyon.ai.resolver import ScopedModel

    scope = [ScopedModel(Model(id=name, name=name, api="faux", provider="x", base_url="")) for name in ("a", "b", "c")]

    async def play(scripted: Scripted) -> None:
        for direction, expected in (("forward", "a"), ("backward", "c")):
            scripted.session.set_scoped_models(scope)
            await scripted.session.set_model(scripted.faux.get_model())
            step = await scripted.session.cycle_model(direction)  # type: ignore[arg-type]
            assert step is not None
            assert step.model.id == expected

    run_scripted([], play, cwd=tmp_path)


def test_summaries_may_be_written_by_another_model(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        for text in ("one", "two"):
            await scripted.session.prompt(text * 50)
        with pytest.raises(ModelError, match="nobody/none"):
            await scripted.session.compact()

    settings = {"compaction": {"keepRecentTokens": 1, "model": "nobody/none"}}
    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path, settings=settings)
