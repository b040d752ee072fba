"""The server of `pinyon web`: the interactive mode in a browser of this machine, for whoever has the address.

It listens on the loopback interface only. Every request must name this host, carry the token (in the address once, in a
cookie afterwards) and, where a browser tells one, come from this very page. Each connection runs the program anew on
the same session, so that a page that was closed goes on where it was.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

HOST = "127.0.0.1"
COOKIE = "pinyon_token"
_STATIC = Path(textual_serve.__file__).parent / "static"
_MOST_CELLS = 2_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Pinyon</title>
<link rel="stylesheet" href="/static/css/xterm.css">
<script src="/static/js/textual.js"></script>
<style>
html, body {{ margin: 0; height: 100%; background: #000; }}
.textual-terminal {{ width: 100vw; height: 100vh; }}
.closed {{ display: none; position: absolute; inset: 0; z-index: 10; color: #d7dde5; background: #101317e6;
  font: 16px monospace; align-items: center; justify-content: center; gap: 1em; }}
.closed a {{ color: #7fb4ca; }}
body.-closed .closed {{ display: flex; }}
</style>
</head>
<body>
<div class="closed"><span>The connection has ended.</span><a id="again" href="/">Go on with the session</a></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="ws://{host}/ws" data-font-size="{font}"></div>
</body>
</html>
"""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """Serves `command`, a shell command that starts the program. `port` 0 takes a free one."""

    def __init__(self, command: str, port: int = 0) -> None:
        self._command = command
        self._port = port
        self.token = secrets.token_urlsafe(32)
        self._downloads = DownloadManager()
        self._running: tuple[AppService, web.WebSocketResponse] | None = None
        self._turn = asyncio.Lock()
        self._runner: web.AppRunner | None = None

    @property
    def host(self) -> str:
        """Address and port, as browsers name them."""
        return f"{HOST}:{self._port}"

    @property
    def url(self) -> str:
        """The address to open; whoever has it can use the program."""
        return f"http://{self.host}/?token={self.token}"

    async def start(self) -> None:
        """Listen. Raises `OSError` where the port is taken."""
        app = web.Application(middlewares=[self._guard()])
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/ws", self._connect),
                web.get("/favicon.ico", _no_icon),
                web.static("/static", _STATIC),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """End the program and stop listening."""
        await self._end_running()
        if self._runner is not None:
            await self._runner.cleanup()

    # Who may come in.

    def _guard(self) -> Any:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not self._is_welcome(request):
                raise web.HTTPForbidden(text="Open the address that `pinyon web` printed.")
            response = await handler(request)
            if not response.prepared:
                response.headers["Content-Security-Policy"] = _POLICY.format(host=self.host)
                response.headers["Referrer-Policy"] = "no-referrer"
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Cache-Control"] = "no-store"
            return response

        return guard

    def _is_welcome(self, request: web.Request) -> bool:
        """Whether a request names this host, comes from this page if a browser tells, and has the token."""
        if request.headers.get("Host") != self.host:
            return False
        if request.headers.get("Origin", f"http://{self.host}") != f"http://{self.host}":
            return False
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return False
        given = request.query.get("token") or request.cookies.get(COOKIE, "")
        return hmac.compare_digest(given.encode(), self.token.encode())

    # What it serves.

    async def _index(self, request: web.Request) -> web.StreamResponse:
        if "token" in request.query:  # the token stays out of the history and of what the page can read
            answer: web.StreamResponse = web.HTTPSeeOther("/")
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="Strict", path="/")
            return answer
        font = _number(request.query.get("fontsize", ""), 16, 64)
        return web.Response(text=_PAGE.format(host=self.host, font=font), content_type="text/html")

    async def _connect(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for one page; the page before is closed first, because a session has one writer."""
        socket = web.WebSocketResponse(heartbeat=15)
        await socket.prepare(request)
        if self._running is not None:
            await self._running[1].close()

        async def close() -> None:
            await socket.close()

        async with self._turn:
            service = AppService(
                self._command,
                write_bytes=socket.send_bytes,
                write_str=socket.send_str,
                close=close,
                download_manager=self._downloads,
            )
            width = _number(request.query.get("width", ""), 80, _MOST_CELLS)
            height = _number(request.query.get("height", ""), 24, _MOST_CELLS)
            self._running = (service, socket)
            await service.start(width, height)
            try:
                await _pass_on(socket, service)
            finally:
                self._running = None
                await service.stop()
        return socket

    async def _end_running(self) -> None:
        if self._running is not None:
            await self._running[1].close()
        async with self._turn:
            return


async def _no_icon(request: web.Request) -> web.Response:
    del request
    return web.Response(status=204)


async def _pass_on(socket: web.WebSocketResponse, service: AppService) -> None:
    """Give what the page sends to the program, until the page is closed. Odd messages are passed over."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        match message.json():
            case ["stdin", str() as text]:
                await service.send_bytes(text.encode("utf-8", "replace"))
            case ["resize", {"width": int() as width, "height": int() as height}]:
                await service.set_terminal_size(min(max(1, width), _MOST_CELLS), min(max(1, height), _MOST_CELLS))
            case ["ping", value]:
                await socket.send_json(["pong", value])
            case ["blur", *_]:
                await service.blur()
            case ["focus", *_]:
                await service.focus()
            case _:
                continue


def _number(text: str, default: int, most: int) -> int:
    return min(int(text), most) if text.isdecimal() and int(text) else default
