"""A session as a secret gist: the branch as a page, put on GitHub by the user's own `gh` command.

Only the branch at the leaf is shared, with credentials masked. What is written for it stands in a folder that nobody
else can read and is gone afterwards, however sharing ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from pinyon._util.abort import AbortController, AbortSignal, until_aborted
from pinyon._util.terminal import strip_terminal_control
from pinyon.errors import SessionError
from pinyon.export.page import PageExtras, session_page
from pinyon.session.session import Session
from pinyon.session.transfer import export_session_to_jsonl, open_existing

VIEWER_VARIABLE = "PI_SHARE_VIEWER_URL"
DEFAULT_VIEWER = "https://pi.dev/session/"
_COMMAND = "gh"
_END_WAIT_S = 2.0
_ERROR_LINES = 3


class ShareError(SessionError):
    """Raised when a session could not be shared; the text says why and what to do."""


class SharedSession(msgspec.Struct, frozen=True):
    """Where a shared session is: the gist, and the page that shows it."""

    gist_url: str
    viewer_url: str


async def share_as_gist(
    session: Session,
    extras: PageExtras | None = None,
    *,
    signal: AbortSignal | None = None,
    tell: Callable[[str], None] | None = None,
) -> SharedSession:
    """Put the branch of a session into a secret gist.

    `tell(text)` hears what is being done. Raises `ShareError` where `gh` is missing, not signed in or fails,
    `SessionError` where there is nothing to share, and `OperationAbortedError` after `signal`.
    """
    work = _share(session, extras, tell if tell is not None else _nobody)
    return await until_aborted(work, signal if signal is not None else AbortController().signal)


async def _share(session: Session, extras: PageExtras | None, tell: Callable[[str], None]) -> SharedSession:
    if not session.branch_lines():
        raise SessionError("there is nothing to share: the session is empty")
    tell("Looking for the GitHub sign-in of gh")
    code, _, errors = await _run("auth", "status")
    if code:
        raise ShareError(f"gh is not signed in to GitHub: run `gh auth login` first{_reason(errors)}")
    with private_folder() as folder:
        tell("Writing the page")
        page = await asyncio.to_thread(write_branch_page, session, folder, extras)
        tell("Making a secret gist")
        code, output, errors = await _run("gist", "create", "--public=false", str(page))
    if code:
        raise ShareError(f"gh could not make the gist (exit code {code}){_reason(errors or output)}")
    return _shared(output)


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that only the user can read; it is removed in any case."""
    with tempfile.TemporaryDirectory(prefix="pinyon-share-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def write_branch_page(session: Session, folder: Path, extras: PageExtras | None = None) -> Path:
    """Write the branch at the leaf as `session.jsonl` and, made of that, as a page; returns the page."""
    branch = export_session_to_jsonl(session, folder / "session.jsonl")
    page = folder / "session.html"
    page.write_text(session_page(open_existing(branch), extras), encoding="utf-8", errors="replace")
    return page


async def _run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of `gh`; it is ended when the caller is cancelled."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            _COMMAND,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env={**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"},
        )
    except OSError as error:
        reason = "was not found" if isinstance(error, FileNotFoundError) else f"cannot be started: {error.strerror}"
        raise ShareError(
            f"GitHub's command {_COMMAND!r} {reason}; install it (https://cli.github.com) and run `gh auth login`"
        ) from error
    try:
        output, errors = await process.communicate()
    except asyncio.CancelledError:
        await _end(process)
        raise
    assert process.returncode is not None
    return process.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _END_WAIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def _reason(text: str) -> str:
    lines = [line.strip() for line in strip_terminal_control(text).splitlines() if line.strip()]
    return f": {'; '.join(lines[:_ERROR_LINES])}" if lines else ""


def _shared(output: str) -> SharedSession:
    urls = [word for word in strip_terminal_control(output).split() if word.startswith("https://")]
    gist_id = urls[-1].rstrip("/").rpartition("/")[2] if urls else ""
    if not gist_id:
        raise ShareError(f"gh made a gist but did not say where{_reason(output)}")
    viewer = os.environ.get(VIEWER_VARIABLE) or DEFAULT_VIEWER
    return SharedSession(gist_url=urls[-1], viewer_url=f"{viewer}#{gist_id}")


def _nobody(text: str) -> None:
    del text
