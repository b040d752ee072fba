import asyncio

from pinyon import InMemorySessionManager, PiAgent


async def main() -> None:
    pi = await PiAgent.create(session_manager=InMemorySessionManager())
    session = await pi.create_agent_session()
    session.subscribe(lambda event: print(type(event).__name__))
    await session.prompt("What does this project do?")
    print(session.get_last_assistant_text())
    await pi.dispose()


asyncio.run(main())
