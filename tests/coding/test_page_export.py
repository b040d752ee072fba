"""Pages of a running session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted
from tests.export.test_html_page import page_data

from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.coding.page_export import export_page
from pinyon.session.local import LocalSessionManager

CANARY = "sk-canary-0001"


@pytest.mark.parametrize(
    "export",
    [
        lambda scripted, path: scripted.session.export_to_html(path),
        lambda scripted, path: export_page(scripted.session, scripted.pi.services, path),
    ],
    ids=["session", "command"],
)
def test_keys_of_the_user_do_not_stand_in_the_page_of_a_running_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, export: Callable[[Scripted, Path], Path]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)

    async def play(scripted: Scripted) -> Path:
        await scripted.session.prompt(f"my key is {CANARY}, keep it")
        return export(scripted, tmp_path / "page.html")

    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    page = run_scripted([faux_assistant_message("fine")], play, cwd=tmp_path, session_manager=manager)
    data = page_data(page.read_text())
    assert "keep it" in str(data["entries"])
    assert CANARY not in str(data)
    assert data["tools"]
