"""The same for scripts and notebooks without an event loop: plain calls, plain loops."""

import sys
import tempfile

from pinyon import InMemorySessionManager, MessageEnd
from pinyon.sync import PiAgent
from pinyon.testing import faux_tool_call, scripted_model

model = scripted_model("Hello.", faux_tool_call("ls", {}), "Nothing here.", "Bye.")

with PiAgent.create(
    cwd=tempfile.mkdtemp(),
    session_manager=InMemorySessionManager(),
    model=model.get_model(),
    stream_fn=model.stream,
    tools=["ls"],
) as pi:
    session = pi.create_agent_session()
    print(session.run("Say hello").text)
    session.run_print(sys.stdout, "What is here?")
    for event in session.stream("Say bye"):
        if isinstance(event, MessageEnd):
            print(type(event.message).__name__)
    print(session.get_session_stats().assistant_messages, "answers")
