"""Searching a list of sessions."""

from __future__ import annotations

import pytest

from pinyon.session.listing import SessionInfo
from pinyon.session.search import parse_search_query, search_sessions


def info(session_id: str, name: str | None = None, text: str = "", cwd: str = "/w", modified: int = 1) -> SessionInfo:
    return SessionInfo(
        path=f"/{session_id}.jsonl",
        id=session_id,
        name=name,
        all_messages_text=text,
        cwd=cwd,
        modified=f"2025-01-01T00:00:{modified:02d}.000Z",
    )


SESSIONS = [
    info("s1", None, "fix the login page\nand   the tests", modified=1),
    info("s2", "Login refactor", "something else", modified=2),
    info("s3", "Other", "talk about LOGIN", modified=3),
    info("s4", "Long orange gin", "", modified=4),
    info("s5", None, "unrelated", "/home/user/login-service", modified=5),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("login", ["s2", "s5", "s3", "s1", "s4"]),
        ("LOGIN tests", ["s1"]),
        ('"the tests"', ["s1"]),
        ('"page and the"', ["s1"]),
        ('"the login" tests', ["s1"]),
        ('"login page', []),
        ('login "', []),
        ("re:log.n re", ["s2"]),
        ("re:^s[12]$", ["s2", "s1"]),
        ("re:(", []),
        ("s3", ["s3"]),
        ("login-service", ["s5"]),
        ("zzz", []),
        ("", ["s1", "s2", "s3", "s4", "s5"]),
        ("   ", ["s1", "s2", "s3", "s4", "s5"]),
        ('""', ["s1", "s2", "s3", "s4", "s5"]),
    ],
)
def test_a_query_finds_the_best_first(query: str, found: list[str]) -> None:
    assert [i.id for i in search_sessions(SESSIONS, query)] == found


def test_names_come_before_texts_and_texts_before_fuzzy_hits() -> None:
    order = [i.id for i in search_sessions(SESSIONS, "login")]
    assert order.index("s2") < order.index("s3") < order.index("s4")


def test_recent_keeps_the_order_of_the_list() -> None:
    assert [i.id for i in search_sessions(SESSIONS, "login", sort="recent")] == ["s1", "s2", "s3", "s4", "s5"]


def test_only_named_sessions_if_asked() -> None:
    assert [i.id for i in search_sessions(SESSIONS, named_only=True)] == ["s2", "s3", "s4"]
    assert [i.id for i in search_sessions(SESSIONS, "login", named_only=True)] == ["s2", "s3", "s4"]


def test_text_is_never_searched_fuzzily() -> None:
    assert search_sessions([info("x", None, "l o g i n")], "login") == []


def test_a_bad_pattern_says_what_is_wrong() -> None:
    assert "regular expression" in (parse_search_query("re:(").error or "")
    assert parse_search_query("re:a").error is None
