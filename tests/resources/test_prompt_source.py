from __future__ import annotations

from pathlib import Path

import pytest

from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.prompt_source import load_append_prompt, load_system_prompt
from pinyon.resources.text_file import MAX_TEXT_BYTES


class Sources:
    """A project and an agent folder, each with both prompt files if asked for."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "project"
        self.agent_dir = root / "agent"
        (self.cwd / ".pi").mkdir(parents=True)
        self.agent_dir.mkdir()
        self.diagnostics: list[ResourceDiagnostic] = []

    def write(self, *names: str) -> None:
        for name in names:
            where, file = name.split("/")
            folder = self.cwd / ".pi" if where == "project" else self.agent_dir
            (folder / file).write_text(f"\ufeff{where} {file}", encoding="utf-8")

    def system(self, explicit: str | None = None, *, trusted: bool = True) -> str | None:
        return load_system_prompt(self.cwd, self.agent_dir, explicit, trusted=trusted, diagnostics=self.diagnostics)

    def append(self, *explicit: str, trusted: bool = True) -> list[str]:
        return load_append_prompt(self.cwd, self.agent_dir, explicit, trusted=trusted, diagnostics=self.diagnostics)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def test_without_files_the_built_in_prompt_is_used(sources: Sources) -> None:
    assert sources.system() is None
    assert sources.append() == []


def test_the_projects_files_replace_those_of_the_agent_folder(sources: Sources) -> None:
    sources.write("agent/SYSTEM.md", "agent/APPEND_SYSTEM.md")
    assert (sources.system(), sources.append()) == ("agent SYSTEM.md", ["agent APPEND_SYSTEM.md"])
    sources.write("project/SYSTEM.md", "project/APPEND_SYSTEM.md")
    assert (sources.system(), sources.append()) == ("project SYSTEM.md", ["project APPEND_SYSTEM.md"])


def test_an_untrusted_projects_files_are_not_read(sources: Sources) -> None:
    sources.write("project/SYSTEM.md", "project/APPEND_SYSTEM.md", "agent/SYSTEM.md")
    assert sources.system(trusted=False) == "agent SYSTEM.md"
    assert sources.append(trusted=False) == []


def test_what_the_user_gives_wins_over_files(sources: Sources) -> None:
    sources.write("project/SYSTEM.md", "project/APPEND_SYSTEM.md")
    assert sources.system("You are terse.") == "You are terse."
    assert sources.append("one", "two") == ["one", "two"]


def test_an_empty_prompt_asks_for_the_built_in_one(sources: Sources) -> None:
    sources.write("project/SYSTEM.md")
    assert sources.system("") is None


def test_a_path_of_a_file_stands_for_its_content(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompt.md").write_text("\ufefffrom a file\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sources.system("prompt.md") == "from a file\n"
    assert sources.append(str(tmp_path / "prompt.md"), "~/prompt.md", "text") == [
        "from a file\n",
        "from a file\n",
        "text",
    ]


@pytest.mark.parametrize("text", ["no such file", "x" * 10_000, "with\0null", "line\nline", " "])
def test_any_other_text_is_taken_literally(sources: Sources, text: str) -> None:
    assert sources.system(text) == text
    assert sources.diagnostics == []


def test_a_path_that_cannot_be_read_is_told_and_taken_literally(sources: Sources, tmp_path: Path) -> None:
    folder = str(tmp_path / "agent")
    assert sources.system(folder) == folder
    assert sources.append(folder) == [folder]
    assert [diagnostic.path for diagnostic in sources.diagnostics] == [folder, folder]


def test_a_prompt_file_that_cannot_be_read_is_told_and_the_next_one_is_taken(sources: Sources) -> None:
    (sources.cwd / ".pi" / "SYSTEM.md").mkdir()
    sources.write("agent/SYSTEM.md")
    assert sources.system() == "agent SYSTEM.md"
    assert str(sources.cwd) in sources.diagnostics[0].message


def test_without_an_agent_folder_only_the_project_counts(tmp_path: Path) -> None:
    assert load_system_prompt(tmp_path, None, trusted=True, diagnostics=[]) is None


def test_a_prompt_file_without_an_end_is_not_used(sources: Sources) -> None:
    with (sources.agent_dir / "SYSTEM.md").open("wb") as file:
        file.truncate(MAX_TEXT_BYTES + 1)
    assert sources.system() is None
    assert "larger than 16 MiB" in sources.diagnostics[0].message
