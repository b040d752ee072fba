"""How refusals of the Responses API read to people: who refused, and what to do about limits of a subscription."""

from __future__ import annotations

from pinyon.ai.http_error import HttpStatusError
from pinyon.errors import ProviderError

_HINTS = (
    (
        "subscription_sharing_usage_limit_exceeded",
        "Your ChatGPT plan has no usage left for other programs; see https://chatgpt.com/settings/usage.",
    ),
    (
        "subscription_sharing_workplace_individual_usage_limit_exceeded",
        "Your share of the workspace's ChatGPT usage is spent; ask its administrator for more.",
    ),
)


def provider_error(error: Exception, prefix: str) -> Exception:
    """`error` with what users need to know: the name of the provider that refused, hints for limits of a plan."""
    if isinstance(error, HttpStatusError):
        text = str(error).removeprefix(f"{error.status}: ")
        return HttpStatusError(
            _with_hint(f"{prefix} ({error.status}): {text}"), error.status, error.headers, error.body
        )
    text = str(error)
    hinted = _with_hint(text)
    return ProviderError(hinted) if isinstance(error, ProviderError) and hinted != text else error


def _with_hint(text: str) -> str:
    hints = [hint for code, hint in _HINTS if code in text]
    return "\n".join([text, *hints])
