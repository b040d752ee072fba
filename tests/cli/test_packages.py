"""`pinyon install`, `list`, `update` and `remove` as a user types them, and what a prompt gets of a package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import Home, texts
from tests.resources.package_place import HOST, GitServer, skill, theme, write_tree

from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

SOURCE = f"git:{HOST}/owner/tools"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "http://127.0.0.1:9")


def run(home: Home, *arguments: str, **env: str) -> tuple[int, str, str]:
    return home.run(*arguments, env={"PI_OFFLINE": "", **env}, model=None)


def test_a_package_is_installed_used_in_a_prompt_updated_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = GitServer(tmp_path / "server", monkeypatch)
    online = {**git.environment, "PI_OFFLINE": ""}
    git.commit(
        "owner/tools",
        {"skills/one/SKILL.md": skill("one"), "prompts/greet.md": "Greet $1 warmly.", "themes/sea.json": theme("sea")},
    )
    with FakeServer([openai_answer("hello"), openai_answer("hello")]) as server:
        home = Home(tmp_path, server.url)
        code, out, err = home.run("install", SOURCE, env=online, model=None)
        assert (code, out, err) == (0, f"Installed {SOURCE}\n", f"Installing {SOURCE} ...\n")
        folder = home.agent_dir / "git" / HOST / "owner" / "tools"
        code, out, _ = home.run("list", model=None)
        assert code == 0
        assert out.splitlines()[0] == "Your packages:"
        assert out.splitlines()[1].startswith(f"  {SOURCE} [")
        assert out.splitlines()[2] == f"    {folder}"
        code, _, err = home.run("-p", "/greet Ada")
        assert (code, err) == (0, "")
        sent = texts(server.requests[0].json["messages"])
        assert any("Greet Ada warmly." in text for text in sent)
        assert any(str(folder / "skills/one/SKILL.md") in text for text in sent)
        code, _, err = home.run("-p", "/skill:one now")
        assert any("Do it." in text for text in texts(server.requests[1].json["messages"]))
    assert home.run("update", "--extensions", env=online, model=None)[:2] == (0, f"{SOURCE}: up to date\n")
    git.commit("owner/tools", {"prompts/more.md": "More."})
    code, out, _ = home.run("update", SOURCE, env=online, model=None)
    assert code == 0
    assert "updated from" in out
    assert (folder / "prompts/more.md").exists()
    assert home.run("remove", SOURCE, model=None)[:2] == (0, f"Removed {SOURCE}\n")
    assert not folder.exists()
    assert home.run("list", model=None)[:2] == (0, "No packages are installed.\n")


def test_a_missing_package_is_fetched_at_the_start_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = GitServer(tmp_path / "server", monkeypatch)
    git.commit("owner/tools", {"prompts/greet.md": "Greet $1 warmly."})
    with FakeServer([openai_answer("hello"), openai_answer("hello")]) as server:
        home = Home(tmp_path, server.url)
        home.write(home.agent_dir / "settings.json", {"packages": [SOURCE, f"git:{HOST}/owner/gone"]})
        code, _, err = home.run("-p", "/greet Ada")
        assert code == 0
        assert err.count("is not there: `pinyon install") == 2
        code, _, err = home.run("-p", "/greet Ada", env={**git.environment, "PI_OFFLINE": ""})
        assert code == 0
        assert f"Installing {SOURCE}" in err
        assert f"`pinyon remove git:{HOST}/owner/gone` takes it out" in err
        assert any("Greet Ada warmly." in text for text in texts(server.requests[1].json["messages"]))


def test_a_package_of_the_project_waits_for_trust(home: Home) -> None:
    write_tree(home.path / "mine", {"prompts/a.md": "A."})
    assert run(home, "install", "-l", "../mine")[0] == 0
    assert json.loads((home.project / ".pi/settings.json").read_text(encoding="utf-8")) == {"packages": ["../../mine"]}
    code, out, err = run(home, "install", "-l", "../mine")
    assert (code, out) == (1, "")
    assert "not trusted" in err
    code, out, _ = run(home, "install", "-l", "../mine", "-a")
    assert code == 0
    assert "once this project is trusted" in out
    assert run(home, "list")[1] == "No packages are installed.\n"
    assert run(home, "list", "-a")[1].splitlines()[0] == "Packages of the project:"
    assert run(home, "remove", "-l", "../mine", "--no-approve")[0] == 1
    assert run(home, "uninstall", "-l", "../mine", "--approve")[0] == 0


@pytest.mark.parametrize("command", ["install", "remove", "uninstall", "list", "update", "config", "doctor"])
def test_help_comes_before_everything_else(home: Home, command: str) -> None:
    code, out, err = run(home, command, "--nonsense", "a", "b", "c", "--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: pinyon ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["install"], "what should be installed"),
        (["install", "-x", "a", "b"], "unknown option '-x'"),
        (["install", "a", "b"], "unexpected argument 'b'"),
        (["remove"], "what should be removed"),
        (["list", "-l"], "unknown option '-l'"),
        (["list", "a"], "unexpected argument 'a'"),
        (["update", "--extension"], "'--extension' needs a value"),
        (["update", "--extension", "a", "b"], "'b' is too many"),
        (["update", "a", "b"], "unexpected argument 'b'"),
        (["update", "--all", "--self"], "--all cannot be combined with --self"),
        (["update", "--all", "npm:a"], "--all cannot be combined with a source"),
        (["update", "--extensions", "npm:a"], "--extensions cannot be combined with a source"),
        (["update", "--extensions", "--models"], "--models cannot be combined"),
    ],
)
def test_wrong_arguments_are_named_with_the_usage(home: Home, arguments: list[str], told: str) -> None:
    code, out, err = run(home, *arguments)
    assert (code, out) == (1, "")
    assert told in err.splitlines()[0]
    assert "Usage: pinyon " in err
    assert not (home.agent_dir / "git").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["remove", "npm:nothing"], "no package 'npm:nothing' is in the settings"),
        (["update", "nothing"], "no package 'nothing' is in the settings"),
        (["install", "git:../x/y"], "refused"),
        (["install", "./nothing"], "there is nothing at"),
        (["install", "git:h.example/o/r", "--offline"], "offline"),
    ],
)
def test_what_cannot_be_done_is_told(home: Home, arguments: list[str], told: str) -> None:
    before = (home.agent_dir / "settings.json").read_bytes()
    code, out, err = run(home, *arguments)
    assert (code, out) == (1, "")
    assert told in err
    assert (home.agent_dir / "settings.json").read_bytes() == before


@pytest.mark.parametrize("arguments", [[], ["self"], ["--self"], ["pi"]])
def test_for_itself_it_says_what_to_run(home: Home, arguments: list[str]) -> None:
    code, out, err = run(home, "update", *arguments)
    assert (code, out) == (1, "")
    assert "pip install --upgrade pinyon" in err
    code, _, err = run(home, "update", *arguments, PI_SELF_UPDATE_COMMAND="brew upgrade {packageName} {x}")
    assert "Run: brew upgrade pinyon {x}." in err


def test_offline_packages_stay_as_they_are(home: Home) -> None:
    code, out, err = run(home, "update", "--extensions", PI_OFFLINE="1")
    assert (code, out) == (0, "")
    assert "offline" in err


def test_installing_by_name_of_an_unreadable_settings_file_leaves_it(home: Home) -> None:
    write_tree(home.path / "mine", {"prompts/a.md": "A."})
    path = home.agent_dir / "settings.json"
    path.write_text("{ nothing", encoding="utf-8")
    code, _, err = run(home, "install", "../mine")
    assert code == 1
    assert "cannot be read" in err
    assert path.read_text(encoding="utf-8") == "{ nothing"
