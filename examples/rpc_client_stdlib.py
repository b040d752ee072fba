import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from queue import Queue
from typing import Any

Line = dict[str, Any]


class Client:
    """Speaks the RPC protocol with nothing but the standard library."""

    def __init__(self, command: list[str], on_event: Callable[[Line], None]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._on_event = on_event
        self._ids = count(1)
        self._waiting: dict[str, Queue[Line]] = {}
        self._settled: Queue[None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for raw in self._process.stdout:  # lines of bytes end at LF alone, as the protocol wants it
            line = json.loads(raw)
            if line["type"] == "response" and line.get("id") in self._waiting:
                self._waiting.pop(line["id"]).put(line)
                continue
            self._on_event(line)
            if line["type"] == "agent_settled":
                self._settled.put(None)
        for waiting in self._waiting.values():
            waiting.put({"success": False, "error": "the agent has ended"})

    def send(self, line: Line) -> None:
        """Write one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, name: str, **fields: Any) -> Any:
        """Send a command and wait for its response; gives its data."""
        identity = f"req_{next(self._ids)}"
        answer: Queue[Line] = Queue()
        self._waiting[identity] = answer
        self.send({"id": identity, "type": name, **fields})
        response = answer.get(timeout=60)
        if not response["success"]:
            raise RuntimeError(response["error"])
        return response.get("data")

    def prompt(self, message: str) -> None:
        """Send a prompt and wait until nothing more happens."""
        if self.ask("prompt", message=message)["disposition"] == "started":
            self._settled.get(timeout=600)

    def close(self) -> int:
        """End the agent."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()


def show(client: list[Client], line: Line) -> None:
    """Print text as it comes, and say no to every question."""
    if line["type"] == "message_update" and line["assistantMessageEvent"]["type"] == "text_delta":
        print(line["assistantMessageEvent"]["delta"], end="", flush=True)
    elif line["type"] == "tool_execution_start":
        print(f"[{line['toolName']} {json.dumps(line['args'])}]")
    elif line["type"] == "extension_ui_request" and line["method"] in ("select", "confirm", "input", "editor"):
        client[0].send({"type": "extension_ui_response", "id": line["id"], "cancelled": True})


def main(command: list[str]) -> None:
    """Ask one thing."""
    clients: list[Client] = []
    clients.append(Client([*command, "--mode", "rpc", "--no-session"], lambda line: show(clients, line)))
    client = clients[0]
    client.prompt("What is in this folder?")
    print(f"\n{client.ask('get_session_stats')['tokens']['total']} tokens, exit code {client.close()}")


main(sys.argv[1:] or ["pinyon"])
