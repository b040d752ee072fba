"""One prompt, one answer. The model comes from your settings, its key from the environment or from `pinyon auth`."""

import asyncio

from pinyon import PiAgent


async def main() -> None:
    async with await PiAgent.create() as pi:
        session = await pi.create_agent_session()
        result = await session.run("What does this project do?")
        print(result.text)
        print(f"({result.stop_reason}, {result.usage.total_tokens:.0f} tokens, {result.usage.cost.total:.4f} dollars)")


asyncio.run(main())
