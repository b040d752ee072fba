"""Conversations in files: begin, close, list, continue, switch."""

import asyncio
import tempfile
from pathlib import Path

from pinyon import LocalSessionManager, PiAgent
from pinyon.testing import scripted_model


async def main() -> None:
    folder = Path(tempfile.mkdtemp())
    manager = LocalSessionManager(cwd=folder, session_dir=folder / "sessions")
    model = scripted_model("Noted.", "Hello there.", "It is 42.")
    async with await PiAgent.create(
        cwd=folder, session_manager=manager, model=model.get_model(), stream_fn=model.stream
    ) as pi:
        session = await pi.create_agent_session()
        await session.run("Remember the number 42")
        session.set_session_name("numbers")
        first = session.session_file

        await pi.new_session()  # pi.session is another one from here on
        await pi.session.run("Hello")

        for info in await manager.list_sessions():
            print(info.name or info.first_message, info.message_count)

        assert first is not None
        await pi.switch_session(first)
        print((await pi.session.run("Which number was it?")).text)
        print([type(message).__name__ for message in pi.session.messages][-4:])


asyncio.run(main())
