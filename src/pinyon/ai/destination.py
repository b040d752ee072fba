"""Where requests to models may go. Tests can be kept from asking real ones; child processes inherit that."""

from __future__ import annotations

import os
from collections.abc import Callable

from pinyon.errors import ProviderError

REQUESTS_VARIABLE = "PINYON_MODEL_REQUESTS"
"""`loopback` refuses every request that leaves this machine; absent, empty or `all` permits all of them."""

BlockedListener = Callable[[str], None]

_listeners: list[BlockedListener] = []


class RequestBlockedError(ProviderError):
    """Raised instead of sending a request to `url`, which the environment does not permit. Not worth repeating."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(
            f"a request to {url!r} was refused, because {REQUESTS_VARIABLE} permits this machine alone; use a scripted "
            "model or a recording, or permit it"
        )


def check_destination(url: str) -> None:
    """Raise `RequestBlockedError` where the environment does not permit a request to `url`."""
    permitted = os.environ.get(REQUESTS_VARIABLE)
    if not permitted or permitted == "all" or is_loopback(url):
        return
    named = _without_query(url)
    for listener in tuple(_listeners):
        listener(named)
    raise RequestBlockedError(named)


def watch_blocked(listener: BlockedListener) -> Callable[[], None]:
    """Call `listener(url)` for each refused request; returns what ends it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener) if listener in _listeners else None


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine by a loopback address or as localhost."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    host = (urlsplit(url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _without_query(url: str) -> str:
    """Queries and user names may hold credentials."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
