"""Repositories, wheels and folders that tests install packages from; nothing leaves this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pinyon.resources.package.manager import PackageManager
from pinyon.resources.settings import SettingsManager
from pinyon.resources.theme import FALLBACKS, TOKENS

HOST = "git.example"


def skill(name: str, body: str = "Do it.") -> str:
    """The text of a skill."""
    return f"---\nname: {name}\ndescription: what {name} does\n---\n{body}\n"


def theme(name: str) -> str:
    """The text of a theme."""
    return json.dumps({"name": name, "colors": {t: "#123456" for t in TOKENS if t not in FALLBACKS}})


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


class GitServer:
    """Repositories under `https://git.example/owner/`, which git is told to find in a local folder."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    @property
    def environment(self) -> dict[str, str]:
        """What leads git here."""
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.root.as_uri()}/.insteadOf",
            "GIT_CONFIG_VALUE_0": f"https://{HOST}/",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }

    def commit(self, name: str, files: Mapping[str, str], tag: str | None = None) -> str:
        """Commit files to a repository `owner/name`, which is made if it is not there; returns the commit."""
        repository = self.root / name
        if not repository.exists():
            repository.mkdir(parents=True)
            self._git(repository, "init", "-q", "-b", "main")
        write_tree(repository, files)
        self._git(repository, "add", "-A")
        self._git(repository, "commit", "-q", "-m", "change")
        if tag is not None:
            self._git(repository, "tag", "-a", "-m", tag, tag)
        return self._git(repository, "rev-parse", "HEAD").strip()

    @staticmethod
    def _git(repository: Path, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True)
        return done.stdout


def build_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str], requires: tuple[str, ...] = ()
) -> Path:
    """Write a wheel that an index could serve."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *(f"Requires-Dist: {r}" for r in requires)]
    content = {
        **files,
        f"{info}/METADATA": "\n".join(metadata) + "\n\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    wheel = folder / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return wheel


def manager_at(agent: Path, project: Path, *, trusted: bool = True) -> PackageManager:
    """The packages of a project, with an agent folder; each call reads the settings anew."""
    settings = SettingsManager.create(project, agent, project_trusted=trusted)
    return PackageManager(cwd=project, agent_dir=agent, settings=settings)
