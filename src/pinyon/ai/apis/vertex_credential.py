"""Access tokens from application default credentials, with the optional library `google-auth`.

The library reads the credential and knows how each kind is exchanged for a token. It is imported when a token is first
needed, and works in a thread, because it blocks; its HTTP requests come back to the event loop and go out over our
transport, so that proxies, certificates and abort hold for them too. A token is used until shortly before it runs out.

Source of the lookup order: the vendor's published guide to application default credentials.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.abort import AbortSignal, until_aborted
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.transport import HttpRequest, Transport, TransportError, read_body
from pinyon.errors import AuthError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NEAR_EXPIRY_MS = 5 * 60_000
"""A token that runs out sooner is renewed."""

_TIMEOUT_S = 30.0
_RESPONSE_LIMIT_BYTES = 1024 * 1024
_SECRET_FIELDS = ("private_key", "refresh_token", "client_secret")
_KINDS: Mapping[str, tuple[str, str]] = {
    "authorized_user": ("google.oauth2.credentials", "from_authorized_user_info"),
    "service_account": ("google.oauth2.service_account", "from_service_account_info"),
    "external_account": ("google.auth.identity_pool", "from_info"),
    "external_account_authorized_user": ("google.auth.external_account_authorized_user", "from_info"),
    "impersonated_service_account": (
        "google.auth.impersonated_credentials",
        "from_impersonated_service_account_info",
    ),
}
"""The type that a credential file names → the module, and the method of its `Credentials` that reads the file."""


class TokenRequest(msgspec.Struct, kw_only=True):
    """How to get a token: the credential file (None asks the machine itself), and what requests go out over."""

    file: Path | None
    transport: Transport
    signal: AbortSignal | None = None
    env: Mapping[str, str] | None = None


class AccessToken(msgspec.Struct, frozen=True):
    """A token, and the project that pays for the request where the credential names one."""

    token: str
    quota_project: str = ""


class VertexTokens:
    """Tokens by credential, shared by all requests of a process."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, int], Any] = {}
        self._lock = threading.Lock()

    async def token(self, request: TokenRequest) -> AccessToken:
        """A token that holds for some minutes.

        Raises `AuthError`, whose text holds no secret, and `OperationAbortedError` at an abort, whatever the thread is
        doing.
        """
        work = asyncio.to_thread(self._token, request, asyncio.get_running_loop())
        return await (work if request.signal is None else until_aborted(work, request.signal))

    def _token(self, request: TokenRequest, loop: asyncio.AbstractEventLoop) -> AccessToken:
        try:
            failures: type[Exception] = import_module("google.auth.exceptions").GoogleAuthError
        except ImportError as error:
            raise AuthError(
                "application default credentials need the library google-auth: install it with "
                "`pip install 'pinyon[vertex]'`, or set GOOGLE_CLOUD_API_KEY"
            ) from error
        secrets: list[str] = []
        http = _LoopHttp(request, loop)
        try:
            # The lock is held while a token is renewed: requests that begin at once shall not each renew it.
            with self._lock:
                credentials = self._credentials(request.file, http, secrets)
                if self._runs_out(credentials):
                    credentials.refresh(http)
        except (failures, ValueError, OSError) as error:
            raise _refusal(request.file, error, secrets) from None
        quota_project = getattr(credentials, "quota_project_id", None) or ""
        return AccessToken(str(credentials.token), quota_project)

    def _credentials(self, file: Path | None, http: _LoopHttp, secrets: list[str]) -> Any:
        key = ("", 0) if file is None else (str(file), file.stat().st_mtime_ns)
        if key not in self._kept:
            if file is None:
                credentials, _project = import_module("google.auth").default(scopes=[SCOPE], request=http)
            else:
                credentials = _from_file(file, secrets)
            self._kept = {kept: value for kept, value in self._kept.items() if kept[0] != key[0]} | {key: credentials}
        return self._kept[key]

    def _runs_out(self, credentials: Any) -> bool:
        if not credentials.token:
            return True
        if credentials.expiry is None:
            return False
        left_ms = credentials.expiry.replace(tzinfo=UTC).timestamp() * 1000 - self._clock.now_ms()
        return bool(left_ms < NEAR_EXPIRY_MS)


def _from_file(file: Path, secrets: list[str]) -> Any:
    """The credential in a file; notes its secrets, so that no error text holds them."""
    try:
        info = _json.decode(file.read_bytes())
    except _json.JsonError:
        info = None
    if not isinstance(info, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the content is wrong, not the program
    secrets += [str(info[name]) for name in _SECRET_FIELDS if info.get(name)]
    kind = str(info.get("type"))
    if kind not in _KINDS:
        raise ValueError(f"it is of the unknown type {kind!r}; known are {', '.join(_KINDS)}")
    module, method = _KINDS[kind]
    if kind == "external_account" and str(_field(info, "credential_source", "environment_id")).startswith("aws"):
        module = "google.auth.aws"
    return getattr(import_module(module).Credentials, method)(info, scopes=[SCOPE])


def _field(info: Mapping[str, Any], outer: str, inner: str) -> Any:
    value = info.get(outer)
    return value.get(inner) if isinstance(value, dict) else None


def _refusal(file: Path | None, error: Exception, secrets: list[str]) -> AuthError:
    from pinyon._util.secret import redact

    reason = redact(str(error), secrets) or type(error).__name__
    if file is None:
        return AuthError(
            f"no application default credentials ({reason}): run `gcloud auth application-default login`, or name a "
            "file in GOOGLE_APPLICATION_CREDENTIALS"
        )
    return AuthError(f"the application default credentials in {str(file)!r} gave no access token: {reason}")


class _Answer(msgspec.Struct):
    """A response as `google-auth` reads it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _LoopHttp:
    """The library's HTTP seam: called in a thread, sends each request in the event loop."""

    def __init__(self, request: TokenRequest, loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_others: Any,
    ) -> _Answer:
        """See `google.auth.transport.Request`."""
        data = body.encode() if isinstance(body, str) else body or b""
        sent = HttpRequest(
            method=method,
            url=url,
            headers=headers or {},
            body=data,
            connect_timeout_s=timeout or _TIMEOUT_S,
            idle_timeout_s=timeout or _TIMEOUT_S,
            signal=self._request.signal,
            env=self._request.env,
        )
        try:
            return asyncio.run_coroutine_threadsafe(self._exchange(sent), self._loop).result()
        except TransportError as error:
            raise import_module("google.auth.exceptions").TransportError(str(error)) from error

    async def _exchange(self, request: HttpRequest) -> _Answer:
        response = await self._request.transport.open(request)
        return _Answer(response.status, response.headers, await read_body(response, _RESPONSE_LIMIT_BYTES))
