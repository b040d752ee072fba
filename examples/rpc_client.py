import asyncio
import sys

from pinyon.modes.rpc import RpcClient


async def main(command: list[str]) -> None:
    async with RpcClient(command or None, args=["--no-session"]) as client:
        client.subscribe(lambda event: print(type(event).__name__))
        await client.prompt_and_wait("What is in this folder?")
        print(await client.get_last_assistant_text())
        stats = await client.get_session_stats()
        print(f"{stats.user_messages} prompt, {stats.assistant_messages} answer")


asyncio.run(main(sys.argv[1:]))
