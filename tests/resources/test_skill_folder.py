"""Skills of known folders, without a loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinyon.resources import load_skills, load_skills_with_diagnostics, load_skills_with_trust


def write_skill(folder: Path, name: str, text: str = "---\ndescription: d\n---\n") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    write_skill(tmp_path / "agent" / "skills", "mine")
    write_skill(tmp_path / ".agents" / "skills", "shared")
    write_skill(tmp_path / "project" / ".pi" / "skills", "theirs")
    return tmp_path / "project"


def test_only_the_users_skills_are_loaded_without_trust(project: Path) -> None:
    assert sorted(skill.name for skill in load_skills(project)) == ["mine", "shared"]
    assert sorted(skill.name for skill in load_skills_with_trust(project, project_trusted=False).skills) == [
        "mine",
        "shared",
    ]


def test_a_trusted_project_adds_its_own(project: Path) -> None:
    names = [skill.name for skill in load_skills_with_trust(project, project_trusted=True).skills]
    assert sorted(names) == ["mine", "shared", "theirs"]


def test_what_is_wrong_is_told(project: Path) -> None:
    write_skill(project.parent / "agent" / "skills", "broken", "---\nname: x\n---\n")
    skills, diagnostics = load_skills_with_diagnostics(project)
    assert sorted(skill.name for skill in skills) == ["mine", "shared"]
    assert ["broken" in (each.path or "") for each in diagnostics] == [True]
