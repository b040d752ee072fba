"""What is found where, in which order, and what wins; nothing of a project that is not trusted is touched."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.resources.place import Place, names

from pinyon.resources.context_file import ContextFile
from pinyon.resources.loader import LoaderOptions, ResourcePaths
from pinyon.resources.named_resource import LoadedSkills


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_each_place_of_skills_has_its_rank(place: Place) -> None:
    place.settings({"skills": ["~/extra" if os.environ.get("HOME") == str(place.home) else str(place.home / "extra")]})
    place.settings({"skills": ["../listed"]}, of_project=True)
    place.skill("extra/user-entry/SKILL.md", "user-entry")
    place.skill(place.project / "listed" / "SKILL.md", "project-entry")
    place.skill(place.project / ".pi/skills/project-auto/SKILL.md", "project-auto")
    place.skill(place.project / ".agents/skills/near/SKILL.md", "near")
    place.skill(place.work / ".agents/skills/far/SKILL.md", "far")
    place.skill(place.agent / "skills/user-auto/SKILL.md", "user-auto")
    place.skill(".agents/skills/shared/SKILL.md", "shared")
    cli = place.skill("cli/SKILL.md", "cli")
    loader = place.load(options=LoaderOptions(additional=ResourcePaths(skills=[str(cli.parent)])))
    assert names(loader)["skills"] == [
        "project-entry", "project-auto", "near", "far", "user-entry", "user-auto", "shared", "cli",
    ]  # fmt: skip
    infos = [skill.source_info for skill in loader.get_skills().skills]
    assert [(info.source, info.scope) for info in infos if info] == [
        ("local", "project"), ("auto", "project"), ("auto", "project"), ("auto", "project"),
        ("local", "user"), ("auto", "user"), ("auto", "user"), ("local", "temporary"),
    ]  # fmt: skip
    assert infos[2] is not None
    assert infos[2].base_dir == str(place.project / ".agents")
    assert loader.diagnostics == []


def test_the_first_of_a_name_wins_and_the_others_are_told_last(place: Place) -> None:
    winner = place.skill(place.project / ".pi/skills/a/SKILL.md", "dup", "project")
    loser = place.skill(place.agent / "skills/b/SKILL.md", "dup", "user")
    place.write(place.agent / "skills/z/SKILL.md", "no front matter")
    loader = place.load()
    assert [skill.description for skill in loader.get_skills().skills] == ["project"]
    findings = loader.get_skills().diagnostics
    assert [each.type for each in findings] == ["warning", "collision"]
    collision = findings[1].collision
    assert collision is not None
    assert (collision.resource_type, collision.name) == ("skill", "dup")
    assert (collision.winner_path, collision.loser_path) == (str(winner), str(loser))
    assert findings[1].severity == "warning"


def test_the_same_file_by_two_ways_is_no_collision(place: Place) -> None:
    place.skill(place.agent / "skills/a/SKILL.md", "one")
    (place.project / ".pi").mkdir()
    (place.project / ".pi" / "skills").symlink_to(place.agent / "skills")
    loader = place.load()
    assert names(loader)["skills"] == ["one"]
    assert loader.diagnostics == []


def test_shared_skills_of_the_home_belong_to_the_user(place: Place) -> None:
    place.skill(".agents/skills/mine/SKILL.md", "mine")
    assert names(place.load(trusted=False))["skills"] == ["mine"]
    info = place.load().get_skills().skills[0].source_info
    assert info is not None
    assert info.scope == "user"


def test_shared_skills_are_looked_for_up_to_the_root_of_the_repository(place: Place) -> None:
    (place.project / ".git").mkdir()
    place.skill(place.project / ".agents/skills/inside/SKILL.md", "inside")
    place.skill(place.work / ".agents/skills/outside/SKILL.md", "outside")
    assert names(place.load())["skills"] == ["inside"]


def test_loose_files_count_by_the_kind_of_folder(place: Place) -> None:
    place.skill(place.agent / "skills/root.md", "agent-root")
    place.skill(place.agent / "skills/below/deep.md", "agent-deep")
    place.skill(".agents/skills/root.md", "shared-root")
    place.skill(".agents/skills/below/deep.md", "shared-deep")
    assert names(place.load())["skills"] == ["agent-root", "shared-deep"]


def test_templates_and_themes_come_from_their_folders_without_those_below(place: Place) -> None:
    place.write(place.agent / "prompts/user.md", "text")
    place.write(place.agent / "prompts/below/deep.md", "text")
    place.write(place.agent / "prompts/other.txt", "text")
    place.write(place.project / ".pi/prompts/project.md", "text")
    place.theme(place.agent / "themes/mine.json", "mine")
    loader = place.load()
    assert names(loader) == {"skills": [], "prompts": ["project", "user"], "themes": ["mine"]}
    assert loader.diagnostics == []


def test_folders_of_settings_are_read_with_those_below(place: Place) -> None:
    place.settings({"prompts": [str(place.home / "more")], "themes": [str(place.home / "more")]})
    place.write("more/below/deep.md", "text")
    place.theme("more/below/deep.json", "deep")
    place.write("more/node_modules/x.md", "text")
    place.write("more/.hidden/x.md", "text")
    (place.home / "more" / "circle").symlink_to(place.home / "more")
    assert names(place.load()) == {"skills": [], "prompts": ["deep"], "themes": ["deep"]}


def test_templates_of_the_older_folder_count_where_there_is_no_newer_one(place: Place) -> None:
    place.write(place.agent / "commands/old.md", "text")
    assert names(place.load())["prompts"] == ["old"]
    place.write(place.agent / "prompts/new.md", "text")
    assert names(place.load())["prompts"] == ["new"]


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([], ["a-one", "a-two", "b"]),
        (["!a-*"], ["b"]),
        (["!skills/a-*"], ["b"]),
        (["!**/a-*/SKILL.md"], ["b"]),
        (["!a-*", "+skills/a-one"], ["a-one", "b"]),
        (["!a-*", "+./skills/a-one/SKILL.md"], ["a-one", "b"]),
        (["-skills/b"], ["a-one", "a-two"]),
        (["+skills/b", "-skills/b"], ["a-one", "a-two"]),
        (["-b"], ["a-one", "a-two", "b"]),
        (["a-*"], ["a-one", "a-two", "b"]),
        (["![", 3, None, ""], ["a-one", "a-two", "b"]),
    ],
)
def test_settings_switch_discovered_resources(place: Place, entries: list[object], left: list[str]) -> None:
    for name in ("a-one", "a-two", "b"):
        place.skill(place.agent / f"skills/{name}/SKILL.md", name)
    place.settings({"skills": entries})
    loader = place.load()
    assert names(loader)["skills"] == left
    switched = {found.path.parent.name: found.is_enabled for found in loader.find("skills")}
    assert sorted(name for name, is_on in switched.items() if is_on) == left


def test_globs_choose_among_listed_folders(place: Place) -> None:
    for name in ("a-one", "a-two", "b"):
        place.skill(f"more/{name}/SKILL.md", name)
    place.skill(place.agent / "skills/own/SKILL.md", "own")
    place.settings({"skills": [str(place.home / "more"), "a-*", "!a-two"]})
    assert names(place.load())["skills"] == ["a-one", "own"]


def test_settings_of_one_owner_leave_those_of_the_other_alone(place: Place) -> None:
    place.skill(place.agent / "skills/x/SKILL.md", "user-x")
    place.skill(place.project / ".pi/skills/x/SKILL.md", "project-x")
    place.settings({"skills": ["!x"]}, of_project=True)
    assert names(place.load())["skills"] == ["user-x"]


def test_a_listed_path_that_is_not_there_is_told(place: Place) -> None:
    place.settings({"skills": ["gone"], "prompts": ["gone.md"]})
    told = place.load().diagnostics
    assert [each.path for each in told] == [str(place.agent / "gone"), str(place.agent / "gone.md")]


@pytest.mark.parametrize(
    ("kind", "severity"), [("extensions", "error"), ("prompts", "error"), ("skills", "warning"), ("themes", "warning")]
)
def test_explicit_paths_that_do_not_fit_are_told(place: Place, kind: str, severity: str) -> None:
    text = place.write("notes.txt")
    paths = ResourcePaths(**{kind: [str(place.home / "gone"), str(text)]})
    told = place.load(options=LoaderOptions(additional=paths)).diagnostics
    expected = ["is not there"] if kind == "extensions" else ["is not there", "file"]
    assert [each.severity for each in told] == [severity] * len(expected)
    assert all(part in each.message for part, each in zip(expected, told, strict=True))


def test_discovery_can_be_left_out_and_explicit_paths_stay(place: Place) -> None:
    place.skill(place.agent / "skills/found/SKILL.md", "found")
    place.write(place.agent / "prompts/found.md", "text")
    place.theme(place.agent / "themes/found.json", "found")
    named = place.skill("named/SKILL.md", "named")
    options = LoaderOptions(
        without=frozenset({"skills", "prompts", "themes"}), additional=ResourcePaths(skills=[str(named)])
    )
    assert names(place.load(options=options)) == {"skills": ["named"], "prompts": [], "themes": []}


def test_nothing_of_an_untrusted_project_is_opened_or_listed(place: Place) -> None:
    place.skill(place.project / ".pi/skills/evil/SKILL.md", "evil")
    place.skill(place.project / ".agents/skills/evil/SKILL.md", "evil")
    place.write(place.project / ".pi/prompts/evil.md", "text")
    place.theme(place.project / ".pi/themes/evil.json", "evil")
    place.write(place.project / ".pi/extensions/evil.py", "raise SystemExit")
    place.write(place.project / ".pi/SYSTEM.md", "evil")
    place.write(place.project / ".pi/APPEND_SYSTEM.md", "evil")
    place.settings({"skills": [str(place.project / "more")]}, of_project=True)
    place.skill(place.project / "more/evil/SKILL.md", "evil")
    hidden = [place.project / ".pi" / name for name in ("skills", "prompts", "themes", "extensions")]
    touched = [folder.stat().st_atime_ns for folder in hidden]
    loader = place.load(trusted=False)
    assert names(loader) == {"skills": [], "prompts": [], "themes": []}
    assert loader.get_extension_files() == []
    assert loader.get_system_prompt() is None
    assert loader.get_append_system_prompt() == []
    assert loader.diagnostics == []
    assert [folder.stat().st_atime_ns for folder in hidden] == touched
    assert names(place.load())["prompts"] == ["evil"]


def test_trust_can_come_with_a_reload(place: Place) -> None:
    place.write(place.project / ".pi/prompts/mine.md", "text")
    loader = place.load(trusted=False)
    asked: list[Path] = []

    async def yes(cwd: Path) -> bool:
        asked.append(cwd)
        return True

    asyncio.run(loader.reload(resolve_project_trust=yes))
    assert asked == [place.project]
    assert names(loader)["prompts"] == ["mine"]


def test_loading_again_reads_only_what_changed(place: Place) -> None:
    for name in ("a", "b", "c"):
        file = place.skill(place.agent / f"skills/{name}/SKILL.md", name)
        os.utime(file, (1_700_000_000, 1_700_000_000))
    broken = place.write(place.agent / "skills/d/SKILL.md", "---\n[\n---\n")
    os.utime(broken, (1_700_000_000, 1_700_000_000))
    loader = place.load()
    assert loader.files_read == 4
    loader.load()
    assert loader.files_read == 4
    assert len(loader.diagnostics) == 1
    changed = place.skill(place.agent / "skills/b/SKILL.md", "b", "another description")
    os.utime(changed, (1_700_000_001, 1_700_000_001))
    (place.agent / "skills/c/SKILL.md").unlink()
    loader.load()
    assert loader.files_read == 5
    assert [(skill.name, skill.description) for skill in loader.get_skills().skills] == [
        ("a", "what it does"),
        ("b", "another description"),
    ]


def test_a_file_that_has_just_changed_is_read_again(place: Place) -> None:
    file = place.skill(place.agent / "skills/a/SKILL.md", "a", "one")
    loader = place.load()
    stamp = file.stat()
    place.skill(file, "a", "two")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    loader.load()
    assert [skill.description for skill in loader.get_skills().skills] == ["two"]


def test_every_kind_can_be_overridden_at_each_loading(place: Place) -> None:
    place.skill(place.agent / "skills/a/SKILL.md", "a")
    place.write(place.agent / "prompts/p.md", "text")
    place.theme(place.agent / "themes/t.json", "t")
    place.write(place.agent / "SYSTEM.md", "system")
    place.write(place.agent / "AGENTS.md", "rules")
    seen: list[object] = []

    def no_skills(found: LoadedSkills) -> LoadedSkills:
        seen.append([skill.name for skill in found.skills])
        return LoadedSkills([])

    options = LoaderOptions(
        skills_override=no_skills,
        prompts_override=lambda found: found,
        themes_override=lambda found: found,
        agents_files_override=lambda files: [*files, ContextFile("<program>", "more")],
        system_prompt_override=lambda text: f"{text}!",
        append_system_prompt_override=lambda texts: [*texts, "tail"],
    )
    loader = place.load(options=options)
    loader.load()
    assert seen == [["a"], ["a"]]
    assert names(loader) == {"skills": [], "prompts": ["p"], "themes": ["t"]}
    assert [file.content for file in loader.get_agents_files()] == ["rules", "more"]
    assert loader.get_system_prompt() == "system!"
    assert loader.get_append_system_prompt() == ["tail"]


def test_paths_of_extensions_come_last_and_hold_over_a_reload(place: Place) -> None:
    place.skill(place.agent / "skills/a/SKILL.md", "a", "own")
    place.skill("ext/a/SKILL.md", "a", "of the extension")
    place.skill("ext/b/SKILL.md", "b")
    loader = place.load()
    loader.extend_resources(skill_paths=[str(place.home / "ext")])
    assert [(skill.name, skill.description) for skill in loader.get_skills().skills] == [
        ("a", "own"),
        ("b", "what it does"),
    ]
    asyncio.run(loader.reload())
    assert names(loader)["skills"] == ["a", "b"]


def test_context_files_can_be_left_out(place: Place) -> None:
    place.write(place.project / "AGENTS.md", "rules")
    assert [file.content for file in place.load(trusted=False).get_agents_files()] == ["rules"]
    assert place.load(options=LoaderOptions(no_context_files=True)).get_agents_files() == []
