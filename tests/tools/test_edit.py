"""The edit tool on real files: what it finds, what it refuses, and the bytes that it never touches."""

from __future__ import annotations

import asyncio
import codecs
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pinyon._util.abort import AbortController, AbortSignal, OperationAbortedError
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.edit import EditPlan, compute_edits_diff, edit_file, plan_edits
from pinyon.tools.edit_match import Edit, EditError
from pinyon.tools.operations.local import LocalEditOperations, LocalWriteOperations
from pinyon.tools.write import write_file

Pairs = list[tuple[str, str]]


def edit(path: Path, *edits: tuple[str, str], signal: AbortSignal | None = None) -> AgentToolResult:
    return asyncio.run(edit_async(path, *edits, signal=signal))


async def edit_async(path: Path, *edits: tuple[str, str], signal: AbortSignal | None = None) -> AgentToolResult:
    params = {"path": path.name, "edits": [{"oldText": old, "newText": new} for old, new in edits]}
    return await edit_file(params, str(path.parent), LocalEditOperations(), signal or AbortSignal())


def plan(data: bytes | str, *edits: tuple[str, str]) -> EditPlan:
    raw = data.encode() if isinstance(data, str) else data
    return plan_edits(raw, [Edit(old, new) for old, new in edits], "f.txt")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.txt"


# results


def test_a_replacement_is_made_and_described(file: Path) -> None:
    file.write_bytes(b"alpha\nbeta\ngamma\n")
    result = edit(file, ("beta", "BETA"))
    assert file.read_bytes() == b"alpha\nBETA\ngamma\n"
    assert result.details == {
        "diff": " 1 alpha\n-2 beta\n+2 BETA\n 3 gamma",
        "patch": "--- f.txt\n+++ f.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n",
        "firstChangedLine": 2,
    }
    assert isinstance(result.content[0], TextContent)
    assert "1" in result.content[0].text
    assert "f.txt" in result.content[0].text
    assert not result.structured_content


def test_several_edits_are_matched_against_the_original_in_any_order() -> None:
    assert plan("one\ntwo\nthree\n", ("three", "two"), ("two", "one"), ("one", "three")).data == b"three\none\ntwo\n"


def test_touching_edits_are_fine() -> None:
    assert plan("abcd", ("ab", "1"), ("cd", "2")).data == b"12"


def test_replacement_text_is_literal() -> None:
    assert plan("x\n", ("x", r"$& $1 \n \1 \g<0>")).data == b"$& $1 \\n \\1 \\g<0>\n"


# refusals; the file stays as it is


@pytest.mark.parametrize(
    ("content", "edits", "facts"),
    [
        ("foo\nfoo\nfoo\n", [("foo\nfoo\n", "X\n")], ["2 times"]),
        ("aaa", [("aa", "b")], ["2 times"]),
        ('say "hi"\nsay “hi”\n', [('say "hi"', "x")], ["2 times"]),
        ("a —b\na – b\na - b\n", [("a - b", "x")], ["2 times"]),
        ("x  \nx\n", [("x ", "y")], ["2 times"]),
        ("ab" * 5000, [("b", "c")], ["at least 100 times"]),
        ("one\ntwo\nthree\n", [("one", "1"), ("nope", "x")], ["edits[1]", "f.txt"]),
        ("one\ntwo\nthree\n", [("one\ntwo", "1"), ("two\nthree", "x")], ["edits[0]", "edits[1]", "overlap"]),
        ("one\ntwo\nthree\n", [("three", "1"), ("two\nthree", "x")], ["edits[0]", "edits[1]", "overlap"]),
        ("one\n", [("one", "1"), ("one", "2")], ["overlap"]),
        ("one\n", [("nope", "x")], ["oldText", "f.txt", "not found"]),
        ("one\n", [("", "x")], ["empty"]),
        ("one\n", [("one", "1"), ("", "x")], ["edits[1]", "empty"]),
        ("", [("", "x")], ["empty"]),
        ("one\n", [("one", "one")], ["f.txt"]),
        ("one\r\n", [("one\n", "one\r\n")], ["f.txt"]),
        ("say “hi”\n", [('"hi"', '"hi"')], ["f.txt"]),
        ("   x\n", [("   ", "y")], ["blanks"]),
        ("a\n \t\nb\n", [(" \t", "y")], ["blanks"]),
        ("ﬁx\n", [("f", "y")], ["not found"]),
        ("ﬁx\n", [("ix", "y")], ["not found"]),
        ("one\n", [], ["at least one"]),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(file: Path, content: str, edits: Pairs, facts: list[str]) -> None:
    file.write_bytes(content.encode())
    with pytest.raises(ToolError) as failure:
        edit(file, *edits)
    assert file.read_bytes() == content.encode()
    for fact in facts:
        assert fact in str(failure.value)


@pytest.mark.parametrize("edits", [None, "text", {}, [1], [{"oldText": "a"}], [{"oldText": "a", "newText": 1}]])
def test_other_shapes_are_refused(file: Path, edits: Any) -> None:
    file.write_text("a")
    with pytest.raises(EditError, match="edits"):
        asyncio.run(
            edit_file({"path": "f.txt", "edits": edits}, str(file.parent), LocalEditOperations(), AbortSignal())
        )


def test_a_missing_file_is_named_with_its_error_code(file: Path) -> None:
    with pytest.raises(ToolError, match="ENOENT") as failure:
        edit(file, ("a", "b"))
    assert str(file) in str(failure.value)
    assert not file.exists()


def test_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError, match="EISDIR"):
        edit(tmp_path / "d", ("a", "b"))


# tolerant matching


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        ("alpha  \nsay “hi”\ntail — end\n", 'say "hi"', 'say "yo"', 'alpha  \nsay "yo"\ntail — end\n'),
        ("x = “q”; y = “r”  \n", 'x = "q"', "x = 1", "x = 1; y = “r”  \n"),
        ("foo   \nbar\t\nbaz \n", "foo\nbar", "F", "F\t\nbaz \n"),
        ("foo   \nbar\n", "foo\n", "F\n", "F\nbar\n"),
        ("foo   \nbar\n", "\nbar", "\nB", "foo   \nB\n"),
        ("it‘s ’quoted‚ ‛\n", "it's 'quoted' '", "x", "x\n"),
        ("a‐b‑c‒d–e—f―g−h\n", "a-b-c-d-e-f-g-h", "x", "x\n"),
        ("a\u00a0b\u2003c\u3000d\n", "a b c d", "x", "x\n"),
        ("ＦＵＬＬ width\n", "FULL", "half", "half width\n"),
        ("ＡＢＣ\n", "B", "x", "ＡxＣ\n"),
        ("ﬁn ﬁx ﬂy\n", "fix", "mend", "ﬁn mend ﬂy\n"),
        ("e\u0301te\u0301 a\n", "été", "hiver", "hiver a\n"),
        ("été a\n", unicodedata.normalize("NFD", "été"), "hiver", "hiver a\n"),
        ("a…z\n", "a...z", "x", "x\n"),
        ("漢字“引用”、テスト\n", '漢字"引用"', "x", "x、テスト\n"),
        ("가나다 “x”\n", '나다 "x"', "y", "가y\n"),
        ("no newline ‘x’", "'x'", "y", "no newline y"),
        ("line \ufeff\nnext\n", "line\nnext", "x", "x\n"),
        ("say “hi” there\n", 'say "hi" ', "told ", "told there\n"),
        ("say “hi”  \nnext\n", 'say "hi" ', "x", "x \nnext\n"),
        ("say “hi”\nnext\n", 'say "hi"  ', "x", "x\nnext\n"),
        ("“a”\r\n“b”  \r\n“c”\r\n", '"a"\n"b"', "1\n2", "1\r\n2  \r\n“c”\r\n"),
    ],
)
def test_typography_only_locates_and_is_never_rewritten(content: str, old: str, new: str, expected: str) -> None:
    assert plan(content, (old, new)).data.decode() == expected


def test_a_very_long_line_is_searched_tolerantly_too() -> None:
    line = "漢字" * 15_000
    done = plan(f"{line} say “hi” {line}\n", (' say "hi" ', " x "))
    assert done.data.decode() == f"{line} x {line}\n"


def test_exact_and_tolerant_edits_go_together() -> None:
    done = plan("keep “this”  \nfoo\nsay ‘x’\n", ("foo", "bar"), ("say 'x'", "y"))
    assert done.data.decode() == "keep “this”  \nbar\ny\n"


def test_a_file_separator_is_no_trailing_blank() -> None:
    with pytest.raises(EditError, match="not found"):
        plan("foo\x1c\nbar\n", ("foo\nbar", "x"))


# line ends and marks


@pytest.mark.parametrize(
    ("content", "edits", "expected"),
    [
        (b"\xef\xbb\xbfalpha\r\nbeta\r\ngamma", [("alpha\nbeta", "A\nB")], b"\xef\xbb\xbfA\r\nB\r\ngamma"),
        (b"\xef\xbb\xbfalpha\n", [("\ufeffalpha", "\ufeffA")], b"\xef\xbb\xbfA\n"),
        (b"a\r\nb\r\n", [("a\r\nb", "1\r\n2\r\n3")], b"1\r\n2\r\n3\r\n"),
        (b"a\nb\n", [("a", "1\r\n2")], b"1\n2\nb\n"),
        (b"a\r\nb\nc\r\n", [("b", "1\n2")], b"a\r\n1\n2\nc\r\n"),
        (b"a\r\nb\nc\r\n", [("c", "1\n2")], b"a\r\nb\n1\r\n2\r\n"),
        (b"a\r\nb", [("b", "c\nd")], b"a\r\nc\r\nd"),
        (b"a\nb\r\nc", [("c", "1\n2")], b"a\nb\r\n1\r\n2"),
        (b"a\rb\rc", [("b", "1\n2")], b"a\r1\r2\rc"),
        (b"a\r\nb\rc\nd", [("b\nc", "1\n2\n3")], b"a\r\n1\n2\n3\nd"),
        (b"a\rX\nb", [("X", "")], b"a\r\n\nb"),
        (b"a\rX\nb", [("X\nb", "\nb")], b"a\r\n\nb"),
        (b"a\r\nX\nb", [("X", "")], b"a\r\n\nb"),
        (b"a\r\n\r\nb\r\n", [("a\n\nb", "a\nb")], b"a\r\nb\r\n"),
        (b"a\r\nb\nc\n", [("a\nb\nc", "a\nB\nc")], b"a\r\nB\nc\n"),
        (b"a\r\nb\nc\r\nd\n", [("b\nc\nd", "b\nc\nD")], b"a\r\nb\nc\r\nD\n"),
        (b"one\r\ntwo\r\n", [("one\n", "")], b"two\r\n"),
        (b"one\r\ntwo\r\n", [("\n", "; "), ("two", "2")], None),
        (b"one\r\ntwo", [("\n", "; "), ("two", "2")], b"one; 2"),
    ],
)
def test_marks_and_line_ends_stay(content: bytes, edits: Pairs, expected: bytes | None) -> None:
    if expected is None:
        with pytest.raises(EditError, match="2 times"):
            plan(content, *edits)
    else:
        assert plan(content, *edits).data == expected


# encodings


def test_utf16_stays_utf16(file: Path) -> None:
    file.write_bytes(codecs.BOM_UTF16_LE + "hello\r\nworld “x”\r\n".encode("utf-16-le"))
    edit(file, ("hello\nworld", "bye\nmoon \U0001f319"))
    assert file.read_bytes() == codecs.BOM_UTF16_LE + "bye\r\nmoon \U0001f319 “x”\r\n".encode("utf-16-le")


def test_a_legacy_file_keeps_its_encoding(file: Path) -> None:
    text = "第一行：你好，世界。\nname = old\n"
    file.write_bytes(text.encode("gbk"))
    edit(file, ("old", "new"))
    assert file.read_bytes() == text.replace("old", "new").encode("gbk")
    edit(file, ("你好", "再见"))
    assert file.read_bytes() == text.replace("old", "new").replace("你好", "再见").encode("gbk")


def test_a_character_that_the_encoding_lacks_is_refused(file: Path) -> None:
    data = "Grüße aus Köln, schöne Straße\n".encode("cp1252")
    file.write_bytes(data)
    with pytest.raises(EditError, match="Windows-1252") as failure:
        edit(file, ("aus", "→"))
    assert "→" in str(failure.value)
    assert file.read_bytes() == data


def test_bytes_that_are_no_text_survive(file: Path) -> None:
    data = b"caf\xe9 \xff\xfe\x80 one\r\nabc \xc3\x28\r\n\x00\x01\r\n"
    file.write_bytes(data)
    result = edit(file, ("abc", "xyz"))
    assert file.read_bytes() == data.replace(b"abc", b"xyz")
    assert "\ufffd" in result.details["diff"]
    result.details["diff"].encode()
    result.details["patch"].encode()


def test_replacement_characters_are_never_stored_for_bytes(file: Path) -> None:
    data = b"\xff\xfd bad \x81\x8d\nname\n"
    file.write_bytes(data)
    with pytest.raises(EditError, match="bytes"):
        edit(file, ("name", "name \ufffd"))
    with pytest.raises(EditError, match="not found"):
        edit(file, ("\ufffd\ufffd bad", "good"))
    assert file.read_bytes() == data


def test_a_real_replacement_character_can_be_edited() -> None:
    assert plan("a \ufffd b", ("\ufffd b", "\ufffd c")).data.decode() == "a \ufffd c"
    assert plan("a b", ("b", "\ufffd")).data.decode() == "a \ufffd"


def test_a_path_of_raw_bytes_makes_a_patch_that_can_be_sent() -> None:
    assert plan_edits(b"x", [Edit("x", "y")], "\udcff").change.patch.encode()


def test_lone_surrogates_in_a_call_become_replacement_characters(file: Path) -> None:
    file.write_text("x y", encoding="utf-8")
    edit(file, ("x", "\ud83d"))
    assert file.read_text(encoding="utf-8") == "\ufffd y"
    edit(file, ("y", "\ud83d\ude00"))
    assert file.read_text(encoding="utf-8") == "\ufffd \U0001f600"


PIECES = [
    "a",
    "b",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\r",
    "“q”",
    '"q"',
    "—",
    "-",
    "é",
    "e\u0301",
    "ﬁ",
    "漢",
    "\U0001f600",
    "\t",
]
CODECS = ["utf-8", "utf-8-mark", "utf-16-le", "utf-16-be", "utf-32-le", "raw"]


def encoded(text: str, codec: str) -> bytes:
    if codec == "utf-8-mark":
        return codecs.BOM_UTF8 + text.encode()
    if codec == "raw":
        return b"\xff\x80 " + text.encode() + b" \xe9"
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE, "utf-32-le": codecs.BOM_UTF32_LE}
    return marks.get(codec, b"") + text.encode(codec)


@given(
    st.lists(st.sampled_from(PIECES), max_size=14),
    st.lists(st.sampled_from(PIECES), max_size=14),
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.sampled_from(CODECS),
    st.sampled_from(["exact", "typography"]),
)
@example(["a", "\r"], ["\n", "b"], ["\n"], "utf-8", "exact")
@example([], ["\U0001f600"], [], "utf-16-le", "exact")
def test_bytes_outside_of_the_span_never_change(
    before: list[str], after: list[str], new: list[str], codec: str, style: str
) -> None:
    old = "@OLD “x”@" if style == "typography" else '@OLD "x"@'
    first, last, new_text = "".join(before), "".join(after), "N" + "".join(new) + "N"
    data = encoded(first + old + last, codec)
    head, tail = data.split(encoded("@OLD", "utf-8" if codec in ("raw", "utf-8-mark") else codec)[_mark_size(codec) :])
    tail = tail[len(codecs.encode(old[4:], _codec(codec))) :]
    result = plan(data, ('@OLD "x"@', new_text)).data
    assert result.startswith(head)
    assert result.endswith(tail)
    inside = result[len(head) : len(result) - len(tail)].decode(_codec(codec))
    assert inside.replace("\r\n", "\n").replace("\r", "\n") == new_text.replace("\r\n", "\n").replace("\r", "\n")


def _codec(codec: str) -> str:
    return "utf-8" if codec in ("raw", "utf-8-mark") else codec


def _mark_size(codec: str) -> int:
    return {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4}.get(codec, 0)


@given(st.text(st.sampled_from('ab \n\r“"—-é\u0301ﬁ漢'), max_size=30), st.data())
def test_an_accepted_edit_replaces_exactly_one_span(text: str, data: st.DataObject) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    new = data.draw(st.text("xyz\n", max_size=5))
    try:
        result = plan(text, (old, new)).data.decode()
    except EditError:
        return
    normal, normal_old, normal_new = (item.replace("\r\n", "\n").replace("\r", "\n") for item in (text, old, new))
    assert result.replace("\r\n", "\n").replace("\r", "\n") == normal.replace(normal_old, normal_new)


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_around_an_ascii_word_survive(before: bytes, after: bytes) -> None:
    data = before + b" needle42 " + after
    try:
        result = plan(data, ("needle42", "pin")).data
    except EditError:
        return
    assert result == data.replace(b"needle42", b"pin")


# large files


def test_a_neighbour_of_five_megabytes_costs_little(file: Path) -> None:
    file.write_text("x" * 5_000_000 + "\nneedle\n")
    result = edit(file, ("needle", "N"))
    assert file.read_bytes().endswith(b"x\nN\n")
    assert len(str(result.details)) < 10_000


def test_a_failing_description_leaves_the_file_alone(file: Path) -> None:
    class Failing(LocalEditOperations):
        async def read_file(self, path: str) -> bytes:
            raise MemoryError

    file.write_text("a")
    with pytest.raises(MemoryError):
        asyncio.run(
            edit_file({"path": str(file), "edits": [{"oldText": "a", "newText": "b"}]}, "/", Failing(), AbortSignal())
        )
    assert file.read_text() == "a"


def test_ambiguous_text_in_a_repetitive_file_is_refused_without_counting_all_places() -> None:
    with pytest.raises(EditError, match="at least 100"):
        plan("a" * 2_000_000, ("a" * 1_000_000, "b"))


# disk


def test_a_link_is_followed_and_the_mode_stays(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("a b")
    target.chmod(0o751)
    link = tmp_path / "f.txt"
    link.symlink_to(target)
    edit(link, ("a", "c"))
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("c b", 0o751)


class FullDisk(LocalEditOperations):
    """Fails the first writes after having destroyed the file, as a full disk does."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def write_file(self, path: str, content: str | bytes) -> None:
        if self.failures:
            self.failures -= 1
            await super().write_file(path, b"")
            raise OSError(28, "No space left on device")
        await super().write_file(path, content)


@pytest.mark.parametrize(
    ("failures", "left", "fact"), [(1, b"a\xff b", "Nothing was changed"), (2, b"", "check the file")]
)
def test_after_a_failed_write_the_old_content_is_put_back(file: Path, failures: int, left: bytes, fact: str) -> None:
    file.write_bytes(b"a\xff b")
    params = {"path": "f.txt", "edits": [{"oldText": "b", "newText": "c"}]}
    with pytest.raises(ToolError, match=fact) as failure:
        asyncio.run(edit_file(params, str(file.parent), FullDisk(failures), AbortSignal()))
    assert "ENOSPC" in str(failure.value)
    assert file.read_bytes() == left


def test_a_name_that_begins_with_an_at_sign_is_found(tmp_path: Path) -> None:
    (tmp_path / "@scope").mkdir()
    (tmp_path / "@scope" / "f.txt").write_text("a")
    params = {"path": "@scope/f.txt", "edits": [{"oldText": "a", "newText": "b"}]}
    asyncio.run(edit_file(params, str(tmp_path), LocalEditOperations(), AbortSignal()))
    assert (tmp_path / "@scope" / "f.txt").read_text() == "b"


def test_the_plain_name_is_edited_where_both_exist(tmp_path: Path) -> None:
    for name in ("f.txt", "@f.txt"):
        (tmp_path / name).write_text("a")
    params = {"path": "@f.txt", "edits": [{"oldText": "a", "newText": "b"}]}
    asyncio.run(edit_file(params, str(tmp_path), LocalEditOperations(), AbortSignal()))
    assert [(tmp_path / name).read_text() for name in ("f.txt", "@f.txt")] == ["b", "a"]


def test_operations_get_text_where_the_file_is_utf8(file: Path) -> None:
    written: list[str | bytes] = []

    class Recording(LocalEditOperations):
        async def write_file(self, path: str, content: str | bytes) -> None:
            written.append(content)

    for data in ("\ufeffé a".encode(), b"\xe9\xff a"):
        file.write_bytes(data)
        params = {"path": "f.txt", "edits": [{"oldText": "a", "newText": "b"}]}
        asyncio.run(edit_file(params, str(file.parent), Recording(), AbortSignal()))
    assert written == ["\ufeffé b", b"\xe9\xff b"]


# order and abort


def test_parallel_edits_of_one_file_all_arrive(tmp_path: Path) -> None:
    file, link = tmp_path / "f.txt", tmp_path / "link"
    file.write_text("".join(f"line{number:02}\n" for number in range(30)))
    link.symlink_to(file)

    async def scenario() -> None:
        await asyncio.gather(
            *(
                edit_async(link if number % 2 else file, (f"line{number:02}", f"done{number:02}"))
                for number in range(30)
            )
        )

    asyncio.run(scenario())
    assert file.read_text() == "".join(f"done{number:02}\n" for number in range(30))


def test_an_edit_waits_for_a_write_of_the_same_file(file: Path) -> None:
    async def scenario() -> None:
        write = write_file(
            {"path": "f.txt", "content": "a" * 100_000 + "needle"},
            str(file.parent),
            LocalWriteOperations(),
            AbortSignal(),
        )
        await asyncio.gather(write, edit_async(file, ("needle", "pin")))

    file.write_text("")
    asyncio.run(scenario())
    assert file.read_text().endswith("apin")


def test_an_abort_before_the_start_changes_nothing(file: Path) -> None:
    file.write_text("a")
    controller = AbortController()
    controller.abort()
    with pytest.raises(OperationAbortedError):
        edit(file, ("a", "b"), signal=controller.signal)
    assert file.read_text() == "a"


@pytest.mark.parametrize(("step", "content"), [("access", "a"), ("read", "a"), ("write", "b")])
def test_an_abort_is_noticed_between_the_steps(file: Path, step: str, content: str) -> None:
    controller = AbortController()

    class Aborting(LocalEditOperations):
        async def access(self, path: str) -> None:
            await super().access(path)
            if step == "access":
                controller.abort()

        async def read_file(self, path: str) -> bytes:
            data = await super().read_file(path)
            if step == "read":
                controller.abort()
            return data

        async def write_file(self, path: str, content: str | bytes) -> None:
            if step == "write":
                controller.abort()
            await super().write_file(path, content)

    file.write_text("a")
    call = edit_file(
        {"path": "f.txt", "edits": [{"oldText": "a", "newText": "b"}]}, str(file.parent), Aborting(), controller.signal
    )
    if step == "write":
        asyncio.run(call)
    else:
        with pytest.raises(OperationAbortedError):
            asyncio.run(call)
    assert file.read_text() == content


def test_an_abort_while_a_large_edit_is_worked_out_is_noticed(file: Path) -> None:
    controller = AbortController()

    class AbortingSoon(LocalEditOperations):
        async def read_file(self, path: str) -> bytes:
            data = await super().read_file(path)
            asyncio.get_running_loop().call_soon(controller.abort)
            return data

    text = "x\n" * 100_000 + "a\n"
    file.write_text(text)
    params = {"path": "f.txt", "edits": [{"oldText": "a", "newText": "b"}]}
    with pytest.raises(OperationAbortedError):
        asyncio.run(edit_file(params, str(file.parent), AbortingSoon(), controller.signal))
    assert file.read_text() == text


# preview


def test_the_preview_shows_the_change_and_writes_nothing(file: Path) -> None:
    file.write_text("alpha\nbeta\n")
    preview = asyncio.run(compute_edits_diff("f.txt", [{"oldText": "beta", "newText": "B"}], str(file.parent)))
    assert preview == {"diff": " 1 alpha\n-2 beta\n+2 B", "firstChangedLine": 2}
    assert file.read_text() == "alpha\nbeta\n"


@pytest.mark.parametrize(
    ("path", "edits"),
    [("f.txt", [{"oldText": "nope", "newText": "B"}]), ("none.txt", [{"oldText": "a", "newText": "B"}]), ("f.txt", [])],
)
def test_the_preview_says_what_is_wrong(file: Path, path: str, edits: list[dict[str, str]]) -> None:
    file.write_text("alpha\n")
    assert list(asyncio.run(compute_edits_diff(path, edits, str(file.parent)))) == ["error"]
