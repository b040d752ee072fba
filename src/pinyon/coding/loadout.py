"""What a request declares of the tools: the active ones, as their own hooks leave them.

The transcript keeps the declarations as they are; what is changed here is sent with one request and not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from pinyon.agent.hook import settled
from pinyon.agent.tool import ToolDefinition
from pinyon.ai.message import AgentMessage, SystemMessage
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import current_tools


class Loadout(msgspec.Struct):
    """The declarations of one request, by the names of their tools; a tool that is taken out is not declared."""

    tools: dict[str, Tool]


async def prepared_messages(messages: list[AgentMessage], active: Sequence[ToolDefinition]) -> list[AgentMessage]:
    """`messages` as the `prepare_loadout` of the active tools want them, asked in order.

    Each is given a `Loadout` of copies: it may change descriptions and schemas in it and remove tools. New names are
    ignored, because nothing would run them.
    """
    hooks = [tool.prepare_loadout for tool in active if tool.prepare_loadout is not None]
    if not hooks:
        return messages
    declared = current_tools([message for message in messages if isinstance(message, SystemMessage)])
    loadout = Loadout({tool.name: msgspec.structs.replace(tool) for tool in declared})
    for hook in hooks:
        await settled(hook(loadout))
    hidden = {tool.name for tool in declared} - loadout.tools.keys()
    return [
        _rewritten(message, loadout, hidden) if isinstance(message, SystemMessage) else message for message in messages
    ]


def _rewritten(message: SystemMessage, loadout: Loadout, hidden: set[str]) -> SystemMessage:
    if not message.tools_added and not message.tools_removed:
        return message
    added = [loadout.tools.get(tool.name, tool) for tool in message.tools_added or () if tool.name not in hidden]
    removed = [reference for reference in message.tools_removed or () if reference.name not in hidden]
    return msgspec.structs.replace(message, tools_added=added or UNSET, tools_removed=removed or UNSET)
