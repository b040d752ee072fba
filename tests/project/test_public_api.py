"""The public API as it is promised; `typed_consumer.py` beside this file is what the type checker has to accept."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args

import pytest

import pinyon
import pinyon.sync

PINNED = Path(__file__).resolve().parents[1] / "data" / "public_api.txt"

CALLABLES = [
    "PiAgent.create",
    "PiAgent.create_agent_session",
    "PiAgent.new_session",
    "PiAgent.switch_session",
    "PiAgent.fork",
    "PiAgent.clone",
    "PiAgent.import_from_jsonl",
    "PiAgent.dispose",
    *(
        f"AgentSession.{name}"
        for name, _ in inspect.getmembers(pinyon.AgentSession, inspect.isfunction)
        if name[0] != "_"
    ),
    *(f"Session.{name}" for name, _ in inspect.getmembers(pinyon.Session, inspect.isfunction) if name[0] != "_"),
    "create_coding_session",
    "create_event_bus",
    "define_tool",
    "run_print_mode",
    "run_rpc_mode",
    "InteractiveMode.__init__",
    "SettingsManager.create",
    "SettingsManager.in_memory",
    "AuthStorage.create",
    "AuthStorage.in_memory",
    "ModelRegistry.create",
    "create_coding_tools",
    "create_read_only_tools",
    "create_all_tools",
]


def described() -> str:
    """Every public name, and every signature that programs call."""
    lines = [f"pinyon.{name}" for name in sorted(pinyon.__all__)]
    lines += [f"pinyon.sync.{name}" for name in sorted(pinyon.sync.__all__)]
    lines += [f"{name}{_signature(name)}" for name in CALLABLES]
    return "\n".join(lines) + "\n"


def _signature(name: str) -> str:
    value: Any = pinyon
    for part in name.split("."):
        value = getattr(value, part)
    return str(inspect.signature(value))


def test_the_public_api_is_as_it_was_promised() -> None:
    found = described()
    assert found == PINNED.read_text("utf-8"), (
        "the public API changed; where that is intended, write it anew with `python -m tests.project.test_public_api`"
    )


@pytest.mark.parametrize(
    "union", [pinyon.SessionEvent, pinyon.AgentEvent, pinyon.AssistantMessageEvent, pinyon.UpdateEvent]
)
def test_every_event_class_is_exported(union: Any) -> None:
    classes = [kind.__name__ for kind in get_args(union)]
    assert len(classes) > 8
    assert [name for name in classes if name not in pinyon.__all__] == []


if __name__ == "__main__":
    PINNED.write_text(described(), encoding="utf-8")
