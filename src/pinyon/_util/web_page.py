"""Opening a page in the user's browser, without waiting for it and without letting it write to this terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit


def open_page(url: str, env: Mapping[str, str] | None = None) -> bool:
    """Open `url`; whether there is a browser to ask. Only http and https addresses are opened."""
    if urlsplit(url).scheme not in ("http", "https") or not url.isprintable():
        return False
    if os.name == "nt":
        os.startfile(url)  # type: ignore[attr-defined,unused-ignore]  # noqa: S606 - how Windows opens addresses
        return True
    command = _command(url, os.environ if env is None else env)
    if command is None:
        return False
    threading.Thread(target=_run, args=(command,), name="browser", daemon=True).start()
    return True


def _command(url: str, env: Mapping[str, str]) -> list[str] | None:
    if chosen := env.get("BROWSER", "").split(os.pathsep)[0].strip():
        try:
            words = shlex.split(chosen)
        except ValueError:  # an unbalanced quote
            return None
        return [word.replace("%s", url) for word in words] if "%s" in chosen else [*words, url]
    if sys.platform == "darwin":
        return ["open", url]
    has_screen = env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or env.get("WSL_DISTRO_NAME")
    names = ("wslview", "xdg-open") if env.get("WSL_DISTRO_NAME") else ("xdg-open",)
    opener = next((path for name in names if (path := shutil.which(name))), None) if has_screen else None
    return [opener, url] if opener else None


def _run(command: list[str]) -> None:
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, check=False)
    except OSError:
        return  # the address stands on the screen too
