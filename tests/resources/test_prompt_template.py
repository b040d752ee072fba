"""Prompt templates: files, arguments and substitution."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.argument import split_arguments, substitute
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.prompt_template import PromptTemplate, expand_prompt_template, load_prompt_template


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("", []),
        ("  a  b\tc\nd ", ["a", "b", "c", "d"]),
        ("'a b'c", ["a bc"]),
        ('"" x', ["", "x"]),
        ('"unclosed x', ['"unclosed', "x"]),
        (r'"a \"b\" \n"', [r'a "b" \n']),
        (r"'it\'s' ok", ["it's", "ok"]),
        ("it's fine", ["it's", "fine"]),
        (r"\a \\", [r"\a", r"\\"]),
        ("'", ["'"]),
    ],
)
def test_a_line_is_split_into_arguments(line: str, arguments: list[str]) -> None:
    assert split_arguments(line) == arguments


@given(st.lists(st.text(alphabet="ab'\"\\ $", max_size=5), max_size=4), st.text(max_size=30))
def test_any_line_is_split_and_substituted(arguments: list[str], line: str) -> None:
    assert all(isinstance(argument, str) for argument in split_arguments(line))
    assert substitute("$@", arguments) == " ".join(arguments)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$1-$2-$3-$4", "p-q r-s-"),
        ("$10 $0.", " ."),
        ("$@ | $ARGUMENTS", "p q r s | p q r s"),
        ("$ARGUMENTSX $ARGUMENT", "$ARGUMENTSX $ARGUMENT"),
        ("${1:-x} ${4:-x} ${9:-a b}", "p x a b"),
        ("${@:-none} ${ARGUMENTS:-none}", "p q r s p q r s"),
        ("${@:2} ${@:0:1} ${@:2:1} ${@:9}", "q r s p q r "),
        ("${2} ${@} $ $$1 $x", "${2} ${@} $ $p $x"),
    ],
)
def test_marks_are_replaced_by_arguments(template: str, expected: str) -> None:
    assert substitute(template, ["p", "q r", "s"]) == expected


def test_what_an_argument_holds_is_not_replaced_again() -> None:
    assert substitute("$1 $2", ["$2", "$1"]) == "$2 $1"
    assert substitute("${1:-$2}", ["", "x"]) == "$2"


def template(content: str) -> dict[str, PromptTemplate]:
    made = PromptTemplate(name="fix", description="", content=content, file_path="/fix.md")
    return {"fix": made}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("/fix", "Fix: "),
        ("/fix a b", "Fix: a b"),
        ("/fix\na\nb", "Fix: a b"),
        ("/fix  'a  b'", "Fix: a  b"),
        ("/fixit a", "/fixit a"),
        ("fix a", "fix a"),
        (" /fix a", " /fix a"),
        ("/", "/"),
        ("/ fix", "/ fix"),
    ],
)
def test_a_prompt_that_calls_a_template_becomes_its_text(text: str, expanded: str) -> None:
    assert expand_prompt_template(text, template("Fix: $@")) == expanded


def load(path: Path, text: str | bytes) -> tuple[PromptTemplate | None, list[ResourceDiagnostic]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    diagnostics: list[ResourceDiagnostic] = []
    return load_prompt_template(path, diagnostics), diagnostics


def test_a_template_has_its_name_from_the_file_and_its_description_from_the_front_matter(tmp_path: Path) -> None:
    text = "---\ndescription: Mends it\nargument-hint: <file>\n---\n\nMend $1.\n"
    found, diagnostics = load(tmp_path / "fix.md", text)
    assert found is not None
    assert (found.name, found.description, found.argument_hint) == ("fix", "Mends it", "<file>")
    assert found.content == "Mend $1."
    assert diagnostics == []


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("\n\n  Review this  \nmore", "Review this"),
        ("x" * 70, "x" * 60 + "..."),
        ("---\ndescription: 12\n---\nBody line", "Body line"),
        ("", ""),
    ],
)
def test_without_a_description_the_first_line_stands_in(tmp_path: Path, text: str, description: str) -> None:
    found, _ = load(tmp_path / "t.md", text)
    assert found is not None
    assert found.description == description


def test_a_template_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found, diagnostics = load(tmp_path / "t.md", "---\na: [\n---\nx")
    assert found is None
    assert [(each.type, each.path) for each in diagnostics] == [("warning", str(tmp_path / "t.md"))]
    gone: list[ResourceDiagnostic] = []
    assert load_prompt_template(tmp_path / "gone.md", gone) is None
    assert "gone.md" in gone[0].message
