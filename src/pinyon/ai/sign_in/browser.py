"""Sign-in in a browser: a page is opened, and the answer comes through the loopback server or is pasted by hand.

Both ways wait at once, so that it also works where the browser runs on another machine.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlsplit

import msgspec

from pinyon._util.abort import AbortController
from pinyon.ai.oauth import LoginInteraction, LoginNotice, LoginPrompt, OAuthError
from pinyon.ai.sign_in.callback import CallbackServer, open_callback_server, refuse_error, same_state
from pinyon.ai.sign_in.context import SignInContext

ANSWER_TIMEOUT_S = 300.0


class Redirect(msgspec.Struct, kw_only=True):
    """Where a provider sends the browser back to. A `port` of 0 takes any free one. Without a `server` (the port was
    taken) the answer can only be pasted. A pasted code alone counts where `takes_code` allows it.
    """

    host: str = "127.0.0.1"
    path: str
    port: int = 0
    state: str | None = None
    server: CallbackServer | None = None
    takes_code: bool = True

    @property
    def uri(self) -> str:
        """The address for the provider."""
        return f"http://{self.host}:{self.server.port if self.server else self.port}{self.path}"


@contextlib.asynccontextmanager
async def listen(context: SignInContext, redirect: Redirect, *, required: bool = True) -> AsyncIterator[Redirect]:
    """Listen on the redirect's port. Where it is taken: an `OAuthError`, or no server if that is not `required`."""
    async with contextlib.AsyncExitStack() as stack:
        opening = open_callback_server(context, redirect.path, port=redirect.port, state=redirect.state)
        try:
            redirect.server = await stack.enter_async_context(opening)
        except OSError as error:
            if required:
                raise OAuthError(
                    f"port {redirect.port or 'of the callback'} cannot be used ({error.strerror or error}); this "
                    "sign-in needs it, so end the program that holds it and try again"
                ) from None
        yield redirect


async def authorize(interaction: LoginInteraction, url: str, redirect: Redirect, doing: str) -> dict[str, str]:
    """Show the page and return the parameters that the provider sent back, `code` among them.

    Raises `OAuthError` for a refusal or when nothing comes within `ANSWER_TIMEOUT_S`, `LoginCancelledError` when the
    user gives up.
    """
    message = "Finish the sign-in in your browser. If it runs on another machine, paste the address it ends at here."
    interaction.notify(LoginNotice(type="auth_url", url=url, message=message))
    given_up = AbortController()
    waiting = [asyncio.create_task(_pasted(interaction, redirect, given_up))]
    if redirect.server is not None:
        waiting.append(asyncio.create_task(redirect.server.query()))
    try:
        done, _ = await asyncio.wait(waiting, timeout=ANSWER_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise OAuthError(f"{doing}: nothing came back within {ANSWER_TIMEOUT_S / 60:g} minutes; try again")
        query = (waiting[-1] if waiting[-1] in done else waiting[0]).result()
    finally:
        given_up.abort()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    refuse_error(query, doing)
    return query


async def _pasted(interaction: LoginInteraction, redirect: Redirect, given_up: AbortController) -> dict[str, str]:
    """What the user pastes, asked for again until it can be used."""
    what = "Address or code" if redirect.takes_code else "Address"
    prompt = LoginPrompt(type="manual_code", message=what, placeholder=redirect.uri, signal=given_up.signal)
    while True:
        query = parse_pasted(await interaction.prompt(prompt), redirect)
        if isinstance(query, dict):
            return query
        interaction.notify(LoginNotice(type="info", message=query))


def parse_pasted(text: str, redirect: Redirect) -> dict[str, str] | str:
    """The parameters in a pasted redirect address or query, or a code by itself; else what is wrong with the text."""
    text = text.strip()
    is_address = "://" in text
    if not is_address and "=" not in text:
        if not text or not text.isprintable() or " " in text:
            return "That is no code; paste the address that the browser ended at."
        if not redirect.takes_code:
            return "The code alone is not enough here; paste the whole address that the browser ended at."
        code, _, state = text.partition("#")
        query = {"code": code, **({"state": state} if state else {})}
    else:
        query = dict(parse_qsl(_query_of(text) if is_address else text.lstrip("?")))
    if not query.get("code") and not query.get("error"):
        return "That address holds no code; paste the one that the browser ended at after signing in."
    given = query.get("state")
    is_foreign = redirect.state is not None and (given is not None or is_address)
    if is_foreign and not same_state(given or "", redirect.state or ""):
        return "That address belongs to another sign-in; paste the one of the page that was opened last."
    return query


def _query_of(text: str) -> str:
    try:
        return urlsplit(text).query
    except ValueError:
        return ""
