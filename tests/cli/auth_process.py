"""`pinyon auth` in a process of its own: `python -m tests.cli.auth_process ISSUER …`.

It is what `pinyon auth …` runs; only the addresses of the sign-in servers are others.
"""

from __future__ import annotations

import sys

from tests.ai.login_user import context_of

from pinyon.ai.oauth import OAuthProvider
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.openai import OpenAISignIn
from pinyon.ai.sign_in.openai_codex import OpenAICodexSignIn
from pinyon.ai.sign_in.openrouter import OpenRouterSignIn
from pinyon.ai.sign_in.radius import RadiusSignIn
from pinyon.ai.sign_in.xai import XaiSignIn
from pinyon.cli.auth_command import run_auth
from pinyon.testing.fake_clock import FakeClock


def flows(issuer: str) -> dict[str, OAuthProvider]:
    """Flows against `issuer`; those with a device code wait for nothing."""
    context = SignInContext(client_ids=context_of().client_ids)
    hasty = SignInContext(client_ids=context_of().client_ids, clock=HastyClock())
    return {
        "openrouter": OpenRouterSignIn(context, issuer),
        "openai": OpenAISignIn(context, issuer, port=0),
        "openai-codex": OpenAICodexSignIn(hasty, issuer, port=0),
        "xai": XaiSignIn(hasty, issuer),
        "radius": RadiusSignIn(context, issuer, port=0),
    }


class HastyClock(FakeClock):
    """Sleeps are over at once; the wall clock is the machine's."""

    def now_ms(self) -> int:
        from pinyon._util.clock import now_ms

        return now_ms()


if __name__ == "__main__":
    sys.exit(run_auth(sys.argv[2:], flows(sys.argv[1])))
