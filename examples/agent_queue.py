import asyncio

from pinyon.agent import Agent, AgentEvent, MessageEnd, TurnStart
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.ai.content import TextContent
from pinyon.ai.message import AssistantMessage, UserMessage


def show(event: AgentEvent, _: object) -> None:
    match event:
        case TurnStart():
            print("-- turn")
        case MessageEnd(message=UserMessage(content=[TextContent(text=text)])):
            print("user:", text)
        case MessageEnd(message=AssistantMessage() as answer):
            print("model:", answer.text)


def later(text: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text)], timestamp=0)


model = FauxProvider()
model.set_responses([faux_assistant_message(text) for text in ("Two files.", "In French: deux.", "Bye.")])
agent = Agent(stream_fn=model, initial_state={"model": model.get_model()})
agent.subscribe(show)
agent.follow_up(later("Say goodbye."))  # when the agent would stop
agent.steer(later("Only Python files."))  # joins the run at its next chance
asyncio.run(agent.prompt("How many files are there?"))
