"""Searching a list of sessions.

Words must all occur; `"a phrase"` occurs as it stands, whatever blanks are between its words; `re:pattern` is a regular
expression. Case never matters. A quote that is not closed makes everything plain words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from pinyon._util.fuzzy import fuzzy_score
from pinyon.session.listing import SessionInfo

SessionSort = Literal["recent", "relevance"]

_TIER = 1_000_000.0
_TOKEN = re.compile(r'"([^"]*)"|([^\s"]+)')
_BLANKS = re.compile(r"\s+")


class SearchToken(msgspec.Struct, frozen=True):
    """One word or phrase of a query, in lower case."""

    text: str
    is_phrase: bool = False


class SearchQuery(msgspec.Struct, frozen=True):
    """A parsed query. `error` says why a pattern cannot be used; such a query matches nothing."""

    tokens: tuple[SearchToken, ...] = ()
    pattern: str | None = None
    error: str | None = None


def parse_search_query(text: str) -> SearchQuery:
    """Parse what the user typed."""
    text = text.strip()
    if text.startswith("re:"):
        pattern = text[3:].strip()
        try:
            re.compile(pattern)
        except re.error as error:
            return SearchQuery(pattern=pattern, error=f"not a regular expression: {error}")
        return SearchQuery(pattern=pattern)
    if text.count('"') % 2:
        return SearchQuery(tuple(SearchToken(word.lower()) for word in text.split()))
    tokens = []
    for phrase, word in _TOKEN.findall(text):
        folded = _folded(phrase or word)
        if folded:
            tokens.append(SearchToken(folded, is_phrase=bool(phrase)))
    return SearchQuery(tuple(tokens))


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().lower()


def search_score(info: SessionInfo, query: SearchQuery) -> float | None:
    """How well a session matches, lower is better; None where it does not.

    A hit in the name comes before one in id, messages or working directory, and that before a fuzzy one.
    """
    if query.error is not None:
        return None
    if query.pattern is not None:
        matches = re.compile(query.pattern, re.IGNORECASE).search
        return _literal_tier(info, lambda text: matches(text) is not None)
    scores = [_token_score(info, token) for token in query.tokens]
    return None if None in scores else sum(score for score in scores if score is not None)


def _token_score(info: SessionInfo, token: SearchToken) -> float | None:
    if token.is_phrase:
        return _literal_tier(info, lambda text: token.text in _folded(text))
    tier = _literal_tier(info, lambda text: token.text in text.lower())
    if tier is not None:
        return tier
    scores = [score for text in (info.name, info.cwd) if text and (score := fuzzy_score(token.text, text)) is not None]
    return 2 * _TIER + min(scores) if scores else None


def _literal_tier(info: SessionInfo, is_hit: Callable[[str], bool]) -> float | None:
    if info.name and is_hit(info.name):
        return 0.0
    return _TIER if any(map(is_hit, (info.id, info.all_messages_text, info.cwd))) else None


def search_sessions(
    infos: Iterable[SessionInfo], query: str = "", *, sort: SessionSort = "relevance", named_only: bool = False
) -> list[SessionInfo]:
    """The sessions that match, best first (`relevance`) or in the order in which they came (`recent`)."""
    parsed = parse_search_query(query)
    scored = []
    for info in infos:
        if named_only and not info.name:
            continue
        score = search_score(info, parsed)
        if score is not None:
            scored.append((score, info))
    if sort == "relevance" and (parsed.tokens or parsed.pattern is not None):
        scored.sort(key=lambda item: (item[0], -item[1].modified_ms))
    return [info for _, info in scored]
