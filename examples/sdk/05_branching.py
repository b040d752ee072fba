"""A conversation is a tree: go back, ask otherwise, fork into a file of its own, and compare the branches."""

import asyncio

from pinyon import InMemorySessionManager, PiAgent
from pinyon.testing import scripted_model


async def main() -> None:
    model = scripted_model("Use a list.", "Use a set.", "A set it is.")
    async with await PiAgent.create(
        session_manager=InMemorySessionManager(), model=model.get_model(), stream_fn=model.stream
    ) as pi:
        session = await pi.create_agent_session()
        await session.run("How do I store names?")
        question = session.get_user_messages_for_forking()[0]

        move = await session.navigate_tree(question.entry_id)
        print("before:", move.editor_text)
        await session.run("How do I store names without repetition?")
        texts = [message.text for message in session.get_user_messages_for_forking()]  # of all branches
        print(texts, "now:", session.get_last_assistant_text())

        fork = await pi.fork(question.entry_id)  # a session of its own, up to that question
        print("forked before:", fork.selected_text)
        print((await pi.session.run("And if order does not matter?")).text)


asyncio.run(main())
