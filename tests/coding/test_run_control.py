import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from pinyon.agent.agent import Agent
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.ai.message import AgentMessage, AssistantMessage, UserMessage
from pinyon.coding.event import AgentSettled, SessionEvent
from pinyon.coding.run_control import FollowOn, RunControl
from pinyon.errors import AgentBusyError


class Control:
    """A `RunControl` on a real agent whose model gives short answers; `steps` is what happened, in order."""

    def __init__(self, answers: Sequence[str] = ("one", "two", "three"), follow_ons: Sequence[FollowOn] = ()) -> None:
        faux = FauxProvider()
        faux.set_responses([faux_assistant_message(text) for text in answers])
        self.agent = Agent(stream_fn=faux.stream, initial_state={"model": faux.get_model()})
        self.steps: list[str] = []
        self.settled: list[AgentSettled] = []
        self.on_settled: Callable[[], None] = lambda: None
        self.run = RunControl(
            agent=self.agent,
            emit=self._emit,
            follow_ons=follow_ons,
            on_abort=lambda: self.steps.append("abort"),
            on_settling=lambda: self.steps.append("settling"),
        )

    def _emit(self, event: SessionEvent) -> None:
        assert isinstance(event, AgentSettled)
        self.steps.append("settled")
        self.settled.append(event)
        self.on_settled()

    async def prompt(self) -> list[AgentMessage]:
        return [UserMessage(content="hi", timestamp=0)]

    def answers(self) -> list[str]:
        return [message.text for message in self.agent.state.messages if isinstance(message, AssistantMessage)]


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene()

    asyncio.run(main())


def test_a_run_settles_once_after_everything_that_follows_it() -> None:
    async def scene() -> None:
        heard: list[str] = []

        async def once_more(answer: AssistantMessage | None) -> bool:
            heard.append(answer.text if answer else "")
            if len(heard) == 2:
                return False
            control.agent.follow_up(UserMessage(content="go on", timestamp=0))
            return True

        control = Control(follow_ons=[once_more])
        await control.run.run(control.prompt, on_started=lambda: control.steps.append("started"))
        assert heard == ["one", "two"]
        assert control.answers() == ["one", "two"]
        assert control.steps == ["started", "settling", "settled"]
        assert not control.settled[0].aborted

    play(scene)


def test_follow_ons_after_the_one_that_asks_for_a_run_are_not_asked() -> None:
    async def scene() -> None:
        asked: list[str] = []

        async def first(answer: AssistantMessage | None) -> bool:
            asked.append("first")
            if len(asked) == 1:
                control.agent.follow_up(UserMessage(content="go on", timestamp=0))
            return len(asked) == 1

        async def second(answer: AssistantMessage | None) -> bool:
            asked.append("second")
            return False

        control = Control(follow_ons=[first, second])
        await control.run.run(control.prompt)
        assert asked == ["first", "first", "second"]

    play(scene)


def test_a_refused_start_leaves_the_session_idle_and_settles_nothing() -> None:
    async def scene() -> None:
        async def refuse() -> list[AgentMessage]:
            raise ValueError("no")

        control = Control()
        with pytest.raises(ValueError, match="no"):
            await control.run.run(refuse)
        assert control.steps == ["settling"]
        await control.run.run(control.prompt)
        assert control.answers() == ["one"]

    play(scene)


def test_a_second_run_at_the_same_time_is_refused() -> None:
    async def scene() -> None:
        async def prompt_twice() -> list[AgentMessage]:
            assert control.run.is_active
            with pytest.raises(AgentBusyError, match="steer"):
                await control.run.resume()
            return await control.prompt()

        control = Control()
        await control.run.run(prompt_twice)
        assert control.answers() == ["one"]

    play(scene)


def test_an_abort_returns_after_the_run_has_settled_and_nothing_follows() -> None:
    async def scene() -> None:
        async def forever(answer: AssistantMessage | None) -> bool:
            aborting.append(asyncio.ensure_future(control.run.abort()))
            await asyncio.sleep(0)
            return True

        aborting: list[asyncio.Future[None]] = []
        control = Control(follow_ons=[forever])
        await control.run.run(control.prompt)
        await asyncio.gather(*aborting)
        assert control.steps == ["abort", "settling", "settled"]
        assert control.settled[0].aborted
        assert control.answers() == ["one"]

    play(scene)


def test_without_a_run_an_abort_only_stops_what_waits() -> None:
    async def scene() -> None:
        control = Control()
        await control.run.abort()
        assert (control.steps, control.run.abort_requested) == (["abort"], False)

    play(scene)


def test_what_is_deferred_while_settling_runs_when_the_session_is_idle() -> None:
    async def scene() -> None:
        async def later() -> None:
            control.steps.append("busy" if control.run.is_active else "idle")

        def defer() -> None:
            assert control.run.is_settling
            control.run.defer(later)

        control = Control()
        control.on_settled = defer
        await control.run.run(control.prompt)
        assert control.steps == ["settling", "settled", "idle"]

    play(scene)
