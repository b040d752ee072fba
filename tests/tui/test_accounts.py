"""Signing in and out on the screen, the first screen without a model, and the person that code can ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.tui.stage import SIZE, Stage, stage

from pinyon._util.abort import AbortController
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, LoginNotice, LoginPrompt, OAuthProvider, TokenAuth
from pinyon.coding.pi_agent import PiAgent
from pinyon.coding.user_interface import UserInterface
from pinyon.resources.settings import SettingsManager
from pinyon.testing import FauxProvider
from pinyon.tui.app import PinyonApp
from pinyon.tui.sign_in import ScreenLogin
from pinyon.tui.start import InteractiveStart, StartNotice


class DeviceFlow:
    """A flow that shows a page and a code, and waits."""

    name = "Acme"

    def __init__(self) -> None:
        self.confirmed = asyncio.Event()

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        interaction.notify(
            LoginNotice(
                type="device_code",
                message="Enter the code.",
                url="https://acme.example/device",
                user_code="ABCD-1234",
                expires_in_s=600,
            )
        )
        await self.confirmed.wait()
        return OAuthCredential(access="a", refresh="r", expires=2**52)

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        return credential

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        return TokenAuth(api_key=credential.access)


async def alone(
    folder: Path,
    play: Callable[[Stage], Awaitable[Any]],
    *,
    flows: Mapping[str, OAuthProvider] | None = None,
    env: Mapping[str, str] | None = None,
    has_demo: bool = False,
) -> Any:
    """Play on an application without a model and without credentials."""
    (folder / "project").mkdir(exist_ok=True)
    storage = AuthStorage.create(folder / "agent" / "auth.json", env=env or {})
    storage.oauth_providers.update(flows or {})

    async def create(say: StartNotice) -> PiAgent:
        pi = await PiAgent.create(
            cwd=folder / "project",
            agent_dir=folder / "agent",
            settings_manager=SettingsManager.in_memory({}),
            auth_storage=storage,
        )
        await pi.create_agent_session()
        return pi

    async def demo() -> tuple[PiAgent, str]:
        faux = FauxProvider()
        pi = await PiAgent.create(
            cwd=folder / "project", agent_dir=folder / "agent", model=faux.get_model(), stream_fn=faux
        )
        await pi.create_agent_session()
        return pi, "Mend the shop"

    app = PinyonApp(
        InteractiveStart(
            create=create,
            create_demo=demo if has_demo else None,
            cwd=folder / "project",
            agent_dir=folder / "agent",
        )
    )
    async with app.run_test(size=SIZE) as pilot:
        running = Stage(app, pilot, FauxProvider())
        await running.until(lambda: app.is_ready)
        try:
            return await play(running)
        finally:
            await app.end_tasks()
            if app.desk is not None:
                await app.desk.pi.dispose()


# The first screen.


def test_without_a_model_the_first_screen_offers_ways_to_one(tmp_path: Path) -> None:
    async def play(running: Stage) -> str:
        await running.until_shown("Which model should answer?")
        return running.screen

    screen = asyncio.run(alone(tmp_path, play, has_demo=True))
    for offer in ("Sign in with an account", "Enter an API key", "scripted model", "Later"):
        assert offer in screen


def test_a_key_is_typed_unseen_kept_and_its_provider_answers_from_then_on(tmp_path: Path) -> None:
    async def play(running: Stage) -> tuple[str, str, str]:
        await running.until_shown("Which model should answer?")
        await running.press("down", "enter")
        await running.until_shown("API key of which provider?")
        await running.type("mistral")
        await running.press("enter")
        await running.until_shown("API key for")
        await running.type("s3cret-key")
        typed = running.screen
        await running.press("enter")
        await running.until(lambda: running.app.session.model is not None)
        await running.drawn()
        model = running.app.session.model
        assert model is not None
        return typed, model.provider, running.transcript

    typed, provider, transcript = asyncio.run(alone(tmp_path, play))
    assert "s3cret-key" not in typed
    assert "s3cret-key" not in transcript
    assert provider == "mistral"
    assert "s3cret-key" in (tmp_path / "agent" / "auth.json").read_text(encoding="utf-8")


def test_the_demo_takes_the_place_of_the_session_with_its_prompt_ready(tmp_path: Path) -> None:
    async def play(running: Stage) -> str:
        await running.until_shown("Which model should answer?")
        await running.press("down", "down", "enter")
        await running.until(lambda: running.app.session.model is not None)
        await running.drawn()
        return running.app.editor.buffer.text

    assert asyncio.run(alone(tmp_path, play, has_demo=True)) == "Mend the shop"


def test_a_prompt_without_a_model_stays_in_the_editor(tmp_path: Path) -> None:
    async def play(running: Stage) -> str:
        await running.until_shown("Which model should answer?")
        await running.press("escape")
        await running.type("my question")
        await running.press("enter")
        await running.until_shown("Which model should answer?")
        await running.press("escape")
        await running.drawn()
        return running.app.editor.buffer.text

    assert asyncio.run(alone(tmp_path, play)) == "my question"


# Flows.


def test_a_code_is_shown_until_it_was_entered_elsewhere(tmp_path: Path) -> None:
    async def run() -> tuple[str, bool, str]:
        flow = DeviceFlow()

        async def play(running: Stage) -> tuple[str, bool, str]:
            await running.until_shown("Which model should answer?")
            await running.press("escape")
            running.app.run_command("login", "openrouter")
            await running.until_shown("How do you sign in to")
            await running.press("enter")
            await running.until_shown("ABCD-1234")
            screen = running.screen
            flow.confirmed.set()
            await running.until_shown("Signed in to")
            return screen, running.app.pi.services.auth_storage.has("openrouter"), running.transcript

        found: tuple[str, bool, str] = await alone(tmp_path, play, flows={"openrouter": flow})
        return found

    screen, is_stored, transcript = asyncio.run(run())
    assert "https://acme.example/device" in screen
    assert "valid for 10 minutes" in screen
    assert is_stored
    assert "auth.json" in " ".join(transcript.split())


def test_escape_gives_a_flow_up_and_stores_nothing(tmp_path: Path) -> None:
    async def run() -> tuple[bool, bool]:
        flow = DeviceFlow()

        async def play(running: Stage) -> tuple[bool, bool]:
            await running.until_shown("Which model should answer?")
            await running.press("escape")
            running.app.run_command("login", "openrouter")
            await running.until_shown("How do you sign in to")
            await running.press("enter")
            await running.until_shown("ABCD-1234")
            await running.press("escape")
            await running.until(lambda: running.app.overlays.front is None)
            return running.app.pi.services.auth_storage.has("openrouter"), running.app.editor.display

        found: tuple[bool, bool] = await alone(tmp_path, play, flows={"openrouter": flow})
        return found

    assert asyncio.run(run()) == (False, True)


def test_pages_are_opened_and_questions_of_a_flow_are_asked(tmp_path: Path) -> None:
    opened: list[str] = []

    async def play(running: Stage) -> tuple[str, str]:
        def opens(url: str) -> bool:
            opened.append(url)
            return True

        screen = ScreenLogin(running.app, "Signing in", open_page=opens)

        async def flow() -> OAuthCredential:
            screen.notify(LoginNotice(type="auth_url", message="Open the page.", url="https://acme.example/in"))
            code = await screen.prompt(LoginPrompt(type="manual_code", message="Code of the page?"))
            return OAuthCredential(access=code, refresh="", expires=1)

        work = asyncio.ensure_future(screen.run(flow()))
        await running.until_shown("Code of the page?")
        shown = running.screen
        await running.type("42")
        await running.press("enter")
        credential = await work
        assert isinstance(credential, OAuthCredential)
        return shown, credential.access

    async def run() -> tuple[str, str]:
        async with stage(tmp_path) as running:
            return await play(running)

    shown, code = asyncio.run(run())
    assert code == "42"
    assert opened == ["https://acme.example/in"]
    assert "https://acme.example/in" in shown


def test_a_stored_credential_is_deleted_by_name(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "auth.json").write_text('{"mistral": {"type": "api_key", "key": "k"}}', encoding="utf-8")

    async def play(running: Stage) -> tuple[str, bool]:
        running.app.run_command("logout")
        await running.until_shown("Delete which credential?")
        screen = running.screen
        await running.press("enter")
        await running.until_shown("Deleted the credential")
        return screen, running.app.pi.services.auth_storage.is_stored("mistral")

    screen, is_stored = asyncio.run(alone(tmp_path, play))
    assert "API key" in screen
    assert not is_stored


# The person that code beside a session can ask.


def asked(folder: Path, ask: Callable[[UserInterface], Awaitable[Any]], *keys: str, shown: str) -> Any:
    async def run() -> Any:
        async with stage(folder) as running:
            answer = asyncio.ensure_future(ask(running.app.pi.ui))
            await running.until_shown(shown)
            await running.press(*keys)
            return await answer

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("ask", "keys", "shown", "expected"),
    [
        (lambda ui: ui.select("Which?", ["a", "b"]), ("down", "enter"), "Which?", "b"),
        (lambda ui: ui.select("Which?", ["a", "b"]), ("escape",), "Which?", None),
        (lambda ui: ui.confirm("Sure?", "It is gone then."), ("enter",), "It is gone then.", True),
        (lambda ui: ui.confirm("Sure?", ""), ("escape",), "Sure?", False),
        (lambda ui: ui.input("Name?", "like Ada"), ("x", "enter"), "like Ada", "x"),
        (lambda ui: ui.editor("Text?", "one"), ("!", "enter"), "one", "one!"),
    ],
    ids=["select", "closed select", "confirm", "closed confirm", "input", "editor"],
)
def test_questions_of_code_are_answered_on_the_screen(
    tmp_path: Path, ask: Callable[[UserInterface], Awaitable[Any]], keys: tuple[str, ...], shown: str, expected: object
) -> None:
    assert asked(tmp_path, ask, *keys, shown=shown) == expected


def test_a_question_counts_down_and_ends_with_its_time_or_its_signal(tmp_path: Path) -> None:
    async def run() -> tuple[str, bool, str | None]:
        async with stage(tmp_path) as running:
            ui = running.app.pi.ui
            slow = asyncio.ensure_future(ui.confirm("Go on?", "", timeout_s=50))
            await running.until_shown("Go on? (")
            screen = running.screen
            await running.press("escape")
            stop = AbortController()
            waiting = asyncio.ensure_future(ui.input("Name?", signal=stop.signal))
            await running.until_shown("Name?")
            stop.abort()
            return screen, await slow, await waiting

    screen, agreed, name = asyncio.run(run())
    assert "s)" in screen
    assert agreed is False
    assert name is None


def test_code_shows_notices_widgets_and_text_in_the_editor(tmp_path: Path) -> None:
    async def run() -> tuple[str, bool]:
        async with stage(tmp_path) as running:
            ui = running.app.pi.ui
            ui.notify("told once", "warning")
            ui.set_status("k", "status here")
            ui.set_widget("w", ["first place"])
            ui.set_widget("w", ["second place"], "belowEditor")
            ui.set_editor_text("prepared")
            await running.until_shown("status here")
            return running.screen, ui.has_ui

    screen, has_ui = asyncio.run(run())
    for text in ("told once", "second place", "prepared"):
        assert text in screen
    assert "first place" not in screen
    assert has_ui
