"""Reading session files that were torn, glued, cut, padded or written by others."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.session.samples import (
    HEADER,
    answer,
    answer_line,
    entry_line,
    json_lines,
    text_of,
    texts,
    user,
    user_line,
    write_lines,
)

from pinyon.ai.message import AssistantMessage, UnknownMessage
from pinyon.session.error import NotASessionError, SessionError
from pinyon.session.line import decode_object, read_head, recover_objects
from pinyon.session.loader import load_session_file, parse_session_entries, read_session_header
from pinyon.session.session import Session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def kinds_of(session: Session) -> list[str]:
    return [diagnostic.kind for diagnostic in session.diagnostics]


@pytest.mark.parametrize("cut", [1, 5, 16, 30, 50, 52, 60, 80, 100, 140, 160])
def test_an_entry_glued_to_a_torn_one_is_recovered(path: Path, cut: int) -> None:
    torn = answer_line("torn0001", "b", "never finished")[:cut]
    write_lines(
        path, HEADER, user_line("a", None), answer_line("b", "a"), torn + user_line("c", "b"), answer_line("d", "c")
    )
    before = path.read_bytes()
    session = Session.open(path)
    assert texts(session) == ["a", "b", "c", "d"]
    assert kinds_of(session) == ["recovered_entry"]
    assert path.read_bytes() == before
    session.append_message(user("e"))
    assert texts(Session.open(path)) == ["a", "b", "c", "d", "e"]


def test_several_entries_glued_together_are_all_recovered(path: Path) -> None:
    glued = user_line("a", None) + answer_line("b", "a") + user_line("x", "b")[:40] + user_line("c", "b") + "\x00\x00"
    write_lines(path, HEADER, glued)
    assert texts(Session.open(path)) == ["a", "b", "c"]


def test_parts_of_a_torn_entry_are_not_taken_for_entries(path: Path) -> None:
    call = {"type": "toolCall", "id": "t1", "name": "x", "arguments": {"type": "message", "timestamp": 1}}
    line = answer_line("b", "a", content=[{"type": "text", "text": "hi"}, call])
    write_lines(path, HEADER, user_line("a", None), line[:-1], user_line("c", "a"))
    session = Session.open(path)
    assert [entry.id for entry in session.get_entries()] == ["a", "c"]
    assert kinds_of(session) == ["skipped_line"]


def test_history_before_a_lost_entry_is_kept_and_the_user_is_told(path: Path) -> None:
    write_lines(
        path,
        HEADER,
        user_line("a", None),
        answer_line("b", "a"),
        '{"type":"mess',
        answer_line("d", "c"),
        user_line("e", "d"),
    )
    session = Session.open(path)
    assert texts(session) == ["a", "b", "d", "e"]
    assert kinds_of(session) == ["skipped_line", "lost_parent"]
    assert "'c'" in session.diagnostics[1].message
    assert "'b'" in session.diagnostics[1].message
    tree = session.get_tree()
    assert [node.entry.id for node in tree] == ["a"]


def test_a_fragment_tells_on_which_branch_the_lost_entry_was(path: Path) -> None:
    lost = user_line("c", "a")[:90]
    write_lines(path, HEADER, user_line("a", None), answer_line("b", "a"), lost, answer_line("d", "c"))
    assert texts(Session.open(path)) == ["a", "d"]


def test_fragments_that_name_each_other_lead_nowhere(path: Path) -> None:
    lost = [user_line("x", "y")[:90], user_line("y", "x")[:90]]
    write_lines(path, HEADER, user_line("a", None), *lost, answer_line("d", "x"))
    assert texts(Session.open(path)) == ["a", "d"]


def test_a_lost_parent_without_damage_is_a_root_and_the_user_is_told(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), answer_line("d", "gone"))
    session = Session.open(path)
    assert texts(session) == ["d"]
    assert kinds_of(session) == ["lost_parent"]
    assert [node.entry.id for node in session.get_tree()] == ["a", "d"]


def test_what_hangs_on_an_older_entry_keeps_it_in_a_branched_session(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), "garbage", answer_line("d", "c"), user_line("e", "d"))
    session = Session.open(path)
    branched = session.branched("e")
    file = branched.get_session_file()
    assert file is not None
    assert texts(Session.open(file)) == ["a", "d", "e"]


def test_a_missing_last_newline_is_written_with_the_next_entry(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None))
    path.write_bytes(path.read_bytes()[:-1])
    before = path.read_bytes()
    session = Session.open(path)
    assert path.read_bytes() == before
    session.append_message(answer("b"))
    assert path.read_bytes().startswith(before + b"\n")
    assert len(json_lines(path)) == 3
    assert texts(Session.open(path)) == ["a", "b"]


def test_the_next_entry_stays_clear_of_a_torn_last_line(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None))
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"torn')
    session = Session.open(path)
    session.append_message(answer("b"))
    session.append_message(user("c"))
    assert texts(Session.open(path)) == ["a", "b", "c"]


def test_a_block_of_nul_bytes_hides_nothing(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), "\x00" * 300, answer_line("b", "a"))
    before = path.read_bytes()
    session = Session.open(path)
    assert texts(session) == ["a", "b"]
    assert [(d.kind, d.line) for d in session.diagnostics] == [("skipped_line", 3)]
    assert path.read_bytes() == before
    session.append_message(user("c"))
    assert texts(Session.open(path)) == ["a", "b", "c"]


def test_nul_bytes_before_an_entry_do_not_cost_the_entry(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), "\x00" * 40 + answer_line("b", "a"), user_line("c", "b"))
    assert texts(Session.open(path)) == ["a", "b", "c"]


def test_parents_in_a_circle_end_the_branch(path: Path) -> None:
    write_lines(
        path,
        HEADER,
        user_line("a", "c"),
        answer_line("b", "a"),
        user_line("c", "b"),
        user_line("self", "self"),
        user_line("d", "c"),
    )
    session = Session.open(path)
    assert texts(session) == ["a", "b", "c", "d"]
    assert [entry.id for entry in session.upwards()] == ["d", "c", "b", "a"]
    session.branch("self")
    assert texts(session) == ["self"]
    assert len(session.get_entries()) == 5
    session.get_tree()


def test_a_parent_may_stand_later_in_the_file(path: Path) -> None:
    write_lines(path, HEADER, user_line("b", "a"), user_line("a", None), user_line("c", "b"))
    session = Session.open(path)
    assert texts(session) == ["a", "b", "c"]
    assert session.diagnostics == []


def test_a_duplicate_id_gives_the_last_entry_and_breaks_no_branch(path: Path) -> None:
    write_lines(
        path,
        HEADER,
        user_line("a", None),
        user_line("x", "a", "first"),
        answer_line("b", "x"),
        user_line("x", "b", "second"),
        answer_line("c", "x"),
    )
    session = Session.open(path)
    entry = session.get_entry("x")
    assert entry is not None
    assert entry.message is not None
    assert text_of(entry.message) == "second"
    assert texts(session) == ["a", "first", "b", "second", "c"]
    assert session.get_entry_count() == 5


@pytest.mark.parametrize("line", ["42", '"text"', "null", "[1,2]", "true", '{"type":"message","parentId":null}', "{}"])
def test_lines_that_are_no_entries_are_passed_over_and_stay_in_the_file(path: Path, line: str) -> None:
    write_lines(path, HEADER, user_line("a", None), line, answer_line("b", "a"))
    session = Session.open(path)
    assert texts(session) == ["a", "b"]
    session.append_message(user("c"))
    assert path.read_bytes().split(b"\n")[2] == line.encode()


def test_a_second_header_is_passed_over(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), HEADER.replace("idm", "other"), answer_line("b", "a"))
    session = Session.open(path)
    assert session.get_session_id() == "idm"
    assert texts(session) == ["a", "b"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_the_byte_0a_ends_a_line(path: Path, separator: str) -> None:
    raw = separator if separator > "\x1f" else f"\\u{ord(separator):04x}"
    write_lines(path, HEADER, user_line("a", None, "SEP").replace("SEP", f"x{raw}y"))
    assert texts(Session.open(path)) == [f"x{separator}y"]


def test_carriage_returns_and_a_byte_order_mark_do_no_harm(path: Path) -> None:
    lines = [HEADER, user_line("a", None), answer_line("b", "a")]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())
    session = Session.open(path)
    assert texts(session) == ["a", "b"]
    assert session.get_entries()[0].line == lines[1].encode()


def test_bytes_that_are_not_utf8_cost_only_themselves(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None, "caf#"), answer_line("b", "a"))
    path.write_bytes(path.read_bytes().replace(b"#", b"\xe9"))
    before = path.read_bytes()
    session = Session.open(path)
    assert texts(session) == ["caf\ufffd", "b"]
    session.append_message(user("c"))
    assert path.read_bytes().startswith(before)


def test_lone_surrogates_on_disk_can_be_read_and_stay_as_they_are(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None, "SUR").replace("SUR", "x\\ud83d y"))
    before = path.read_bytes()
    session = Session.open(path)
    assert len(texts(session)) == 1
    session.append_message(answer("b"))
    assert path.read_bytes().startswith(before)


def test_an_entry_nested_too_deeply_is_skipped_and_its_branch_goes_on(path: Path) -> None:
    deep = entry_line("custom", "x", "a", data=0).replace('"data":0', '"data":' + "[" * 100_000 + "]" * 100_000)
    write_lines(path, HEADER, user_line("a", None), deep, answer_line("b", "x"))
    assert texts(Session.open(path)) == ["a", "b"]


def test_null_and_string_content_read_as_pi_meant_them(path: Path) -> None:
    system = {"role": "system", "content": None, "timestamp": 1}
    null_user = {"role": "user", "content": None, "timestamp": 1}
    null_call = [{"type": "toolCall", "id": "t", "name": "x", "arguments": None}]
    write_lines(
        path,
        HEADER,
        entry_line("message", "s", None, message=system),
        entry_line("message", "u", "s", message=null_user),
        answer_line("b", "u", content=None),
        answer_line("c", "b", content=null_call),
        entry_line("message", "n", "c", message=None),
        entry_line("message", "f", "n", message={"role": "futureRole", "x": 1}),
        user_line("e", "f"),
    )
    messages = Session.open(path).build_session_context().messages
    contents = [getattr(message, "content", None) for message in messages[:3]]
    assert contents == ["", [], []]
    assert isinstance(messages[3], AssistantMessage)
    assert messages[3].tool_calls[0].arguments == {}
    assert isinstance(messages[5], UnknownMessage)
    assert messages[5] == {"role": "futureRole", "x": 1}


@pytest.mark.parametrize(
    "content", [b"{}", b'{"hello":1}\n', b"\n", b"\x00" * 10, b"[]", b'{"type":"session","id":7}\n']
)
def test_a_foreign_file_is_refused_and_not_touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotASessionError, match=r"s\.jsonl"):
        Session.open(path)
    assert path.read_bytes() == content


def test_a_folder_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="Cannot read"):
        Session.open(tmp_path)


def test_an_empty_file_gets_its_header_with_the_first_message(path: Path) -> None:
    path.touch()
    session = Session.open(path)
    session.append_model_change("p", "m")
    assert path.read_bytes() == b""
    session.append_message(user("a"))
    assert [line["type"] for line in json_lines(path)] == ["session", "model_change", "message"]


def test_a_missing_file_is_made_at_its_path(path: Path) -> None:
    session = Session.open(path)
    assert not session.is_stored()
    session.append_message(user("a"))
    assert texts(Session.open(path)) == ["a"]


def test_a_header_after_a_mebibyte_of_garbage_is_found_by_opening_only(path: Path) -> None:
    write_lines(path, "x" * 1_100_000, HEADER, user_line("a", None))
    assert read_session_header(path) is None
    assert texts(Session.open(path)) == ["a"]


def test_a_header_longer_than_a_step_is_found(path: Path) -> None:
    write_lines(path, "", HEADER[:-1] + f',"note":"{"x" * 20_000}"}}', user_line("a", None))
    header = read_session_header(path)
    assert header is not None
    assert header.id == "idm"


def test_large_files_are_read_by_place_and_small_ones_from_memory_with_the_same_result(path: Path) -> None:
    lines = [HEADER]
    parent = None
    for index in range(600):
        line = user_line(f"e{index}", parent, "x" * (index * 7 % 5000) + str(index))
        lines.append(line if index % 97 else line[:30] + line)
        parent = f"e{index}"
    write_lines(path, *lines)
    small, large = load_session_file(path), load_session_file(path, in_memory_bytes=0)
    assert len(small.table) == len(large.table) == 600
    for position in range(600):
        assert small.table.line(position) == large.table.line(position)
    for position in (599, 0, 300, 598, 1):
        assert large.table.entry(position).object == small.table.entry(position).object
    assert small.diagnostics == large.diagnostics
    assert bytes(small.table.kinds) == bytes(large.table.kinds)
    assert small.size_bytes == large.size_bytes == path.stat().st_size


def test_a_large_file_stays_readable_when_it_is_replaced_or_deleted(path: Path) -> None:
    write_lines(path, HEADER, *(user_line(f"e{n}", f"e{n - 1}" if n else None, "x" * 2000) for n in range(500)))
    table = load_session_file(path, in_memory_bytes=0).table
    path.unlink()
    assert len({len(table.line(position)) for position in range(500)}) >= 1
    assert json.loads(table.line(499))["id"] == "e499"
    table.close()


def test_parsing_text_gives_headers_and_entries_without_migrating() -> None:
    text = "\n".join([HEADER, user_line("a", None), "garbage", "42", answer_line("b", "a")])
    assert [entry.type for entry in parse_session_entries(text)] == ["session", "message", "message"]
    assert parse_session_entries("") == []


def test_recovery_is_fast_on_a_large_torn_line() -> None:
    blocks = [{"type": "text", "text": "x", "id": str(n)} for n in range(20_000)]
    torn = answer_line("b", "a", content=blocks)[:-3].encode()
    assert list(recover_objects(torn + user_line("c", "b").encode())) == [user_line("c", "b").encode()]


def test_decoding_gives_none_for_everything_that_is_no_object() -> None:
    assert decode_object(b"[1]") is None
    assert decode_object(b"\xff") is None
    assert decode_object(b'{"a":"\xff"}') == {"a": "\ufffd"}


def test_entries_are_the_same_whether_their_heads_come_from_the_columns_or_the_lines(path: Path) -> None:
    write_lines(
        path,
        HEADER,
        user_line("a", None),
        answer_line("b", "a"),
        entry_line("label", "l", "b", targetId="a", label="x"),
        entry_line("future", "f", "l"),
        user_line("c", "later"),
        user_line("later", "gone"),
        "broken",
        user_line("d", "lost"),
    )
    entries = Session.open(path).get_entries()
    assert [entry.id for entry in entries] == ["a", "b", "l", "f", "c", "later", "d"]
    for entry in entries:
        head = read_head(entry.line)
        assert head is not None
        assert (entry.type, entry.id, entry.parent_id, entry.kind) == (head.type, head.id, head.parent_id, head.kind)


def test_a_closed_large_file_says_so(path: Path) -> None:
    write_lines(path, HEADER, *(user_line(f"e{n}", f"e{n - 1}" if n else None, "x" * 20_000) for n in range(50)))
    table = load_session_file(path, in_memory_bytes=0).table
    table.line(0)
    table.close()
    with pytest.raises(SessionError, match="closed"):
        table.line(49)


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is measured with a POSIX facility")
def test_a_large_file_is_opened_line_by_line_in_bounded_memory(path: Path) -> None:
    blob = "x" * 1_500_000
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER + "\n")
        for number in range(60):
            file.write(user_line(f"e{number}", f"e{number - 1}" if number else None, f"{number} {blob}") + "\n")
        file.write(entry_line("compaction", "c", "e59", summary="S", firstKeptEntryId="e59", tokensBefore=1) + "\n")
    code = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from pinyon.session.session import Session
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path(sys.argv[1] + ".small").write_bytes(b"")
        Session.open(sys.argv[1] + ".small")
        before = peak()
        session = Session.open(sys.argv[1])
        context = session.build_session_context()
        assert session.get_entry_count() == 61
        assert len(context.messages) == context.message_count == 2
        print((peak() - before) // (1024 * 1024 if sys.platform == "darwin" else 1024))
        """
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 25, "megabytes for a file of 86"


def test_a_second_header_is_skipped_and_told(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), HEADER, answer_line("b", "a"))
    session = Session.open(path)
    assert [entry.id for entry in session.get_entries()] == ["a", "b"]
    assert kinds_of(session) == ["skipped_line"]
    assert "second session header" in session.diagnostics[0].message


def test_of_very_much_damage_only_the_first_is_kept(path: Path) -> None:
    write_lines(path, HEADER, user_line("a", None), *["garbage"] * 60)
    assert [problem.line for problem in Session.open(path).diagnostics] == list(range(3, 53))
