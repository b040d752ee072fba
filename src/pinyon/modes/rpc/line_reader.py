"""Reading protocol lines: split on the byte LF alone, of any length, from a pipe or a file."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

_CHUNK_BYTES = 1 << 16
_READ_AHEAD_CHUNKS = 4


async def read_lines(fd: int) -> AsyncIterator[bytes]:
    """The lines of a descriptor without their line ends; one trailing CR goes too. A last line may lack its end.

    A thread reads, because pipes, files and terminals do not all work with the event loop. It reads no further ahead
    than a few chunks, and ends with the process when the writer stays silent.
    """
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(_READ_AHEAD_CHUNKS)

    def pump() -> None:
        while room.acquire():
            try:
                chunk = os.read(fd, _CHUNK_BYTES)
            except OSError:
                chunk = b""
            try:
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            except RuntimeError:
                return  # the loop is closed: nobody listens any more
            if not chunk:
                return

    threading.Thread(target=pump, name="rpc-input", daemon=True).start()
    pending = bytearray()
    while chunk := await chunks.get():
        pending += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(pending).split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                yield line.removesuffix(b"\r")
        room.release()
    if pending:
        yield bytes(pending).removesuffix(b"\r")
