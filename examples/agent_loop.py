import asyncio
from typing import Annotated

from pinyon.agent import Agent, AgentEvent, MessageUpdate, ToolExecutionEnd, define_tool
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message, faux_tool_call
from pinyon.ai.event import TextDelta


@define_tool
async def add(a: Annotated[float, "first number"], b: Annotated[float, "second number"]) -> float:
    """Add two numbers."""
    return a + b


def show(event: AgentEvent, _: object) -> None:
    match event:
        case MessageUpdate(assistant_message_event=TextDelta(delta=text)):
            print(text, end="")
        case ToolExecutionEnd(tool_name=name, result=result):
            print(f"[{name}: {result.structured_content}]")


model = FauxProvider()  # scripted: no key, no network
call = faux_tool_call("add", {"a": "2", "b": 3})
model.set_responses([faux_assistant_message(call), faux_assistant_message("Five.\n")])
agent = Agent(stream_fn=model, initial_state={"model": model.get_model(), "tools": [add]})
agent.subscribe(show)
asyncio.run(agent.prompt("What is 2 + 3?"))
