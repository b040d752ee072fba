from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util.config import package_dir
from pinyon.coding.prompt import (
    DOC_TOPICS,
    BuildSystemPromptOptions,
    build_prompt_sections,
    build_system_prompt,
    diff_sections,
    render_sections,
)
from pinyon.errors import ConfigError
from pinyon.resources.context_file import ContextFile
from pinyon.resources.skill import Skill

SKILL = Skill(name="pdf", description="Reads PDF files", file_path="/s/pdf/SKILL.md", base_dir="/s/pdf")
SNIPPETS = {name: f"does {name}" for name in ("read", "bash", "powershell", "grep", "find", "ls", "edit", "write")}


def sections(**fields: object) -> dict[str, str]:
    return build_prompt_sections(BuildSystemPromptOptions(cwd="/p", **fields))  # type: ignore[arg-type]


def rules(**fields: object) -> list[str]:
    lines = sections(**fields)["rules"].splitlines()
    assert (lines[0], lines[-1]) == ("<rules>", "</rules>")
    return lines[1:-1]


def test_a_custom_prompt_leaves_its_text_and_the_working_directory() -> None:
    made = build_prompt_sections(
        BuildSystemPromptOptions(cwd="/home/user/project", custom_prompt="GOLDEN-SYSTEM-PROMPT")
    )
    assert list(made.items()) == [
        ("preamble", "GOLDEN-SYSTEM-PROMPT"),
        ("cwd", "<cwd>\n/home/user/project\n</cwd>"),
    ]
    assert render_sections(made) == "GOLDEN-SYSTEM-PROMPT\n\n<cwd>\n/home/user/project\n</cwd>"


def test_all_sections_stand_in_their_order_and_in_their_tags() -> None:
    made = sections(
        tool_snippets=SNIPPETS,
        append_system_prompt="added",
        context_files=[ContextFile("/p/AGENTS.md", "be kind\n")],
        skills=[SKILL],
        sections={"own-part": "own"},
    )
    assert list(made) == [
        "preamble",
        "tools",
        "rules",
        "docs",
        "addendum",
        "project_context",
        "skills",
        "cwd",
        "own-part",
    ]
    assert all(
        text == f"<{name}>\n{text[len(name) + 3 : -len(name) - 4]}\n</{name}>" for name, text in list(made.items())[1:]
    )
    assert not made["preamble"].startswith("<")


def test_the_prompt_is_the_same_every_time() -> None:
    options = BuildSystemPromptOptions(cwd="/p", tool_snippets=SNIPPETS, skills=[SKILL])
    assert (
        build_system_prompt(options) == build_system_prompt(options) == render_sections(build_prompt_sections(options))
    )


@pytest.mark.parametrize("selected", [c for n in range(4) for c in itertools.combinations(SNIPPETS, n)])
def test_the_prompt_names_no_tool_that_is_not_there(selected: tuple[str, ...]) -> None:
    made = sections(selected_tools=selected, tool_snippets=SNIPPETS, skills=[SKILL])
    listed = [line for line in made["tools"].splitlines() if line.startswith("- ")]
    assert listed == [f"- {name}: does {name}" for name in selected]
    assert ("(none)" in made["tools"]) is (not selected)
    shells = [name for name in ("bash", "powershell") if name in selected]
    wants_shell_rule = bool(shells) and not {"grep", "find", "ls"} & set(selected)
    first = rules(selected_tools=selected)[0]
    assert any(shell in first for shell in ("bash", "powershell")) is wants_shell_rule
    assert all((shell in first) is (shell in shells) for shell in ("bash", "powershell")) or not wants_shell_rule
    reader = next((name for name in ("read", "bash") if name in selected), None)
    assert ("skills" in made) is (reader is not None)
    assert reader is None or f"the {reader} tool" in made["skills"]


def test_a_hidden_tool_is_not_shown_but_still_reads_skills() -> None:
    made = sections(selected_tools=["read"], hidden_tools=["read"], tool_snippets=SNIPPETS, skills=[SKILL])
    assert "(none)" in made["tools"]
    assert "read tool" not in made["skills"]
    assert "/s/pdf/SKILL.md" in made["skills"]
    visible = sections(selected_tools=["read", "bash"], hidden_tools=["read"], skills=[SKILL])
    assert "bash tool" in visible["skills"]


def test_a_tool_without_a_snippet_is_not_listed() -> None:
    assert "(none)" in sections(selected_tools=["read"])["tools"]


def test_rules_are_trimmed_and_stand_once_in_the_order_of_the_tools() -> None:
    made = rules(
        selected_tools=["edit", "read", "ls"],
        hidden_tools=["ls"],
        tool_guidelines={
            "read": [" look first ", "same"],
            "edit": ["same", "cut small"],
            "ls": ["hidden"],
            "bash": ["x"],
        },
        prompt_guidelines=["cut small", "", "mine"],
    )
    assert made[:4] == ["- same", "- cut small", "- look first", "- mine"]
    assert len(made) == 6


def test_the_documentation_is_named_by_absolute_paths_that_exist() -> None:
    text = sections()["docs"]
    for name in ("README.md", "docs", "examples"):
        assert str(package_dir() / name) in text
    for _, file in DOC_TOPICS:
        assert file in text
        assert (package_dir() / file).is_file()


def test_the_paths_of_the_documentation_can_be_given() -> None:
    text = sections(readme_path=Path("/x/R"), docs_path="/x/d", examples_path="/x/e")["docs"]
    assert all(path in text for path in ("/x/R", "/x/d", "/x/e"))
    assert str(package_dir()) not in text


def test_context_files_stand_unchanged_in_their_order() -> None:
    files = [ContextFile("/a/AGENTS.md", "one\r\n<x>"), ContextFile("/a/b/CLAUDE.md", "")]
    text = sections(context_files=files)["project_context"]
    first = '<project_instructions path="/a/AGENTS.md">\none\r\n<x>\n</project_instructions>'
    second = '<project_instructions path="/a/b/CLAUDE.md">\n\n</project_instructions>'
    assert f"\n\n{first}\n\n{second}\n" in text


def test_backslashes_of_the_working_directory_become_slashes() -> None:
    made = build_prompt_sections(BuildSystemPromptOptions(cwd="C:\\code\\x", custom_prompt="c"))
    assert made["cwd"] == "<cwd>\nC:/code/x\n</cwd>"


def test_an_extension_replaces_a_section_in_place_removes_it_or_adds_one() -> None:
    made = sections(sections={"rules": "be brief", "docs": "", "z_1": "new"})
    assert list(made) == ["preamble", "tools", "rules", "cwd", "z_1"]
    assert made["rules"] == "<rules>\nbe brief\n</rules>"


@pytest.mark.parametrize("name", ["preamble", "", "Upper", "1st", "a b", "a>", "ä", "a\n"])
def test_a_section_name_that_cannot_be_a_tag_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="section"):
        sections(sections={name: "x"})


def test_a_forced_prompt_replaces_the_text_and_not_the_sections() -> None:
    options = BuildSystemPromptOptions(cwd="/p", force_system_prompt="only this")
    assert build_system_prompt(options) == "only this"
    assert "cwd" in build_prompt_sections(options)


def test_the_prompt_can_always_be_encoded() -> None:
    text = build_system_prompt(BuildSystemPromptOptions(cwd="/p/\udcff", append_system_prompt="\ud83d\ude00 \ud800"))
    assert "\U0001f600 \ufffd" in text
    assert json.loads(json.dumps(text)).encode()


names = st.sampled_from(["preamble", "rules", "cwd", "own"])


@given(st.dictionaries(names, st.none() | st.text(max_size=2)), st.dictionaries(names, st.text(max_size=2)))
def test_a_patch_turns_the_current_sections_into_the_desired_ones(
    current: dict[str, str | None], desired: dict[str, str]
) -> None:
    patched = current | diff_sections(current, desired)
    assert {name: text for name, text in patched.items() if text is not None} == desired
    assert diff_sections(desired, desired) == {}


def test_a_patch_holds_nothing_that_did_not_change() -> None:
    assert diff_sections({"a": "1", "b": "2", "c": None}, {"a": "1", "d": "3"}) == {"d": "3", "b": None}
