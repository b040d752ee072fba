"""The page of the running session: what its file holds, with the prompt and the tools that are in force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon.ai.known_secret import known_secrets
from pinyon.ai.tool import Tool

if TYPE_CHECKING:
    from pinyon._util.abort import AbortSignal
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.services import Services
    from pinyon.export.page import PageExtras
    from pinyon.export.share import SharedSession


def export_page(session: AgentSession, services: Services, path: str | Path | None = None) -> Path:
    """Write the page; returns its path as given, or a name in the current folder.

    Raises `SessionError` for a session that has no file yet and for a path that cannot be written.
    """
    from pinyon.export.html import export_session_to_html

    return export_session_to_html(session.session, path, _extras(session, services))


async def share_session(
    session: AgentSession,
    services: Services,
    *,
    signal: AbortSignal | None = None,
    tell: Callable[[str], None] | None = None,
) -> SharedSession:
    """Put the branch of the running session into a secret gist; see `pinyon.export.share.share_as_gist`."""
    from pinyon.export.share import share_as_gist

    return await share_as_gist(session.session, _extras(session, services), signal=signal, tell=tell)


def _extras(session: AgentSession, services: Services) -> PageExtras:
    from pinyon.export.page import PageExtras

    return PageExtras(
        system_prompt=session.system_prompt,
        tools=[Tool(tool.name, tool.description, tool.parameters) for tool in session.toolset.active],
        secrets=known_secrets(services.auth_storage),
    )
