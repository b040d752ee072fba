"""Signing in on the screen: questions, pages and codes of a provider's flow, with a way out at every moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from pinyon._util.web_page import open_page
from pinyon.ai.credential import Credential
from pinyon.ai.oauth import LoginCancelledError, LoginNotice, LoginPrompt
from pinyon.tui.dialog import TextPrompt
from pinyon.tui.login_panel import LoginPanel
from pinyon.tui.overlay import Overlay
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

Work = Coroutine[Any, Any, Credential]


class ScreenLogin:
    """A `LoginInteraction` of the interactive mode. `run` drives a flow that talks through it."""

    def __init__(self, app: PinyonApp, title: str, *, open_page: Callable[[str], bool] = open_page) -> None:
        self._app = app
        self._title = title
        self._open_page = open_page
        self._panel: LoginPanel | None = None
        self._work: asyncio.Task[Credential] | None = None
        self._is_given_up = False

    async def run(self, work: Work) -> Credential | None:
        """The credential that a flow gives; None where the user gave up. Raises `AuthError`."""
        self._work = asyncio.get_running_loop().create_task(work)
        try:
            return await self._work
        except LoginCancelledError:
            return None
        except asyncio.CancelledError:
            if self._is_given_up:
                return None
            raise
        finally:
            if self._panel is not None:
                self._panel.finish(None)

    async def prompt(self, prompt: LoginPrompt) -> str:
        """The user's answer; raises `LoginCancelledError` when there is none."""
        await asyncio.sleep(0)  # a panel that was just begun comes first, so that the question stands before it
        overlay = self._overlay(prompt)
        remove = prompt.signal.add_listener(lambda: overlay.finish(None)) if prompt.signal is not None else None
        try:
            answer = await self._app.ask(overlay)
        finally:
            if remove is not None:
                remove()
        if not isinstance(answer, str):
            raise LoginCancelledError("the sign-in was given up")
        return answer

    def _overlay(self, prompt: LoginPrompt) -> Overlay:
        if prompt.type == "select":
            choices = [Choice(option.value, option.label) for option in prompt.options]
            return Selector(prompt.message, choices, is_searchable=False)
        facts = self._panel.facts() if self._panel is not None else ""
        title = f"{prompt.message}\n{facts}" if facts else prompt.message
        return TextPrompt(title, placeholder=prompt.placeholder or "", is_secret=prompt.type == "secret")

    def notify(self, notice: LoginNotice) -> None:
        """Show something and go on."""
        if self._panel is None:
            self._panel = LoginPanel(self._title, open_page=self._open_page, copy=self._copy)
            self._app.start(self._watch(self._panel))
        self._panel.take(notice)

    def _copy(self, text: str) -> None:
        self._app.desk_or_fail.outside.copy(text, "Copied")

    async def _watch(self, panel: LoginPanel) -> None:
        """Show the panel until the flow ends; closing it ends the flow."""
        await self._app.ask(panel)
        if self._work is not None and not self._work.done():
            self._is_given_up = True
            self._work.cancel()
