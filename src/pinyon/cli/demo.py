"""`pinyon demo`: the real loop and the real tools on a scratch project, driven by a scripted model.

Needs no key and no network. The script plays what a model would do: run the failing test, read the program, mend it,
and run the test again. The session is stored like any other, and can be continued; the scripted model answers there
too and says what it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.terminal import strip_terminal_control
from pinyon.errors import ConfigError

if TYPE_CHECKING:
    from pinyon.agent.tool import AgentToolResult
    from pinyon.ai.model import Model
    from pinyon.coding.event import SessionEvent
    from pinyon.coding.pi_agent import PiAgent

PROVIDER = "demo"
MODEL_ID = "scripted"
PROMPT = "The test of this project fails. Find the fault, mend it and show that the test passes."

PROGRAM = '''"""Prices of a small shop, in cents."""


def total(prices: list[int], discount_percent: int = 0) -> int:
    """The sum of the prices, less the discount."""
    amount = sum(prices)
    return amount - amount * discount_percent // 10
'''
TEST = """import unittest

from shop import total


class TotalTest(unittest.TestCase):
    def test_sums_prices(self) -> None:
        self.assertEqual(total([250, 750]), 1000)

    def test_takes_off_the_discount(self) -> None:
        self.assertEqual(total([250, 750], discount_percent=10), 900)


if __name__ == "__main__":
    unittest.main()
"""
_RUN_TEST = f'"{sys.executable}" -B -m unittest -q test_shop'


def demo_model() -> Model:
    """Descriptor of the scripted model."""
    from pinyon.ai.model import Model

    return Model(id=MODEL_ID, name="Scripted demo (no real model)", api="faux", provider=PROVIDER, base_url="")


def make_project() -> Path:
    """Write the scratch project into a new temporary folder and return it."""
    folder = Path(tempfile.mkdtemp(prefix="pinyon-demo-"))
    (folder / "shop.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "test_shop.py").write_text(TEST, encoding="utf-8")
    return folder


async def open_demo() -> tuple[PiAgent, str]:
    """The scripted model with a session in a new scratch project, and the prompt that it answers."""
    from pinyon.cli.demo_script import demo_stream
    from pinyon.coding.pi_agent import PiAgent

    pi = await PiAgent.create(cwd=make_project(), model=demo_model(), stream_fn=demo_stream)
    await pi.create_agent_session()
    return pi, PROMPT


def run_demo_command(arguments: Sequence[str]) -> int:
    """`pinyon demo`; returns the exit code."""
    from pinyon.cli.interrupt import run_until_signal

    if arguments:
        raise ConfigError(f"`pinyon demo` takes no arguments, got {arguments[0]!r}")
    return run_until_signal(run_demo())


async def run_demo() -> int:
    """Play the demo; returns 0 when the project's test passed in the end."""
    from pinyon.cli.demo_script import demo_stream
    from pinyon.coding.pi_agent import PiAgent

    folder = make_project()
    _say("Pinyon demo: a SCRIPTED model (no AI, no key, no network) drives the real agent loop and the real tools.")
    _say(f"Scratch project: {folder}\n")
    _say(f"> {PROMPT}\n")
    async with await PiAgent.create(cwd=folder, model=demo_model(), stream_fn=demo_stream) as pi:
        session = await pi.create_agent_session()
        session.subscribe(_Narrator().hear)
        result = await session.run(PROMPT)
        stored = session.session_file
    if result.stop_reason != "stop":
        sys.stderr.write(f"Error: the demo ended as {result.stop_reason!r}: {result.error_message}\n")
        return 1
    _say(f"\nThe conversation is stored in {stored}")
    _say(hints(folder, own_command()))
    return 0


def own_command() -> str:
    """What starts this program from any folder: its name where the shell finds this very file, else its whole path."""
    started = Path(sys.argv[0]).absolute()
    if started.name == "__main__.py":
        return _shell_words(sys.executable, "-m", "pinyon")
    found = shutil.which(started.stem)
    if found and Path(found).absolute().with_suffix("") == started.with_suffix(""):
        return started.stem
    return _shell_words(str(started))


def hints(folder: Path, command: str) -> str:
    """What can be done after the demo in `folder`, each as a line to type."""
    return f"""\
Continue it:            cd {_shell_words(str(folder))} && {command} -c -p "What did you change?"
With a real model:      export ANTHROPIC_API_KEY=...   (or OPENAI_API_KEY, OPENROUTER_API_KEY, ...)
                        {command} -p "Explain this project"
With a local server:    {command} --model ollama/NAME -p "Explain this project"
                        (also llama.cpp/NAME, lm-studio/NAME and vllm/NAME, on their default ports)
What can be used here:  {command} --list-models"""


def _shell_words(*words: str) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _say(text: str) -> None:
    sys.stdout.write(strip_terminal_control(text) + "\n")
    sys.stdout.flush()


class _Narrator:
    """Shows a run as it happens, in plain lines."""

    def hear(self, event: SessionEvent) -> None:
        from pinyon.agent.event import MessageUpdate, ToolExecutionEnd, ToolExecutionStart
        from pinyon.ai.event import TextDelta, TextEnd

        match event:
            case MessageUpdate(assistant_message_event=TextDelta(delta=delta)):
                sys.stdout.write(strip_terminal_control(delta))
                sys.stdout.flush()
            case MessageUpdate(assistant_message_event=TextEnd()):
                _say("")
            case ToolExecutionStart(tool_name=name, args=dict() as args):
                _say(f"  [{name}] {args.get('command') or args.get('path') or ''}")
            case ToolExecutionEnd(result=result):
                _say(_indented(result))
            case _:
                pass


def _indented(result: AgentToolResult) -> str:
    from pinyon.ai.content import TextContent

    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent)).strip()
    lines = text.split("\n")
    shown = lines if len(lines) <= 12 else [*lines[:4], f"... {len(lines) - 8} more lines ...", *lines[-4:]]
    return "\n".join(f"    | {line}" for line in shown)
