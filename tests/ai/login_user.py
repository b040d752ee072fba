"""A user who signs in: opens pages in a browser, enters codes, pastes addresses, and remembers what was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from pinyon.ai.oauth import LoginCancelledError, LoginNotice, LoginPrompt, OAuthProvider
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.github_copilot import CopilotSignIn
from pinyon.ai.sign_in.kimi_coding import KimiSignIn
from pinyon.ai.sign_in.meta import MetaSignIn
from pinyon.ai.sign_in.openai import OpenAISignIn
from pinyon.ai.sign_in.openai_codex import OpenAICodexSignIn
from pinyon.ai.sign_in.openrouter import OpenRouterSignIn
from pinyon.ai.sign_in.radius import RadiusSignIn
from pinyon.ai.sign_in.xai import XaiSignIn
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_oauth import CLIENT_ID, FakeOAuth

PROVIDERS = ("openrouter", "openai", "openai-codex", "github-copilot", "xai", "kimi-coding", "meta", "radius")
IN_BROWSER = ("openrouter", "openai", "openai-codex", "radius")
WITH_DEVICE = ("openai-codex", "github-copilot", "xai", "kimi-coding", "meta", "radius")


class FakeUser:
    """`method` answers the question for the way, `texts` other questions. With `pastes` the browser is elsewhere, and
    what `pastes(url)` gives is pasted, one text after another.
    """

    def __init__(
        self,
        fake: FakeOAuth,
        *,
        method: str = "browser",
        text: str = "",
        pastes: Callable[[str], list[str]] | None = None,
        browses: bool = True,
    ) -> None:
        self.fake = fake
        self.method = method
        self.text = text
        self.pastes = pastes
        self.browses = browses
        self.shown: list[LoginNotice] = []
        self.prompts: list[LoginPrompt] = []
        self.visit: asyncio.Task[tuple[int, str]] | None = None
        self.is_waiting = asyncio.Event()
        self._pasted: list[str] = []

    async def prompt(self, prompt: LoginPrompt) -> str:
        self.prompts.append(prompt)
        match prompt.type:
            case "select":
                return self.method
            case "manual_code":
                return await self._paste(prompt)
            case _:
                return self.text

    async def _paste(self, prompt: LoginPrompt) -> str:
        if self._pasted:
            return self._pasted.pop(0)
        assert prompt.signal is not None
        self.is_waiting.set()
        await prompt.signal.wait()
        raise LoginCancelledError("login cancelled")

    def notify(self, notice: LoginNotice) -> None:
        self.shown.append(notice)
        if notice.type != "auth_url" or notice.url is None:
            return
        if self.pastes is not None:
            self._pasted = self.pastes(notice.url)
        elif self.browses:
            self.visit = asyncio.create_task(asyncio.to_thread(self.fake.browse, notice.url))

    async def page(self) -> tuple[int, str]:
        """Status and text of the page at which the browser ended."""
        assert self.visit is not None
        return await self.visit


def context_of(
    clock: FakeClock | None = None, env: Mapping[str, str] | None = None, *, configured: bool = True
) -> SignInContext:
    """A context with a client id for every provider."""
    client_ids = dict.fromkeys(PROVIDERS, CLIENT_ID) if configured else {}
    return SignInContext(env=env or {}, client_ids=client_ids, clock=clock or FakeClock())


def flow_of(provider: str, fake: FakeOAuth, context: SignInContext) -> OAuthProvider:
    """The flow of a provider against the fake server, on free ports."""
    match provider:
        case "openrouter":
            return OpenRouterSignIn(context, fake.url)
        case "openai":
            return OpenAISignIn(context, fake.url, port=0)
        case "openai-codex":
            return OpenAICodexSignIn(context, fake.url, port=0)
        case "github-copilot":
            return CopilotSignIn(context, fake.url)
        case "xai":
            return XaiSignIn(context, fake.url)
        case "kimi-coding":
            return KimiSignIn(context, fake.url)
        case "meta":
            return MetaSignIn(context, fake.url, f"{fake.url}/muse-code/key")
        case _:
            return RadiusSignIn(context, fake.url, port=0)
