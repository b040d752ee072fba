"""Where a custom system prompt and additions to it come from: flags, the project, or the agent folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pinyon._util import config as _config
from pinyon._util.safe_path import path_exists
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.text_file import read_given_text, read_text_file

SYSTEM_FILE = "SYSTEM.md"
APPEND_FILE = "APPEND_SYSTEM.md"


def load_system_prompt(
    cwd: str | Path,
    agent_dir: Path | None,
    explicit: str | None = None,
    *,
    trusted: bool,
    diagnostics: list[ResourceDiagnostic],
) -> str | None:
    """The custom prompt, None for the built-in one.

    `explicit` (a text or the path of a file) wins; an empty one asks for the built-in prompt. Then `SYSTEM.md` of a
    trusted project counts, then that of the agent folder. What cannot be read is added to `diagnostics`.
    """
    if explicit is not None:
        return resolve_prompt_text(explicit, diagnostics) or None
    return _first_file(cwd, agent_dir, SYSTEM_FILE, trusted, diagnostics) or None


def load_append_prompt(
    cwd: str | Path,
    agent_dir: Path | None,
    explicit: Sequence[str] = (),
    *,
    trusted: bool,
    diagnostics: list[ResourceDiagnostic],
) -> list[str]:
    """The texts to append to the prompt: `explicit` ones (texts or paths), else one `APPEND_SYSTEM.md`, found like
    `SYSTEM.md`. What cannot be read is added to `diagnostics`.
    """
    if explicit:
        return [resolve_prompt_text(text, diagnostics) for text in explicit]
    found = _first_file(cwd, agent_dir, APPEND_FILE, trusted, diagnostics)
    return [found] if found else []


def resolve_prompt_text(text: str, diagnostics: list[ResourceDiagnostic]) -> str:
    """The content of the file that `text` names, else `text` itself; also where the file cannot be read."""
    path = _existing_path(text)
    if path is None:
        return text
    try:
        return read_given_text(path)
    except OSError as error:
        message = (
            f"{text!r} names a file that cannot be read ({error.strerror or error}); it is used as the text itself"
        )
        diagnostics.append(ResourceDiagnostic("warning", message, str(path)))
        return text


def _existing_path(text: str) -> Path | None:
    if not text.strip():
        return None
    path = _config.expand_home(text)
    return path if path_exists(path) else None


def _first_file(
    cwd: str | Path,
    agent_dir: Path | None,
    name: str,
    trusted: bool,
    diagnostics: list[ResourceDiagnostic],
) -> str | None:
    candidates = [Path(cwd) / _config.CONFIG_DIR_NAME / name] if trusted else []
    if agent_dir is not None:
        candidates.append(agent_dir / name)
    for path in candidates:
        try:
            return read_text_file(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            message = f"{str(path)!r} cannot be read: {error.strerror or error}"
            diagnostics.append(ResourceDiagnostic("warning", message, str(path)))
    return None
