"""Shell completion and the manual page, read by the programs that they are for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pinyon.cli.completion import SHELLS, completion_script, run_completion
from pinyon.cli.flag import COMMANDS, GROUPS
from pinyon.cli.manual import manual_page
from pinyon.errors import ConfigError

OFFERED = [flag for flags in GROUPS.values() for flag in flags if not flag.planned]


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


@needs("bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["--thin"], ["--thinking"]),
        (["--thinking", "m"], ["minimal", "medium", "max"]),
        (["--mode", ""], ["text", "json", "rpc"]),
        (["de"], ["demo"]),
        (["-p", "de"], []),
        (["--session-dir", "so"], ["some"]),
        (["--export", "no"], ["notes.txt"]),
        (["@no"], ["@notes.txt"]),
        (["--model", "x"], []),
    ],
)
def test_bash_completes_what_fits_the_place(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "notes.txt").touch()
    line = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=(pinyon {line}); COMP_CWORD={len(words)}; _pinyon; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    script = completion_script("bash") + asked
    done = subprocess.run(["bash", "-u", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == offered
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_and_command_is_offered_and_nothing_that_is_not_there_yet(shell: str) -> None:
    script = completion_script(shell)
    for flag in OFFERED:
        for name in flag.names:
            assert (name in script) or (shell == "fish" and f" {name.lstrip('-')} " in script.replace("\n", " "))
    for name, command in COMMANDS.items():
        listed = f" {name} " in script.replace("(", " ").replace("\n", " ").replace('"', " ").replace("'", " ")
        assert listed or f"'{name}:" in script or command.planned


@pytest.mark.parametrize("shell", [pytest.param("zsh", marks=needs("zsh")), pytest.param("fish", marks=needs("fish"))])
def test_the_shell_itself_can_read_its_script(tmp_path: Path, shell: str) -> None:
    script = tmp_path / "script"
    script.write_text(completion_script(shell))
    subprocess.run([shell, "-n", str(script)], check=True, capture_output=True)


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"]])
def test_other_shells_are_refused_with_those_that_are_known(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="bash, zsh, fish"):
        run_completion(arguments)


def test_the_script_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_completion(["bash"]) == 0
    assert capsys.readouterr().out == completion_script("bash")


def test_the_manual_names_every_option() -> None:
    page = manual_page()
    for flag in OFFERED:
        assert flag.names[0].replace("-", "\\-") in page
    assert all(not line.startswith("'") for line in page.splitlines())


@needs("groff")
def test_the_manual_can_be_typeset() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"], input=manual_page(), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "AI coding agent" in done.stdout
