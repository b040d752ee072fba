from typing import Any

import pytest

from pinyon.ai.codec import message_to_wire
from pinyon.ai.cost import apply_cost, apply_reported_total, apply_service_tier, token_cost
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import CostTier, Model, ModelCost
from pinyon.ai.usage import Usage

TIERS = [CostTier(200, 6, 30, 0.6, 7.5), CostTier(100, 4, 20, 0.4, 5)]
RATES = ModelCost(3, 15, 0.3, 3.75, TIERS)


def model(cost: ModelCost = RATES, provider: str = "p", **fields: Any) -> Model:
    named: dict[str, Any] = {"id": "m", "name": "m", **fields}
    return Model(api="a", provider=provider, base_url="", cost=cost, **named)


def test_writes_for_an_hour_cost_twice_the_input_rate() -> None:
    usage = Usage(10, 20, 3, 4, cache_write_1h=2)
    assert token_cost(ModelCost(1, 2, 0.1, 1.25), usage).total == 0.0000568


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (Usage(150, 7, 50, 1), 0.0011474999999999999),
        (Usage(150, 7, 50, 0), 0.00076),
        (Usage(100, 7, 0, 0), 0.000405),
    ],
)
def test_the_highest_tier_that_is_exceeded_prices_the_whole_request(usage: Usage, total: float) -> None:
    assert token_cost(RATES, usage).total == pytest.approx(total, rel=1e-12)


def test_a_cost_of_nothing_is_written_as_the_integer_zero() -> None:
    message = AssistantMessage(
        content=[],
        api="a",
        provider="p",
        model="m",
        usage=apply_cost(model(), Usage()),
        stop_reason="stop",
        timestamp=1,
    )
    cost = message_to_wire(message)["usage"]["cost"]
    assert cost == {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "totalFromProvider": False}
    assert all(type(value) is int for name, value in cost.items() if name != "totalFromProvider")


@pytest.mark.parametrize(
    ("tier", "model_id", "factor"),
    [("flex", "m", 0.5), ("priority", "m", 2), ("priority", "gpt-5.5", 2.5), ("default", "m", 1), (None, "m", 1)],
)
def test_service_tiers_multiply_every_part(tier: str | None, model_id: str, factor: float) -> None:
    usage = apply_cost(model(), Usage(10, 10, 10, 10))
    before = usage.cost
    apply_service_tier(model(id=model_id), usage, tier, frozenset({"priority", "fast"}))
    assert usage.cost.output == pytest.approx(before.output * factor)
    assert usage.cost.total == pytest.approx(before.total * factor)


@pytest.mark.parametrize(
    ("raw", "total"),
    [
        ({"cost": 0.5, "is_byok": False}, 0.5),
        ({"cost": 0.5, "is_byok": True, "cost_details": {"upstream_inference_cost": 1}}, 1.5),
        (
            {
                "cost": 0.5,
                "is_byok": True,
                "cost_details": {
                    "upstream_inference_cost": None,
                    "upstream_inference_prompt_cost": 1,
                    "upstream_inference_completions_cost": 2,
                },
            },
            3.5,
        ),
        ({"cost": 0.5}, None),
        ({"cost": -1, "is_byok": False}, None),
        ({"cost": float("inf"), "is_byok": False}, None),
        ({"cost": True, "is_byok": False}, None),
        ({"cost": 0.5, "is_byok": True, "cost_details": {"upstream_inference_prompt_cost": 1}}, None),
    ],
)
def test_a_total_that_the_provider_reports_counts_where_it_can_be_trusted(
    raw: dict[str, Any], total: float | None
) -> None:
    usage = apply_cost(model(), Usage(10, 10))
    computed = usage.cost.total
    apply_reported_total(model(provider="openrouter"), usage, raw)
    assert usage.cost.total == (computed if total is None else total)
    assert usage.cost.total_from_provider is (total is not None)


def test_other_providers_report_no_total() -> None:
    usage = apply_cost(model(), Usage(10, 10))
    apply_reported_total(model(), usage, {"cost": 9, "is_byok": False})
    assert usage.cost.total_from_provider is False
