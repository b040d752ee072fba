"""Packages from their source into a session's resources: installed, pinned, updated, interrupted, removed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.resources.package_place import HOST, GitServer, build_wheel, manager_at, skill, theme, write_tree
from tests.resources.place import Place, names

from pinyon.errors import ConfigError
from pinyon.resources.package.manager import PackageManager, PackageUpdate
from pinyon.resources.package.place import place_of
from pinyon.resources.package.source import parse_source

SOURCE = f"git:{HOST}/owner/tools"
CONTENT = {"skills/one/SKILL.md": skill("one"), "prompts/hello.md": "Say hello.", "themes/sea.json": theme("sea")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve() / "me")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitServer:
    monkeypatch.delenv("PI_OFFLINE", raising=False)
    return GitServer(tmp_path.resolve() / "server", monkeypatch)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path.resolve() / "index"
    folder.mkdir()
    monkeypatch.delenv("PI_OFFLINE", raising=False)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return folder


def manager(place: Place, *, trusted: bool = True) -> PackageManager:
    return manager_at(place.agent, place.project, trusted=trusted)


def stored(folder: Path) -> Any:
    return json.loads((folder / "settings.json").read_text(encoding="utf-8")).get("packages")


def outcome(updates: list[PackageUpdate]) -> list[str]:
    return [update.outcome for update in updates]


def left_over(root: Path) -> list[str]:
    return [str(path) for path in root.rglob(".*pinyon-*")]


def test_a_repository_is_installed_updated_and_removed(place: Place, server: GitServer) -> None:
    place.settings({"theme": "dark", "unknown": [1]})
    server.commit("owner/tools", CONTENT)
    asyncio.run(manager(place).install(SOURCE))
    assert stored(place.agent) == [SOURCE]
    loader = place.load()
    assert names(loader) == {"skills": ["one"], "prompts": ["hello"], "themes": ["sea"]}
    assert loader.diagnostics == []
    info = loader.get_skills().skills[0].source_info
    root = place.agent / "git" / HOST / "owner" / "tools"
    assert info is not None
    assert (info.source, info.scope, info.origin, info.base_dir) == (SOURCE, "user", "package", str(root))
    assert (place.agent / "git" / ".gitignore").read_text(encoding="utf-8").startswith("*\n")

    assert outcome(asyncio.run(manager(place).update())) == ["current"]
    server.commit("owner/tools", {"skills/two/SKILL.md": skill("two")})
    [update] = asyncio.run(manager(place).update(SOURCE))
    assert update.outcome == "updated"
    assert update.before != update.after
    assert names(place.load())["skills"] == ["one", "two"]

    asyncio.run(manager(place).remove(f"https://{HOST}/owner/tools.git"))
    assert stored(place.agent) == []
    assert not root.exists()
    assert json.loads((place.agent / "settings.json").read_text(encoding="utf-8"))["unknown"] == [1]
    assert names(place.load())["skills"] == []


@pytest.mark.parametrize("kind", ["tag", "branch", "commit", "short"])
def test_a_pinned_repository_stays_at_its_ref(place: Place, server: GitServer, kind: str) -> None:
    commit = server.commit("owner/tools", CONTENT, tag="v1")
    subprocess.run(["git", "-C", str(server.root / "owner/tools"), "branch", "stable/x"], check=True)
    server.commit("owner/tools", {"skills/two/SKILL.md": skill("two")})
    ref = {"tag": "v1", "branch": "stable/x", "commit": commit, "short": commit[:10]}[kind]
    asyncio.run(manager(place).install(f"{SOURCE}@{ref}"))
    assert names(place.load())["skills"] == ["one"]
    assert outcome(asyncio.run(manager(place).update())) == ["current"]
    asyncio.run(manager(place).install(SOURCE))
    assert stored(place.agent) == [SOURCE]
    assert names(place.load())["skills"] == ["one", "two"]


def test_what_was_chosen_from_a_package_stays_when_its_version_changes(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT, tag="v1")
    place.settings({"packages": [{"source": SOURCE, "skills": []}, "../x"]})
    asyncio.run(manager(place).install(f"{SOURCE}@v1"))
    assert stored(place.agent) == [{"source": f"{SOURCE}@v1", "skills": []}, "../x"]


def test_a_failed_installation_changes_nothing(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    asyncio.run(manager(place).install(SOURCE))
    before = (place.agent / "settings.json").read_bytes()
    for source in (f"git:{HOST}/owner/nothing", f"{SOURCE}@nothing"):
        with pytest.raises(ConfigError, match="git"):
            asyncio.run(manager(place).install(source))
    assert (place.agent / "settings.json").read_bytes() == before
    assert names(place.load())["skills"] == ["one"]
    assert left_over(place.agent) == []


def test_settings_that_cannot_be_read_stop_an_installation_before_it_begins(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    path = place.write(place.agent / "settings.json", "{ // mine\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        asyncio.run(manager(place).install(SOURCE))
    assert path.read_text(encoding="utf-8") == "{ // mine\n"
    assert not (place.agent / "git").exists()


def test_packages_of_a_project_need_its_trust(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    with pytest.raises(ConfigError, match="not trusted"):
        asyncio.run(manager(place, trusted=False).install(SOURCE, "project"))
    asyncio.run(manager(place).install(SOURCE, "project"))
    assert stored(place.project / ".pi") == [SOURCE]
    assert names(place.load())["skills"] == ["one"]
    assert names(place.load(trusted=False))["skills"] == []
    subprocess.run(["git", "-C", str(place.project), "init", "-q"], check=True, capture_output=True)
    done = subprocess.run(
        ["git", "-C", str(place.project), "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == [
        ".pi/git/.gitignore", ".pi/settings.json",
    ]  # fmt: skip


def test_a_folder_is_used_where_it_is_and_stored_relative(place: Place) -> None:
    folder = write_tree(place.home / "mine", CONTENT)
    asyncio.run(manager(place).install("../../mine"))
    assert stored(place.agent) == ["../../mine"]
    assert names(place.load())["prompts"] == ["hello"]
    asyncio.run(manager(place).install(str(folder)))
    assert stored(place.agent) == ["../../mine"]
    assert outcome(asyncio.run(manager(place).update(str(folder)))) == ["local"]
    asyncio.run(manager(place).remove("../../mine"))
    assert stored(place.agent) == []
    assert (folder / "prompts/hello.md").exists()


def test_a_missing_folder_or_prefix_is_told(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'git:git@h\.example:o/r'"):
        asyncio.run(manager(place).install("git@h.example:o/r"))
    with pytest.raises(ConfigError, match="there is nothing at"):
        asyncio.run(manager(place).install("./nothing"))
    place.settings({"packages": ["npm:@s/tools"]})
    with pytest.raises(ConfigError, match="did you mean 'npm:@s/tools'"):
        asyncio.run(manager(place).remove("tools"))


def test_a_python_package_gets_a_folder_of_its_own(place: Place, index: Path) -> None:
    content = {f"my_tools/{path}": text for path, text in CONTENT.items()} | {"my_tools/__init__.py": ""}
    build_wheel(index, "helper", "1.0", {"helper.py": "x = 1\n"})
    requires = ("helper", "pinyon>=99", 'never; extra == "all"', 'late; python_version < "3"')
    build_wheel(index, "My-Tools", "1.0", content, requires)
    asyncio.run(manager(place).install("pypi:my.tools"))
    folder = place.agent / "pypi" / "my-tools"
    assert (folder / "helper.py").exists()
    assert not (folder / "pinyon").exists()
    assert names(place.load()) == {"skills": ["one"], "prompts": ["hello"], "themes": ["sea"]}

    more = {**content, "my_tools/skills/two/SKILL.md": skill("two")}
    build_wheel(index, "My-Tools", "1.1", more)
    [update] = asyncio.run(manager(place).update())
    assert (update.outcome, update.before, update.after) == ("updated", "1.0", "1.1")
    assert names(place.load())["skills"] == ["one", "two"]
    asyncio.run(manager(place).install("pypi:my-tools==1.0"))
    assert names(place.load())["skills"] == ["one"]
    assert outcome(asyncio.run(manager(place).update())) == ["pinned"]
    with pytest.raises(ConfigError, match="failed with exit code"):
        asyncio.run(manager(place).install("pypi:my-tools==9.9"))
    assert names(place.load())["skills"] == ["one"]
    asyncio.run(manager(place).remove("pypi:my-tools"))
    assert not folder.exists()


def test_an_npm_package_brings_skills_without_running_scripts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PI_OFFLINE", raising=False)
    npm = write_fake_npm(place.home)
    place.settings({"npmCommand": [sys.executable, str(npm)]})
    for source in ("npm:first@1.0.0", "npm:@s/second"):
        asyncio.run(manager(place).install(source))
    calls = (place.home / "calls").read_text(encoding="utf-8")
    assert calls.count("--ignore-scripts") == calls.count("install") == 2
    assert names(place.load())["skills"] == ["first", "second"]
    assert [update.outcome for update in asyncio.run(manager(place).update())] == ["pinned", "current"]
    asyncio.run(manager(place).remove("npm:first"))
    assert names(place.load())["skills"] == ["second"]
    assert left_over(place.agent) == []


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_npm_itself_installs_into_the_shared_tree(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PI_OFFLINE", raising=False)
    for name, value in {"offline": "true", "cache": str(tmp_path / "cache"), "userconfig": os.devnull}.items():
        monkeypatch.setenv(f"npm_config_{name}", value)
    scripts = {"postinstall": f"touch {tmp_path / 'ran'}"}
    manifest = {"name": "real-tools", "version": "1.0.0", "scripts": scripts}
    folder = write_tree(tmp_path / "source", {**CONTENT, "package.json": json.dumps(manifest)})
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", str(tmp_path)], cwd=folder, check=True)
    asyncio.run(manager(place).install(f"npm:real-tools@file:{tmp_path}/real-tools-1.0.0.tgz"))
    assert names(place.load()) == {"skills": ["one"], "prompts": ["hello"], "themes": ["sea"]}
    assert not (tmp_path / "ran").exists()
    asyncio.run(manager(place).remove("npm:real-tools"))
    assert names(place.load())["skills"] == []


def write_fake_npm(home: Path) -> Path:
    return write_tree(
        home,
        {
            "npm.py": f"""
import pathlib, shutil, sys
action, spec, flag, root = sys.argv[1:5]
with open({str(home / "calls")!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
name = spec[0] + spec[1:].split("@")[0]
folder = pathlib.Path(root, "node_modules", name)
if action == "uninstall":
    shutil.rmtree(folder)
else:
    skill = folder / "skills" / "s"
    skill.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{{"version": "1.0.0"}}')
    (skill / "SKILL.md").write_text("---\\nname: " + name.split("/")[-1] + "\\ndescription: d\\n---\\n")
"""
        },
    ).joinpath("npm.py")


def test_offline_nothing_is_fetched_and_the_start_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_OFFLINE", "1")
    place.settings({"packages": [SOURCE, "npm:x"]})
    with pytest.raises(ConfigError, match="offline"):
        asyncio.run(manager(place).install(SOURCE))
    loader = place.loader()
    asyncio.run(loader.reload())
    assert ["`pinyon install" in each.message for each in loader.diagnostics] == [True, True]


def test_missing_packages_are_fetched_at_the_start_and_failures_are_warnings(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    place.settings({"packages": [SOURCE, f"git:{HOST}/owner/gone"]})
    loader = place.loader()
    asyncio.run(loader.reload())
    assert names(loader)["skills"] == ["one"]
    [failure] = loader.diagnostics
    assert failure.type == "warning"
    assert f"pinyon remove git:{HOST}/owner/gone" in failure.message


def test_python_requirements_of_a_repository_are_installed_beside_it(
    place: Place, server: GitServer, index: Path
) -> None:
    build_wheel(index, "helper", "1.0", {"helper.py": "x = 1\n"})
    project = '[project]\nname = "tools"\ndependencies = ["helper", "pinyon"]\n'
    server.commit("owner/tools", {**CONTENT, "pyproject.toml": project})
    asyncio.run(manager(place).install(SOURCE))
    assert (place.agent / "git" / HOST / "owner/tools/.pi-deps/helper.py").exists()


def test_links_that_lead_out_of_the_root_are_refused(place: Place, server: GitServer, tmp_path: Path) -> None:
    server.commit("owner/tools", CONTENT)
    outside = tmp_path / "outside"
    outside.mkdir()
    (place.agent / "git").mkdir()
    (place.agent / "git" / HOST).symlink_to(outside)
    (outside / "owner").mkdir()
    with pytest.raises(ConfigError, match="leads out of"):
        asyncio.run(manager(place).install(SOURCE))
    assert list((outside / "owner").iterdir()) == []


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from pinyon.resources.package.manager import PackageManager
from pinyon.resources.package.source import parse_source
from pinyon.resources.settings import SettingsManager

at, agent, project, source = int(sys.argv[1]), *map(Path, sys.argv[2:4]), sys.argv[4]
steps = removals = 0
def audit(event, arguments):
    global steps, removals
    removals += event == "os.remove"
    is_amid_removal = event == "os.remove" and removals == 9
    if event in ("os.rename", "shutil.rmtree", "subprocess.Popen") or is_amid_removal:
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(audit)
settings = SettingsManager.create(project, agent, project_trusted=True)
manager = PackageManager(cwd=project, agent_dir=agent, settings=settings)
asyncio.run(manager.fetch(parse_source(source, project), agent))
print("whole")
"""


def test_an_update_killed_at_any_step_leaves_one_whole_version(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    asyncio.run(manager(place).install(SOURCE))
    server.commit("owner/tools", {f"skills/one/{n}.txt": "x" for n in range(3)} | {"prompts/more.md": "More."})
    seen = set()
    for at in range(1, 40):
        argv = [sys.executable, "-c", KILLED, str(at), str(place.agent), str(place.project), SOURCE]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        loader = place.load()
        prompts = tuple(names(loader)["prompts"])
        assert prompts in {("hello",), ("hello", "more")}
        assert names(loader)["skills"] == ["one"]
        assert loader.diagnostics == []
        seen.add(prompts)
        release_lock(place.agent / "packages.lock")
        if "whole" in done.stdout:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    else:
        pytest.fail("the update never came to its end")
    assert seen == {("hello",), ("hello", "more")}
    assert left_over(place.agent) == []


def release_lock(lock: Path) -> None:
    """Make a dead process's lock old enough to be taken over."""
    if lock.is_dir():
        long_ago = time.time() - 3600
        os.utime(lock, (long_ago, long_ago))


def test_two_programs_that_install_at_once_both_end_up_in_the_settings(place: Place) -> None:
    for name in ("a", "b"):
        write_tree(place.home / name, {f"prompts/{name}.md": "Text."})
    first, second = manager(place), manager(place)
    asyncio.run(first.install(str(place.home / "a")))
    asyncio.run(second.install(str(place.home / "b")))
    assert stored(place.agent) == ["../../a", "../../b"]


def test_an_unfinished_update_of_another_program_is_made_good(place: Place, server: GitServer) -> None:
    server.commit("owner/tools", CONTENT)
    asyncio.run(manager(place).install(SOURCE))
    root = place_of(parse_source(SOURCE, place.agent), place.agent)
    marker = root.with_name(".tools.pi-update-incomplete")
    marker.touch()
    (root / "prompts/hello.md").unlink()
    assert asyncio.run(manager(place).install_missing()) == {}
    assert names(place.load())["prompts"] == ["hello"]
    assert not marker.exists()
