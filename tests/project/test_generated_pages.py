from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pinyon.ai.provider import providers
from pinyon.ai.sign_in.catalogue import SIGN_INS
from pinyon.cli.flag import COMMANDS, ENVIRONMENT, FLAGS
from pinyon.resources.setting import SETTINGS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the script works on."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def generate(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "scripts" / "generate_docs.py"), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_the_pages_say_what_the_tables_say(checkout: Path) -> None:
    result = generate(checkout, "--check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("page", ["cli.md", "models.md", "settings.md", "settings.schema.json"])
def test_a_page_that_was_changed_by_hand_is_found_and_made_anew(checkout: Path, page: str) -> None:
    path = checkout / "docs" / page
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "by hand\n", encoding="utf-8")
    result = generate(checkout, "--check")
    assert result.returncode == 1
    assert f"docs/{page} is out of date" in result.stderr
    assert generate(checkout).returncode == 0
    assert path.read_text(encoding="utf-8") == before


def test_a_missing_page_is_found(checkout: Path) -> None:
    (checkout / "docs" / "cli.md").unlink()
    assert generate(checkout, "--check").returncode == 1


def test_every_flag_command_variable_and_setting_has_its_row() -> None:
    cli = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert all(f"{name} " in cli or f"{name}," in cli or f"{name}`" in cli for name in FLAGS)
    assert all(f"`pinyon {name}`" in cli for name in COMMANDS)
    assert all(f"`{name}`" in cli for name in ENVIRONMENT)
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert all(f"| `{setting.key}` |" in page for setting in SETTINGS)


def test_every_provider_stands_in_the_table_of_models_with_its_ways_in() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for provider in providers().values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{provider.id}` |"))
        named = [*provider.key_variables, *provider.requires, *provider.requires_one, *provider.apis]
        named += [name for group in provider.ambient for name in group]
        assert all(f"`{name}`" in row for name in named)
        assert ("<br>account" in row or "| account" in row) == (provider.id in SIGN_INS)
