"""Answers as checked Python values. What does not fit goes back to the model, twice at most."""

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from pinyon import InMemorySessionManager, OutputError, PiAgent
from pinyon.testing import scripted_model


@dataclass
class Review:
    verdict: Literal["approve", "reject"]
    score: int
    remarks: list[str] = field(default_factory=list)


async def main() -> None:
    model = scripted_model(
        "I would say it is fine.",  # no JSON: sent back
        'Here it is: {"verdict": "approve", "score": 8, "remarks": ["Short and clear"]}',
        "I cannot tell.",
    )
    async with await PiAgent.create(
        session_manager=InMemorySessionManager(), model=model.get_model(), stream_fn=model.stream
    ) as pi:
        session = await pi.create_agent_session()
        result = await session.run("Review the last change", output=Review)
        print(result.output)
        print(result.totals.turns, "turns")
        try:
            await session.run("And the one before?", output=Review, repairs=0)
        except OutputError as error:
            print(error.problem, "-", error.text)


asyncio.run(main())
