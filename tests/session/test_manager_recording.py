"""What the session manager computes, against recorded results for the same inputs."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pinyon.ai.codec import message_from_wire, message_to_wire
from pinyon.ai.message import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    UserMessage,
    message_role,
)
from pinyon.session.error import NotASessionError
from pinyon.session.header import is_valid_session_id
from pinyon.session.listing import read_session_info
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.loader import load_entries_from_file
from pinyon.session.naming import encode_cwd
from pinyon.session.session import Session
from pinyon.session.transfer import export_session_to_jsonl

DATA = Path(__file__).parents[1] / "data" / "session_manager"
RECORDED: dict[str, Any] = json.loads((DATA / "results.json").read_text("utf-8"))
REAL_SESSIONS = ("before-compaction", "large-session")


def unpack(name: str, folder: Path) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()))
    return path


@pytest.mark.parametrize("name", REAL_SESSIONS)
def test_a_real_session_of_version_1_gives_the_recorded_context(name: str, tmp_path: Path) -> None:
    recorded = RECORDED["fixtures"][name]
    session = Session.open(unpack(name, tmp_path))
    context = session.build_session_context()
    entries = session.get_entries()
    assert len(entries) == session.get_entry_count() == recorded["entries"]
    assert session.get_leaf_id() == entries[recorded["leafIndex"]].id
    assert session.get_header().object == recorded["headerAfterMigration"]
    assert context.message_count == len(context.messages) == recorded["contextMessages"]
    assert Counter(map(message_role, context.messages)) == recorded["contextRoles"]
    assert context.thinking_level == recorded["thinkingLevel"]
    assert context.model is not None
    assert context.model.provider == recorded["model"]["provider"]
    assert context.model.model_id == recorded["model"]["modelId"]


@pytest.mark.parametrize("name", REAL_SESSIONS)
def test_migrated_compactions_keep_what_they_kept(name: str, tmp_path: Path) -> None:
    session = Session.open(unpack(name, tmp_path))
    entries = session.get_entries()
    index_of = {entry.id: index for index, entry in enumerate(entries)}
    found = [
        {
            "index": index,
            "firstKeptIndex": index_of[entry.first_kept_entry_id or ""],
            "keys": list(entry.object),
        }
        for index, entry in enumerate(entries)
        if entry.type == "compaction"
    ]
    assert found == RECORDED["fixtures"][name]["compactions"]


@pytest.mark.parametrize("name", REAL_SESSIONS)
def test_migration_waits_for_the_first_append_and_changes_nothing_else(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path)
    before = path.read_bytes()
    session = Session.open(path)
    session.build_session_context()
    assert path.read_bytes() == before
    session.append_session_info("kept")
    old, new = before.splitlines(), path.read_bytes().splitlines()
    assert len(new) == len(old) + 1
    for old_line, new_line in zip(old[1:], new[1:], strict=False):
        old_value, new_value = json.loads(old_line), json.loads(new_line)
        assert isinstance(new_value.pop("id"), str)
        assert "parentId" in new_value
        del new_value["parentId"]
        if old_value["type"] == "compaction":
            del old_value["firstKeptEntryIndex"], new_value["firstKeptEntryId"]
        else:
            assert new_line.startswith(old_line[:-1])
        assert new_value == old_value
    again = Session.open(path)
    assert [entry.line for entry in again.get_entries()] == [entry.line for entry in session.get_entries()]


@pytest.mark.parametrize(("cwd", "folder"), RECORDED["cwdEncoding"])
def test_a_working_directory_has_the_recorded_folder_name(cwd: str, folder: str) -> None:
    assert encode_cwd(cwd) == folder


@pytest.mark.parametrize(("session_id", "valid"), RECORDED["sessionIds"])
def test_session_ids_are_accepted_as_recorded(session_id: str, valid: bool) -> None:
    assert is_valid_session_id(session_id) is valid


def test_the_file_appears_with_the_first_user_message(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    file = session.get_session_file()
    assert file is not None
    counts: list[list[Any]] = []

    def count(step: str) -> None:
        counts.append([step, len(file.read_bytes().splitlines()) if file.exists() else 0])

    count("new")
    session.append_model_change("p", "m")
    count("model_change")
    session.append_message(
        BashExecutionMessage(command="ls", output="", cancelled=False, truncated=False, timestamp=1, exit_code=0)
    )
    count("bashExecution")
    session.append_custom_message_entry("x", "injected", display=False)
    count("custom_message")
    session.append_message(user("hi"))
    count("user")
    session.append_message(answer("hello"))
    count("assistant")
    session.append_session_info("x\n\ny ")
    count("session_info")
    assert counts == RECORDED["persistenceLineCounts"]
    assert session.get_session_name() == RECORDED["sessionName"]


def user(text: str) -> UserMessage:
    return UserMessage(content=text, timestamp=1)


def answer(text: str, model: str = "m") -> AssistantMessage:
    wire = {"role": "assistant", "content": [{"type": "text", "text": text}], "api": "a", "provider": "p"}
    message = message_from_wire({**wire, "model": model, "usage": {}, "stopReason": "stop", "timestamp": 1})
    assert isinstance(message, AssistantMessage)
    return message


def described(message: Any) -> str:
    match message:
        case CompactionSummaryMessage():
            return f"C:{message.summary}"
        case BranchSummaryMessage():
            return f"B:{message.summary}"
        case UserMessage() | CustomMessage():
            return f"{message_role(message)}:{message.content}"
        case AssistantMessage():
            return f"assistant:{message.text}"
    raise AssertionError(message)


def context_of(session: Session) -> dict[str, Any]:
    context = session.build_session_context()
    assert context.message_count == len(context.messages)
    model = context.model
    return {
        "messages": [described(message) for message in context.messages],
        "thinkingLevel": context.thinking_level,
        "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
    }


class Tree:
    """The recorded tree, built in memory."""

    def __init__(self) -> None:
        session = self.session = Session.in_memory("/proj")
        ids: dict[str, str] = {}
        self.ids = ids
        ids["mc"] = session.append_model_change("p", "m1")
        ids["tl"] = session.append_thinking_level_change("low")
        ids["u1"] = session.append_message(user("u1"))
        ids["a1"] = session.append_message(answer("a1"))
        ids["u2"] = session.append_message(user("u2"))
        ids["a2"] = session.append_message(answer("a2", "m2"))
        ids["cu"] = session.append_custom_entry("x", {"a": 1})
        ids["cm"] = session.append_custom_message_entry("x", "injected", display=False)
        ids["u3"] = session.append_message(user("u3"))
        ids["a3"] = session.append_message(answer("a3"))
        ids["cmp"] = session.append_compaction("SUM1", ids["u2"], 999)
        ids["u4"] = session.append_message(user("u4"))
        ids["a4"] = session.append_message(answer("a4"))
        ids["cmp2"] = session.append_compaction("SUM2", ids["u3"], 1999)
        ids["u5"] = session.append_message(user("u5"))

    def add_branch(self) -> None:
        session, ids = self.session, self.ids
        session.branch(ids["a1"])
        ids["bs"] = session.branch_with_summary(ids["a1"], "BRANCH")
        ids["lb"] = session.append_label_change(ids["a1"], "L1")
        ids["u6"] = session.append_message(user("u6"))

    def order(self, session: Session) -> list[str]:
        names = {entry_id: name for name, entry_id in self.ids.items()}
        return [
            f"{names.get(entry.id, entry.type)}<-{names.get(entry.parent_id or '', 'null')}"
            for entry in session.get_entries()
        ]


@pytest.mark.parametrize("leaf", ["u1", "a2", "a3", "cmp", "a4", "cmp2", "u5"])
def test_the_context_at_a_leaf_is_the_recorded_one(leaf: str) -> None:
    tree = Tree()
    tree.session.branch(tree.ids[leaf])
    assert context_of(tree.session) == RECORDED["tree"][leaf]


def test_the_context_before_the_first_entry_is_empty() -> None:
    tree = Tree()
    tree.session.reset_leaf()
    assert context_of(tree.session) == RECORDED["tree"]["<null>"]


def test_a_branch_with_a_summary_is_projected_and_ordered_as_recorded() -> None:
    tree = Tree()
    tree.add_branch()
    assert context_of(tree.session) == RECORDED["tree"]["branch u6"]
    assert tree.order(tree.session) == RECORDED["tree"]["order"]
    summary = tree.session.get_entry(tree.ids["bs"])
    assert summary is not None
    assert summary.from_id == tree.ids[RECORDED["tree"]["branchFromId"]]


def test_a_branched_session_is_ordered_and_labelled_as_recorded() -> None:
    tree = Tree()
    tree.add_branch()
    tree.session.create_branched_session(tree.ids["u6"])
    assert tree.order(tree.session) == RECORDED["tree"]["branchedOrder"]
    assert [tree.session.get_label(tree.ids["a1"])] == RECORDED["tree"]["branchedLabels"]


def test_a_compaction_whose_kept_entry_is_unknown_keeps_nothing() -> None:
    session = Session.in_memory("/proj")
    session.append_message(user("k1"))
    session.append_compaction("S", "nowhere1", 1)
    session.append_message(user("k2"))
    assert context_of(session)["messages"] == RECORDED["tree"]["compaction with unknown firstKept"]


HEADER = '{"type":"session","version":3,"id":"idm","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/nowhere"}'


def entry(entry_id: str = "m1", parent: str | None = None, entry_type: str = "message", text: str = "hi") -> str:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}
    value = {"type": entry_type, "id": entry_id, "parentId": parent, "timestamp": "2025-01-01T00:00:01.000Z"}
    return json.dumps({**value, "message": message} if entry_type == "message" else value, separators=(",", ":"))


MALFORMED = {
    "blank+garbage before header": f"\n{{bad\n{HEADER}\n",
    "no trailing newline": f"{HEADER}\n{entry()}",
    "truncated last line": f'{HEADER}\n{entry()}\n{{"type":"mess',
    "first entry not header": f'{{"type":"message","id":"a"}}\n{HEADER}\n',
    "header without id": '{"type":"session","version":3}\n',
    "empty": "",
    "only garbage": "nope\n",
    "unknown entry type": f"{HEADER}\n{entry('f1', None, 'future_thing')}\n{entry('m1', 'f1')}\n",
    "orphan parent": f"{HEADER}\n{entry('m1', 'gone')}\n",
    "duplicate ids": f"{HEADER}\n{entry()}\n{entry(text='other')}\n",
    "version 4 header": HEADER.replace(":3,", ":4,") + "\n",
    "json scalar lines": f'{HEADER}\n42\n"str"\nnull\n',
    "CRLF": f"{HEADER}\r\n{entry()}\r\n",
}

# Loading never changes a file, an empty one gets its header with the first message, and lines that are no objects are
# no entries: here the recording is left on purpose.
DEVIATIONS: dict[str, dict[str, Any]] = {
    "no trailing newline": {"fileChanged": False, "endsWithNewline": False},
    "truncated last line": {"fileChanged": False, "endsWithNewline": False},
    "empty": {"fileChanged": False, "loaded": 0},
    "json scalar lines": {"entries": 0, "loaded": 1},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_opens_as_recorded(case: str, tmp_path: Path) -> None:
    recorded = {**RECORDED["malformed"][case], **DEVIATIONS.get(case, {})}
    path = tmp_path / "s.jsonl"
    before = MALFORMED[case].encode()
    path.write_bytes(before)
    if "error" in recorded:
        with pytest.raises(NotASessionError, match="untouched"):
            Session.open(path)
    else:
        session = Session.open(path)
        if recorded["sessionId"] != "<fresh>":
            assert session.get_session_id() == recorded["sessionId"]
            assert session.get_cwd() == recorded["cwd"]
        else:
            assert session.get_cwd() == str(Path.cwd())
        assert session.get_entry_count() == recorded["entries"]
        assert session.get_leaf_id() == recorded.get("leaf")
        assert len(session.build_session_context().messages) == recorded["context"]
    assert (path.read_bytes() != before) is recorded["fileChanged"]
    if before:
        assert path.read_bytes().endswith(b"\n") is recorded["endsWithNewline"]
    assert len(load_entries_from_file(path)) == recorded["loaded"]


# -- what real files of version 1 look like -----------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL_SESSIONS)
def test_every_message_of_a_real_file_has_its_type_and_keeps_its_own_keys(name: str, tmp_path: Path) -> None:
    session = Session.open(unpack(name, tmp_path))
    seen = Counter[str]()
    for entry in session.get_entries():
        if entry.message is None:
            continue
        raw = entry.object["message"]
        wire = message_to_wire(entry.message)
        assert wire["role"] == raw["role"]
        for key in wire.keys() & raw.keys() - {"content", "usage"}:
            assert wire[key] == raw[key]
        seen.update(oddities(raw))
    assert seen["message"] > 800
    for expected in ("empty answer", "leftover of a torn call", "failed", "without details", "no tokens"):
        assert seen[expected], expected


def oddities(raw: dict[str, Any]) -> list[str]:
    """What a strict reader would stumble over in one message."""
    found = ["message"]
    content = raw.get("content")
    if raw["role"] == "assistant":
        found += ["empty answer"] * (content == []) + ["failed"] * ("errorMessage" in raw)
        found += ["no tokens"] * (raw["usage"].get("totalTokens", 0) == 0)
        found += ["leftover of a torn call"] * any("partialJson" in block for block in content or ())
    if raw["role"] == "toolResult":
        found += ["without details"] * ("details" not in raw)
    return found


@pytest.mark.parametrize("name", REAL_SESSIONS)
def test_a_real_file_is_listed_forked_and_exported(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path)
    before = path.read_bytes()
    info = read_session_info(path)
    session = Session.open(path, tmp_path / "forks")
    assert info is not None
    assert info.id == session.get_session_id()
    assert info.message_count == sum(entry.is_message for entry in session.get_entries())
    expected = session.build_session_context().messages
    leaf = session.get_leaf_id()
    assert leaf is not None
    assert session.branched(leaf).build_session_context().messages == expected
    exported = export_session_to_jsonl(session, tmp_path / "exported.jsonl")
    assert Session.open(exported).build_session_context().messages == expected
    assert len(convert_to_llm(expected)) == RECORDED["fixtures"][name]["llmMessages"]
    assert path.read_bytes() == before
