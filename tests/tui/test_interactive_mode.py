from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are a thing of Unix", allow_module_level=True)
from tests.cli.terminal import Terminal

PROGRAM = """
import asyncio, sys
from pinyon import InteractiveMode, PiAgent
from pinyon.testing import scripted_model, scripted_options

async def main():
    model = scripted_model("Answer one.", "Answer two.")
    pi = await PiAgent.create(**scripted_options(model))
    mode = InteractiveMode(
        pi,
        migrated_providers=["acme"],
        model_fallback_message="The recorded model is gone.",
        initial_message="First question",
        initial_messages=["Second question"],
    )
    code = await mode.run()
    print("ended", code, pi.session.is_idle, model.state.call_count)

asyncio.run(main())
"""


def test_a_program_shows_its_own_agent_in_the_interactive_mode(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    env = {**kept, "HOME": str(tmp_path), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    with Terminal([sys.executable, "-c", PROGRAM], env, tmp_path) as terminal:
        terminal.wait_for("Answer two.")
        for text in ("First question", "Answer one.", "Second question", "The recorded model is gone.", "acme"):
            assert text in terminal.shown
        terminal.type("\x04")
        terminal.wait_for("ended 0 True 2")
        assert terminal.end() == 0
