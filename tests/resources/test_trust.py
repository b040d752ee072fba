from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinyon.resources.trust import decide_project_trust, has_gated_resources
from pinyon.resources.trust_store import TrustStoreError, read_trust_decision


class Place:
    """A home with an agent folder, and a project below it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.agent_dir = self.home / ".pi" / "agent"
        self.agent_dir.mkdir(parents=True)
        self.project = self.home / "work" / "project"
        self.project.mkdir(parents=True)

    def save(self, decisions: object) -> None:
        text = decisions if isinstance(decisions, str) else json.dumps(decisions)
        (self.agent_dir / "trust.json").write_text(text, encoding="utf-8")

    def gate(self, name: str = "extensions") -> None:
        (self.project / ".pi").mkdir(exist_ok=True)
        (self.project / ".pi" / name).touch()

    def is_trusted(self, cwd: Path | None = None, **options: object) -> bool:
        decision = decide_project_trust(cwd or self.project, self.agent_dir, home=self.home, **options)  # type: ignore[arg-type]
        return decision.trusted


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@pytest.mark.parametrize(
    "name",
    [
        "settings.json",
        "mcp.json",
        "extensions",
        "skills",
        "prompts",
        "themes",
        "SYSTEM.md",
        "APPEND_SYSTEM.md",
        "commands",
    ],
)
def test_each_project_resource_needs_trust(place: Place, name: str) -> None:
    assert not has_gated_resources(place.project, home=place.home)
    place.gate(name)
    assert has_gated_resources(place.project, home=place.home)
    assert not place.is_trusted()


def test_a_link_to_nothing_still_needs_trust(place: Place) -> None:
    (place.project / ".pi").mkdir()
    (place.project / ".pi" / "skills").symlink_to(place.home / "gone")
    assert has_gated_resources(place.project, home=place.home)


def test_a_bare_folder_and_context_files_need_no_trust(place: Place) -> None:
    (place.project / ".pi").mkdir()
    (place.project / ".pi" / "notes.txt").touch()
    (place.project / "AGENTS.md").touch()
    assert not has_gated_resources(place.project, home=place.home)
    assert place.is_trusted()


@pytest.mark.parametrize(("below", "gated"), [("work/project", True), ("work", True), (".", False)])
def test_shared_skills_of_an_ancestor_need_trust_but_those_of_the_home_do_not(
    place: Place, below: str, gated: bool
) -> None:
    (place.home / below / ".agents" / "skills").mkdir(parents=True)
    assert has_gated_resources(place.project, home=place.home) is gated


@pytest.mark.parametrize(("default", "trusted"), [("ask", False), ("never", False), ("always", True)])
def test_an_undecided_project_follows_the_default(place: Place, default: str, trusted: bool) -> None:
    place.gate()
    assert place.is_trusted(default=default) is trusted


def test_only_an_open_question_asks_for_a_person(place: Place) -> None:
    place.gate()
    assert decide_project_trust(place.project, place.agent_dir, home=place.home).needs_question
    assert not decide_project_trust(place.project, place.agent_dir, home=place.home, default="never").needs_question


@pytest.mark.parametrize("decision", [True, False])
def test_the_nearest_saved_decision_counts(place: Place, decision: bool) -> None:
    place.gate()
    place.save({str(place.home): not decision, str(place.home / "work"): decision, str(place.project): None})
    assert place.is_trusted(default="never" if decision else "always") is decision


def test_a_saved_no_counts_in_a_folder_that_has_nothing_to_gate(place: Place) -> None:
    (place.project / "AGENTS.md").touch()
    place.save({str(place.home / "work"): False})
    assert not place.is_trusted(default="always")


def test_the_decision_belongs_to_the_real_folder(place: Place, tmp_path: Path) -> None:
    place.gate()
    link = tmp_path / "link"
    link.symlink_to(place.project)
    place.save({str(link): True})
    assert not place.is_trusted(link)
    place.save({str(place.project): True})
    assert place.is_trusted(link)


@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_wins_over_everything(place: Place, flag: bool) -> None:
    place.gate()
    place.save({str(place.project): not flag})
    assert place.is_trusted(override=flag) is flag
    place.save("{")
    assert place.is_trusted(override=flag) is flag


@pytest.mark.parametrize("text", ["{", "[]", '{"/": "yes"}', "", "\0", '{"/": 1}'])
def test_a_file_that_makes_no_sense_trusts_nobody_and_stays(place: Place, text: str) -> None:
    place.save(text)
    decision = decide_project_trust(place.project, place.agent_dir, home=place.home, default="always")
    assert not decision.trusted
    assert decision.problem is not None
    assert "trust.json" in decision.problem
    with pytest.raises(TrustStoreError, match=r"trust\.json"):
        read_trust_decision(place.project, place.agent_dir)
    assert (place.agent_dir / "trust.json").read_text(encoding="utf-8") == text


def test_a_file_that_cannot_be_read_trusts_nobody(place: Place) -> None:
    (place.agent_dir / "trust.json").mkdir()
    assert not place.is_trusted(default="always")


def test_without_an_agent_folder_nothing_is_saved(place: Place) -> None:
    assert read_trust_decision(place.project, None) is None
    place.gate()
    assert not decide_project_trust(place.project, None, home=place.home).trusted
