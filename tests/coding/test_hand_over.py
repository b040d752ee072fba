"""One session through models of six wire APIs and back, against servers that refuse what the real ones refuse."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.content import ImageContent, ThinkingContent
from pinyon.ai.message import AssistantMessage, ToolResultMessage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.coding.pi_agent import PiAgent
from pinyon.resources.settings import SettingsManager
from pinyon.session.memory import InMemorySessionManager
from pinyon.session.session import Session
from pinyon.testing import fake_anthropic, fake_bedrock, fake_openai, fake_responses
from pinyon.testing.fake_google import google_answer, google_call, strict_google
from pinyon.testing.fake_mistral import mistral_answer, mistral_call, strict_mistral
from pinyon.testing.fake_server import FakeServer, RecordedRequest, ScriptedReply

ANTHROPIC_SIGNATURE, BEDROCK_SIGNATURE = "YW50aHJvcGljLXNpZ25hdHVyZQ==", "YmVkcm9jay1zaWduYXR1cmU="
ENCRYPTED = "b3BlbmFpLWVuY3J5cHRlZA=="
GOOGLE_SIGNATURE_START = base64.b64encode(b"fake:gemini-3").decode()[:16]
LS, READ = ("ls", {"path": "."}), ("read", {"path": "pixel.png"})


class Stop(msgspec.Struct):
    """A provider of the journey: its API, model, what its server answers in a turn, and marks that only it may see."""

    name: str
    api: str
    model: str
    turn: Callable[[], Sequence[ScriptedReply]]
    mark: str = ""
    path: str = ""


def anthropic_turn() -> list[ScriptedReply]:
    thought = fake_anthropic.thinking("I look", ANTHROPIC_SIGNATURE)
    calls = (fake_anthropic.tool_use(*LS), fake_anthropic.tool_use(*READ))
    replies = [fake_anthropic.anthropic_answer(thought, fake_anthropic.text("Looking."), *calls)]
    replies.append(fake_anthropic.anthropic_answer(thought, fake_anthropic.text("Seen by anthropic.")))
    return [fake_anthropic.strict_anthropic(reply, [ANTHROPIC_SIGNATURE]) for reply in replies]


def responses_turn() -> list[ScriptedReply]:
    calls = [fake_responses.function_call(*call) for call in (LS, READ)]
    first = fake_responses.responses_answer(fake_responses.reasoning("I look", encrypted=ENCRYPTED), *calls)
    thought = fake_responses.reasoning("I saw", encrypted=ENCRYPTED)
    second = fake_responses.responses_answer(thought, fake_responses.message("Seen by responses."))
    return [fake_responses.strict_responses(first), fake_responses.strict_responses(second)]


def google_turn() -> list[ScriptedReply]:
    first = google_answer(thoughts="I look", calls=[google_call(*LS), google_call(*READ)])
    return [strict_google(first), strict_google(google_answer("Seen by google.", thoughts="I saw"))]


def bedrock_turn() -> list[ScriptedReply]:
    thought = fake_bedrock.thinking("I look", BEDROCK_SIGNATURE)
    hidden = fake_bedrock.redacted_thinking(b"bedrock-hidden")
    first = fake_bedrock.bedrock_answer(thought, hidden, fake_bedrock.tool_use(*LS), fake_bedrock.tool_use(*READ))
    second = fake_bedrock.bedrock_answer(thought, fake_bedrock.text("Seen by bedrock."))
    known = [BEDROCK_SIGNATURE, base64.b64encode(b"bedrock-hidden").decode()]
    return [fake_bedrock.strict_bedrock(reply, token="key", signatures=known) for reply in (first, second)]


def mistral_turn() -> list[ScriptedReply]:
    first = mistral_answer(thinking="I look", calls=[mistral_call(*LS), mistral_call(*READ)])
    return [strict_mistral(first), strict_mistral(mistral_answer("Seen by mistral.", thinking="I saw"))]


def completions_turn() -> list[ScriptedReply]:
    # A server whose ids repeat and hold what other APIs refuse.
    calls = [fake_openai.call(*LS, call_id="call|1 é"), fake_openai.call(*READ, call_id="call|2 é")]
    replies = [fake_openai.openai_answer("Looking.", reasoning="I look", calls=calls)]
    replies.append(fake_openai.openai_answer("Seen by completions.", reasoning="I saw"))
    return [fake_openai.strict_reply(reply) for reply in replies]


STOPS = (
    Stop("anthropic", "anthropic-messages", "claude-sonnet-4-5", anthropic_turn, ANTHROPIC_SIGNATURE),
    Stop("responses", "openai-responses", "gpt-6", responses_turn, ENCRYPTED, "/v1"),
    Stop("google", "google-generative-ai", "gemini-3-pro", google_turn, GOOGLE_SIGNATURE_START, "/v1beta"),
    Stop("bedrock", "bedrock-converse-stream", "us.anthropic.claude-sonnet-4-5", bedrock_turn, BEDROCK_SIGNATURE),
    Stop("mistral", "mistral-conversations", "magistral-medium", mistral_turn),
    Stop("completions", "openai-completions", "local-model", completions_turn, "", "/v1"),
)
JOURNEY = (*STOPS, *STOPS[-1::-1])
"""There and back; the last stop is visited twice in a row."""


def picture() -> bytes:
    data = BytesIO()
    Image.new("RGB", (2, 2), "red").save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    (tmp_path / "pixel.png").write_bytes(picture())
    return tmp_path


class Journey:
    """The servers, and one session that goes from one to the next."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers: dict[str, FakeServer] = {}
        self.registry = ModelRegistry.in_memory(AuthStorage.in_memory({}))
        for stop in STOPS:
            model = {"id": stop.model, "reasoning": True, "input": ["text", "image"], "maxTokens": 8192}
            server = FakeServer([*stop.turn(), *stop.turn()])
            self.servers[stop.name] = stack.enter_context(server)
            base_url = server.url + stop.path
            config = {"baseUrl": base_url, "apiKey": "key", "api": stop.api, "models": [model]}
            self.registry.register_provider(f"at-{stop.name}", config)

    async def travel(self, cwd: Path) -> Session:
        """Ask at every stop of the journey; returns the session."""
        async with await PiAgent.create(
            cwd=cwd,
            agent_dir=cwd / "agent",
            session_manager=InMemorySessionManager(cwd=cwd),
            settings_manager=SettingsManager.in_memory({"retry": {"enabled": False}}),
            model_registry=self.registry,
            model=self.registry.find("at-anthropic", "claude-sonnet-4-5"),
            thinking_level="high",
            tools=["ls", "read"],
        ) as pi:
            session = await pi.create_agent_session()
            for number, stop in enumerate(JOURNEY):
                model = self.registry.find(f"at-{stop.name}", stop.model)
                assert model is not None
                await session.set_model(model)
                image = ImageContent(base64.b64encode(picture()).decode(), "image/png")
                await session.prompt(f"question {number}", images=[image])
                last = session.messages[-1]
                assert isinstance(last, AssistantMessage)
                assert last.stop_reason == "stop", f"{stop.name}: {last.error_message}"
                assert last.text == f"Seen by {stop.name}."
            return session.session

    def requests(self, name: str) -> list[RecordedRequest]:
        return self.servers[name].requests


@pytest.fixture
def travelled(work: Path) -> Any:
    with ExitStack() as stack:
        journey = Journey(stack)
        tree = asyncio.run(journey.travel(work))
        yield journey, tree


def test_a_session_goes_through_all_apis_and_back(travelled: tuple[Journey, Session]) -> None:
    journey, tree = travelled
    assert [len(journey.requests(stop.name)) for stop in STOPS] == [4] * len(STOPS)
    for stop in STOPS:
        for other in STOPS:
            if other is not stop and other.mark:
                assert not any(other.mark.encode() in request.body for request in journey.requests(stop.name))
        assert not stop.mark or stop.mark.encode() in journey.requests(stop.name)[-1].body
    last = journey.requests("anthropic")[-1].body.decode()
    for number in range(len(JOURNEY)):
        assert f"question {number}" in last
    for stop in STOPS:
        assert f"Seen by {stop.name}." in last
    messages = tree.build_session_context().messages
    results = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert len(results) == 2 * len(JOURNEY)
    assert not any(result.is_error for result in results)
    assert sum(isinstance(block, ImageContent) for result in results for block in result.content) == len(JOURNEY)
    thoughts = [
        b for m in messages if isinstance(m, AssistantMessage) for b in m.content if isinstance(b, ThinkingContent)
    ]
    assert len(thoughts) >= 2 * len(JOURNEY)


def test_every_request_of_a_stop_keeps_what_the_one_before_it_said(travelled: tuple[Journey, Session]) -> None:
    journey, _ = travelled
    for stop in STOPS:
        requests = journey.requests(stop.name)
        for before, after in zip(requests[::2], requests[1::2], strict=True):
            earlier, later = turns_of(before), turns_of(after)
            assert later[: len(earlier)] == earlier, stop.name
            assert len(later) > len(earlier)


def turns_of(request: RecordedRequest) -> list[Any]:
    """The turns of a request, without the cache marks, which move."""
    body = request.json
    turns: list[Any] = without_marks(body.get("messages") or body.get("contents") or body.get("input"))
    return turns


def without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [without_marks(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    if not isinstance(value, dict):
        return value
    plain = {name: without_marks(item) for name, item in value.items() if name != "cache_control"}
    if (
        isinstance(plain.get("content"), list)
        and len(plain["content"]) == 1
        and set(plain["content"][0]) == {"type", "text"}
    ):
        plain["content"] = plain["content"][0]["text"]
    return json.loads(json.dumps(plain))
