"""From the tree to the messages that a model gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.samples import HEADER, TIME, answer, answer_line, entry_line, text_of, texts, user, user_line

from pinyon.ai.content import TextContent
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    message_role,
)
from pinyon.ai.tool import Tool
from pinyon.session.context import (
    SessionProjection,
    build_context_entries,
    build_session_context,
    build_session_projection,
    get_latest_compaction_entry,
    session_entry_to_context_messages,
)
from pinyon.session.entry import SessionEntry
from pinyon.session.error import SessionError
from pinyon.session.loader import parse_session_entries
from pinyon.session.session import Session


def projection_of(*lines: str, leaf: Any = None) -> SessionProjection:
    entries = parse_session_entries("\n".join([HEADER, *lines]))
    return build_session_projection(entries) if leaf is None else build_session_projection(entries, leaf)


def system_line(entry_id: str, parent: str | None, text: str) -> str:
    return entry_line("message", entry_id, parent, message={"role": "system", "content": text, "timestamp": 1})


def test_system_messages_before_a_compaction_are_replaced_by_its_own() -> None:
    kept_system = {"role": "system", "content": "NOW", "timestamp": 5}
    projection = projection_of(
        system_line("s1", None, "OLD"),
        user_line("a", "s1"),
        system_line("s2", "a", "NEWER"),
        answer_line("b", "s2"),
        entry_line(
            "compaction", "c", "b", summary="SUM", firstKeptEntryId="a", tokensBefore=9, systemMessage=kept_system
        ),
        user_line("d", "c"),
        system_line("s3", "d", "LATER"),
    )
    assert texts(projection) == ["NOW", "SUM", "a", "b", "d", "LATER"]


def test_a_retained_tail_replaces_the_kept_entries() -> None:
    tail = [
        {"role": "user", "content": "t1", "timestamp": 1},
        {"role": "bashExecution", "command": "x", "output": "", "cancelled": False, "truncated": False, "timestamp": 1},
    ]
    compaction = entry_line("compaction", "c", "b", summary="SUM", tokensBefore=9, retainedTail=tail, unknown=1)
    projection = projection_of(user_line("a", None), answer_line("b", "a"), compaction, user_line("d", "c"))
    assert [message_role(message) for message in projection.messages] == [
        "compactionSummary",
        "user",
        "bashExecution",
        "user",
    ]
    assert [entry.source.id for entry in projection.entries] == ["c", "c:retained:0", "c:retained:1", "d"]
    assert projection.entries[1].source.type == "message"
    assert projection.message_count == 4


@pytest.mark.parametrize(("tail", "expected"), [([], ["SUM", "d"]), (None, ["SUM", "a", "b", "d"])])
def test_an_empty_tail_keeps_nothing_and_null_is_no_tail(tail: Any, expected: list[str]) -> None:
    compaction = entry_line(
        "compaction", "c", "b", summary="SUM", tokensBefore=9, firstKeptEntryId="a", retainedTail=tail
    )
    assert (
        texts(projection_of(user_line("a", None), answer_line("b", "a"), compaction, user_line("d", "c"))) == expected
    )


def test_only_the_last_compaction_speaks() -> None:
    projection = projection_of(
        user_line("a", None),
        entry_line("compaction", "c1", "a", summary="ONE", firstKeptEntryId="a", tokensBefore=1),
        user_line("b", "c1"),
        entry_line("compaction", "c2", "b", summary="TWO", firstKeptEntryId="a", tokensBefore=1),
    )
    assert texts(projection) == ["TWO", "a", "b"]
    assert [entry.source.id for entry in projection.entries] == ["c2", "a", "c1", "b"]


def test_a_kept_entry_of_another_branch_keeps_nothing() -> None:
    projection = projection_of(
        user_line("a", None),
        user_line("other", "a"),
        user_line("b", "a"),
        entry_line("compaction", "c", "b", summary="SUM", firstKeptEntryId="other", tokensBefore=1),
    )
    assert texts(projection) == ["SUM"]


def test_context_edits_remove_and_replace_and_the_last_one_counts() -> None:
    session = Session.in_memory("/x")
    first = session.append_message(user("one"))
    second = session.append_message(answer("two"))
    custom = session.append_custom_message_entry("x", "three", display=True, details={"k": 1})
    session.append_context_edit(first, {"content": "ONE"})
    session.append_context_edit(second, {"content": "ignored"})
    session.append_context_edit(second, {"content": "TWO"})
    session.append_context_edit(custom, {"content": "THREE"})
    messages = session.build_session_context().messages
    assert texts(session) == ["ONE", "TWO", "THREE"]
    assert isinstance(messages[1], AssistantMessage)
    assert messages[1].content == [TextContent("TWO")]
    assert messages[1].provider == "p"
    assert isinstance(messages[2], CustomMessage)
    assert messages[2].details == {"k": 1}
    session.append_context_edit(second, None)
    assert texts(session) == ["ONE", "THREE"]
    assert [entry.messages for entry in session.build_session_projection().entries][1] == ()


def test_an_edit_before_the_kept_window_has_no_effect() -> None:
    session = Session.in_memory("/x")
    first = session.append_message(user("one"))
    session.append_context_edit(first, None)
    second = session.append_message(user("two"))
    session.append_compaction("SUM", second, 1)
    assert texts(session) == ["SUM", "two"]


@pytest.mark.parametrize("replacement", [{}, {"content": 7}, {"text": "x"}])
def test_an_edit_without_content_is_refused(replacement: dict[str, Any]) -> None:
    session = Session.in_memory("/x")
    target = session.append_message(user("one"))
    with pytest.raises(SessionError, match="content"):
        session.append_context_edit(target, replacement)
    assert session.get_entry_count() == 1


def test_an_edit_must_aim_at_a_message_of_the_active_branch() -> None:
    session = Session.in_memory("/x")
    change = session.append_model_change("p", "m")
    left = session.append_message(user("left"))
    session.branch(change)
    session.append_message(user("here"))
    with pytest.raises(SessionError, match="active branch"):
        session.append_context_edit(left, None)
    with pytest.raises(SessionError, match="cannot be edited"):
        session.append_context_edit(change, None)
    with pytest.raises(SessionError, match="'nope'"):
        session.append_context_edit("nope", None)


@pytest.mark.parametrize("replacement", ["text", 7, [], {"other": 1}])
def test_a_broken_edit_on_disk_changes_nothing(replacement: Any) -> None:
    edit = entry_line("context_edit", "e", "a", targetId="a", replacement=replacement)
    assert texts(projection_of(user_line("a", None), edit)) == ["a"]
    assert texts(projection_of(user_line("a", None), entry_line("context_edit", "e", "a", targetId="a"))) == ["a"]


def test_a_branch_summary_speaks_only_if_it_says_something() -> None:
    lines = [
        user_line("a", None),
        entry_line("branch_summary", "s", "a", fromId="x", summary="S"),
        entry_line("branch_summary", "t", "s", fromId="x", summary=""),
    ]
    assert texts(projection_of(*lines)) == ["a", "S"]


def test_entries_of_unknown_types_are_part_of_the_branch_and_say_nothing() -> None:
    projection = projection_of(user_line("a", None), entry_line("future", "f", "a", x=1), user_line("b", "f"))
    assert texts(projection) == ["a", "b"]
    assert [entry.source.type for entry in projection.entries] == ["message", "future", "message"]


def test_a_compaction_stores_the_system_message_that_holds() -> None:
    session = Session.in_memory("/x", clock=lambda: 1_700_000_000_123)
    session.append_message(
        SystemMessage(
            content="", timestamp=1, sections={"a": "A", "b": "B"}, tools_added=[Tool("t", "d", {"type": "object"})]
        )
    )
    kept = session.append_message(user("u"))
    session.append_message(SystemMessage(content="", timestamp=2, sections={"a": None}))
    session.append_compaction("SUM", kept, 5, details={"readFiles": []}, from_hook=False)
    entry = session.get_leaf_entry()
    assert entry is not None
    assert list(entry.object) == [
        "type",
        "id",
        "parentId",
        "timestamp",
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "details",
        "fromHook",
        "systemMessage",
    ]
    system = entry.system_message
    assert system is not None
    assert system.sections == {"b": "B"}
    assert system.timestamp == 1_700_000_000_123
    assert [message_role(m) for m in session.build_session_context().messages] == [
        "system",
        "compactionSummary",
        "user",
    ]


def test_a_compaction_that_keeps_nothing_names_itself() -> None:
    session = Session.in_memory("/x")
    session.append_message(user("u"))
    compaction = session.append_compaction("SUM", None, 5)
    entry = session.get_entry(compaction)
    assert entry is not None
    assert entry.first_kept_entry_id == compaction
    assert texts(session) == ["SUM"]


def test_the_list_of_messages_belongs_to_the_caller() -> None:
    session = Session.in_memory("/x")
    message = user("u")
    session.append_message(message)
    mine = session.build_session_context().messages
    mine.clear()
    assert texts(session) == ["u"]
    assert session.build_session_context().messages[0] is message
    session.append_message(answer("b"))
    assert texts(session) == ["u", "b"]


def test_functions_on_lists_of_entries_take_views_and_plain_objects() -> None:
    session = Session.in_memory("/x")
    first = session.append_message(user("u"))
    session.append_message(answer("b"))
    objects: list[Any] = [session.get_header(), *(entry.object for entry in session.get_entries())]
    assert texts(build_session_context(objects)) == ["u", "b"]
    assert texts(build_session_context(session.get_entries(), first)) == ["u"]
    assert texts(build_session_context(session.get_entries(), None)) == []
    assert texts(build_session_context(session.get_entries(), "unknown")) == ["u", "b"]
    assert build_session_context([]).model is None
    assert [entry.id for entry in build_context_entries(objects, first)] == [first]


def test_one_entry_alone_gives_its_messages() -> None:
    compaction = SessionEntry.from_wire(
        {"type": "compaction", "id": "c", "parentId": None, "timestamp": TIME, "summary": "S", "tokensBefore": 3.0}
    )
    assert [text_of(message) for message in session_entry_to_context_messages(compaction)] == ["S"]
    assert get_latest_compaction_entry([compaction]) is compaction
    assert get_latest_compaction_entry([]) is None


def test_every_kind_of_message_keeps_its_fields_through_the_projection() -> None:
    session = Session.in_memory("/x")
    messages: list[AgentMessage] = [
        BashExecutionMessage(command="c", output="o", cancelled=False, truncated=False, timestamp=1, exit_code=2),
        ToolResultMessage(
            tool_call_id="t", tool_name="n", content=[TextContent("r")], is_error=True, timestamp=1, details={"a": None}
        ),
    ]
    for message in messages:
        session.append_message(message)
    reread = Session.in_memory("/x", lines=[entry.line for entry in session.get_entries()])
    assert reread.build_session_context().messages == messages


# -- the projection against a plain model of the rules ----------------------------------------------------------------


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": text, "timestamp": 1, **fields}}


def entry_fields(index: int, kind: int, target: str, flag: int) -> dict[str, Any]:
    """The fields of an entry of some type; its texts tell where it stands."""
    compaction = {"type": "compaction", "summary": f"C{index}", "firstKeptEntryId": target, "tokensBefore": 1}
    system = {"systemMessage": said("system", f"S{index}")["message"]} if flag % 2 else {}
    tail = {"retainedTail": [said("user", f"t{index}")["message"]]} if flag == 0 else {}
    edit = {"content": f"x{index}"} if flag % 2 else None
    kinds: list[dict[str, Any]] = [
        said("user", f"u{index}"),
        said("assistant", f"a{index}", provider="p", model=f"m{index}", stopReason="stop"),
        said("system", f"s{index}"),
        {"type": "model_change", "provider": "q", "modelId": f"n{index}"},
        {"type": "thinking_level_change", "thinkingLevel": "low" if flag % 2 else "high"},
        {**compaction, **system, **tail},
        {"type": "branch_summary", "fromId": "x", "summary": f"B{index}" if flag else ""},
        {"type": "custom", "customType": "x"},
        {"type": "custom_message", "customType": "x", "content": f"n{index}", "display": True},
        {"type": "context_edit", "targetId": target, "replacement": edit},
        {"type": "future"},
    ]
    return kinds[kind]


CHOICES = st.tuples(st.integers(0, 10), st.integers(0, 40), st.integers(0, 40), st.integers(0, 5), st.integers(0, 15))


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for index, (kind, parent, target, flag, duplicate) in enumerate(draw(st.lists(CHOICES, min_size=1, max_size=25))):
        ids = [entry["id"] for entry in entries]
        parents = [*reversed(ids), None, "gone", f"e{index}", f"e{index + 1}", *ids[-1:] * 20]
        targets = [*ids, "gone"]
        entry_id = ids[0] if duplicate == 1 and ids else f"e{index}"
        place = {"id": entry_id, "parentId": parents[parent % len(parents)], "timestamp": TIME}
        entries.append({**place, **entry_fields(index, kind, targets[target % len(targets)], flag)})
    return entries


def model_path(entries: Sequence[dict[str, Any]], leaf: int) -> list[dict[str, Any]]:
    path: list[int] = []
    at: int | None = leaf
    while at is not None and at not in path:
        path.append(at)
        parent = entries[at]["parentId"]
        before = [i for i in range(at) if entries[i]["id"] == parent]
        after = [i for i in range(at + 1, len(entries)) if entries[i]["id"] == parent]
        own = parent == entries[at]["id"]
        at = before[-1] if before else None if own else after[-1] if after else None
    return [entries[i] for i in reversed(path)]


def model_context(path: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    compactions = [i for i, entry in enumerate(path) if entry["type"] == "compaction"]
    if not compactions:
        return list(path)
    at = compactions[-1]
    last = path[at]
    if "retainedTail" in last:
        kept = [{"type": "message", "id": "-", "message": message} for message in last["retainedTail"]]
    else:
        first = [i for i, entry in enumerate(path[:at]) if entry["id"] == last["firstKeptEntryId"]]
        kept = [entry for entry in path[first[0] : at] if not is_system(entry)] if first else []
    return [last, *kept, *path[at + 1 :]]


def is_system(entry: dict[str, Any]) -> bool:
    return bool(entry["type"] == "message" and entry["message"]["role"] == "system")


def model_texts(context: Sequence[dict[str, Any]]) -> list[str]:
    edits = {entry["targetId"]: entry["replacement"] for entry in context if entry["type"] == "context_edit"}
    found: list[str] = []
    for index, entry in enumerate(context):
        edit = edits.get(entry["id"], "none")
        if edit is None:
            continue
        edited = edit["content"] if isinstance(edit, dict) else None
        match entry["type"]:
            case "message":
                content = entry["message"]["content"]
                found.append(edited or content)
            case "custom_message":
                found.append(edited or entry["content"])
            case "branch_summary" if entry["summary"]:
                found.append(entry["summary"])
            case "compaction" if index == 0:
                found += [entry["systemMessage"]["content"]] if "systemMessage" in entry else []
                found.append(entry["summary"])
    return found


@settings(deadline=None)
@given(trees(), st.data())
def test_the_projection_of_any_tree_follows_the_rules(entries: list[dict[str, Any]], data: st.DataObject) -> None:
    leaf_id = data.draw(st.sampled_from([entry["id"] for entry in entries]))
    leaf = max(i for i, entry in enumerate(entries) if entry["id"] == leaf_id)
    path = model_path(entries, leaf)
    projection = build_session_projection(entries, leaf_id)
    assert texts(projection) == model_texts(model_context(path))
    levels = [entry["thinkingLevel"] for entry in path if entry["type"] == "thinking_level_change"]
    assert projection.thinking_level == (levels[-1] if levels else "off")
    models = [
        (entry["provider"], entry["modelId"])
        if entry["type"] == "model_change"
        else (entry["message"]["provider"], entry["message"]["model"])
        for entry in path
        if entry["type"] == "model_change" or (entry["type"] == "message" and entry["message"]["role"] == "assistant")
    ]
    model = projection.model
    assert (None if model is None else (model.provider, model.model_id)) == (models[-1] if models else None)


class Growing:
    """A session that is asked for its context after every step, so that what it keeps from step to step is tested."""

    def __init__(self) -> None:
        self.session = Session.in_memory("/x")

    def step(self, action: str, pick: int) -> None:
        session = self.session
        ids = [entry.id for entry in session.get_entries()]
        chosen = ids[pick % len(ids)] if ids else None
        match action:
            case "user":
                session.append_message(user(f"u{len(ids)}"))
            case "answer":
                session.append_message(answer(f"a{len(ids)}"))
            case "note":
                session.append_custom_message_entry("x", f"n{len(ids)}", display=False)
            case "compact":
                session.append_compaction(f"C{len(ids)}", chosen, 1)
            case "edit" if chosen is not None:
                try:
                    session.append_context_edit(chosen, None if pick % 2 else {"content": f"x{len(ids)}"})
                except SessionError:
                    session.append_label_change(chosen, "l")
            case "branch" if chosen is not None:
                session.branch(chosen)
            case "summary":
                session.branch_with_summary(chosen, f"B{len(ids)}")
            case "reset":
                session.reset_leaf()
            case _:
                session.append_thinking_level_change("high")


ACTIONS = ["user", "answer", "note", "compact", "edit", "branch", "summary", "reset", "level"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 50), st.booleans()), max_size=40))
def test_a_growing_session_projects_like_one_that_was_just_read(steps: list[tuple[str, int, bool]]) -> None:
    growing = Growing()
    for action, pick, look in steps:
        growing.step(action, pick)
        if look:
            session = growing.session
            fresh = build_session_projection(
                [SessionEntry.from_line(entry.line) or entry for entry in session.get_entries()], session.get_leaf_id()
            )
            assert texts(session) == texts(fresh)
            projection = session.build_session_projection()
            assert [entry.source.id for entry in projection.entries] == [entry.source.id for entry in fresh.entries]
            assert projection.thinking_level == fresh.thinking_level
            assert projection.model == fresh.model


def test_the_number_of_messages_follows_every_kind_of_entry(tmp_path: Path) -> None:
    session = Session.in_memory(tmp_path)

    first = session.append_message({"role": "user", "content": "one", "timestamp": 1})
    steps: list[Callable[[], object]] = [
        lambda: session.append_thinking_level_change("low"),
        lambda: session.append_message({"role": "user", "content": "two", "timestamp": 2}),
        lambda: session.append_custom_message_entry("x", "shown", True),
        lambda: session.append_label_change(first, "here"),
        lambda: session.append_custom_entry("x", {"a": 1}),
        lambda: session.append_context_edit(first, None),
        lambda: session.append_message({"role": "user", "content": "three", "timestamp": 3}),
        lambda: session.append_compaction("summary", None, 10),
        lambda: session.append_message({"role": "user", "content": "four", "timestamp": 4}),
        lambda: session.branch(first),
        lambda: session.append_message({"role": "user", "content": "five", "timestamp": 5}),
    ]
    counts = []
    for step in steps:
        step()
        counts.append((session.get_leaf_id(), session.build_session_projection().message_count))
    for leaf, count in counts:
        session.branch(leaf or "")
        assert count == len(session.build_session_projection().messages)
