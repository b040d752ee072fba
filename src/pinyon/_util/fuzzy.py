"""Fuzzy matching as lists and menus use it: the characters of a query occur in order, and better places score lower."""

from __future__ import annotations

import re

_WORD_ENDS = frozenset(" \t-_./\\:")
_LETTERS_THEN_DIGITS = re.compile(r"([a-z]+)([0-9]+)")
_DIGITS_THEN_LETTERS = re.compile(r"([0-9]+)([a-z]+)")
_SWAP_PENALTY = 5.0
_WHOLE_BONUS = 100.0
_WORD_START_BONUS = 10.0
_RUN_BONUS = 5.0
_GAP_PENALTY = 2.0
_POSITION_PENALTY = 0.1


def fuzzy_score(query: str, text: str) -> float | None:
    """How well a query of one or more words matches a text, lower is better; None where it does not.

    Case does not matter. Words are separated by blanks or `/`, and all must match.
    """
    total = 0.0
    for word in re.split(r"[\s/]+", query.strip()):
        score = _word_score(word.lower(), text.lower())
        if score is None:
            return None
        total += score
    return total


def _word_score(word: str, text: str) -> float | None:
    if not word:
        return 0.0
    score = _best_score(word, text)
    if score is None and (swapped := _swapped(word)) is not None:
        score = _best_score(swapped, text)
        return None if score is None else score + _SWAP_PENALTY
    return score


def _swapped(word: str) -> str | None:
    """`gpt5` for `5gpt` and the other way round."""
    match = _LETTERS_THEN_DIGITS.fullmatch(word) or _DIGITS_THEN_LETTERS.fullmatch(word)
    return None if match is None else match[2] + match[1]


def _best_score(word: str, text: str) -> float | None:
    """The better of the first places of all characters and of each place where they stand together."""
    places = _places_in_order(word, text)
    if places is None:
        return None
    best = _score(places, text)
    at = text.find(word)
    while at >= 0:
        best = min(best, _score(range(at, at + len(word)), text))
        at = text.find(word, at + 1)
    return best - _WHOLE_BONUS if word == text else best


def _places_in_order(word: str, text: str) -> list[int] | None:
    places = []
    at = -1
    for char in word:
        at = text.find(char, at + 1)
        if at < 0:
            return None
        places.append(at)
    return places


def _score(places: list[int] | range, text: str) -> float:
    score, run, previous = 0.0, 0, -1
    for at in places:
        if previous >= 0 and at == previous + 1:
            run += 1
            score -= run * _RUN_BONUS
        elif previous >= 0:
            run = 0
            score += (at - previous - 1) * _GAP_PENALTY
        if at == 0 or text[at - 1] in _WORD_ENDS:
            score -= _WORD_START_BONUS
        score += at * _POSITION_PENALTY
        previous = at
    return score
