"""One conversation that goes from provider to provider and back, with tools, images and thinking, against servers that
refuse what the real ones refuse: foreign signatures, orphaned results, repeated ids, blank text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec
import pytest

from pinyon.ai.api import get_api
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import Tool
from pinyon.testing import (
    fake_anthropic,
    fake_bedrock,
    fake_google,
    fake_mistral,
    fake_openai,
    fake_responses,
)
from pinyon.testing.fake_server import FakeServer, ScriptedReply
from pinyon.testing.stream import collect, final_message

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = ImageContent(PNG, "image/png")
LS = Tool("ls", "List a folder.", {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}})
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[LS])
CALLS = ({"path": "a"}, {"path": "b"})


class Stop(msgspec.Struct, frozen=True):
    """A model on the way: how it asks for two tools after a thought, and how its server guards itself."""

    api: str
    provider: str
    model_id: str
    path: str
    look: Callable[[], ScriptedReply]
    end: Callable[[], ScriptedReply]
    guard: Callable[[ScriptedReply], ScriptedReply]

    def model(self, url: str) -> Model:
        return Model(
            id=self.model_id,
            name=self.model_id,
            api=self.api,
            provider=self.provider,
            base_url=url + self.path,
            reasoning=True,
            input=["text", "image"],
            max_tokens=8192,
        )

    def ask(self, server: FakeServer, reply: ScriptedReply, messages: Sequence[Message]) -> AssistantMessage:
        server.play([self.guard(reply)])
        options = StreamOptions(api_key="key-0123456789", reasoning="high", session_id="s1")
        events = collect(get_api(self.api).stream(self.model(server.url), list(messages), options))
        message = final_message(events)
        assert message.error_message is msgspec.UNSET, f"{self.api}: {message.error_message}"
        return message


def anthropic() -> Stop:
    fake, signature = fake_anthropic, "QW50aHJvcGlj"
    return Stop(
        "anthropic-messages",
        "anthropic",
        "claude-opus-5",
        "",
        lambda: fake.anthropic_answer(
            fake.thinking("hm", signature), fake.text("I look."), *(fake.tool_use("ls", call) for call in CALLS)
        ),
        lambda: fake.anthropic_answer(fake.thinking("so", signature), fake.text("Done.")),
        lambda reply: fake.strict_anthropic(reply, {signature}),
    )


def responses() -> Stop:
    fake = fake_responses
    return Stop(
        "openai-responses",
        "openai",
        "gpt-6",
        "/v1",
        lambda: fake.responses_answer(
            fake.reasoning("hm"), fake.message("I look."), *(fake.function_call("ls", call) for call in CALLS)
        ),
        lambda: fake.responses_answer(fake.reasoning("so"), fake.message("Done.")),
        fake.strict_responses,
    )


def bedrock() -> Stop:
    fake, signature = fake_bedrock, "QmVkcm9jaw=="
    return Stop(
        "bedrock-converse-stream",
        "amazon-bedrock",
        "us.anthropic.claude-opus-4-6",
        "",
        lambda: fake.bedrock_answer(
            fake.thinking("hm", signature), fake.text("I look."), *(fake.tool_use("ls", call) for call in CALLS)
        ),
        lambda: fake.bedrock_answer(fake.thinking("so", signature), fake.text("Done.")),
        lambda reply: fake.strict_bedrock(reply, signatures={signature}),
    )


def google(model_id: str, api: str = "google-generative-ai") -> Stop:
    fake = fake_google
    return Stop(
        api,
        "google" if api == "google-generative-ai" else api,
        model_id,
        "/v1beta",
        lambda: fake.google_answer("I look.", thoughts="hm", calls=[fake.google_call("ls", call) for call in CALLS]),
        lambda: fake.google_answer("Done.", thoughts="so"),
        fake.strict_google,
    )


def mistral() -> Stop:
    fake = fake_mistral
    return Stop(
        "mistral-conversations",
        "mistral",
        "magistral-medium-latest",
        "",
        lambda: fake.mistral_answer("I look.", thinking="hm", calls=[fake.mistral_call("ls", call) for call in CALLS]),
        lambda: fake.mistral_answer("Done.", thinking="so"),
        fake.strict_mistral,
    )


def completions() -> Stop:
    fake = fake_openai
    return Stop(
        "openai-completions",
        "somebody",
        "llama",
        "/v1",
        lambda: fake.openai_answer("I look.", reasoning="hm", calls=[fake.call("ls", call) for call in CALLS]),
        lambda: fake.openai_answer("Done.", reasoning="so"),
        fake.strict_reply,
    )


WAY = (
    anthropic(),
    responses(),
    google("gemini-3-flash"),
    bedrock(),
    mistral(),
    google("gemini-2.5-pro", "google-vertex"),
    completions(),
)
THERE_AND_BACK = (*WAY, *WAY[-2::-1])


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("AWS_", "GOOGLE_", "AZURE_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


def results(message: AssistantMessage) -> list[ToolResultMessage]:
    """A result with an image, and one that failed."""
    first, second = message.tool_calls
    return [
        ToolResultMessage(first.id, "ls", [TextContent("a.png"), IMAGE], is_error=False, timestamp=3),
        ToolResultMessage(second.id, "ls", [TextContent("no such folder")], is_error=True, timestamp=3),
    ]


def test_a_conversation_goes_from_provider_to_provider_and_back() -> None:
    history: list[Message] = [SYSTEM]
    with FakeServer() as server:
        for stop in THERE_AND_BACK:
            history.append(UserMessage(content=[TextContent("look"), IMAGE], timestamp=1))
            first = stop.ask(server, stop.look(), history)
            assert [call.arguments for call in first.tool_calls] == list(CALLS)
            history += [first, *results(first)]
            last = stop.ask(server, stop.end(), history)
            assert last.text == "Done."
            history.append(last)
    assert len({call.id for item in history if isinstance(item, AssistantMessage) for call in item.tool_calls}) > 13


@pytest.mark.parametrize("giver", WAY, ids=lambda stop: stop.api)
@pytest.mark.parametrize("taker", WAY, ids=lambda stop: stop.api)
def test_a_model_can_take_over_before_it_has_seen_the_results_of_another(giver: Stop, taker: Stop) -> None:
    history: list[Message] = [SYSTEM, UserMessage(content="look", timestamp=1)]
    with FakeServer() as server:
        first = giver.ask(server, giver.look(), history)
        history += [first, *results(first)]
        again = taker.ask(server, taker.look(), history)
        history += [again, *results(again)]
        assert taker.ask(server, taker.end(), history).text == "Done."
        assert giver.ask(server, giver.end(), history).text == "Done."


@pytest.mark.parametrize("giver", WAY, ids=lambda stop: stop.api)
@pytest.mark.parametrize("taker", WAY, ids=lambda stop: stop.api)
def test_calls_that_were_never_answered_do_not_stop_another_model(giver: Stop, taker: Stop) -> None:
    history: list[Message] = [SYSTEM, UserMessage(content="look", timestamp=1)]
    with FakeServer() as server:
        first = giver.ask(server, giver.look(), history)
        orphan = ToolResultMessage("nobody", "ls", [TextContent("x")], is_error=False, timestamp=3)
        history += [first, results(first)[1], UserMessage(content="go on", timestamp=4), orphan]
        assert taker.ask(server, taker.end(), history).text == "Done."
