"""The events of a run as they come. Leaving the loop aborts the run; a slow loop slows the model down."""

import asyncio
import tempfile

from pinyon import (
    InMemorySessionManager,
    MessageUpdate,
    PiAgent,
    TextDelta,
    ThinkingDelta,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pinyon.testing import faux_tool_call, scripted_model


async def main() -> None:
    model = scripted_model(faux_tool_call("ls", {}), "An empty folder.", "One. Two. Three. Four. " * 50)
    async with await PiAgent.create(
        cwd=tempfile.mkdtemp(),
        session_manager=InMemorySessionManager(),
        model=model.get_model(),
        stream_fn=model.stream,
        tools=["ls"],
    ) as pi:
        session = await pi.create_agent_session()
        stream = session.stream("What is here?")
        async for event in stream:
            match event:
                case MessageUpdate(assistant_message_event=TextDelta(delta=text)):
                    print(text, end="")
                case MessageUpdate(assistant_message_event=ThinkingDelta()):
                    print(".", end="")
                case ToolExecutionStart(tool_name=name):
                    print(f"[{name}", end="")
                case ToolExecutionEnd(is_error=failed):
                    print(" failed]" if failed else "]")
                case _:
                    pass
        print()
        print((await stream.result()).stop_reason)

        async with session.stream("Count for ever") as events:
            async for event in events:
                if isinstance(event, MessageUpdate) and "Two" in event.message.text:
                    break
        print((await events.result()).stop_reason, session.is_idle)


asyncio.run(main())
