from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinyon._version import __version__
from pinyon.cli.flag import COMMANDS, FLAGS
from pinyon.cli.help import WIDTH, flag_label, render_help

HEAVY = ("asyncio", "msgspec", "dataclasses", "json", "typing", "inspect", "httpcore2", "argparse", "pathlib")


def pinyon(*argv: str, code: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    command = ["-c", code] if code else ["-m", "pinyon"]
    return subprocess.run(
        [sys.executable, *command, *argv],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
        check=False,
    )


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_the_version_is_printed_alone(flag: str) -> None:
    result = pinyon(flag)
    assert (result.stdout, result.stderr, result.returncode) == (f"{__version__}\n", "", 0)


@pytest.mark.parametrize("argv", [["--version", "-p", "hi"], ["-p", "hi", "--version", "--help"], ["-v", "--plan"]])
def test_the_version_wins_over_everything_else(argv: list[str]) -> None:
    assert pinyon(*argv).stdout == f"{__version__}\n"


def test_a_warning_does_not_keep_the_version_back() -> None:
    result = pinyon("--thinking", "bogus", "--version")
    assert result.stdout == f"{__version__}\n"
    assert result.stderr.startswith("Warning: --thinking 'bogus'")
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("argv", "stream"),
    [
        (["--help"], "stdout"),
        (["-h"], "stdout"),
        (["hello", "-h"], "stdout"),
        (["-p", "--help"], "stderr"),
        (["--mode", "json", "--help"], "stderr"),
        (["--help", "--mode", "text"], "stderr"),
    ],
)
def test_help_keeps_out_of_captured_output(argv: list[str], stream: str) -> None:
    result = pinyon(*argv)
    assert getattr(result, stream) == render_help()
    assert result.stdout + result.stderr == render_help()
    assert result.returncode == 0


def test_help_names_every_flag_and_command() -> None:
    text = render_help()
    for flag in FLAGS.values():
        assert (flag.names[0] if flag.planned else flag_label(flag)) in text
    assert all(name in text for name in COMMANDS)


def test_help_fits_its_width_and_every_terminal() -> None:
    text = render_help()
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert not any(line != line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_nothing_heavy_is_imported_for_a_quick_answer(flag: str) -> None:
    code = (
        "import sys; before = set(sys.modules); from pinyon.cli.entry import main; main()\n"
        f"print(*sorted(name for name in {HEAVY!r} if name in sys.modules and name not in before), file=sys.stderr)"
    )
    result = pinyon(flag, code=code)
    assert result.stderr == "\n"
    assert result.stdout


def test_a_reader_that_has_gone_is_no_error_message(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with (tmp_path / "stderr").open("w") as errors:
        code = subprocess.run([sys.executable, "-m", "pinyon", "--help"], stdout=writer, stderr=errors, check=False)
    os.close(writer)
    assert code.returncode == 1
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "utf-8"])
def test_help_is_printed_in_every_encoding(encoding: str) -> None:
    result = pinyon("--help", PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C")
    assert result.stdout == render_help()
