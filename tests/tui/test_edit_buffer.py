"""The text being written: characters, words, kills, undo, marks of pastes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tui.editor.attachment import Attachment, Attachments, is_large, without_marks
from pinyon.tui.editor.buffer import EditBuffer
from pinyon.tui.editor.editing import clean_paste
from pinyon.tui.editor.layout import layout, row_of

FAMILY = "👩‍👩‍👧"
FLAG = "🇩🇪"


def buffer_of(text: str) -> EditBuffer:
    buffer = EditBuffer()
    buffer.set_text(text)
    return buffer


@pytest.mark.parametrize("character", ["a", "ü", "e\u0301", "漢", FAMILY, FLAG, "👍🏽"])
def test_a_character_as_people_see_it_is_one_step_and_one_deletion(character: str) -> None:
    buffer = buffer_of(f"x{character}")
    buffer.left()
    assert buffer.cursor == 1
    buffer.right()
    assert buffer.cursor == 1 + len(character)
    buffer.delete_back()
    assert buffer.text == "x"


def test_words_stop_at_punctuation() -> None:
    buffer = buffer_of("one two.three")
    places = []
    for _ in range(4):
        buffer.word_left()
        places.append(buffer.cursor)
    assert places == [8, 7, 4, 0]


def test_kills_that_follow_each_other_are_put_back_together() -> None:
    buffer = buffer_of("one two three")
    buffer.kill_word_back()
    buffer.kill_word_back()
    assert buffer.text == "one "
    buffer.yank()
    assert buffer.text == "one two three"


def test_an_older_kill_takes_the_place_of_the_one_put_back() -> None:
    buffer = buffer_of("first")
    buffer.kill_to_line_start()
    buffer.type("x")
    buffer.delete_back()
    buffer.type("second")
    buffer.kill_to_line_start()
    buffer.yank()
    assert buffer.text == "second"
    buffer.yank_pop()
    assert buffer.text == "first"


def test_undo_goes_back_by_words_and_redo_forward() -> None:
    buffer = EditBuffer()
    for character in "one two":
        buffer.type(character)
    buffer.undo()
    assert buffer.text == "one"
    buffer.redo()
    assert buffer.text == "one two"


@given(st.lists(st.sampled_from(["a", " ", "漢", "\n", "back", "killw", "yank", "left"]), max_size=30))
def test_undoing_everything_ends_at_the_beginning(steps: list[str]) -> None:
    buffer = EditBuffer()
    actions = {"back": buffer.delete_back, "killw": buffer.kill_word_back, "yank": buffer.yank, "left": buffer.left}
    for step in steps:
        if step in actions:
            actions[step]()
        else:
            buffer.type(step)
    final = buffer.text
    undone = 0
    while buffer.undo():
        undone += 1
    assert buffer.text == ""
    for _ in range(undone):
        buffer.redo()
    assert buffer.text == final


def test_pastes_swapped_deleted_and_brought_back_expand_to_what_was_pasted() -> None:
    buffer, attachments = EditBuffer(), Attachments()
    first, second = "A\n" * 12, "B\n" * 13
    a = attachments.add(Attachment(text=first))
    b = attachments.add(Attachment(text=second))
    buffer.insert(a)
    buffer.move_to(0)
    buffer.insert(b)
    assert attachments.expand(buffer.text) == second + first
    buffer.move_to(2)
    buffer.delete_back()
    assert attachments.expand(buffer.text) == second
    assert list(attachments.labels(buffer.text).values()) == ["[paste #1 +14 lines]"]
    buffer.undo()
    assert attachments.expand(buffer.text) == second + first


def test_a_marker_typed_by_hand_stays_what_it_is() -> None:
    attachments = Attachments()
    attachments.add(Attachment(text="secret"))
    typed = "[paste #1 +12 lines]"
    assert attachments.expand(typed) == typed
    assert attachments.expand(without_marks("\U000f0000")) == "\ufffd"


@pytest.mark.parametrize(
    ("text", "large"), [("x" * 1000, False), ("x" * 1001, True), ("a\n" * 10, True), ("a\n" * 9, False)]
)
def test_large_pastes_become_marks(text: str, large: bool) -> None:
    assert is_large(text) is large


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [("a\r\nb\rc", "a\nb\nc"), ("a\tb", "a    b"), ("a\x1b[2Jb\x07", "a[2Jb"), ("a\x1b[106;5ub", "a\nb")],
)
def test_pasted_text_holds_no_control_characters(pasted: str, kept: str) -> None:
    assert clean_paste(pasted) == kept


@given(st.text(alphabet="ab 漢é\n👩‍", max_size=60), st.integers(1, 12))
def test_rows_hold_every_character_once_and_fit(text: str, width: int) -> None:
    rows = layout(text, width, {})
    assert "".join(cell.shown for row in rows for cell in row.cells) == text.replace("\n", "")
    for row in rows:
        assert sum(cell.width for cell in row.cells) <= max(width, 2)
    for index in range(len(text) + 1):
        assert 0 <= row_of(rows, index) < len(rows)
