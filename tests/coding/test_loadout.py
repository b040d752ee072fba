"""Tools that change what a request declares."""

from pathlib import Path

from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon.agent.define_tool import define_tool
from pinyon.agent.tool import ToolDefinition
from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.ai.message import SystemMessage
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import current_tools
from pinyon.coding.loadout import Loadout


@define_tool
async def plain(text: str) -> str:
    """Answer."""
    return text


def choosing() -> ToolDefinition:
    async def prepare(loadout: Loadout) -> None:
        loadout.tools.pop("plain", None)
        loadout.tools["choosing"].description += f" Stands for {len(loadout.tools)} tools."
        loadout.tools["invented"] = Tool(name="invented", description="", parameters={})

    @define_tool(prepare_loadout=prepare)
    async def choosing(text: str) -> str:
        """Choose."""
        return text

    return choosing


def declared(messages: list[object]) -> dict[str, str]:
    system = [message for message in messages if isinstance(message, SystemMessage)]
    return {tool.name: tool.description for tool in current_tools(system)}


def test_an_active_tool_hides_and_describes_declarations_in_requests_only(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        session = scripted.session
        await session.prompt("one")
        await session.prompt("two")
        wanted = {"choosing": "Choose. Stands for 1 tools."}
        assert [declared(list(request)) for request in scripted.requests[:2]] == [wanted, wanted]
        assert declared(list(session.messages)) == {"plain": "Answer.", "choosing": "Choose."}
        session.set_active_tools_by_name(["plain"])
        await session.prompt("three")
        assert declared(list(scripted.requests[2])) == {"plain": "Answer."}

    run_scripted(
        [faux_assistant_message(text) for text in "abc"],
        play,
        cwd=tmp_path,
        custom_tools=[plain, choosing()],
        no_tools="builtin",
    )
