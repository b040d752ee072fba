"""A real headless browser, driven over the Chrome DevTools Protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser; install Debian's `chromium`")


class Page:
    """One open page. `problems` collects errors of its scripts and of its console."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last_id = 0
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a protocol command."""
        self._last_id += 1
        self._connection.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(timeout=60))
            self._note(message)
            if message.get("id") == self._last_id:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                self.problems.append(json.dumps(params["args"]))

    def open(self, address: str) -> None:
        """Load an address and wait until its scripts have run."""
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str, timeout_s: float = 30.0) -> None:
        """Wait until a JavaScript condition holds."""
        end = time.monotonic() + timeout_s
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"the page never reached: {condition}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press and release one key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text: str) -> None:
        """Write into what has the focus."""
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Show the page in a window of this size, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer_dark(self, is_dark: bool) -> None:
        """Ask the page for its dark or its light colours."""
        value = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def screenshot(self, path: Path) -> None:
        """Store what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def open_browser() -> Iterator[Page]:
    """A fresh page in a browser with an empty profile."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        command = [CHROMIUM, *flags, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            with connect(_page_address(Path(profile), process), max_size=None, proxy=None) as connection:
                yield Page(connection)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _page_address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the first page of the browser listens, once it does."""
    import urllib.request

    port_file = profile / "DevToolsActivePort"
    end = time.monotonic() + 60
    while not port_file.exists() or not port_file.read_text().strip():
        assert process.poll() is None, "the browser ended at once"
        assert time.monotonic() < end, "the browser never listened"
        time.sleep(0.05)
    port = port_file.read_text().split("\n", 1)[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
        pages = json.load(answer)
    address: str = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
    return address
