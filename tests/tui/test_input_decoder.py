"""What terminals send becomes keys, pastes and mouse events, however it was cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from pinyon.tui.input_decoder import InputDecoder
from pinyon.tui.key import normal_key


def described(messages: list[Message]) -> list[str]:
    found = []
    for message in messages:
        if isinstance(message, events.Key):
            found.append(normal_key(message.key))
        elif isinstance(message, events.Paste):
            found.append(f"paste:{message.text}")
        else:
            found.append(type(message).__name__)
    return found


def decoded(*chunks: str) -> list[str]:
    decoder = InputDecoder()
    found = [message for chunk in chunks for message in decoder.feed(chunk)]
    return described(found + decoder.flush())


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("a", "a"),
        ("\r", "enter"),
        ("\x1b", "escape"),
        ("\x1b\r", "alt+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27;5;93~", "ctrl+]"),
        ("\x1bd", "alt+d"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b[1;3A", "alt+up"),
        ("\x1b[1;5A", "ctrl+up"),
        ("\x1b[Z", "shift+tab"),
        ("\x1f", "ctrl+-"),
        ("\x1d", "ctrl+]"),
        ("\x0a", "ctrl+j"),
        ("\x1b[5~", "pageUp"),
        ("\x1bOA", "up"),
        ("\x1b\x1b[A", "alt+up"),
        ("\x7f", "backspace"),
        ("\x1b[127;3u", "alt+backspace"),
        ("\x16", "ctrl+v"),
    ],
)
def test_each_encoding_is_understood(sent: str, key: str) -> None:
    assert decoded(sent) == [key]


def test_a_paste_whose_start_is_cut_is_one_paste() -> None:
    assert decoded("\x1b", "[200~hello", "\x1b[201~") == ["paste:hello"]


def test_text_around_a_paste_is_typed() -> None:
    assert decoded("ab\x1b[200~x\ny\x1b[201~c") == ["a", "b", "paste:x\ny", "c"]


def test_an_escape_then_enter_in_two_pieces_is_alt_enter() -> None:
    assert decoded("\x1b", "\r") == ["alt+enter"]


def test_a_lone_escape_waits_for_its_time() -> None:
    decoder = InputDecoder()
    assert decoder.feed("\x1b") == []
    assert decoder.is_waiting
    assert described(decoder.flush()) == ["escape"]
    assert not decoder.is_waiting


def test_replies_of_the_terminal_are_no_keys() -> None:
    assert decoded("\x1b]11;rgb:ffff/ffff/ffff\x07", "x") == ["TerminalReply", "x"]


STREAM = "a\x1b[200~p\x1b[Aq\x1b[201~\x1b[1;5Cb\x1b[<0;3;4M\x1b[<0;3;4mü\x1b[13;2u\x1b]11;rgb:0/0/0\x1b\\z"


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=12))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(set(cuts)), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(places)]
    assert decoded(*chunks) == decoded(STREAM)
    assert decoded(STREAM)[:4] == ["a", "paste:p\x1b[Aq", "ctrl+right", "b"]


@given(st.text(alphabet="\x1b[]O;<>0123456789~uMmAZPabc\x07\\ü", max_size=40))
def test_nothing_that_is_sent_breaks_it(text: str) -> None:
    decoder = InputDecoder()
    for character in text:
        decoder.feed(character)
    decoder.flush()
