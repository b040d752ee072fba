"""An authorisation server on loopback that speaks what the built-in sign-ins speak: strictly, or lying where a test
plans it.

It checks what a careful server checks: PKCE, redirect addresses, codes that work once, refresh tokens that work once
(rotation), client ids. `browse` plays the user's browser. Everything secret that was sent or issued stands in
`secrets`, so that a test can look for leaks::

    with FakeOAuth() as fake:
        flow = OpenRouterSignIn(SignInContext(env={}), fake.url)
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict, deque
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply, Step

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLIENT_ID = "test-client"
FIRST_CLIENT_ID = "dynamic_agent_client"
ACCOUNT_ID = "account-1"

_AUTHORIZE = ("/auth", "/oauth/authorize", "/api/accounts/authorize", "/v1/oauth")
_TOKEN = (
    "/oauth/token",
    "/oauth2/token",
    "/api/oauth/token",
    "/v1/oauth/token",
    "/oidc/device/token/",
    "/login/oauth/access_token",
)
_DEVICE = (
    "/oauth2/device/code",
    "/api/oauth/device_authorization",
    "/v1/oauth/device",
    "/oidc/device/authorization/",
    "/login/device/code",
)


class _Code(msgspec.Struct):
    """What a code was issued for."""

    challenge: str
    redirect_uri: str
    client_id: str
    nonce: str


class FakeOAuth:
    """The server; a context manager.

    `life_s` is how long access tokens live; `keeps_refresh` leaves refresh tokens as they are. `device_answers` are the
    error codes that device polls get before they succeed. `consent` of False makes the user refuse in the browser.
    """

    def __init__(self, *, life_s: float = 3600, keeps_refresh: bool = False, consent: bool = True) -> None:
        self.life_s = life_s
        self.keeps_refresh = keeps_refresh
        self.consent = consent
        self.device_answers: deque[str] = deque()
        self.scope: str | None = None
        self.models: list[dict[str, Any]] = [{"id": "gpt-4.1"}]
        self.secrets: list[str] = []
        self.refused: list[str] = []
        self.server = FakeServer([self._answer])
        self._lock = threading.Lock()
        self._serial = 0
        self._codes: dict[str, _Code] = {}
        self._refresh: dict[str, str] = {}
        self._devices: set[str] = set()
        self._planned: dict[str, deque[ScriptedReply]] = defaultdict(deque)
        self._after_token: tuple[Step, ...] = ()

    def __enter__(self) -> FakeOAuth:
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.stop()

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.server.url

    @property
    def valid_refresh_tokens(self) -> list[str]:
        """Refresh tokens that would be taken now."""
        with self._lock:
            return list(self._refresh)

    def requests_to(self, path: str) -> list[RecordedRequest]:
        """The requests to a path, without its query."""
        return [request for request in self.server.requests if urlsplit(request.path).path == path]

    def fields_of(self, path: str) -> list[dict[str, str]]:
        """The form fields of the requests to a path."""
        return [dict(parse_qsl(request.body.decode())) for request in self.requests_to(path)]

    def plan(self, path: str, *replies: ScriptedReply) -> None:
        """Answer the next requests to `path` with these replies instead."""
        with self._lock:
            self._planned[path].extend(replies)

    def hold_token_answers(self, *steps: Step) -> None:
        """Do these steps after a token request was carried out and before its answer is sent."""
        self._after_token = steps

    def issue_refresh_token(self, client_id: str = CLIENT_ID) -> str:
        """A refresh token as an earlier sign-in got it."""
        token = self._secret("refresh")
        self._refresh[token] = client_id
        return token

    # The user's browser

    def browse(self, url: str) -> tuple[int, str]:
        """Open a page as a browser does, redirects followed: status and text of where it ends."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=30) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def redirect_of(self, url: str) -> str:
        """The address at which the browser ends, without going there: what a user on another machine pastes."""
        path = url.removeprefix(self.url)
        reply = self._authorize(dict(parse_qsl(urlsplit(path).query)))
        return reply.headers["location"]

    # Answers

    def _answer(self, request: RecordedRequest) -> Reply:
        parts = urlsplit(request.path)
        with self._lock:
            planned = self._planned[parts.path].popleft() if self._planned[parts.path] else None
        if planned is not None:
            return planned if isinstance(planned, Reply) else planned(request)
        if parts.path in _AUTHORIZE and request.method == "GET":
            return self._authorize(dict(parse_qsl(parts.query)))
        if parts.path in _DEVICE:
            return self._device(dict(parse_qsl(request.body.decode())))
        if parts.path in _TOKEN:
            return self._token(dict(parse_qsl(request.body.decode())))
        return self._special(parts.path, request)

    def _authorize(self, query: dict[str, str]) -> Reply:
        target = query.get("callback_url") or query.get("redirect_uri", "")
        challenge = query.get("code_challenge", "")
        if not target.startswith("http://") or query.get("code_challenge_method") != "S256" or len(challenge) != 43:
            return self._refuse("authorize", "invalid_request")
        state = {"state": query["state"]} if "state" in query else {}
        if not self.consent:
            return _redirect(target, {"error": "access_denied", "error_description": "the user said no", **state})
        is_first = query.get("client_id") == FIRST_CLIENT_ID
        client_id = f"issued-{self._next()}" if is_first else query.get("client_id", "")
        code = self._secret("code")
        self._codes[code] = _Code(challenge, target, client_id, query.get("nonce", ""))
        issued = {"client_id": client_id} if is_first else {}
        self.scope = query.get("scope") if self.scope is None else self.scope
        return _redirect(target, {"code": code, **state, **issued})

    def _device(self, fields: dict[str, str]) -> Reply:
        if fields.get("client_id") != CLIENT_ID:
            return self._refuse("device", "invalid_client", 401)
        code = self._secret("device")
        self._devices.add(code)
        page = {"verification_uri": f"{self.url}/activate", "user_code": "ABCD-EFGH"}
        return Reply.json({"device_code": code, **page, "expires_in": 900, "interval": 5})

    def _token(self, fields: dict[str, str]) -> Reply:
        with self._lock:
            match fields.get("grant_type"):
                case "authorization_code":
                    reply = self._trade(fields)
                case "refresh_token":
                    reply = self._renew(fields)
                case grant if grant == DEVICE_GRANT:
                    reply = self._poll(fields)
                case _:
                    reply = self._refuse("token", "unsupported_grant_type")
        reply.before = self._after_token
        return reply

    def _trade(self, fields: dict[str, str]) -> Reply:
        code = self._codes.pop(fields.get("code", ""), None)
        verifier = fields.get("code_verifier", "")
        self.secrets.append(verifier)
        if code is None or not _is_proof(verifier, code.challenge):
            return self._refuse("code", "invalid_grant")
        if fields.get("redirect_uri") != code.redirect_uri or fields.get("client_id") != code.client_id:
            return self._refuse("redirect or client", "invalid_grant")
        return self._tokens(code.client_id, code.nonce)

    def _renew(self, fields: dict[str, str]) -> Reply:
        token = fields.get("refresh_token", "")
        if self._refresh.get(token) != fields.get("client_id"):
            return self._refuse("refresh token", "invalid_grant")
        if not self.keeps_refresh:
            del self._refresh[token]
        return self._tokens(fields["client_id"], "", renews=True)

    def _poll(self, fields: dict[str, str]) -> Reply:
        if fields.get("device_code") not in self._devices:
            return self._refuse("device code", "expired_token")
        if self.device_answers:
            return Reply.json({"error": self.device_answers.popleft()}, status=400)
        self._devices.discard(fields["device_code"])
        return self._tokens(fields.get("client_id", ""), "")

    def _tokens(self, client_id: str, nonce: str, *, renews: bool = False) -> Reply:
        claims = {"https://api.openai.com/auth": {"chatgpt_account_id": ACCOUNT_ID}, "jti": self._secret("jti")}
        access = unsigned_token(claims)
        self.secrets.append(access)
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": self.life_s}
        if not (renews and self.keeps_refresh):
            refresh = self._secret("refresh")
            self._refresh[refresh] = client_id
            answer["refresh_token"] = refresh
        if nonce:
            answer["id_token"] = unsigned_token({"nonce": nonce})
        if self.scope:
            answer["scope"] = self.scope
        return Reply.json(answer)

    def _special(self, path: str, request: RecordedRequest) -> Reply:
        match path:
            case "/api/v1/auth/keys":
                return self._key(request.json)
            case "/api/accounts/deviceauth/usercode":
                self._devices.add(device := self._secret("device"))
                return Reply.json({"device_auth_id": device, "user_code": "ABCD-EFGH", "interval": "5"})
            case "/api/accounts/deviceauth/token":
                return self._codex_poll(request.json)
            case "/copilot_internal/v2/token":
                token = f"{self._secret('copilot')};proxy-ep=proxy.{urlsplit(self.url).netloc}"
                self.secrets.append(token)
                return Reply.json({"token": token, "expires_at": int(time.time() + self.life_s)})
            case "/models":
                return Reply.json({"data": self.models})
            case "/muse-code/key":
                return Reply.json({"key": self._secret("minted")})
            case _:
                is_policy = path.startswith("/models/") and path.endswith("/policy")
                return Reply.json({}) if is_policy else Reply.text("nothing here", status=404)

    def _key(self, fields: dict[str, str]) -> Reply:
        code = self._codes.pop(fields.get("code", ""), None)
        self.secrets.append(fields.get("code_verifier", ""))
        if code is None or not _is_proof(fields.get("code_verifier", ""), code.challenge):
            return self._refuse("code", "invalid_grant", 403)
        return Reply.json({"key": self._secret("sk-or-v1")})

    def _codex_poll(self, fields: dict[str, str]) -> Reply:
        if fields.get("device_auth_id") not in self._devices:
            return self._refuse("device code", "expired_token")
        if self.device_answers:
            return Reply.json({}, status=403 if self.device_answers.popleft() == "authorization_pending" else 400)
        code, verifier = self._secret("code"), self._secret("verifier-" + "v" * 40)
        self._codes[code] = _Code(_challenge(verifier), f"{self.url}/deviceauth/callback", CLIENT_ID, "")
        return Reply.json({"authorization_code": code, "code_verifier": verifier})

    def _refuse(self, what: str, error: str, status: int = 400) -> Reply:
        self.refused.append(what)
        return Reply.json({"error": error, "error_description": f"the {what} was refused"}, status=status)

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _secret(self, kind: str) -> str:
        secret = f"{kind}-{hashlib.sha256(f'{id(self)} {self._next()}'.encode()).hexdigest()[:24]}"
        self.secrets.append(secret)
        return secret


def unsigned_token(claims: dict[str, Any]) -> str:
    """A JSON Web Token with these claims and no signature worth the name."""
    parts = [json.dumps({"alg": "none"}).encode(), json.dumps(claims).encode(), b"unsigned"]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def _redirect(target: str, query: dict[str, str]) -> Reply:
    return Reply.text("", status=302, headers={"location": f"{target}?{urlencode(query)}"})


def _is_proof(verifier: str, challenge: str) -> bool:
    return len(verifier) >= 43 and _challenge(verifier) == challenge


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
