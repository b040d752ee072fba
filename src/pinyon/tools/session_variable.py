"""The environment variables that tell a command for whom it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.env.variable import command_environment

if TYPE_CHECKING:
    from pinyon.agent.tool import ToolContext

SESSION_VARIABLES = ("PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL")
"""Variables that describe model and session; commands never inherit them from an outer session."""


def sessionless_environment() -> dict[str, str]:
    """What every local command inherits, without what an outer session left."""
    return {name: value for name, value in command_environment().items() if name not in SESSION_VARIABLES}


def session_variables(ctx: ToolContext) -> dict[str, str]:
    """The variables for `ctx` as it is now; none for a tool that runs without session and model."""
    session, model = ctx.session, ctx.model
    if session is None and model is None:
        return {}
    variables: dict[str, str] = {"PI_REASONING_LEVEL": ctx.thinking_level}
    if model is not None:
        variables |= {"PI_PROVIDER": model.provider, "PI_MODEL": model.id}
    if session is not None:
        variables["PI_SESSION_ID"] = session.get_session_id()
        file = session.get_session_file()
        if file is not None:
            variables["PI_SESSION_FILE"] = str(file)
    return variables
