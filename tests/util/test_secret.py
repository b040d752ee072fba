"""Secrets in texts that people read."""

from __future__ import annotations

import pytest

from pinyon._util.secret import mask_secret, redact, redact_json


@pytest.mark.parametrize(
    ("secret", "mask"), [("", "***"), ("short", "***"), ("sk-123456789", "***"), ("sk-1234567890abcdef", "***cdef")]
)
def test_a_mask_shows_the_end_of_long_secrets_only(secret: str, mask: str) -> None:
    assert mask_secret(secret) == mask


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("bad key sk-canary-1 given", "bad key *** given"),
        ("proxy http://user:pass@host:1/ refused", "proxy http://***@host:1/ refused"),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer ***"),
        ('{"authorization":"Bearer abcdefgh","a":1}', '{"authorization":"Bearer ***","a":1}'),
        ("x-api-key: abc", "x-api-key: ***"),
        ("api_key=abc, retry", "api_key=***, retry"),
        ("Bearer abc123def", "Bearer ***"),
        ("Bearer authentication required", "Bearer authentication required"),
        ("bearer token expired", "bearer token expired"),
        ("see http://host:80/a@b", "see http://host:80/a@b"),
        ("nothing here", "nothing here"),
    ],
)
def test_texts_are_cleaned(text: str, clean: str) -> None:
    assert redact(text, ["sk-canary-1", None, "", "a"]) == clean


def test_a_secret_that_contains_another_is_replaced_as_a_whole() -> None:
    assert redact("abcdef-ghijkl", ["abcdef", "abcdef-ghijkl"]) == "***"


def test_a_part_that_a_cut_left_of_a_long_secret_is_replaced_too() -> None:
    secret = "sk-0123456789abcdefghijklmnop"
    assert redact(f"bad key {secret[:20]}... [9 more]", [secret]) == "bad key ***... [9 more]"
    assert redact(f"{secret[:20]} {secret} {secret[:-1]}", [secret]) == "*** *** ***"
    assert redact("keys begin with sk-0123", [secret]) == "keys begin with sk-0123"


def test_json_values_are_cleaned_wherever_a_secret_stands() -> None:
    value = {"a sk-canary-1": ["x", {"b": "sk-canary-1", "c": 1, "d": None}]}
    assert redact_json(value, ["sk-canary-1"]) == {"a ***": ["x", {"b": "***", "c": 1, "d": None}]}
