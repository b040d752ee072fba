from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from pinyon._version import __version__

ROOT = Path(__file__).resolve().parents[2]


def build(target: str, source: Path, out: Path) -> Path:
    """Build a distribution with the declared build backend, without an environment of its own."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [made] = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def installed(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel, made from the source distribution, puts into site-packages."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    [source] = unpacked.iterdir()
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(build("wheel", source, tmp_path_factory.mktemp("wheel"))) as archive:
        archive.extractall(folder)
    return folder


def run(installed: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PI_", "PYTHON"))}
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=installed,
        env={**environment, "PYTHONPATH": str(installed)},
        check=True,
    )
    return result.stdout.strip()


def test_the_source_distribution_holds_what_a_packager_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "docs/index.md"} <= names
    assert not any(name.startswith((".venv", ".git/", ".ci")) for name in names)
    assert any(name.startswith("tests/") for name in names)


def test_the_wheel_brings_the_package_its_types_and_its_documentation(installed: Path) -> None:
    package = installed / "pinyon"
    assert (package / "py.typed").is_file()
    for folder in ("docs", "examples"):
        assert {path.name for path in (ROOT / folder).iterdir() if path.suffix in {".md", ".py"}} <= {
            path.name for path in (package / "share" / folder).iterdir()
        }
    assert (package / "share" / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()
    metadata = next(installed.glob("pinyon-*.dist-info"))
    assert "pinyon = pinyon.cli.entry:main" in (metadata / "entry_points.txt").read_text(encoding="utf-8")
    assert f"\nVersion: {__version__}\n" in (metadata / "METADATA").read_text(encoding="utf-8")
    shared = f"pinyon-{__version__}.data"
    assert {path.name for path in installed.iterdir()} == {"pinyon", metadata.name, shared}
    manual = installed / shared / "data" / "share" / "man" / "man1" / "pinyon.1"
    assert manual.read_text(encoding="utf-8").startswith(".TH PINYON 1")


def test_the_installed_package_finds_its_documentation_and_its_version(installed: Path) -> None:
    shown = run(installed, "-c", "from pinyon.config import docs_path; print(docs_path())")
    assert Path(shown) == installed / "pinyon" / "share" / "docs"
    assert run(installed, "-m", "pinyon", "--version") == __version__
