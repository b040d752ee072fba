import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.short_hash import short_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "k4n83c7h0j2b"),
        ("a", "m8735310ae7sx"),
        ("fc_1", "lxmq3j1alksqn"),
        ("call_abc|fc_def", "1bzo9qik7v7gs"),
        ("héllo 🙈", "1r9pcqe1rwk5iz"),
    ],
)
def test_the_hash_of_a_text_never_changes(text: str, expected: str) -> None:
    assert short_hash(text) == expected


@given(st.text(alphabet=st.characters()))
def test_any_text_has_a_short_hash_of_plain_characters(text: str) -> None:
    made = short_hash(text)
    assert 2 <= len(made) <= 14
    assert made.isalnum()
    assert made == made.lower()


def test_halves_of_surrogate_pairs_are_hashed_as_they_are() -> None:
    assert short_hash("\ud83d\ude00") == short_hash("😀")
    assert short_hash("\ud83d") != short_hash("\ude00")
