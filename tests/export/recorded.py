"""Sessions on disk for pages to show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1"> <!-- <b>'
_USAGE = {
    "input": 1200,
    "output": 340,
    "cacheRead": 9000,
    "cacheWrite": 0,
    "totalTokens": 10540,
    "cost": {"total": 0.01},
}


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    """A prompt."""
    return {"role": "user", "content": list(blocks), "timestamp": 1}


def assistant(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer."""
    fixed = {"api": "faux", "provider": "fake", "model": "m1", "usage": _USAGE, "stopReason": "stop", "timestamp": 1}
    return {"role": "assistant", "content": list(blocks), **fixed, **more}


def call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, name: str, output: str, **more: Any) -> dict[str, Any]:
    """What a tool gave."""
    fixed = {"toolCallId": call_id, "toolName": name, "isError": False, "timestamp": 1}
    return {"role": "toolResult", "content": [text(output)], **fixed, **more}


class Recording:
    """Writes a session file line by line."""

    def __init__(self, cwd: str = "/home/user/project") -> None:
        header = {"type": "session", "version": 3, "id": "rec-1", "timestamp": "2026-11-30T20:00:00.000Z", "cwd": cwd}
        self.lines: list[dict[str, Any]] = [header]
        self.last: str | None = None

    def add(self, kind: str = "message", *, parent: str | None = None, **fields: Any) -> str:
        """Append an entry below `parent`, or below the last one; returns its id."""
        number = len(self.lines)
        entry_id = f"{number:08x}"
        time = f"2026-11-30T20:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        parent_id = parent if parent is not None else self.last
        self.lines.append({"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": time, **fields})
        self.last = entry_id
        return entry_id

    def write(self, path: Path) -> Path:
        """Store the session."""
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path


def stored_session(folder: Path, prompt: str = "Fix the parser") -> Path:
    """A small session with a branch."""
    recording = Recording()
    first = recording.add(message=user(text(prompt)))
    recording.add(message=assistant(text("Done.")))
    recording.add(parent=first, message=assistant(text("Done otherwise.")))
    return recording.write(folder / "small.jsonl")
