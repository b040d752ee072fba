"""What is used of a package: manifests, usual folders, filters, adjustments of a project, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.resources.package_place import skill, theme, write_tree
from tests.resources.place import Place, names

FILES = {
    "skills/alpha/SKILL.md": skill("alpha"),
    "skills/beta/SKILL.md": skill("beta"),
    "skills/loose.md": skill("loose"),
    "prompts/one.md": "One.",
    "prompts/deep/two.md": "Two.",
    "themes/sea.json": theme("sea"),
    "other/gamma/SKILL.md": skill("gamma"),
    "README.md": "read me",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path.resolve() / "me")
    write_tree(place.home / "p", FILES)
    return place


def used(place: Place, entry: Any = "../../p", kind: str = "skills") -> list[str]:
    place.settings({"packages": [entry]})
    return names(place.load())[kind]


def test_without_a_manifest_the_usual_folders_count(place: Place) -> None:
    place.settings({"packages": ["../../p"]})
    assert names(place.load()) == {
        "skills": ["alpha", "beta", "loose"], "prompts": ["two", "one"], "themes": ["sea"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package.json", json.dumps({"name": "p", "pi": {"skills": ["other"], "prompts": ["prompts/*.md"]}})),
        ("pi.json", json.dumps({"skills": ["./other/gamma"], "prompts": ["prompts", "!**/two.md"]})),
        ("pyproject.toml", '[tool.pinyon]\nskills = ["**/gamma"]\nprompts = ["prompts", "-prompts/deep/two.md"]\n'),
    ],
)
def test_a_manifest_takes_the_place_of_the_usual_folders(place: Place, file: str, text: str) -> None:
    write_tree(place.home / "p", {file: text})
    place.settings({"packages": ["../../p"]})
    loader = place.load()
    assert names(loader) == {"skills": ["gamma"], "prompts": ["one"], "themes": []}
    assert loader.diagnostics == []


def test_the_own_table_comes_before_that_of_others(place: Place) -> None:
    write_tree(
        place.home / "p",
        {
            "package.json": json.dumps({"pi": {"skills": ["skills/beta"]}}),
            "pyproject.toml": '[tool.pinyon]\nskills = ["skills/alpha"]\n',
        },
    )
    assert used(place) == ["alpha"]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (None, ["alpha", "beta", "loose"]),
        ([], []),
        (["alpha"], ["alpha"]),
        (["skills/alpha"], ["alpha"]),
        (["skills/*/SKILL.md"], ["alpha", "beta"]),
        (["skills/**", "!**/beta"], ["alpha", "loose"]),
        (["!loose.md"], ["alpha", "beta"]),
        (["!*", "+skills/beta"], ["beta"]),
        (["!**", "+./skills/beta/SKILL.md"], ["beta"]),
        (["-skills/alpha"], ["beta", "loose"]),
        (["alpha", "-skills/alpha", "+skills/alpha"], []),
        (["[bad"], []),
    ],
)
def test_filters_choose(place: Place, filters: list[str] | None, left: list[str]) -> None:
    entry: dict[str, Any] = {"source": "../../p"}
    if filters is not None:
        entry["skills"] = filters
    assert used(place, entry) == left
    assert names(place.load())["prompts"] == ["two", "one"]


@pytest.mark.parametrize(
    ("project", "left"),
    [
        (None, ["alpha"]),
        ({"skills": ["beta"]}, ["beta"]),
        ({}, ["alpha", "beta", "loose"]),
        ({"autoload": False}, ["alpha"]),
        ({"autoload": False, "skills": ["+skills/beta"]}, ["alpha", "beta"]),
        ({"autoload": False, "skills": ["-skills/alpha", "loose.md"]}, ["loose"]),
        ({"autoload": False, "skills": ["!alpha"]}, []),
    ],
)
def test_a_project_replaces_or_adjusts_what_the_user_chose(place: Place, project: Any, left: list[str]) -> None:
    place.settings({"packages": [{"source": "../../p", "skills": ["alpha"]}]})
    if project is not None:
        place.settings({"packages": [{"source": str(place.home / "p"), **project}]}, of_project=True)
    assert names(place.load())["skills"] == left
    assert names(place.load(trusted=False))["skills"] == ["alpha"]


def test_without_autoload_only_what_is_named_is_used(place: Place) -> None:
    assert used(place, {"source": "../../p", "autoload": False}) == []
    assert used(place, {"source": "../../p", "autoload": False, "skills": ["beta"]}) == ["beta"]


def test_packages_come_after_own_resources_and_those_of_the_project_first(place: Place) -> None:
    write_tree(place.home / "q", {"skills/alpha/SKILL.md": skill("alpha"), "skills/quick/SKILL.md": skill("quick")})
    place.settings({"packages": ["../../p"]})
    place.settings({"packages": ["../../../q"]}, of_project=True)
    place.skill(place.agent / "skills/beta/SKILL.md", "beta")
    loader = place.load()
    assert names(loader)["skills"] == ["beta", "alpha", "quick", "loose"]
    collisions = [each.collision for each in loader.diagnostics if each.collision]
    assert [(each.name, Path(each.winner_path).parts[-4]) for each in collisions] == [("alpha", "q"), ("beta", "agent")]


def test_nothing_outside_of_a_package_is_taken(place: Place) -> None:
    place.skill("outside/SKILL.md", "outside")
    (place.home / "p/skills/link").symlink_to(place.home / "outside")
    manifest = {"pi": {"skills": ["../outside", "skills", str(place.home / "outside")]}}
    assert used(place) == ["alpha", "beta", "loose"]
    write_tree(place.home / "p", {"package.json": json.dumps(manifest)})
    assert used(place) == ["alpha", "beta", "loose"]
    assert {"outside of it" in each.message for each in place.load().diagnostics} == {True}


def test_extensions_of_other_programs_are_named_and_not_silently_left_out(place: Place) -> None:
    write_tree(place.home / "p", {"extensions/plan.ts": "x", "extensions/big/index.js": "x", "extensions/own.py": "x"})
    write_tree(place.agent, {"extensions/mine.ts": "x"})
    place.settings({"packages": ["../../p"]})
    [told] = place.load().diagnostics
    assert told.type == "info"
    assert all(name in told.message for name in ("mine.ts", "plan.ts", "big/index.js"))
    assert "own.py" not in told.message
    place.settings({"packages": [{"source": "../../p", "extensions": []}], "extensions": ["-extensions/mine.ts"]})
    assert place.load().diagnostics == []


def test_a_single_file_and_a_plain_folder_are_extensions(place: Place) -> None:
    write_tree(place.home, {"one.py": "x", "many/two.py": "x"})
    place.settings({"packages": ["../../one.py", "../../many"]})
    loader = place.load()
    assert [each.path.name for each in loader.get_extension_files()] == ["one.py", "two.py"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (1, "must be a source"),
        ({"skills": []}, "must be a source"),
        ({"source": "../../p", "skills": "alpha"}, "'skills' of '../../p' must be a list"),
        ("git:h/../x", "refused"),
        ("../../gone", "is not there"),
    ],
)
def test_an_entry_that_makes_no_sense_is_told_and_the_others_count(place: Place, entry: Any, told: str) -> None:
    place.settings({"packages": [entry, "../../p"]})
    loader = place.load()
    assert names(loader)["skills"] == ["alpha", "beta", "loose"]
    assert [told in each.message for each in loader.diagnostics] == [True]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package.json", "{"),
        ("package.json", json.dumps({"pi": {"skills": "skills"}})),
        ("package.json", json.dumps({"pi": [1]})),
        ("package.json", "[" * 100_000),
        ("pyproject.toml", "[tool.pinyon\n"),
        ("pyproject.toml", "[tool.pinyon]\nskills = [1]\n"),
        ("pyproject.toml", "x = " + "[" * 5000 + " # pinyon"),
        ("pi.json", "\udcff"),
    ],
)
def test_a_broken_manifest_is_named(place: Place, file: str, text: str) -> None:
    (place.home / "p" / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    place.settings({"packages": ["../../p"]})
    assert file in place.load().diagnostics[0].message


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["../..", "*", "skills", "!", "+"])
)
VALUES = st.recursive(ATOMS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3))
KEYS = st.sampled_from(["skills", "prompts", "themes", "extensions", "source", "autoload", "pi"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.binary(max_size=30), VALUES)
def test_no_manifest_and_no_entry_breaks_the_start(place: Place, table: Any, junk: bytes, entry: Any) -> None:
    write_tree(place.home / "p", {"package.json": json.dumps({"pi": table}), "pi.json": json.dumps(table)})
    (place.home / "p/pyproject.toml").write_bytes(b"[tool.pinyon]\n" + junk)
    place.settings({"packages": [entry, {"source": "../../p", **table}, "../../p"]})
    before = (place.agent / "settings.json").read_bytes()
    place.load()
    assert (place.agent / "settings.json").read_bytes() == before
