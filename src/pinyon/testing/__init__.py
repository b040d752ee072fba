"""What programs test their agents with: a scripted model, a clock, and fake provider servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.ai.apis.faux import (
        DeferredPolicy,
        FauxProvider,
        FauxState,
        Pace,
        faux_assistant_message,
        faux_text,
        faux_thinking,
        faux_tool_call,
    )
    from pinyon.testing.cassette import Cassette, CassetteError, RecordedExchange
    from pinyon.testing.fake_anthropic import AnthropicAnswer, anthropic_answer, anthropic_reply, strict_anthropic
    from pinyon.testing.fake_bedrock import bedrock_answer, strict_bedrock
    from pinyon.testing.fake_clock import FakeClock
    from pinyon.testing.fake_codex import FakeSocketServer
    from pinyon.testing.fake_google import google_answer, google_call, google_fault, strict_google
    from pinyon.testing.fake_mistral import mistral_answer, mistral_call, mistral_fault, strict_mistral
    from pinyon.testing.fake_oauth import FakeOAuth
    from pinyon.testing.fake_openai import conversation_fault, openai_answer, strict_reply
    from pinyon.testing.fake_pi_messages import gateway_answer, strict_gateway
    from pinyon.testing.fake_responses import ResponsesAnswer, responses_answer, responses_reply, strict_responses
    from pinyon.testing.fake_server import Cut, Delay, FakeServer, Gate, RecordedRequest, Reply, Stall
    from pinyon.testing.scripted import (
        ScriptedAnswer,
        scripted_model,
        scripted_options,
        scripted_session,
        scripted_sync_session,
        session_answers,
    )
    from pinyon.testing.stream import collect, event_names, final_message

__all__ = [
    "AnthropicAnswer",
    "Cassette",
    "CassetteError",
    "Cut",
    "DeferredPolicy",
    "Delay",
    "FakeClock",
    "FakeOAuth",
    "FakeServer",
    "FakeSocketServer",
    "FauxProvider",
    "FauxState",
    "Gate",
    "Pace",
    "RecordedExchange",
    "RecordedRequest",
    "Reply",
    "ResponsesAnswer",
    "ScriptedAnswer",
    "Stall",
    "anthropic_answer",
    "anthropic_reply",
    "bedrock_answer",
    "collect",
    "conversation_fault",
    "event_names",
    "faux_assistant_message",
    "faux_text",
    "faux_thinking",
    "faux_tool_call",
    "final_message",
    "gateway_answer",
    "google_answer",
    "google_call",
    "google_fault",
    "mistral_answer",
    "mistral_call",
    "mistral_fault",
    "openai_answer",
    "responses_answer",
    "responses_reply",
    "scripted_model",
    "scripted_options",
    "scripted_session",
    "scripted_sync_session",
    "session_answers",
    "strict_anthropic",
    "strict_bedrock",
    "strict_gateway",
    "strict_google",
    "strict_mistral",
    "strict_reply",
    "strict_responses",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.ai.apis.faux": (
            "DeferredPolicy",
            "FauxProvider",
            "FauxState",
            "Pace",
            "faux_assistant_message",
            "faux_text",
            "faux_thinking",
            "faux_tool_call",
        ),
        "pinyon.testing.cassette": ("Cassette", "CassetteError", "RecordedExchange"),
        "pinyon.testing.fake_anthropic": (
            "AnthropicAnswer",
            "anthropic_answer",
            "anthropic_reply",
            "strict_anthropic",
        ),
        "pinyon.testing.fake_bedrock": (
            "bedrock_answer",
            "strict_bedrock",
        ),
        "pinyon.testing.fake_clock": ("FakeClock",),
        "pinyon.testing.fake_oauth": ("FakeOAuth",),
        "pinyon.testing.fake_codex": ("FakeSocketServer",),
        "pinyon.testing.fake_google": (
            "google_answer",
            "google_call",
            "google_fault",
            "strict_google",
        ),
        "pinyon.testing.fake_mistral": (
            "mistral_answer",
            "mistral_call",
            "mistral_fault",
            "strict_mistral",
        ),
        "pinyon.testing.fake_openai": (
            "conversation_fault",
            "openai_answer",
            "strict_reply",
        ),
        "pinyon.testing.fake_responses": (
            "ResponsesAnswer",
            "responses_answer",
            "responses_reply",
            "strict_responses",
        ),
        "pinyon.testing.fake_pi_messages": (
            "gateway_answer",
            "strict_gateway",
        ),
        "pinyon.testing.fake_server": (
            "Cut",
            "Delay",
            "FakeServer",
            "Gate",
            "RecordedRequest",
            "Reply",
            "Stall",
        ),
        "pinyon.testing.scripted": (
            "ScriptedAnswer",
            "scripted_model",
            "scripted_options",
            "scripted_session",
            "scripted_sync_session",
            "session_answers",
        ),
        "pinyon.testing.stream": (
            "collect",
            "event_names",
            "final_message",
        ),
    },
)
