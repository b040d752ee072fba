"""The device authorisation grant (RFC 8628): the user enters a code on any device while this one asks now and then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from pinyon._util.clock import Clock
from pinyon._util.terminal import strip_terminal_control
from pinyon.ai.oauth import LoginInteraction, LoginNotice, OAuthError
from pinyon.ai.sign_in.endpoint import Answer, safe_url

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DEFAULT_INTERVAL_S = 5.0
MIN_INTERVAL_S = 1.0
SLOW_DOWN_S = 5.0
MAX_INTERVAL_S = 60.0
DEFAULT_LIFE_S = 900.0
MAX_LIFE_S = 3600.0


class DeviceCode(msgspec.Struct, kw_only=True):
    """A running device sign-in. `code` is what this device asks with, `user_code` what the user enters at `url`."""

    code: str
    user_code: str
    url: str
    life_s: float = DEFAULT_LIFE_S
    interval_s: float = DEFAULT_INTERVAL_S

    def __repr__(self) -> str:
        return f"DeviceCode(url={self.url!r})"

    def show(self, interaction: LoginInteraction) -> None:
        """Tell the user where to enter what."""
        interaction.notify(
            LoginNotice(
                type="device_code",
                message="Open the page and enter the code.",
                url=self.url,
                user_code=self.user_code,
                expires_in_s=round(self.life_s),
            )
        )


def device_code_from(answer: Answer, doing: str) -> DeviceCode:
    """The device code of an answer; raises `OAuthError` for one that lacks what the user needs."""
    answer.require(doing)
    code, user_code = answer.text("device_code"), strip_terminal_control(answer.text("user_code")).strip()
    url = answer.text("verification_uri_complete") or answer.text("verification_uri") or answer.text("verification_url")
    if not code or not user_code or not url:
        raise OAuthError(f"{doing} failed: the answer holds no device code; try again")
    life_s = answer.number("expires_in") or 0
    return DeviceCode(
        code=code,
        user_code=user_code,
        url=safe_url(url, "the page for the code"),
        life_s=min(life_s, MAX_LIFE_S) if life_s > 0 else DEFAULT_LIFE_S,
        interval_s=interval_of(answer) or DEFAULT_INTERVAL_S,
    )


def interval_of(answer: Answer) -> float | None:
    """The interval that a server asks for, within sense; None where it asks for none."""
    seconds = answer.number("interval")
    if seconds is None or seconds <= 0:
        return None
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)


async def poll(device: DeviceCode, ask: Callable[[], Awaitable[Answer]], clock: Clock, doing: str) -> Answer:
    """Ask until the user has agreed and return that answer. Raises `OAuthError` for a refusal or a code that ran out.

    A server that cannot be reached for a moment is asked again.
    """
    deadline_ms = clock.monotonic_ms() + device.life_s * 1000
    interval_s = device.interval_s
    was_slowed = False
    while True:
        if clock.monotonic_ms() + interval_s * 1000 > deadline_ms:
            raise _ran_out(doing, was_slowed)
        await clock.sleep(interval_s)
        answer = await ask()
        if answer.is_ok and not answer.error_code:
            return answer
        if answer.error_code == "slow_down":
            was_slowed = True
            asked_s = interval_of(answer) or 0
            interval_s = min(asked_s if asked_s > interval_s else interval_s + SLOW_DOWN_S, MAX_INTERVAL_S)
        elif answer.error_code != "authorization_pending" and not answer.is_transient:
            raise _refused(answer, doing, was_slowed)


def _refused(answer: Answer, doing: str, was_slowed: bool) -> OAuthError:
    match answer.error_code:
        case "access_denied" | "authorization_denied":
            return OAuthError(f"{doing} was refused on the other device; try again if that was a mistake")
        case "expired_token":
            return _ran_out(doing, was_slowed)
        case _:
            return answer.failure(doing)


def _ran_out(doing: str, was_slowed: bool) -> OAuthError:
    drift = "; the server asked for slower requests, so check also that this machine's clock runs right"
    return OAuthError(f"{doing}: the code ran out before it was entered; try again{drift if was_slowed else ''}")
