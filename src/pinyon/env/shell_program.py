"""Which program runs command lines, and how it is given one."""

from __future__ import annotations

import ntpath
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping

import msgspec

from pinyon._util.config import expand_home
from pinyon.env.error import ExecutionError

POWERSHELL_ARGUMENTS = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command")
"""Arguments before the command line of a PowerShell."""

UTF8_OUTPUT_LINE = "[Console]::OutputEncoding = [System.Text.UTF8Encoding]::new($false)"
"""First line of every PowerShell command: output comes as UTF-8."""

_WINDOWS_POWERSHELL_EXIT = (
    "\nif ($?) { exit 0 } elseif ($LASTEXITCODE -eq 0 -and $Error.Count -gt 0 -and "
    "$Error[0].FullyQualifiedErrorId -like 'NativeCommandError*') { exit 0 } else { exit 1 }"
)
_WHERE_TIMEOUT_S = 5


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What the lookup asks of a machine, so that the rules of every platform can be tried on any."""

    is_windows: bool
    environ: Mapping[str, str]
    exists: Callable[[str], bool]
    which: Callable[[str], str | None]

    @classmethod
    def here(cls) -> Machine:
        """The machine that runs this program."""
        windows = sys.platform == "win32"
        return cls(is_windows=windows, environ=os.environ, exists=os.path.exists, which=_where if windows else _which)

    def variable(self, name: str) -> str | None:
        """An environment variable by its name in any case, as Windows has it."""
        return next((value for key, value in self.environ.items() if key.upper() == name.upper()), None)


class ShellProgram(msgspec.Struct, frozen=True):
    """A shell: its executable and the arguments before a command line, or a shell that reads it from its input."""

    path: str
    arguments: tuple[str, ...] = ("-c",)
    reads_stdin: bool = False

    def argv(self, command: str) -> list[str]:
        """Arguments that run `command`."""
        return [self.path, *self.arguments] if self.reads_stdin else [self.path, *self.arguments, command]

    def stdin(self, command: str) -> bytes:
        """Input that runs `command`, empty where it is an argument."""
        return command.encode("utf-8", "replace") if self.reads_stdin else b""


def find_bash(shell_path: str | None = None, machine: Machine | None = None) -> ShellProgram:
    """The shell for bash commands: `shell_path` where given, else the machine's.

    Raises `ExecutionError` (`shell_unavailable`) that names what was looked for.
    """
    machine = machine or Machine.here()
    if shell_path:
        return _program(_existing(shell_path, machine), machine)
    return _program(_windows_bash(machine) if machine.is_windows else _unix_shell(machine), machine)


def _existing(shell_path: str, machine: Machine) -> str:
    path = str(expand_home(shell_path))
    if not machine.exists(path):
        raise ExecutionError(
            "shell_unavailable", f"the shell {path!r} does not exist; correct or remove the setting 'shellPath'"
        )
    return path


def _program(path: str, machine: Machine) -> ShellProgram:
    if machine.is_windows and is_wsl_launcher(path):
        return ShellProgram(path, ("-s",), reads_stdin=True)
    return ShellProgram(path)


def is_wsl_launcher(path: str) -> bool:
    """Whether `path` is the old bash.exe of Windows, which passes command lines on damaged."""
    return re.search(r"[\\/](?:system32|sysnative)[\\/]bash\.exe$", path, re.IGNORECASE) is not None


def _unix_shell(machine: Machine) -> str:
    if machine.exists("/bin/bash"):
        return "/bin/bash"
    return machine.which("bash") or "sh"


def _windows_bash(machine: Machine) -> str:
    roots = [root for name in ("ProgramFiles", "ProgramFiles(x86)") if (root := machine.variable(name))]
    places = [ntpath.join(root, "Git", "bin", "bash.exe") for root in roots]
    found = next((place for place in places if machine.exists(place)), None) or machine.which("bash.exe")
    if found is None:
        searched = ", ".join(repr(place) for place in [*places, "bash.exe on PATH"])
        raise ExecutionError(
            "shell_unavailable",
            f"no bash found (searched {searched}); install Git for Windows, put a bash.exe on PATH, "
            "or name one with the setting 'shellPath'",
        )
    return found


def find_powershell(machine: Machine | None = None) -> ShellProgram:
    """The newest PowerShell of a Windows machine; raises `ExecutionError` (`shell_unavailable`) elsewhere."""
    machine = machine or Machine.here()
    if not machine.is_windows:
        raise ExecutionError("shell_unavailable", "PowerShell commands run on Windows only; use bash here")
    path = machine.which("pwsh.exe") or _installed(machine, "ProgramFiles", "PowerShell", "7", "pwsh.exe")
    path = path or machine.which("powershell.exe")
    path = path or _installed(machine, "SystemRoot", "System32", "WindowsPowerShell", "v1.0", "powershell.exe")
    if path is None:
        raise ExecutionError("shell_unavailable", "no PowerShell found; install PowerShell 7 or put pwsh.exe on PATH")
    return ShellProgram(path, POWERSHELL_ARGUMENTS)


def _installed(machine: Machine, root_variable: str, *parts: str) -> str | None:
    root = machine.variable(root_variable)
    if root is None:
        return None
    path = ntpath.join(root, *parts)
    return path if machine.exists(path) else None


def powershell_script(command: str, program: ShellProgram) -> str:
    """`command` as it is passed to a PowerShell: UTF-8 output, and in the old one a truthful exit code.

    Windows PowerShell reports failure when a native program wrote to a redirected error stream although it succeeded.
    """
    script = f"{UTF8_OUTPUT_LINE}\n{command}"
    is_old = ntpath.basename(program.path).lower() == "powershell.exe"
    return script + _WINDOWS_POWERSHELL_EXIT if is_old and not command.rstrip().endswith("`") else script


def _which(name: str) -> str | None:
    import shutil

    return shutil.which(name)


def _where(name: str) -> str | None:
    try:
        found = subprocess.run(
            ["where", name], capture_output=True, text=True, check=False, timeout=_WHERE_TIMEOUT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((line.strip() for line in found.splitlines() if line.strip()), None)
