"""Token counts and costs are the same whatever the API calls them: caches of both lifetimes, reasoning, tiers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pinyon.ai.api import get_api
from pinyon.ai.message import UserMessage
from pinyon.ai.model import CostTier, Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.testing import fake_anthropic, fake_bedrock, fake_openai, fake_pi_messages, fake_responses
from pinyon.testing.fake_google import google_answer, google_usage
from pinyon.testing.fake_mistral import mistral_answer, mistral_usage
from pinyon.testing.fake_server import FakeServer, ScriptedReply

TIER = CostTier(input_tokens_above=1200, input=6, output=30, cache_read=0.6, cache_write=7.5)
RATES = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75, tiers=[TIER])


class Counted(msgspec.Struct):
    """An answer that reports 1000 fresh tokens, 300 cached ones, 50 of output, and what of the rest its API tells."""

    reply: ScriptedReply
    written: int = 0
    long_written: int = 0
    reasoned: int = 0


ANTHROPIC = fake_anthropic.usage(
    1000, 50, 300, 200, cache_creation={"ephemeral_5m_input_tokens": 120, "ephemeral_1h_input_tokens": 80}
)
COMPLETIONS = {
    "prompt_tokens": 1500,
    "completion_tokens": 50,
    "total_tokens": 1550,
    "prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 200},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
RESPONSES = fake_responses.usage(1500, 50, cached=300, written=200, reasoned=20)
GOOGLE = google_usage(1300, 30, cachedContentTokenCount=300, thoughtsTokenCount=20)
BEDROCK = fake_bedrock.usage(1000, 50, 300, 200, cacheDetails=[{"ttl": "1h", "inputTokens": 80}])
MISTRAL = mistral_usage(1300, 50, prompt_tokens_details={"cached_tokens": 300})
GATEWAY = {"input": 1000, "output": 50, "cacheRead": 300, "cacheWrite": 200, "cacheWrite1h": 80, "totalTokens": 1550}

ANSWERS = {
    "anthropic-messages": Counted(fake_anthropic.anthropic_answer(fake_anthropic.text("x"), counts=ANTHROPIC), 200, 80),
    "openai-completions": Counted(fake_openai.openai_answer("x", counts=COMPLETIONS), 200, 0, 20),
    "openai-responses": Counted(
        fake_responses.responses_answer(fake_responses.message("x"), usage=RESPONSES), 200, 0, 20
    ),
    "azure-openai-responses": Counted(
        fake_responses.responses_answer(fake_responses.message("x"), usage=RESPONSES), 200, 0, 20
    ),
    "google-generative-ai": Counted(google_answer("x", usage=GOOGLE), 0, 0, 20),
    "bedrock-converse-stream": Counted(fake_bedrock.bedrock_answer(fake_bedrock.text("x"), counts=BEDROCK), 200, 80),
    "mistral-conversations": Counted(mistral_answer("x", usage=MISTRAL)),
    "pi-messages": Counted(fake_pi_messages.gateway_answer(fake_pi_messages.text("x"), usage=GATEWAY), 200, 80),
}


def ask(api: str, cost: ModelCost) -> Usage:
    with FakeServer([ANSWERS[api].reply]) as server:
        model = Model(id="m", name="m", api=api, provider="somebody", base_url=server.url, cost=cost)
        user = UserMessage(content="hello", timestamp=1)
        options = StreamOptions(api_key="key")
        message = asyncio.run(get_api(api).stream(model, [user], options).result())
    assert message.stop_reason == "stop", message.error_message
    return message.usage


@pytest.mark.parametrize("api", list(ANSWERS))
def test_counts_leave_nothing_out_and_count_nothing_twice(api: str) -> None:
    usage, counted = ask(api, RATES), ANSWERS[api]
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (1000, 50, 300, counted.written)
    assert usage.total_tokens == 1350 + counted.written
    assert (usage.cache_write_1h or 0) == counted.long_written
    assert (usage.reasoning if usage.reasoning is not UNSET else 0) == counted.reasoned


@pytest.mark.parametrize("api", list(ANSWERS))
@pytest.mark.parametrize("has_tiers", [True, False])
def test_costs_are_exact_and_follow_the_tier_of_the_whole_request(api: str, has_tiers: bool) -> None:
    counted = ANSWERS[api]
    rates: Any = TIER if has_tiers else RATES
    cost = ask(api, RATES if has_tiers else msgspec.structs.replace(RATES, tiers=UNSET)).cost
    written = (
        rates.cache_write * (counted.written - counted.long_written) + 2 * rates.input * counted.long_written
    ) / 1e6
    assert cost.input == pytest.approx(rates.input * 1000 / 1e6, rel=1e-12)
    assert cost.output == pytest.approx(rates.output * 50 / 1e6, rel=1e-12)
    assert cost.cache_read == pytest.approx(rates.cache_read * 300 / 1e6, rel=1e-12)
    assert cost.cache_write == pytest.approx(written, rel=1e-12)
    assert cost.total == pytest.approx(cost.input + cost.output + cost.cache_read + cost.cache_write, rel=1e-12)
    assert cost.total_from_provider is False
