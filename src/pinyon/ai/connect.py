"""A connected TCP socket to a host: name lookup in a thread nobody waits for, addresses tried side by side (RFC 8305).

A second address is tried 250 ms after the first, or as soon as that failed, and the first connection wins.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from pinyon._util.thread import in_daemon_thread

_NEXT_ATTEMPT_S = 0.25
_Address = tuple[int, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


async def connected_socket(host: str, port: int) -> socket.socket:
    """A non-blocking connected socket. Raises `OSError` of the last address that failed, `gaierror` for the name."""
    addresses = await _resolve(host, port)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    return await _race(addresses)


async def _resolve(host: str, port: int) -> list[_Address]:
    name = host.encode()  # as bytes, because for texts the library loads its table of international names
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await in_daemon_thread(
            lambda: socket.getaddrinfo(name, port, type=socket.SOCK_STREAM), "pinyon-name-lookup"
        )
    return _interleaved([(family, address) for family, _, _, _, address in found])


def _interleaved(addresses: Sequence[_Address]) -> list[_Address]:
    """Families in turn, beginning with the family that the system prefers."""
    first = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    mixed: list[_Address] = []
    while first or others:
        mixed += first[:1] + others[:1]
        first, others = first[1:], others[1:]
    return mixed


async def _connect(address: _Address) -> socket.socket:
    sock = socket.socket(address[0], socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await asyncio.get_running_loop().sock_connect(sock, address[1])
    except BaseException:
        sock.close()
        raise
    return sock


async def _race(addresses: list[_Address]) -> socket.socket:
    waiting = list(addresses)
    running: set[asyncio.Task[socket.socket]] = set()
    error: BaseException | None = None
    try:
        while waiting or running:
            if waiting:
                running.add(asyncio.create_task(_connect(waiting.pop(0))))
            delay_s = _NEXT_ATTEMPT_S if waiting else None
            done, running = await asyncio.wait(running, timeout=delay_s, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                if (error := attempt.exception()) is None:
                    _close_others(done - {attempt})
                    return attempt.result()
    finally:
        await _cancel(running)
    raise error or OSError("no address to connect to")


def _close_others(attempts: set[asyncio.Task[socket.socket]]) -> None:
    for attempt in attempts:
        if attempt.exception() is None:
            attempt.result().close()


async def _cancel(attempts: set[asyncio.Task[socket.socket]]) -> None:
    for attempt in attempts:
        attempt.cancel()
    for outcome in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(outcome, socket.socket):
            outcome.close()
