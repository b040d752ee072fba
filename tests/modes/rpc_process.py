"""The real command in RPC mode, spoken to line by line."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from tests.cli.command import Home

Line = dict[str, Any]


class RpcProcess:
    """A child process; `lines` is everything it wrote so far, parsed. Leaving the context kills it."""

    def __init__(
        self,
        home: Home,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        model: str | None = "fake/m",
        program: Sequence[str] | None = None,
    ) -> None:
        if program is None:
            given = ("--mode", "rpc", *arguments)
            self.process = home.start(*given, env=env, model=model, stdin=subprocess.PIPE)
        else:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen([*program, *arguments], stdin=pipe, stdout=pipe, stderr=pipe)
        self.lines: list[Line] = []

    def __enter__(self) -> RpcProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def send(self, line: Line | bytes) -> None:
        """Write one command, or bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def next(self, **fields: Any) -> Line:
        """The next line that has these fields."""
        assert self.process.stdout is not None
        while raw := self.process.stdout.readline():
            line = json.loads(raw)
            self.lines.append(line)
            if all(line.get(name) == value for name, value in fields.items()):
                return line  # type: ignore[no-any-return] # JSON has no types
        raise AssertionError(f"no line with {fields}; wrote {self.lines}")

    def ask(self, line: Line | bytes) -> Line:
        """Send a command and wait for the next response."""
        self.send(line)
        return self.next(type="response")

    def exchange(self, line: Line) -> list[Line]:
        """Send a command; everything that is written until its response, which comes last."""
        before = len(self.lines)
        self.send(line)
        self.next(type="response", command=line["type"], **({"id": line["id"]} if "id" in line else {}))
        return self.lines[before:]

    def data(self, line: Line) -> Any:
        """Send a command that succeeds; the data of its response."""
        response = self.exchange(line)[-1]
        assert response["success"], response
        return response.get("data")

    def run(self, message: str) -> None:
        """Send a prompt and wait until it has settled."""
        self.send({"type": "prompt", "message": message})
        self.next(type="agent_settled")

    def close(self) -> tuple[int, str]:
        """Close the input and wait for the end; exit code and errors. What is still written is added to `lines`."""
        output, errors = self.process.communicate()
        self.lines += [json.loads(raw) for raw in output.decode().removesuffix("\n").split("\n") if raw]
        return self.process.returncode, errors.decode()
