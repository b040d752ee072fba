from typing import Any

import pytest

from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Cost, Usage
from pinyon.coding.cache_statistics import compute_cache_waste, detect_cache_miss
from pinyon.coding.usage import combine_usage, total_usage
from pinyon.session.session import Session


def answer(input_: int, read: int = 0, write: int = 0, *, at: int = 0, model: str = "m", rate: float = 3e-6) -> Any:
    cost = Cost(input=input_ * rate, cache_write=write * rate, cache_read=read * rate / 10)
    return AssistantMessage(
        content=[],
        api="a",
        provider="p",
        model=model,
        usage=Usage(input=input_, cache_read=read, cache_write=write, cost=cost),
        stop_reason="stop",
        timestamp=at,
    )


def nothing_known(provider: str, model_id: str) -> Model | None:
    del provider, model_id
    return None


def waste(*answers: AssistantMessage, session: Session | None = None) -> Any:
    session = session or Session.in_memory("/p")
    for message in answers:
        session.append_message(message)
    return compute_cache_waste(session.get_entries(), nothing_known)


def test_tokens_that_were_sent_before_and_not_read_from_the_cache_are_missed() -> None:
    found = waste(answer(0, write=10_000), answer(9_000, read=2_000, at=6 * 60 * 1000))
    [miss] = found.misses
    assert (found.missed_tokens, miss.idle_ms, miss.model_changed) == (8_000, 360_000, False)
    assert miss.is_likely_expiry
    assert found.cost == pytest.approx(8_000 * (3e-6 - 3e-7))


def test_a_warm_cache_noise_and_providers_without_a_cache_miss_nothing() -> None:
    assert waste(answer(0, write=10_000), answer(500, read=10_000)).misses == []
    assert waste(answer(0, write=10_000), answer(1_024, read=8_976)).misses == []
    assert waste(answer(10_000), answer(20_000)).misses == []


def test_another_model_misses_everything_and_a_summary_begins_anew() -> None:
    [miss] = waste(answer(0, write=5_000), answer(0, write=5_000, model="n")).misses
    assert miss.model_changed
    session = Session.in_memory("/p")
    session.append_message(answer(0, write=5_000))
    session.append_compaction("s", None, 1)
    assert waste(answer(0, write=5_000), session=session).misses == []


def test_a_request_that_kept_the_cache_warm_counts_as_the_one_before() -> None:
    session = Session.in_memory("/p")
    session.append_message(answer(0, write=3_000))
    session.append_usage("cache_warm", "p", "m", Usage(cache_read=3_000))
    [miss] = waste(answer(9_000), session=session).misses
    assert miss.missed_tokens == 3_000


def test_the_catalogue_gives_the_price_where_nothing_was_read() -> None:
    priced = Model(id="m", name="m", api="a", provider="p", base_url="")
    priced.cost.cache_read = 1
    miss = detect_cache_miss(answer(0, write=5_000), answer(5_000), lambda *_: priced)
    assert miss is not None
    assert miss.cost == pytest.approx(5_000 * (3e-6 - 1e-6))
    assert detect_cache_miss(None, answer(5_000), nothing_known) is None


def test_usages_add_up_and_keep_what_either_reports() -> None:
    one = Usage(input=1, reasoning=2, cost=Cost(total=1, total_from_provider=True))
    two = Usage(input=2, cache_write_1h=3, cost=Cost(total=2))
    total = combine_usage(one, two)
    assert (total.input, total.reasoning, total.cache_write_1h, total.cost.total) == (3, 2, 3, 3)
    assert not total.cost.total_from_provider
    assert combine_usage(one, one).cost.total_from_provider is True
    assert total_usage([]) == Usage()
    assert total_usage([one]) == one
    assert total_usage([one]) is not one
