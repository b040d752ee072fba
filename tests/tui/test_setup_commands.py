"""`/trust`, `/debug` and `/export`: what they keep and write."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.tui.stage import stage

from pinyon.testing import faux_assistant_message


def test_trust_is_kept_and_counts_at_once(tmp_path: Path) -> None:
    prompts = tmp_path / "project" / ".pi" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "ours.md").write_text("Of the project.", encoding="utf-8")

    async def play() -> tuple[bool, bool, str]:
        async with stage(tmp_path) as running:
            before = running.app.commands.get("ours") is not None
            running.app.run_command("trust")
            await running.until_shown("It is not trusted in this session.")
            screen = running.screen
            await running.press("enter")
            await running.until(lambda: running.app.commands.get("ours") is not None)
            return before, running.app.pi.services.settings.is_project_trusted, screen

    before, trusted, screen = asyncio.run(play())
    assert not before
    assert trusted
    assert "for this session" not in screen.replace("in this session", "")
    saved = json.loads((tmp_path / "agent" / "trust.json").read_text(encoding="utf-8"))
    assert saved == {str((tmp_path / "project").resolve()): True}


def test_debug_writes_screen_and_session_without_credentials(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    stored = {"mistral": {"type": "api_key", "key": "hush-hush-key"}}
    (tmp_path / "agent" / "auth.json").write_text(json.dumps(stored), encoding="utf-8")

    async def play() -> None:
        async with stage(tmp_path, [faux_assistant_message("said hush-hush-key aloud")]) as running:
            await running.say("go")
            running.app.run_command("debug")
            await running.until((tmp_path / "agent" / "pi-debug.log").exists)
            await running.until(lambda: "it holds this conversation" in " ".join(running.transcript.split()))

    asyncio.run(play())
    text = (tmp_path / "agent" / "pi-debug.log").read_text(encoding="utf-8")
    assert "# Entries" in text
    assert "aloud" in text
    assert "hush-hush-key" not in text


def test_export_without_a_name_writes_a_page_into_the_folder(tmp_path: Path) -> None:
    async def play() -> None:
        async with stage(tmp_path, [faux_assistant_message("hello")]) as running:
            await running.say("hi")
            running.app.run_command("export")
            await running.until(lambda: list((tmp_path / "project").glob("pi-session-*.html")))

    asyncio.run(play())
