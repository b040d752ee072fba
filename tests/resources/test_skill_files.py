"""Skills as files: what is found, what is told, and what a call puts into the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.skill import CalledSkill, Skill, expand_skill_call, load_skill, parse_skill_call
from pinyon.resources.skill_scan import skill_files


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(path: Path, text: str) -> tuple[Skill | None, list[str]]:
    diagnostics: list[ResourceDiagnostic] = []
    found = load_skill(write(path, text), diagnostics)
    assert all(each.type == "warning" and each.path == str(path) for each in diagnostics)
    return found, [each.message for each in diagnostics]


def test_a_skill_file_gives_a_skill(tmp_path: Path) -> None:
    text = "---\nname: pdf\ndescription: Reads PDFs\nlicense: MIT\nallowed-tools: [bash]\n---\nUse it."
    skill, problems = load(tmp_path / "tools" / "SKILL.md", text)
    assert skill is not None
    assert (skill.name, skill.description, skill.base_dir) == ("pdf", "Reads PDFs", str(tmp_path / "tools"))
    assert not skill.disable_model_invocation
    assert problems == []


def test_without_a_name_the_folder_names_the_skill(tmp_path: Path) -> None:
    skill, problems = load(tmp_path / "my-skill" / "SKILL.md", "---\ndescription: d\n---\n")
    assert skill is not None
    assert skill.name == "my-skill"
    assert problems == []


@pytest.mark.parametrize(("value", "hidden"), [("true", True), ("yes", False), ("false", False), ("'true'", False)])
def test_only_true_hides_a_skill_from_the_model(tmp_path: Path, value: str, hidden: bool) -> None:
    skill, _ = load(tmp_path / "s" / "SKILL.md", f"---\ndescription: d\ndisable-model-invocation: {value}\n---\n")
    assert skill is not None
    assert skill.disable_model_invocation is hidden


@pytest.mark.parametrize(
    ("front", "told"),
    [
        ("name: Upper\ndescription: d", ["small letters"]),
        ("name: -a\ndescription: d", ["begin or end"]),
        ("name: a--b\ndescription: d", ["'--'"]),
        (f"name: {'a' * 65}\ndescription: d", ["65 characters"]),
        (f"name: a\ndescription: {'x' * 1025}", ["1025 characters"]),
        ("name: '-A--'\ndescription: d", ["small letters", "begin or end", "'--'"]),
    ],
)
def test_odd_names_and_long_descriptions_are_told_and_loaded(tmp_path: Path, front: str, told: list[str]) -> None:
    skill, problems = load(tmp_path / "s" / "SKILL.md", f"---\n{front}\n---\n")
    assert skill is not None
    assert len(problems) == len(told)
    assert all(part in problem for part, problem in zip(told, problems, strict=True))


@pytest.mark.parametrize(
    "front", ["name: a", "description: ''", "description: '  '", "description: 3", "description: [a]"]
)
def test_a_skill_needs_a_description_but_a_loose_file_without_one_is_no_skill(tmp_path: Path, front: str) -> None:
    assert load(tmp_path / "s" / "SKILL.md", f"---\n{front}\n---\n")[0] is None
    assert "needs a description" in load(tmp_path / "s" / "SKILL.md", f"---\n{front}\n---\n")[1][0]
    assert load(tmp_path / "README.md", f"---\n{front}\n---\n") == (None, [])


def test_broken_front_matter_is_told_for_skill_files_only(tmp_path: Path) -> None:
    skill, problems = load(tmp_path / "s" / "SKILL.md", "---\na: [\n---\n")
    assert skill is None
    assert "front matter" in problems[0]
    assert load(tmp_path / "loose.md", "---\na: [\n---\n") == (None, [])


def found(root: Path, *, loose_in_root: bool = False, loose_below: bool = False) -> list[str]:
    files = skill_files(root, loose_in_root=loose_in_root, loose_below=loose_below)
    return [path.relative_to(root).as_posix() for path in files]


def test_skill_files_are_found_in_order_and_nothing_below_them(tmp_path: Path) -> None:
    for name in ("b/SKILL.md", "a/deep/SKILL.md", "b/inner/SKILL.md", "readme.md", "a/notes.md"):
        write(tmp_path / name)
    assert found(tmp_path) == ["a/deep/SKILL.md", "b/SKILL.md"]
    assert found(tmp_path, loose_in_root=True) == ["a/deep/SKILL.md", "b/SKILL.md", "readme.md"]
    assert found(tmp_path, loose_below=True) == ["a/deep/SKILL.md", "a/notes.md", "b/SKILL.md"]


def test_a_folder_that_is_a_skill_gives_only_itself(tmp_path: Path) -> None:
    write(tmp_path / "SKILL.md")
    write(tmp_path / "a" / "SKILL.md")
    assert found(tmp_path, loose_in_root=True) == ["SKILL.md"]


def test_hidden_entries_packages_and_ignored_folders_are_passed_over(tmp_path: Path) -> None:
    for name in (".hidden", "node_modules", "old", "build/x", "keep", "sub/gone"):
        write(tmp_path / name / "SKILL.md")
    write(tmp_path / ".gitignore", "old/\nbuild\n")
    write(tmp_path / "sub" / ".ignore", "/gone\n")
    assert found(tmp_path) == ["keep/SKILL.md"]


def test_links_are_followed_and_circles_end(tmp_path: Path) -> None:
    write(tmp_path / "real" / "SKILL.md")
    root = tmp_path / "root"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path / "real")
    (root / "again").symlink_to(root)
    (root / "broken").symlink_to(tmp_path / "nowhere")
    assert found(root) == ["linked/SKILL.md"]
    assert found(tmp_path / "nowhere") == []


def skill_at(path: Path, text: str) -> dict[str, Skill]:
    skill, _ = load(path, text)
    assert skill is not None
    return {skill.name: skill}


def test_a_call_puts_the_instructions_into_the_prompt_and_can_be_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "pdf" / "SKILL.md"
    skills = skill_at(path, "---\ndescription: d\n---\n\nRead it.\n\n</skill> is text\n")
    prompt = expand_skill_call("/skill:pdf  the  file ", skills)
    assert str(tmp_path / "pdf") in prompt.split("\n")[1]
    called = parse_skill_call(prompt)
    assert called is not None
    assert (called.name, called.location, called.message) == ("pdf", str(path), "the  file")
    assert called.content == "Read it.\n\n</skill> is text"
    alone = parse_skill_call(expand_skill_call("/skill:pdf", skills))
    assert alone is not None
    assert alone.message is None


@pytest.mark.parametrize("text", ["/skill:nobody x", "/skill:", "/skill", "skill:pdf", "/skill:pdf\nx", " /skill:pdf"])
def test_other_texts_stay_as_they_are(tmp_path: Path, text: str) -> None:
    skills = skill_at(tmp_path / "pdf" / "SKILL.md", "---\ndescription: d\n---\nx")
    assert expand_skill_call(text, skills) == text
    assert parse_skill_call(text) is None


def test_a_skill_with_an_unquoted_colon_is_loaded_and_told(tmp_path: Path) -> None:
    file = tmp_path / "work" / "SKILL.md"
    file.parent.mkdir()
    file.write_text("---\nname: work\ndescription: Use for work: a, b\n---\nDo it.", encoding="utf-8")
    told: list[ResourceDiagnostic] = []
    skill = load_skill(file, told)
    assert skill is not None
    assert skill.description == "Use for work: a, b"
    assert [(each.type, each.path) for each in told] == [("warning", str(file))]
    assert "line 3" in told[0].message


@pytest.mark.parametrize("name", ['q"q', "a\nb", "<x>", "R&D", 'x"location="/etc">', "ü"])
def test_no_name_breaks_out_of_a_called_skill(tmp_path: Path, name: str) -> None:
    file = tmp_path / name.replace("/", "_") / "SKILL.md"
    file.parent.mkdir()
    file.write_text(f"---\nname: {json.dumps(name)}\ndescription: d\n---\nDo it.", encoding="utf-8")
    skill = load_skill(file, [])
    assert skill is not None
    call = expand_skill_call(f"/skill:{name} now", {skill.name: skill})
    assert parse_skill_call(call) == CalledSkill(name, str(file), "Do it.", "now")
    assert len(call.splitlines()) == 7
