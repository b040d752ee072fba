"""Looking at a tree: branches, children, labels and names."""

from __future__ import annotations

from pathlib import Path

from tests.session.samples import HEADER, TIME, answer, answer_line, entry_line, user, user_line, write_lines

from pinyon.session.session import Session
from pinyon.session.tree import SessionTreeNode


def at(line: str, second: int) -> str:
    return line.replace(TIME, f"2025-01-01T00:00:{second:02d}.000Z")


def shape(nodes: list[SessionTreeNode]) -> list[object]:
    return [[node.entry.id, *shape(node.children)] for node in nodes]


def test_children_are_ordered_by_time_and_equal_times_by_file_order(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        at(user_line("root", None), 0),
        at(user_line("late", "root"), 9),
        at(user_line("x", "root"), 5),
        at(user_line("y", "root"), 5),
        at(user_line("early", "root"), 1),
        at(answer_line("leaf", "x"), 2),
    )
    session = Session.open(path)
    assert shape(session.get_tree()) == [["root", ["early"], ["x", ["leaf"]], ["y"], ["late"]]]
    assert [entry.id for entry in session.get_children("root")] == ["late", "x", "y", "early"]
    assert [entry.id for entry in session.get_branch()] == ["root", "x", "leaf"]


def test_several_roots_are_legal(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        user_line("a", None),
        user_line("b", None),
        user_line("c", "c"),
        user_line("d", "gone"),
    )
    session = Session.open(path)
    assert shape(session.get_tree()) == [["a"], ["b"], ["c"], ["d"]]
    assert [entry.id for entry in session.get_children(None)] == ["a", "b", "c", "d"]


def test_the_last_label_of_an_entry_counts_and_an_empty_one_clears(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    first = session.append_message(user("a"))
    second = session.append_message(answer("b"))
    session.append_label_change(first, "one")
    session.append_label_change(first, "two")
    session.append_label_change(second, "gone")
    cleared = session.append_label_change(second, "")
    assert b'"label":' not in next(entry.line for entry in session.get_entries() if entry.id == cleared)
    file = session.get_session_file()
    assert file is not None
    for view in (session, Session.open(file)):
        assert (view.get_label(first), view.get_label(second), view.get_label("nope")) == ("two", None, None)
        root = view.get_tree()[0]
        label_entry = view.get_entries()[3]
        assert (root.label, root.label_timestamp) == ("two", label_entry.timestamp)
        assert root.children[0].label is None


def test_moving_the_leaf_writes_nothing(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    first = session.append_message(user("a"))
    session.append_message(answer("b"))
    file = session.get_session_file()
    assert file is not None
    before = file.read_bytes()
    session.branch(first)
    assert session.get_leaf_id() == first
    session.reset_leaf()
    assert (session.get_leaf_id(), session.get_leaf_entry(), session.get_branch()) == (None, None, [])
    assert file.read_bytes() == before
    session.append_message(user("new root"))
    assert session.get_branch()[0].parent_id is None
    assert len(session.get_tree()) == 2


def test_reopening_starts_at_the_last_line_whatever_it_is(tmp_path: Path) -> None:
    label = entry_line("label", "l", "a", targetId="a", label="x")
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), answer_line("b", "a"), label)
    session = Session.open(path)
    leaf = session.get_leaf_entry()
    assert leaf is not None
    assert leaf.type == "label"
    assert [entry.id for entry in session.get_branch()] == ["a", "l"]


def test_the_name_is_the_last_one_in_the_file_on_whatever_branch(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        user_line("a", None),
        entry_line("session_info", "n1", "a", name="one"),
        entry_line("session_info", "n2", "a", name=" two "),
        answer_line("b", "n1"),
    )
    assert Session.open(path).get_session_name() == "two"


def test_unknown_ids_give_nothing() -> None:
    session = Session.in_memory("/x")
    assert session.get_entry("nope") is None
    assert session.get_branch("nope") == []
    assert session.get_children("nope") == []
    assert session.get_tree() == []
    assert session.get_session_name() is None


def test_a_tree_of_many_generations_needs_no_recursion() -> None:
    session = Session.in_memory("/x")
    for number in range(5000):
        session.append_custom_entry("x", number)
    node = session.get_tree()[0]
    depth = 1
    while node.children:
        node, depth = node.children[0], depth + 1
    assert depth == 5000


def test_entries_give_typed_fields_and_mistyped_ones_read_as_absent(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        entry_line("model_change", "a", None, provider="p", modelId="m"),
        entry_line("label", "b", "a", targetId=7, label=[1]),
        entry_line("compaction", "c", "b", summary=None, tokensBefore="x", firstKeptEntryId=1, retainedTail={}),
        entry_line("custom_message", "d", "c", customType=1, content={"a": 1}, display="yes"),
        entry_line("thinking_level_change", "e", "d", thinkingLevel=5),
        entry_line("usage", "f", "e", kind="k", provider="p", model="m", usage={"input": 1}, note="n"),
        entry_line("session_info", "g", "f", name=3),
    )
    session = Session.open(path)
    a, b, c, d, e, f, g = session.get_entries()
    assert (a.provider, a.model_id, a.message, a.role) == ("p", "m", None, "")
    assert (b.target_id, b.label) == ("", None)
    assert (c.summary, c.tokens_before, c.first_kept_entry_id, c.retained_tail, c.system_message) == (
        "",
        0,
        None,
        None,
        None,
    )
    assert (d.custom_type, d.display) == ("", False)
    assert e.thinking_level == ""
    assert (f.usage_kind, f.provider, f.model, f.usage, f.note) == ("k", "p", "m", {"input": 1}, "n")
    assert g.name is None
    assert repr(a) == "SessionEntry(type='model_change', id='a', parent_id=None)"
    context = session.build_session_context()
    assert context.thinking_level == "off"
    assert context.model is not None
    assert len(context.messages) == 2


def test_a_branch_knows_which_types_of_entries_it_has(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        user_line("a", None),
        entry_line("thinking_level_change", "t", "a", thinkingLevel="low"),
        entry_line("future", "f", "a"),
    )
    session = Session.open(path)
    found = {name: session.branch_has(name) for name in ("message", "future", "thinking_level_change", "nothing")}
    assert found == {"message": True, "future": True, "thinking_level_change": False, "nothing": False}
    session.reset_leaf()
    assert not session.branch_has("message")
