"""An RPC server whose commands ask and show things; started by tests as a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys

from pinyon._util.abort import AbortController
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.coding.hooks import SessionHooks, SessionStart
from pinyon.coding.pi_agent import PiAgent
from pinyon.modes.output import OutputGuard, OutputWriter
from pinyon.modes.rpc.server import run_rpc_mode
from pinyon.session import InMemorySessionManager


class Asking(SessionHooks):
    """`/ask` and `/late` notify what was answered to every dialog, `/show` shows something of every kind,
    `/print` writes to standard output.

    With the argument `--ask` it asks when a session starts, and names the session after the answer.
    """

    pi: PiAgent

    def is_command(self, name: str) -> bool:
        return name in ("ask", "show", "late", "print")

    async def session_started(self, start: SessionStart) -> None:
        if "--ask" in sys.argv:
            self.pi.session.set_session_name(str(await self.pi.ui.confirm("Start?", start.reason)))

    async def run_command(self, name: str, args: str) -> None:
        ui = self.pi.ui
        if name == "ask":
            given = [
                await ui.select("Pick", ["A", "B"]),
                await ui.confirm("Sure?", "Really do it"),
                await ui.input("Name", "placeholder"),
                await ui.editor("Edit", "prefill\ntext"),
            ]
            ui.notify(json.dumps(given))
        elif name == "late":
            controller = AbortController()
            asyncio.get_running_loop().call_later(0.5, controller.abort)
            given = [
                await ui.select("Timed", ["X"], timeout_s=0.05),
                await ui.input("Aborted", signal=controller.signal),
                await ui.confirm("Aborted before", "?", signal=controller.signal),
            ]
            ui.notify(json.dumps(given), "warning")
        elif name == "print":
            sys.stdout.write("printed by a command\n")
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('printed by a child')")
            await child.wait()
        else:
            ui.set_status("k", "running")
            ui.set_status("k", None)
            ui.set_widget("w", ["l1", "l2"], "belowEditor")
            ui.set_widget("w", None)
            ui.set_title("T!")
            ui.set_editor_text("text")


async def main() -> None:
    """Serve standard input."""
    hooks = Asking()
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message("hi")])
    pi = await PiAgent.create(
        session_manager=InMemorySessionManager(), hooks=hooks, stream_fn=faux.stream, model=faux.get_model()
    )
    hooks.pi = pi
    with OutputGuard() as guard:
        await run_rpc_mode(pi, writer=OutputWriter(guard.fd), open_session=pi.create_agent_session)


if __name__ == "__main__":
    asyncio.run(main())
