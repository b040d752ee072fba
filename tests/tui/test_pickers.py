"""The lists: models and their scope, thinking, sessions, the tree, settings, themes, resources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.tui.stage import Stage, stage

from pinyon.ai.model import Model
from pinyon.session.lease import SessionLease
from pinyon.session.local import LocalSessionManager
from pinyon.session.session import Session
from pinyon.testing import faux_assistant_message, faux_text, faux_tool_call
from pinyon.tui.command.open_session import open_session
from pinyon.tui.picker.model_list import ModelList, ModelOffer
from pinyon.tui.picker.tree_list import TreeList


def on_stage(folder: Path, play: Callable[[Stage], Awaitable[Any]], *responses: Any, **options: Any) -> Any:
    async def run() -> Any:
        async with stage(folder, list(responses), **options) as running:
            return await play(running)

    return asyncio.run(run())


async def open_list(running: Stage, command: str, title: str) -> None:
    running.app.run_command(command)
    await running.until_shown(title)
    await running.drawn()


def models() -> list[Model]:
    named = [("acme", "alpha-large", "Alpha"), ("acme", "alpha-small", "Alpha S"), ("zeta", "omega", "omega")]
    return [
        Model(id=model_id, name=name, provider=provider, api="x", base_url="", context_window=200_000)
        for provider, model_id, name in named
    ]


def offer(**fields: Any) -> ModelOffer:
    return ModelOffer(models=models(), current="zeta/omega", default="acme/alpha-small", **fields)


# Models.


def test_the_list_of_models_tells_provider_context_current_and_default(tmp_path: Path) -> None:
    async def play(running: Stage) -> str:
        asked = asyncio.ensure_future(running.app.ask(ModelList(offer(), save=lambda model: None)))
        await running.until_shown("alpha-large (Alpha)")
        screen = running.screen
        await running.press("escape")
        await asked
        return screen

    lines = on_stage(tmp_path, play).split("\n")
    rows = [line for line in lines if "200k" in line and "[" in line]
    assert "✓ omega" in rows[0]
    assert "default" in rows[1]
    assert "alpha-small" in rows[1]
    assert "[acme]" in rows[2]


def test_tab_shows_all_models_or_the_scope(tmp_path: Path) -> None:
    async def play(running: Stage) -> tuple[str, str]:
        shown = ModelList(offer(scope=["acme/alpha-large"]), save=lambda model: None)
        asked = asyncio.ensure_future(running.app.ask(shown))
        await running.until_shown("● scope")
        scoped = running.screen
        await running.press("tab")
        await running.until_shown("● all")
        everything = running.screen
        await running.press("escape")
        await asked
        return scoped, everything

    scoped, everything = on_stage(tmp_path, play)
    assert "alpha-large" in scoped
    assert "omega" not in scoped.replace("omega  ", "")
    assert "omega" in everything
    assert "★" in everything


def test_saving_a_model_keeps_it_as_the_default_and_uses_it(tmp_path: Path) -> None:
    saved: list[str] = []

    async def play(running: Stage) -> Any:
        shown = ModelList(offer(), query="large", save=lambda model: saved.append(model.spec))
        asked = asyncio.ensure_future(running.app.ask(shown))
        await running.until_shown("alpha-large")
        await running.press("ctrl+s")
        return await asked

    assert on_stage(tmp_path, play).spec == "acme/alpha-large"
    assert saved == ["acme/alpha-large"]


def test_the_list_of_models_leads_to_signing_in(tmp_path: Path) -> None:
    async def play(running: Stage) -> str:
        await open_list(running, "model", "Sign in to another provider")
        await running.type("sign in")
        await running.press("enter")
        await running.until_shown("How do you want to sign in?")
        screen = running.screen
        await running.press("escape")
        return screen

    assert "With an API key" in on_stage(tmp_path, play)


def test_a_thinking_level_is_chosen_and_kept_as_default(tmp_path: Path) -> None:
    async def play(running: Stage) -> tuple[str, Any]:
        await open_list(running, "thinking", "Thinking")
        await running.press("down", "ctrl+s")
        await running.until(lambda: running.app.overlays.front is None)
        level = running.app.session.thinking_level
        return level, running.app.pi.services.settings.get_default_thinking_level()

    level, kept = on_stage(tmp_path, play)
    assert level == kept


def test_models_to_cycle_through_are_chosen_ordered_and_kept(tmp_path: Path) -> None:
    from pinyon.ai.resolver import ScopedModel
    from pinyon.tui.picker.scope_list import ScopeList, scope_patterns

    told: list[list[str]] = []
    saved: list[list[str]] = []

    async def play(running: Stage) -> str:
        shown = ScopeList(
            models(),
            [ScopedModel(models()[0])],
            missing=["gone-*"],
            changed=lambda scope: told.append(scope_patterns(scope)),
            save=lambda scope: saved.append(scope_patterns(scope)),
        )
        asked = asyncio.ensure_future(running.app.ask(shown))
        await running.until_shown("gone-*")
        await running.type("omega")
        await running.press("enter", "alt+up")
        await running.until_shown("not saved")
        screen = running.screen
        await running.press("ctrl+s", "escape")
        await asked
        return screen

    screen = on_stage(tmp_path, play)
    assert "2/3 models" in screen
    assert told[0] == ["acme/alpha-large", "zeta/omega"]
    assert saved == [["zeta/omega", "acme/alpha-large"]]


@pytest.mark.parametrize(("key", "count"), [("ctrl+a", 0), ("ctrl+x", 0), ("ctrl+p", 2)])
def test_all_none_or_a_provider_of_the_scope_are_switched_at_once(tmp_path: Path, key: str, count: int) -> None:
    from pinyon.tui.picker.scope_list import ScopeList

    scopes: list[int] = []

    async def play(running: Stage) -> None:
        shown = ScopeList(models(), [], changed=lambda scope: scopes.append(len(scope)), save=lambda scope: None)
        asked = asyncio.ensure_future(running.app.ask(shown))
        await running.until_shown("all 3 models")
        await running.press(key, "escape")
        await asked

    on_stage(tmp_path, play)
    assert scopes == [count]


# Sessions.


async def stored(folder: Path, *prompts: str, cwd: Path | None = None) -> list[Path]:
    """Session files with one prompt each, the first the oldest."""
    project = cwd or folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    manager = LocalSessionManager(cwd=project, agent_dir=folder / "agent")
    files: list[Path] = []
    for prompt in prompts:
        session = await manager.create_session()
        session.append_message({"role": "user", "content": prompt, "timestamp": 1_700_000_000_000 + len(files) * 1000})
        file = session.get_session_file()
        assert file is not None
        session.close()
        files.append(file)
    return files


def session_play(folder: Path, play: Callable[[Stage, list[Path]], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        files = await stored(folder, "fix the parser", "write the manual", "count the words")
        async with stage(folder, []) as running:
            await open_list(running, "resume", "Open a session")
            await running.until_shown("fix the parser")
            return await play(running, files)

    return asyncio.run(run())


def test_a_stored_session_is_found_by_its_words_and_opened(tmp_path: Path) -> None:
    async def play(running: Stage, files: list[Path]) -> tuple[Path | None, str]:
        await running.type("manual")
        await running.press("enter")
        await running.until(lambda: running.app.session.session_file == files[1])
        await running.drawn()
        return running.app.session.session_file, running.screen

    file, screen = session_play(tmp_path, play)
    assert file is not None
    assert "write the manual" in screen


def test_a_session_is_renamed_in_the_list(tmp_path: Path) -> None:
    async def play(running: Stage, files: list[Path]) -> str:
        await running.type("parser")
        await running.press("ctrl+r")
        await running.type("The parser")
        await running.press("enter")
        await running.until_shown("Renamed.")
        screen = running.screen
        await running.press("escape")
        assert Session.open(files[0]).get_session_name() == "The parser"
        return screen

    assert "The parser" in session_play(tmp_path, play)


def test_a_session_is_deleted_only_after_a_yes(tmp_path: Path) -> None:
    async def play(running: Stage, files: list[Path]) -> tuple[bool, bool]:
        await running.type("words")
        await running.press("ctrl+d")
        await running.until_shown("Delete this session?")
        await running.press("escape")
        is_kept = files[2].exists()
        await running.press("ctrl+d", "enter")
        await running.until(lambda: not files[2].exists())
        await running.until(lambda: "count the words" not in running.screen)
        return is_kept, files[0].exists()

    assert session_play(tmp_path, play) == (True, True)


def test_orders_filters_paths_and_folders_change_the_list(tmp_path: Path) -> None:
    async def run() -> list[str]:
        await stored(tmp_path, "here it is")
        await stored(tmp_path, "somewhere else", cwd=tmp_path / "other")
        async with stage(tmp_path, []) as running:
            await open_list(running, "resume", "Open a session")
            await running.until_shown("here it is")
            screens = [running.screen]
            await running.press("ctrl+s")
            screens.append(running.screen)
            await running.press("ctrl+s", "ctrl+n")
            await running.until_shown("named only")
            screens.append(running.screen)
            await running.press("ctrl+n", "tab")
            await running.until_shown("somewhere else")
            screens.append(running.screen)
            await running.press("ctrl+p")
            await running.until_shown(".jsonl")
            return screens

    here, recent, named, everywhere = asyncio.run(run())
    assert "somewhere else" not in here
    assert "· recent" in recent
    assert "here it is" not in named
    assert "● all folders" in everywhere


def test_a_session_whose_folder_is_gone_goes_on_here_as_a_copy_or_not_at_all(tmp_path: Path) -> None:
    async def run() -> tuple[str, Path | None, str]:
        files = await stored(tmp_path, "lost work", cwd=tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        async with stage(tmp_path, []) as running:
            before = running.app.session.session_file
            opening = asyncio.ensure_future(open_session(running.app, str(files[0])))
            await running.until_shown("The folder of this session is gone")
            await running.press("escape")
            await opening
            assert running.app.session.session_file == before
            opening = asyncio.ensure_future(open_session(running.app, str(files[0])))
            await running.until_shown("The folder of this session is gone")
            screen = running.screen
            await running.press("down", "enter")
            await running.until(lambda: running.app.session.session_file not in (before, None))
            await opening
            await running.drawn()
            return screen, running.app.session.session_file, running.transcript

    screen, file, transcript = asyncio.run(run())
    assert "Go on in a copy" in screen
    assert file is not None
    assert "lost work" in transcript


def test_a_session_that_is_written_elsewhere_can_be_read_or_copied(tmp_path: Path) -> None:
    async def run() -> tuple[str, bool]:
        files = await stored(tmp_path, "shared work")
        other = Session.open(files[0], lease=SessionLease)
        other.claim()
        async with stage(tmp_path, []) as running:
            opening = asyncio.ensure_future(open_session(running.app, str(files[0])))
            await running.until_shown("is writing this session")
            await running.press("down", "enter")
            await running.until(lambda: running.app.session.session_file == files[0])
            await opening
            await running.until_shown("reading only")
            other.close()
            return running.screen, running.app.session.is_read_only

    screen, is_read_only = asyncio.run(run())
    assert "shared work" in screen
    assert is_read_only


# The tree.


CALL = [
    faux_assistant_message([faux_text("Looking."), faux_tool_call("bash", {"command": "echo hello"})]),
    faux_assistant_message("All is well."),
    faux_assistant_message("Another way."),
    faux_assistant_message("Back again."),
]


async def branched(running: Stage) -> None:
    """Two branches: the second prompt was gone back on."""
    await running.say("look around")
    await running.say("and now this")
    entries = running.app.session.session.get_entries()
    first = next(entry for entry in entries if entry.role == "user")
    await running.app.session.navigate_tree(first.id)
    running.app.desk_or_fail.show_again()


def tree_play(folder: Path, play: Callable[[Stage, TreeList], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with stage(folder, CALL) as running:
            await branched(running)
            await running.say("again from the start")
            await open_list(running, "tree", "Session tree")
            front = running.app.overlays.front
            assert isinstance(front, TreeList)
            return await play(running, front)

    return asyncio.run(run())


def test_the_tree_shows_branches_tools_and_the_place_of_now(tmp_path: Path) -> None:
    async def play(running: Stage, shown: TreeList) -> str:
        return running.screen

    screen = tree_play(tmp_path, play)
    assert "├─ " in screen
    assert "└─ " in screen
    assert "[bash: echo hello]" in screen
    assert "← here" in screen
    assert screen.index("again from the start") < screen.index("look around")


@pytest.mark.parametrize(
    ("key", "shown", "hidden"),
    [
        ("ctrl+t", "model: Looking.", "[bash: echo hello]"),
        ("ctrl+u", "you: look around", "model: Looking."),
        ("ctrl+a", "thinking: ", "nothing like it"),
    ],
)
def test_filters_of_the_tree_hide_kinds_of_entries(tmp_path: Path, key: str, shown: str, hidden: str) -> None:
    async def play(running: Stage, tree: TreeList) -> str:
        await running.press(key)
        await running.drawn()
        return running.screen

    screen = tree_play(tmp_path, play)
    assert shown in screen
    assert hidden not in screen


def test_a_branch_of_the_tree_is_folded_and_unfolded(tmp_path: Path) -> None:
    async def play(running: Stage, tree: TreeList) -> tuple[str, str]:
        await running.type("look around")
        await running.press("escape")
        await running.press("ctrl+left")
        await running.drawn()
        folded = running.screen
        await running.press("ctrl+right")
        await running.drawn()
        return folded, running.screen

    folded, unfolded = tree_play(tmp_path, play)
    assert "⊞" in folded
    assert "[bash: echo hello]" not in folded
    assert "[bash: echo hello]" in unfolded


def test_entries_get_labels_which_can_be_filtered(tmp_path: Path) -> None:
    async def play(running: Stage, tree: TreeList) -> tuple[str, str]:
        await running.type("look around")
        await running.press("L")
        await running.type("start")
        await running.press("enter", "escape")
        await running.drawn()
        labelled = running.screen
        await running.press("ctrl+l")
        await running.drawn()
        return labelled, running.screen

    labelled, filtered = tree_play(tmp_path, play)
    assert "[start] you: look around" in labelled
    assert "[start]" in filtered
    assert "model: Looking." not in filtered


def test_escape_in_the_question_about_a_summary_goes_back_to_the_tree(tmp_path: Path) -> None:
    async def play(running: Stage, tree: TreeList) -> str:
        await running.type("All is well")
        await running.press("enter")
        await running.until_shown("Summarise the branch")
        await running.press("escape")
        await running.until_shown("Session tree")
        return running.screen

    assert "Session tree" in tree_play(tmp_path, play)


# Settings, themes, resources.


def test_a_setting_is_changed_at_once_and_kept(tmp_path: Path) -> None:
    async def play(running: Stage) -> tuple[bool, str]:
        await open_list(running, "settings", "Settings")
        await running.type("hideThinking")
        await running.press("enter")
        await running.drawn()
        return running.app.tone.hide_thinking, running.screen

    is_folded, screen = on_stage(tmp_path, play)
    assert is_folded
    assert "hideThinkingBlock" in screen
    assert "set by you" in screen


def test_a_number_is_asked_for_until_it_is_one_that_can_be(tmp_path: Path) -> None:
    async def play(running: Stage) -> tuple[str, Any]:
        await open_list(running, "settings", "Settings")
        await running.type("keepRecent")
        await running.press("enter")
        await running.until_shown("Enter accepts")
        await running.press("ctrl+u")
        await running.type("many")
        await running.press("enter")
        await running.until_shown("must be an integer")
        screen = running.screen
        await running.press("ctrl+u")
        await running.type("5000")
        await running.press("enter")
        await running.until_shown("Settings")
        from pinyon.resources.setting import COMPACTION_KEEP_RECENT_TOKENS

        return screen, running.app.pi.services.settings.get(COMPACTION_KEEP_RECENT_TOKENS)

    screen, value = on_stage(tmp_path, play)
    assert "'many'" in screen
    assert value == 5000


def theme(name: str, **colors: Any) -> str:
    from pinyon.resources.theme import TOKENS

    return json.dumps({"name": name, "colors": dict.fromkeys(TOKENS, "#123456") | colors})


def test_themes_are_shown_while_they_are_chosen_and_kept_with_enter(tmp_path: Path) -> None:
    themes = tmp_path / "agent" / "themes"
    themes.mkdir(parents=True)
    (themes / "sea.json").write_text(theme("sea", accent="okhsl(200 80% 50%)"), encoding="utf-8")

    async def play(running: Stage) -> tuple[str, str, str, str]:
        before = running.app.tone.palette.name
        await open_list(running, "theme", "Theme")
        await running.type("sea")
        shown = running.app.tone.palette.name
        await running.press("escape")
        await running.until(lambda: running.app.overlays.front is None)
        after = running.app.tone.palette.name
        await open_list(running, "theme", "Theme")
        await running.type("sea")
        await running.press("enter")
        await running.until(lambda: running.app.overlays.front is None)
        return before, shown, after, running.app.desk_or_fail.theme_setting

    before, shown, after, kept = on_stage(tmp_path, play)
    assert (shown, kept) == ("sea", "sea")
    assert before == after


def test_editing_the_file_of_the_theme_in_use_draws_everything_anew(tmp_path: Path) -> None:
    themes = tmp_path / "agent" / "themes"
    themes.mkdir(parents=True)
    path = themes / "sea.json"
    path.write_text(theme("sea"), encoding="utf-8")

    async def play(running: Stage) -> list[str | int]:
        colors: list[str | int] = [running.app.tone.palette.color("accent")]
        for text in (theme("sea", accent="#abcdef"), "{broken", theme("sea", accent="#fedcba")):
            path.write_text(text, encoding="utf-8")
            if text.startswith("{b"):
                await running.until(lambda: "is not used" in " ".join(running.transcript.split()))
            else:
                await running.until(lambda: running.app.tone.palette.color("accent") != colors[-1])
            colors.append(running.app.tone.palette.color("accent"))
        return colors

    assert on_stage(tmp_path, play, settings={"theme": "sea"}) == ["#123456", "#abcdef", "#abcdef", "#fedcba"]


def has_command(running: Stage, expected: bool) -> bool:
    return (running.app.commands.get("greet") is not None) is expected


def test_a_resource_is_switched_off_and_on_again(tmp_path: Path) -> None:
    prompts = tmp_path / "agent" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "greet.md").write_text("Say hello.", encoding="utf-8")

    async def play(running: Stage) -> tuple[bool, bool, bool]:
        commands = running.app.commands
        before = commands.get("greet") is not None
        for expected in (False, True):
            await open_list(running, "config", "Resources")
            await running.press("enter", "escape")
            await running.until(partial(has_command, running, expected))
        return before, True, commands.get("greet") is not None

    assert on_stage(tmp_path, play) == (True, True, True)


# Every size.


@pytest.mark.parametrize("size", [(20, 8), (40, 15), (80, 24), (200, 60)])
@pytest.mark.parametrize("command", ["model", "settings", "theme", "tree", "resume", "fork", "login", "scoped-models"])
def test_lists_fit_every_screen_and_leave_the_footer(tmp_path: Path, command: str, size: tuple[int, int]) -> None:
    async def play(running: Stage) -> tuple[str, list[int]]:
        await running.say("a prompt with 日本語 and 👩‍👩‍👧 in it, long enough for a narrow screen")
        running.app.run_command(command)
        await running.until(lambda: running.app.overlays.front is not None)
        await running.press("down", "pageDown", "up")
        await running.drawn()
        front = running.app.overlays.front
        assert front is not None
        return running.screen, [row.cell_length for row in front.build(size[0])]

    screen, widths = on_stage(tmp_path, play, faux_assistant_message("**bold**"), size=size)
    assert set(widths) <= set(range(size[0] + 1))
    if size[1] >= 15:
        assert "faux-1" in screen.split("\n")[-1]
