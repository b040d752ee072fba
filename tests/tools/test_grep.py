"""The grep tool on real trees: with the ripgrep program, without it, and in an environment."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, AbortSignal, OperationAbortedError
from pinyon.agent.tool import AgentToolResult, FixedToolContext
from pinyon.ai.content import TextContent
from pinyon.env import LocalEnv, MemoryEnv
from pinyon.errors import ToolError
from pinyon.tools.content_search import installed_ripgrep, search_lines
from pinyon.tools.grep import create_grep_tool_definition
from pinyon.tools.operations import default_grep_operations, env_grep_operations
from pinyon.tools.ripgrep import find_ripgrep
from pinyon.tools.ripgrep_event import LONG_EVENT_BYTES, EventStream, FoundLine, long_line

NOTHING = "No matches found"
Engine = Callable[..., AgentToolResult]


def with_ripgrep(folder: Path, **params: Any) -> AgentToolResult:
    return asyncio.run(create_grep_tool_definition(folder).run(params))


def without_ripgrep(folder: Path, **params: Any) -> AgentToolResult:
    return asyncio.run(search_lines(params, str(folder), default_grep_operations(), AbortSignal(), lambda: None))


def in_memory(folder: Path, **params: Any) -> AgentToolResult:
    """The same files in an environment of their own."""
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    env = MemoryEnv(files, cwd=str(folder))
    return asyncio.run(search_lines(params, str(folder), env_grep_operations(env), AbortSignal()))


ENGINES = pytest.mark.parametrize("grep", [with_ripgrep, without_ripgrep, in_memory])
ON_DISK = pytest.mark.parametrize("grep", [with_ripgrep, without_ripgrep])


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def lines_of(result: AgentToolResult) -> list[str]:
    text = text_of(result)
    return [] if text == NOTHING else text.split("\n")


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def test_the_declaration_is_complete(tmp_path: Path) -> None:
    tool = create_grep_tool_definition(tmp_path)
    assert tool.parameters["required"] == ["pattern"]
    assert {name: value["type"] for name, value in tool.parameters["properties"].items()} == {
        "pattern": "string",
        "path": "string",
        "glob": "string",
        "ignoreCase": "boolean",
        "literal": "boolean",
        "context": "number",
        "limit": "number",
    }
    for fact in (".gitignore", "100 matches", "50KB", "500 characters", "line number"):
        assert fact in tool.description
    assert tool.constrained_sampling is None


@ENGINES
def test_matches_have_path_number_and_line(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"b.txt": "one\nneedle two\n", "a/c.txt": "needle\r\nx\n  needle  ", ".hid": "needle\n"})
    result = grep(tmp_path, pattern="needle")
    assert lines_of(result) == [".hid:1: needle", "a/c.txt:1: needle", "a/c.txt:3:   needle  ", "b.txt:2: needle two"]
    assert not result.details


@ENGINES
def test_no_match_is_said(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"a": "x\n"})
    result = grep(tmp_path, pattern="needle")
    assert text_of(result) == NOTHING
    assert not result.details


@ENGINES
@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        ("a.c", {}, ["abc", "a.c"]),
        ("a.c", {"literal": True}, ["a.c"]),
        ("ABC", {}, []),
        ("ABC", {"ignoreCase": True}, ["abc"]),
        ("ÄÖ", {"ignoreCase": True}, ["äöü"]),
        (r"^\d+$", {}, ["2024"]),
        (r"fo{2}\b", {}, ["foo bar"]),
        (r"(?i)FOO", {}, ["foo bar"]),
        (r"(?P<x>b)ar", {}, ["foo bar"]),
        (r"(?<x>b)ar", {}, ["foo bar"]),
        (r"[[:digit:]]{4}", {}, ["2024"]),
        (r"\x{e4}", {}, ["äöü"]),
        (r"bar\z", {}, ["foo bar"]),
        (r"foo|2024", {}, ["2024", "foo bar"]),
        (r"c++", {"literal": True}, ["c++"]),
        (r"c\+\+", {}, ["c++"]),
        ("--pre=./evil.sh", {}, ["--pre=./evil.sh"]),
        ("-e", {}, ["-e x"]),
        ("--", {}, ["--pre=./evil.sh"]),
        ("a|b(", {"literal": True}, ["a|b("]),
    ],
)
def test_patterns_mean_the_same_everywhere(
    tmp_path: Path, grep: Engine, pattern: str, options: dict[str, Any], expected: list[str]
) -> None:
    content = ["abc", "a.c", "äöü", "2024", "foo bar", "c++", "--pre=./evil.sh", "-e x", "a|b("]
    write(tmp_path, {"f.txt": "\n".join(content)})
    found = [line.split(": ", 1)[1] for line in lines_of(grep(tmp_path, pattern=pattern, **options))]
    assert found == expected


@ENGINES
@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "a(?!b)", "(?<=a)b", r"(a)\1", "[z-a]", r"\y", "a{9,1}", "*"])
def test_what_is_no_pattern_is_refused_with_advice(tmp_path: Path, grep: Engine, pattern: str) -> None:
    write(tmp_path, {"a": "x\n"})
    with pytest.raises(ToolError) as caught:
        grep(tmp_path, pattern=pattern)
    assert repr(pattern) in str(caught.value)
    assert "literal" in str(caught.value)


@pytest.mark.parametrize("pattern", [r"a++", r"\pL", r"[a&&b]", r"[a[b]]", r"[[:nothing:]]", r"\u{zz}"])
def test_what_only_ripgrep_knows_is_refused_without_it(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="literal"):
        without_ripgrep(tmp_path, pattern=pattern)


def test_a_pattern_never_becomes_an_option(tmp_path: Path) -> None:
    script = tmp_path / "evil.sh"
    script.write_text("#!/bin/sh\ntouch pwned\n")
    script.chmod(0o755)
    for pattern in ("--pre=./evil.sh", "--pre", "-f/etc/passwd"):
        with_ripgrep(tmp_path, pattern=pattern)
    write(tmp_path, {"-n": "needle\n"})
    assert lines_of(with_ripgrep(tmp_path, pattern="needle", path="-n", glob="--pre=x")) == ["-n:1: needle"]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("pattern", ["a\nb", "nul\0byte"])
def test_impossible_patterns_are_tool_errors(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, {"a": "x\n"})
    with pytest.raises(ToolError):
        with_ripgrep(tmp_path, pattern=pattern)


def test_the_users_configuration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a": "abc\n", "rc": "--fixed-strings\n"})
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert lines_of(with_ripgrep(tmp_path, pattern="a.c")) == ["a:1: abc"]


@ENGINES
@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.js", ["deep/c.js", "migrations/main/b.js", "top.js"]),
        ("migrations/main/*.js", ["migrations/main/b.js"]),
        ("./migrations/**", ["migrations/main/b.js", "migrations/main/x.py"]),
        ("/top.js", ["top.js"]),
        ("!*.js", ["migrations/main/x.py"]),
        ("!./migrations/main", ["deep/c.js", "top.js"]),
        ("!deep/", ["migrations/main/b.js", "migrations/main/x.py", "top.js"]),
        ("*.{py,rs}", ["migrations/main/x.py"]),
        ("**/*.js", ["deep/c.js", "migrations/main/b.js", "top.js"]),
        ("main/*.js", []),
    ],
)
def test_a_glob_counts_from_the_searched_directory(
    tmp_path: Path, grep: Engine, glob: str, expected: list[str]
) -> None:
    names = ("migrations/main/b.js", "migrations/main/x.py", "deep/c.js", "top.js")
    write(tmp_path, {f"repo/{name}": "needle\n" for name in names})
    found = lines_of(grep(tmp_path, pattern="needle", path="repo", glob=glob))
    assert [line.partition(":")[0] for line in found] == expected


@ENGINES
def test_a_broken_glob_is_refused(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"a": "x\n"})
    with pytest.raises(ToolError):
        grep(tmp_path, pattern="x", glob="[a")


@ENGINES
def test_a_named_file_is_searched_even_if_ignored_or_binary(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"sub/x.log": "needle\n", ".gitignore": "*.log\n", "bin.dat": b"needle\n\0\n"})
    assert lines_of(grep(tmp_path, pattern="needle")) == []
    assert lines_of(grep(tmp_path, pattern="needle", path="sub/x.log")) == ["x.log:1: needle"]
    assert lines_of(grep(tmp_path, pattern="needle", path="bin.dat")) == ["bin.dat:1: needle"]


@ENGINES
def test_ignore_files_hold_where_they_are(tmp_path: Path, grep: Engine) -> None:
    write(
        tmp_path,
        {
            "a/.gitignore": "*.log\n",
            ".ignore": "*.tmp\n",
            ".rgignore": "*.rg\n",
            **dict.fromkeys(["a/k.log", "b/k.log", "b/x.tmp", "b/x.rg", ".env.sample", "b/x.fd"], "needle\n"),
            ".fdignore": "*.fd\n",
            "node_modules/x.js": "needle\n",
            ".gitignore": "node_modules\n",
        },
    )
    assert lines_of(grep(tmp_path, pattern="needle")) == [
        ".env.sample:1: needle",
        "b/k.log:1: needle",
        "b/x.fd:1: needle",
    ]
    assert lines_of(grep(tmp_path, pattern="needle", glob="node_modules/**")) == []
    assert lines_of(grep(tmp_path, pattern="needle", path="node_modules")) == ["x.js:1: needle"]


@ON_DISK
def test_repositories_links_and_git_folders(tmp_path: Path, grep: Engine) -> None:
    for folder in (tmp_path, tmp_path / "sub"):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    write(tmp_path, {".gitignore": "sub/\n*.log\n", "sub/x.py": "needle\n", "sub/y.log": "needle\n", "a": "needle\n"})
    write(tmp_path, {".git/note": "needle\n"})
    (tmp_path / "loop").symlink_to(".")
    assert lines_of(grep(tmp_path, pattern="needle")) == ["a:1: needle"]
    assert lines_of(grep(tmp_path / "sub", pattern="needle")) == ["x.py:1: needle", "y.log:1: needle"]
    assert lines_of(grep(tmp_path, pattern="needle", path=".git")) == ["note:1: needle"]
    assert lines_of(grep(tmp_path, pattern="needle", glob=".git/**")) == [".git/note:1: needle"]
    assert lines_of(grep(tmp_path, pattern="needle", path="loop", glob="a")) == ["a:1: needle"]


@ENGINES
def test_context_lines_are_marked_and_never_repeated(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"f": "1\n2\nx\n4\nx\n6\n7\n8\n9\nx"})
    assert lines_of(grep(tmp_path, pattern="x", context=1)) == [
        "f-2- 2",
        "f:3: x",
        "f-4- 4",
        "f:5: x",
        "f-6- 6",
        "f-9- 9",
        "f:10: x",
    ]
    assert lines_of(grep(tmp_path, pattern="x", context=0.9)) == ["f:3: x", "f:5: x", "f:10: x"]
    assert lines_of(grep(tmp_path, pattern="x", context=-2)) == ["f:3: x", "f:5: x", "f:10: x"]


@ENGINES
@pytest.mark.parametrize(
    ("limit", "shown", "is_cut"),
    [(3, 3, True), (4, 4, True), (5, 5, False), (6, 5, False), (0, 1, True), (-4, 1, True), (2.9, 2, True)],
)
def test_the_limit_is_told_only_when_there_is_more(
    tmp_path: Path, grep: Engine, limit: float, shown: int, is_cut: bool
) -> None:
    write(tmp_path, {"f": "x\n" * 5 + "y\n" * 5})
    result = grep(tmp_path, pattern="x", limit=limit)
    found, _, notice = text_of(result).partition("\n\n")
    assert found.split("\n") == [f"f:{n}: x" for n in range(1, shown + 1)]
    if is_cut:
        assert f"limit={shown * 2}" in notice
        assert result.details == {"matchLimitReached": shown}
    else:
        assert (notice, bool(result.details)) == ("", False)


@ENGINES
def test_the_lines_around_the_last_match_are_complete(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"f": "1\nx\n3\nx\n5\n6\n7\nx\n"})
    result = grep(tmp_path, pattern="x", limit=1, context=2)
    found, _, notice = text_of(result).partition("\n\n")
    assert found.split("\n") == ["f-1- 1", "f:2: x", "f-3- 3", "f-4- x"]
    assert "limit=2" in notice
    exact = grep(tmp_path, pattern="x", limit=3, context=1)
    assert lines_of(exact)[-2:] == ["f-7- 7", "f:8: x"]
    assert not exact.details


@ENGINES
def test_long_lines_are_cut_with_a_note(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"a.js": "q" * 300_000 + "needle\n", "b.js": "needle\n", "c.js": "x" * 499 + "😀needle\n"})
    result = grep(tmp_path, pattern="needle")
    found, _, notice = text_of(result).partition("\n\n")
    long, short, emoji = found.split("\n")
    assert re.fullmatch(r"a\.js:1: q{500}\.\.\. \[truncated\]", long)
    assert short == "b.js:1: needle"
    assert emoji.encode()
    assert "500" in notice
    assert result.details == {"linesTruncated": True}


@ON_DISK
def test_huge_lines_stay_bounded(tmp_path: Path, grep: Engine) -> None:
    import tracemalloc

    write(tmp_path, {"a.json": b"\xff" + b"needle " * 600_000, "b.json": "é" * 3_000_000 + "\nneedle\n"})
    tracemalloc.start()
    result = grep(tmp_path, pattern="needle")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = lines_of(result)
    assert found[0].startswith("a.json:1: \ufffdneedle needle")
    assert found[1] == "b.json:2: needle"
    assert peak < 10_000_000


@ON_DISK
def test_a_large_log_is_searched_in_bounded_memory(tmp_path: Path, grep: Engine) -> None:
    import tracemalloc

    line = b"2026-01-01 INFO something happened\n"
    (tmp_path / "big.log").write_bytes(line * 400_000 + b"needle\n" + line)
    tracemalloc.start()
    result = grep(tmp_path, pattern="needle", path="big.log", context=2)
    frequent = grep(tmp_path, pattern="INFO", path="big.log", context=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [line.partition(" ")[0] for line in lines_of(result)] == [
        "big.log-399999-",
        "big.log-400000-",
        "big.log:400001:",
        "big.log-400002-",
    ]
    assert frequent.details["matchLimitReached"] == 100
    assert peak < 3_000_000


@ENGINES
def test_fifty_kilobytes_are_the_most(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {"f": ("needle " + "x" * 400 + "\n") * 400})
    result = grep(tmp_path, pattern="needle", limit=300)
    cut = result.details["truncation"]
    size = sum(len(f"f:{n}: needle ") + 401 for n in range(1, 301)) - 1
    assert (cut["totalLines"], cut["totalBytes"], cut["truncatedBy"]) == (300, size, "bytes")
    assert cut["outputBytes"] <= 51200
    assert result.details["matchLimitReached"] == 300
    assert "50.0KB" in text_of(result)


@ENGINES
def test_binary_files_are_passed_over_and_other_encodings_read(tmp_path: Path, grep: Engine) -> None:
    write(
        tmp_path,
        {
            "bin": b"\0\0needle\n",
            "latin": b"caf\xe9 needle\n",
            "utf16": "ä needle\r\n".encode("utf-16"),
            "bom": b"\xef\xbb\xbfneedle\n",
        },
    )
    assert lines_of(grep(tmp_path, pattern="needle")) == [
        "bom:1: needle",
        "latin:1: caf\ufffd needle",
        "utf16:1: ä needle",
    ]


@ON_DISK
def test_odd_names_are_shown_harmlessly(tmp_path: Path, grep: Engine) -> None:
    write(tmp_path, {os.fsdecode(b"bad\xff.txt"): "needle\n", "esc\x1b[2J": "needle\n", "ünï": "needle\n"})
    assert lines_of(grep(tmp_path, pattern="needle")) == [
        "bad\ufffd.txt:1: needle",
        r"esc\x1b[2J:1: needle",
        "ünï:1: needle",
    ]


@ENGINES
def test_a_missing_path_is_named(tmp_path: Path, grep: Engine) -> None:
    with pytest.raises(ToolError, match=re.escape(repr(str(tmp_path / "missing")))):
        grep(tmp_path, pattern="x", path="missing")


def test_the_folder_may_come_from_the_call(tmp_path: Path) -> None:
    write(tmp_path, {"a": "needle\n"})
    definition = create_grep_tool_definition("/nowhere")
    result = asyncio.run(definition.run({"pattern": "needle"}, FixedToolContext(cwd=tmp_path)))
    assert lines_of(result) == ["a:1: needle"]
    local = create_grep_tool_definition(tmp_path, env=LocalEnv(str(tmp_path)))
    assert lines_of(asyncio.run(local.run({"pattern": "needle"}))) == ["a:1: needle"]


def is_directory(path: str) -> bool:
    return Path(path).is_dir()


def read_text(path: str) -> str:
    return Path(path).read_text()


class ReadOnly:
    """Operations that give contents of local files."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def is_directory(self, path: str) -> bool:
        return is_directory(path)

    async def read_file(self, path: str) -> str:
        self.read.append(path)
        if path.endswith("closed"):
            raise PermissionError(13, "closed", path)
        return read_text(path).upper()


def test_given_contents_are_searched_in_this_process(tmp_path: Path) -> None:
    write(tmp_path, {"a": "needle\n", "closed": "needle\n"})
    operations = ReadOnly()
    definition = create_grep_tool_definition(tmp_path, operations=operations)
    result = asyncio.run(definition.run({"pattern": "NEEDLE"}))
    assert text_of(result) == "a:1: NEEDLE\n\n[Some files could not be read]"
    assert operations.read == [str(tmp_path / "a"), str(tmp_path / "closed")]
    assert lines_of(asyncio.run(definition.run({"pattern": "NEEDLE", "path": "a"}))) == ["a:1: NEEDLE"]


FAKE_RIPGREP = """#!{python}
import sys, time
print('{{"type":"begin","data":{{"path":{{"text":"./a"}}}}}}')
{body}
"""


def fake_program(folder: Path, body: str) -> str:
    program = folder / "fake-rg"
    program.write_text(FAKE_RIPGREP.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return str(program)


def run_with(program: str, folder: Path, signal: AbortSignal | None = None) -> AgentToolResult:
    work = search_lines(
        {"pattern": "x"}, str(folder), default_grep_operations(), signal or AbortSignal(), lambda: program
    )
    return asyncio.run(work)


def test_files_that_ripgrep_cannot_read_do_not_spoil_the_rest(tmp_path: Path) -> None:
    match = {"type": "match", "data": {"path": {"text": "./a"}, "lines": {"text": "x\n"}, "line_number": 7}}
    summary = {"data": {"stats": {}}, "type": "summary"}
    lines = "\n".join(json.dumps(item, separators=(",", ":")) for item in (match, summary))
    text = text_of(run_with(fake_program(tmp_path, f"print({lines!r}); sys.exit(2)"), tmp_path))
    assert text == "a:7: x\n\n[Some files could not be read]"


def test_a_failing_program_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="some trouble"):
        run_with(fake_program(tmp_path, "sys.stderr.write('rg: some trouble'); sys.exit(2)"), tmp_path)
    with pytest.raises(ToolError, match="code 9"):
        run_with(fake_program(tmp_path, "sys.exit(9)"), tmp_path)


def test_an_abort_ends_the_program(tmp_path: Path) -> None:
    controller = AbortController()
    body = "import os; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"

    def started() -> bool:
        return (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text())

    async def work() -> None:
        program = fake_program(tmp_path, body)
        search = search_lines(
            {"pattern": "x"}, str(tmp_path), default_grep_operations(), controller.signal, lambda: program
        )
        task = asyncio.create_task(search)
        for _ in range(500):
            if started():
                break
            await asyncio.sleep(0.02)
        controller.abort()
        await task

    with pytest.raises(OperationAbortedError):
        asyncio.run(work())
    pid = int((tmp_path / "pid").read_text())
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        asyncio.run(asyncio.sleep(0.02))
    raise AssertionError("the program still runs")


def test_the_program_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside_python = installed_ripgrep()
    assert beside_python is not None
    mine = tmp_path / "agent" / "bin" / "rg"
    mine.parent.mkdir(parents=True)
    mine.write_text("#!/bin/sh\n")
    assert find_ripgrep({"PI_CODING_AGENT_DIR": str(tmp_path / "agent")}) == beside_python
    mine.chmod(0o755)
    assert find_ripgrep({"PI_CODING_AGENT_DIR": str(tmp_path / "agent")}) == str(mine)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert find_ripgrep({"PATH": f"relative:{mine.parent}"}) == str(mine)
    assert find_ripgrep({"PATH": ""}) is None


def event(path: str, text: str, number: int, tail: str = "") -> bytes:
    data = {"path": {"text": path}, "lines": {"text": text}, "line_number": number, "submatches": [tail]}
    return json.dumps({"type": "match", "data": data}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@pytest.mark.parametrize("block", [1, 7, 65536])
def test_events_may_be_cut_anywhere(block: int) -> None:
    raw = b'{"type":"begin","data":{}}\n' + event("a", "one\r\n", 3) + event("b", "é\n", 4) + b'{"type":"summary"}\n'
    stream = EventStream()
    found = [line for at in range(0, len(raw), block) for line in stream.feed(raw[at : at + block])]
    assert found == [FoundLine("a", 3, "one", True), FoundLine("b", 4, "é", True)]
    assert stream.is_complete


@pytest.mark.parametrize("block", [4096, 65536, 3_000_000])
@pytest.mark.parametrize("where", ["text", "submatches"])
def test_huge_events_give_their_beginning_and_number(block: int, where: str) -> None:
    filler = 'x"},"line_number":99,' * (LONG_EVENT_BYTES // 10)
    raw = event("a", filler, 5) if where == "text" else event("a", "short\n", 5, filler)
    raw = event("z", "before\n", 1) + raw + event("b", "after\n", 6)
    stream = EventStream()
    before, found, after = [line for at in range(0, len(raw), block) for line in stream.feed(raw[at : at + block])]
    assert (before.text, after.text, found.number, found.path) == ("before", "after", 5, "a")
    assert found.text == "short" if where == "submatches" else found.text.startswith(filler[:1000])


@pytest.mark.parametrize("end", ["\\", '"', "é", "😀", "\x1b", "a"])
def test_a_cut_event_is_read_up_to_the_last_whole_character(end: str) -> None:
    whole = json.dumps({"text": end * 50}, ensure_ascii=end != "😀", separators=(",", ":")).encode()
    head = b'{"type":"context","data":{"path":{"text":"p"},"lines":' + whole[:-2]
    for cut in range(1, 40):
        line = long_line(head[:-cut], 8)
        assert line is not None
        assert line.text
        assert (end * 50).startswith(line.text)
        assert (line.path, line.number, line.is_match) == ("p", 8, False)
