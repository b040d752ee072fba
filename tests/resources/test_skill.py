from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.skill import Skill, format_skills_for_prompt


def skill(name: str = "pdf", description: str = "Reads PDF files", *, disable_model_invocation: bool = False) -> Skill:
    return Skill(
        name=name,
        description=description,
        file_path=f"/s/{name}/SKILL.md",
        base_dir=f"/s/{name}",
        disable_model_invocation=disable_model_invocation,
    )


def listed(block: str) -> list[tuple[str | None, ...]]:
    tree = ET.fromstring(block[block.index("<available_skills>") :])
    return [tuple(item.findtext(key) for key in ("name", "description", "location")) for item in tree]


def test_skills_are_listed_with_name_description_and_file() -> None:
    block = format_skills_for_prompt([skill(), skill("web")])
    assert listed(block) == [
        ("pdf", "Reads PDF files", "/s/pdf/SKILL.md"),
        ("web", "Reads PDF files", "/s/web/SKILL.md"),
    ]
    assert "\n  <skill>\n    <name>pdf</name>\n" in block


def test_the_reader_is_named_where_there_is_one() -> None:
    assert "bash tool" in format_skills_for_prompt([skill()], "bash")
    assert "tool to" not in format_skills_for_prompt([skill()], None)
    assert "bash" not in format_skills_for_prompt([skill()], None)


def test_hidden_skills_are_not_listed_and_no_skills_give_no_text() -> None:
    hidden = skill("secret", disable_model_invocation=True)
    assert format_skills_for_prompt([hidden]) == ""
    assert format_skills_for_prompt([]) == ""
    assert listed(format_skills_for_prompt([hidden, skill()])) == [("pdf", "Reads PDF files", "/s/pdf/SKILL.md")]


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Co", "Cn"))))
def test_no_description_breaks_out_of_its_element(description: str) -> None:
    assert listed(format_skills_for_prompt([skill(description=description)])) == [
        ("pdf", description, "/s/pdf/SKILL.md")
    ]


def test_all_five_characters_are_escaped() -> None:
    assert "<description>&amp;&lt;&gt;&quot;&apos;</description>" in format_skills_for_prompt(
        [skill(description="&<>\"'")]
    )
