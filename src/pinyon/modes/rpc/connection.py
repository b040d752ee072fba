"""The child process of an RPC client: lines in and out, responses matched to their commands, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinyon._util import json as _json
from pinyon.errors import PinyonError

_START_WAIT_S = 0.1
_END_WAIT_S = 1.0
_KEPT_ERROR_LINES = 200
_CHUNK_BYTES = 1 << 16


class RpcError(PinyonError):
    """Raised when the server refused a command, did not answer or ended; `stderr` is the last that it wrote there."""

    def __init__(self, message: str, stderr: str = "") -> None:
        self.stderr = stderr
        super().__init__(f"{message}\n{stderr}" if stderr else message)


class RpcConnection:
    """One child process. `on_line` gets every line that is no response."""

    def __init__(
        self, command: Sequence[str], cwd: str | Path | None, env: Mapping[str, str], on_line: Callable[[bytes], None]
    ) -> None:
        self._command = list(command)
        self._cwd = cwd
        self._env = {**os.environ, **env}
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._errors: deque[str] = deque(maxlen=_KEPT_ERROR_LINES)
        self._last_id = 0

    @property
    def stderr(self) -> str:
        """The last lines that the process wrote to its standard error."""
        return "".join(self._errors).strip()

    async def start(self) -> None:
        """Start the process. Raises `RpcError` when it cannot be started or ends at once."""
        if self._process is not None:
            raise RpcError("the client is already started")
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._cwd, env=self._env
            )
        except OSError as error:
            raise RpcError(f"cannot start {self._command[0]!r}: {error.strerror or error}") from error
        self._tasks = [asyncio.create_task(self._read_lines()), asyncio.create_task(self._read_errors())]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _START_WAIT_S)
            await asyncio.gather(*self._tasks)
            raise RpcError(self._end_text(), self.stderr)

    async def stop(self) -> None:
        """End the process: politely, and for good after a second."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_WAIT_S)
            except TimeoutError:
                process.kill()
                await process.wait()
        await self._finish()

    async def close(self) -> int:
        """Close the input and wait for the end; returns the exit code."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = await self._process.wait()
        await self._finish()
        return code

    async def _finish(self) -> None:
        await asyncio.gather(*self._tasks)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(OSError):
                await self._process.stdin.wait_closed()

    async def request(self, fields: Mapping[str, Any], timeout_s: float | None) -> Any:
        """The `data` of the response to a command; None where it has none. Raises `RpcError`."""
        self._last_id += 1
        request_id = f"req_{self._last_id}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            await self.send({"id": request_id, **fields})
            response = await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            text = f"no answer to {fields.get('type')!r} within {timeout_s:g} s"
            raise RpcError(text, self.stderr) from None
        finally:
            self._waiting.pop(request_id, None)
        if response.get("success") is not True:
            raise RpcError(str(response.get("error") or f"the command {fields.get('type')!r} was refused"))
        return response.get("data")

    async def send(self, line: Mapping[str, Any]) -> None:
        """Write one line. Raises `RpcError` where the process is gone."""
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None:
            raise RpcError("the client is not started" if process is None else self._end_text(), self.stderr)
        try:
            process.stdin.write(_json.encode(line) + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise RpcError("the server closed its input", self.stderr) from None

    async def _read_lines(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        pending = bytearray()
        while chunk := await self._process.stdout.read(_CHUNK_BYTES):
            pending += chunk
            if b"\n" in chunk:
                *lines, rest = bytes(pending).split(b"\n")
                pending = bytearray(rest)
                for line in lines:
                    self._take(line.removesuffix(b"\r"))
        await self._process.wait()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(RpcError(self._end_text(), self.stderr))

    def _take(self, line: bytes) -> None:
        if b'"type":"response"' in line:
            with contextlib.suppress(_json.JsonError):
                value = _json.decode(line)
                if isinstance(value, dict) and value.get("type") == "response":
                    self._resolve(value)
                    return
        self._on_line(line)

    def _resolve(self, response: dict[str, Any]) -> None:
        answer = self._waiting.get(str(response.get("id")))
        if answer is not None and not answer.done():
            answer.set_result(response)

    async def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._errors.append(line.decode("utf-8", "replace"))

    def _end_text(self) -> str:
        code = self._process.returncode if self._process is not None else None
        if code is not None and code < 0:
            return f"the server was ended by signal {-code}"
        return f"the server ended with exit code {code}"
