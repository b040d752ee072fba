"""Running git, npm and pip for packages: captured, without questions, ended with whoever waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from pinyon._util.secret import redact
from pinyon.resources.package.place import PackageInstallError

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NO_COLOR": "1",
}
_LEFT_OUT = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV",
})  # fmt: skip
"""What would lead the tools to another repository or folder, as in hooks of git."""

_TIMEOUT_S = 900.0
_TOLD_BYTES = 2000


async def run_tool(argv: Sequence[str], *, cwd: Path | None = None, timeout_s: float = _TIMEOUT_S) -> str:
    """Run a program to its end and return what it printed. Raises `PackageInstallError` with the end of its output."""
    from asyncio.subprocess import DEVNULL, PIPE, STDOUT

    env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | _QUIET
    env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=env, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
    except OSError as error:
        raise PackageInstallError(f"{argv[0]!r} cannot be run: {error.strerror}; install it or mend PATH") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), timeout_s)
    except TimeoutError:
        raise PackageInstallError(f"{_shown(argv)} did not end within {timeout_s:g} s") from None
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()
    text = output.decode("utf-8", "replace")
    if process.returncode:
        told = redact(text[-_TOLD_BYTES:].strip())
        raise PackageInstallError(f"{_shown(argv)} failed with exit code {process.returncode}: {told or 'no output'}")
    return text


def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _shown(argv: Sequence[str]) -> str:
    """The program and what it was to do, without paths and addresses."""
    words = [Path(argv[0]).name, *(word for word in argv[1:3] if word.isalpha())]
    return repr(" ".join(words))
