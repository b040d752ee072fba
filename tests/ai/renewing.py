"""A process of its own that renews a stored sign-in: `python -m tests.ai.renewing AUTH_JSON ISSUER [die]`.

It says `ready` and waits for a line, so that several can begin at once, and prints the access token. With `die` it is
killed by the system when the new tokens are there and the store is about to be written.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from pinyon._util.lock import Lock
from pinyon.ai.auth_backend import FileBackend
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.xai import XaiSignIn
from pinyon.testing.fake_oauth import CLIENT_ID


class DyingBackend(FileBackend):
    """Is killed before it publishes anything."""

    def _publish(self, text: str | None, lock: Lock) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def storage_at(path: Path, issuer: str, backend: type[FileBackend] = FileBackend) -> AuthStorage:
    """The storage at `path` with one flow, against a server of the test."""
    context = SignInContext(env={}, client_ids={"xai": CLIENT_ID})
    return AuthStorage(backend(path), env={}, oauth_providers={"xai": XaiSignIn(context, issuer)})


if __name__ == "__main__":
    storage = storage_at(Path(sys.argv[1]), sys.argv[2], DyingBackend if "die" in sys.argv else FileBackend)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(asyncio.run(storage.fresh_token("xai")).access + "\n")
