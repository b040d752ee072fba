from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from pinyon.env.error import ExecutionError
from pinyon.env.shell_program import (
    UTF8_OUTPUT_LINE,
    Machine,
    ShellProgram,
    find_bash,
    find_powershell,
    powershell_script,
)
from pinyon.env.variable import command_environment, path_with

GIT = "C:\\Program Files\\Git\\bin\\bash.exe"
GIT_32 = "C:\\Program Files (x86)\\Git\\bin\\bash.exe"
WSL = "C:\\Windows\\System32\\bash.exe"
PWSH = "C:\\Program Files\\PowerShell\\7\\pwsh.exe"
POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
WINDOWS = {
    "programfiles": "C:\\Program Files",
    "ProgramFiles(x86)": "C:\\Program Files (x86)",
    "SYSTEMROOT": "C:\\Windows",
}


def machine(
    files: Collection[str] = (), path: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None
) -> Machine:
    found = path or {}
    return Machine(
        is_windows=environ is not None, environ=environ or {}, exists=lambda name: name in files, which=found.get
    )


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        (["/bin/bash"], {"bash": "/opt/bash"}, "/bin/bash"),
        ([], {"bash": "/opt/bash"}, "/opt/bash"),
        ([], {}, "sh"),
    ],
)
def test_unix_prefers_bash(files: list[str], path: dict[str, str], expected: str) -> None:
    program = find_bash(machine=machine(files, path))
    assert program.argv("echo hi") == [expected, "-c", "echo hi"]
    assert program.stdin("echo hi") == b""


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ([GIT, GIT_32], {"bash.exe": WSL}, GIT),
        ([GIT_32], {"bash.exe": WSL}, GIT_32),
        ([], {"bash.exe": "C:\\msys64\\usr\\bin\\bash.exe"}, "C:\\msys64\\usr\\bin\\bash.exe"),
    ],
)
def test_windows_prefers_git_bash(files: list[str], path: dict[str, str], expected: str) -> None:
    assert find_bash(machine=machine(files, path, WINDOWS)) == ShellProgram(expected)


@pytest.mark.parametrize("launcher", [WSL, "c:\\windows\\SYSNATIVE\\Bash.exe", "C:/Windows/System32/bash.exe"])
def test_the_wsl_launcher_reads_the_command_from_its_input(launcher: str) -> None:
    program = find_bash(machine=machine([], {"bash.exe": launcher}, WINDOWS))
    assert program.argv("echo $HOME") == [launcher, "-s"]
    assert program.stdin("echo $HOME") == b"echo $HOME"


def test_windows_without_bash_says_where_it_looked_and_what_to_do() -> None:
    with pytest.raises(ExecutionError, match="Git for Windows") as caught:
        find_bash(machine=machine(environ=WINDOWS))
    assert caught.value.code == "shell_unavailable"
    assert repr(GIT) in str(caught.value)


def test_the_users_shell_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shell").write_text("")
    assert find_bash(str(tmp_path / "shell")).path == str(tmp_path / "shell")
    assert find_bash("~/shell").path == str(tmp_path / "shell")
    with pytest.raises(ExecutionError, match="shellPath") as caught:
        find_bash(str(tmp_path / "missing"))
    assert repr(str(tmp_path / "missing")) in str(caught.value)


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ([PWSH, POWERSHELL], {"pwsh.exe": "D:\\pwsh.exe"}, "D:\\pwsh.exe"),
        ([PWSH, POWERSHELL], {"powershell.exe": POWERSHELL}, PWSH),
        ([POWERSHELL], {"powershell.exe": "E:\\powershell.exe"}, "E:\\powershell.exe"),
        ([POWERSHELL], {}, POWERSHELL),
    ],
)
def test_powershell_prefers_the_newest(files: list[str], path: dict[str, str], expected: str) -> None:
    program = find_powershell(machine(files, path, WINDOWS))
    assert program.argv("dir")[0] == expected
    assert program.argv("dir")[-2:] == ["-Command", "dir"]


def test_powershell_is_for_windows_only() -> None:
    with pytest.raises(ExecutionError, match="Windows") as caught:
        find_powershell(machine())
    assert caught.value.code == "shell_unavailable"
    with pytest.raises(ExecutionError, match="PowerShell 7"):
        find_powershell(machine(environ=WINDOWS))


@pytest.mark.parametrize(
    ("program", "command", "has_suffix"),
    [(PWSH, "dir", False), (POWERSHELL, "dir", True), (POWERSHELL, "dir `", False)],
)
def test_only_the_old_powershell_needs_its_exit_code_mended(program: str, command: str, has_suffix: bool) -> None:
    script = powershell_script(command, ShellProgram(program))
    assert script.startswith(f"{UTF8_OUTPUT_LINE}\n{command}")
    assert (script != f"{UTF8_OUTPUT_LINE}\n{command}") is has_suffix


@pytest.mark.parametrize(
    ("path", "expected"), [("/a:/b", "/bin:/a:/b"), ("/a:/bin", "/a:/bin"), ("", "/bin"), ("/bin", "/bin")]
)
def test_a_folder_is_put_first_once(path: str, expected: str) -> None:
    assert path_with("/bin", path, ":") == expected


@pytest.mark.parametrize("name", ["PATH", "Path", "path"])
def test_the_managed_folder_comes_first_on_the_search_path(name: str, tmp_path: Path) -> None:
    variables = command_environment({name: "/usr/bin", "PI_CODING_AGENT_DIR": str(tmp_path)})
    assert variables[name] == f"{tmp_path / 'bin'}{os.pathsep}/usr/bin"
    assert len(variables) == 2
