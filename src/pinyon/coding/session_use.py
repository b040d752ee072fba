"""What to do about a session file that another process has open: refuse it, go on in a copy, or only look at it."""

from __future__ import annotations

from typing import Literal

from pinyon.session.error import SessionInUseError
from pinyon.session.manager import SessionManager
from pinyon.session.session import Session

IfInUse = Literal["fail", "fork", "read-only"]
"""`fail` raises, `fork` copies the session into a new file, `read-only` opens it without the right to add anything."""


async def take_session(manager: SessionManager, tree: Session, if_in_use: IfInUse = "fail") -> Session:
    """The session to work on: `tree` where this process may write it, else what `if_in_use` says.

    From here on other processes notice that the session is in use. Raises `SessionInUseError` for `fail`.
    """
    try:
        tree.claim()
    except SessionInUseError:
        if if_in_use == "fail":
            raise
        if if_in_use == "fork":
            copy = await manager.fork_session(tree)
            tree.close()
            copy.claim()
            return copy
        tree.is_read_only = True
    return tree
