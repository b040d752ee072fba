"""Settings that shape each request of a session."""

from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.ai.message import AssistantMessage
from pinyon.ai.option import StreamOptions


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ({}, "transport", "auto"),
        ({"transport": "sse"}, "transport", "sse"),
        ({"transport": "websocket-cached"}, "transport", "websocket-cached"),
        ({"websocketConnectTimeoutMs": 77}, "websocket_connect_timeout_ms", 77),
        ({"retry": {"provider": {"timeoutMs": 55}}}, "timeout_ms", 55),
        ({"retry": {"provider": {"maxRetries": 3}}}, "max_retries", 3),
    ],
)
def test_a_setting_reaches_the_request(tmp_path: Path, settings: dict[str, Any], name: str, value: Any) -> None:
    seen: list[StreamOptions] = []

    def answer(_: Any, options: StreamOptions, *__: Any) -> AssistantMessage:
        seen.append(options)
        return faux_assistant_message("hi")

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("hello")

    run_scripted([answer], play, cwd=tmp_path, settings=settings)
    assert getattr(seen[0], name) == value
