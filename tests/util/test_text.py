"""Texts that hold half characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util.text import clean_surrogates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ü 😀", "plain ü 😀"),
        ("a\ud83d\ude00b", "a😀b"),
        ("a\ud83db\ude00", "a\ufffdb\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\udcc3\udcbc and \udcff", "ü and \ufffd"),
        ("x\udce4\udcbd", "x\ufffd\ufffd"),
        ("\udced\udca0\udcbd", "\ufffd\ufffd\ufffd"),
        ("\ud83d\udca9", "💩"),
    ],
)
def test_halves_are_joined_and_what_stays_lone_is_replaced(text: str, expected: str) -> None:
    assert clean_surrogates(text) == expected


@given(st.text())
def test_text_whose_bytes_were_left_undecoded_is_restored(text: str) -> None:
    assert clean_surrogates(text.encode().decode("ascii", "surrogateescape")) == text


@given(st.text(st.characters(codec=None, categories=["Cs", "Lu", "So"])))
def test_the_result_can_always_be_encoded(text: str) -> None:
    clean = clean_surrogates(text)
    assert clean.encode().decode() == clean
    assert clean_surrogates(clean) == clean
