from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PACKAGES = sorted(".".join(path.parent.relative_to(SOURCE).parts) for path in (SOURCE / "pinyon").rglob("__init__.py"))


def names_for_type_checkers(package: str) -> set[str]:
    """The names that a package imports in its `if TYPE_CHECKING:` block."""
    text = (SOURCE / Path(*package.split(".")) / "__init__.py").read_text(encoding="utf-8")
    blocks = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    imports = [statement for block in blocks for statement in block.body if isinstance(statement, ast.ImportFrom)]
    return {
        alias.asname or alias.name
        for statement in imports
        for alias in statement.names
        if statement.module is not None and statement.module.startswith("pinyon") and "lazy" not in statement.module
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_lazy_names_are_those_that_type_checkers_see(package: str) -> None:
    module = importlib.import_module(package)
    public = list(getattr(module, "__all__", ()))
    assert set(public) == names_for_type_checkers(package)
    assert len(public) == len(set(public))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_room_imports_nothing_heavy(package: str) -> None:
    code = (
        f"import sys, typing; before = set(sys.modules); import {package}\n"
        "print(*sorted(set(sys.modules) - before - {'importlib'}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name for name in result.stdout.split() if not name.startswith("pinyon")}
    assert imported <= {"__future__"}


def test_a_name_that_a_submodule_has_too_means_what_the_submodule_defines() -> None:
    code = f"""
import importlib, types
for package in {PACKAGES!r}:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        try:
            importlib.import_module(f"{{package}}.{{name}}")
        except ImportError:
            continue
        assert not isinstance(getattr(module, name), types.ModuleType), (package, name)
        print(package, name)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pinyon.agent define_tool" in result.stdout.splitlines()
