from __future__ import annotations

import pytest

from pinyon._util.fuzzy import fuzzy_score


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "anything"),
        ("abc", "a-b-c"),
        ("ABC", "xaxbxc"),
        ("gpt5", "5-gpt5"),
        ("gpt5", "5gpt"),
        ("5gpt", "gpt-5"),
        ("open gpt", "openai/gpt"),
        ("gpt/open", "openai gpt"),
    ],
)
def test_all_characters_in_order_match(query: str, text: str) -> None:
    assert fuzzy_score(query, text) is not None


@pytest.mark.parametrize(("query", "text"), [("abc", "acb"), ("a b", "a"), ("gpt5", "gpt"), ("aa", "a"), ("x", "")])
def test_missing_or_misplaced_characters_do_not_match(query: str, text: str) -> None:
    assert fuzzy_score(query, text) is None


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("abc", "abc", "abcd"),
        ("abc", "xabc", "xaxbxc"),
        ("abc", "x abc", "xyabc"),
        ("abc", "abc....", "....xabc"),
        ("read", "xrexad read", "xrexad xread"),
        ("gpt5", "gpt5", "5gpt"),
    ],
)
def test_runs_word_starts_early_places_and_whole_texts_score_lower(query: str, better: str, worse: str) -> None:
    low, high = fuzzy_score(query, better), fuzzy_score(query, worse)
    assert low is not None
    assert high is not None
    assert low < high
