import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.call_id import MistralIds, completions_id, distinct_id, responses_id, safe_id

LONG_PAIR = "call_1|fc_" + "a" * 60


@pytest.mark.parametrize(
    ("call_id", "expected"),
    [("toolu_01", "toolu_01"), ("a|b.c", "a_b_c"), ("x" * 70, "x" * 64), ("é", "_")],
)
def test_plain_ids_have_letters_digits_and_two_signs(call_id: str, expected: str) -> None:
    assert safe_id(call_id) == expected


def test_a_long_pair_keeps_its_call_part_and_a_hash() -> None:
    assert completions_id(LONG_PAIR, "fake") == "call_1_isndaisj"
    assert len(completions_id("c" * 80 + "|fc_1", "fake")) == 40


@pytest.mark.parametrize(("provider", "length"), [("openai", 40), ("fake", 60)])
def test_only_the_vendor_cuts_ids_without_parts(provider: str, length: int) -> None:
    assert completions_id("x" * 60, provider) == "x" * length


def test_ids_of_the_responses_api_keep_or_lose_their_item_part() -> None:
    assert responses_id("c|fc_1", "openai", same_provider=True) == "c|fc_1"
    assert responses_id("c|1", "openai", same_provider=True) == "c|fc_1"
    assert responses_id("c|fc_1", "openai", same_provider=False).startswith("c|fc_")
    assert responses_id("c|fc_1", "openai", same_provider=False) != "c|fc_1"
    assert responses_id("c|fc_1_", "other", same_provider=True) == "c_fc_1"


def test_mistral_ids_are_nine_characters_and_the_same_for_call_and_result() -> None:
    ids = MistralIds()
    assert ids("abcdefghi") == "abcdefghi"
    assert ids("abc-def-ghi") != "abcdefghi"
    assert ids("call_1") == ids("call_1")


@given(st.lists(st.text(), unique=True))
def test_mistral_ids_never_collide(call_ids: list[str]) -> None:
    ids = MistralIds()
    made = [ids(call_id) for call_id in call_ids]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch("[A-Za-z0-9]{9}", item) for item in made)


@given(st.text(), st.integers(min_value=2, max_value=99))
def test_a_distinct_id_is_short_and_plain(call_id: str, number: int) -> None:
    assert re.fullmatch("[A-Za-z0-9_-]{1,40}", distinct_id(call_id, number))
