import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.modes.output import OutputWriter
from pinyon.modes.rpc.server import run_rpc_mode


def served(folder: Path, lines: Sequence[bytes | dict[str, Any]], answers: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What the server writes for lines, each sent when the session is idle."""
    path = folder / "out"

    async def play(scripted: Scripted) -> int:
        async def typed() -> AsyncIterator[bytes]:
            for line in lines:
                yield line if isinstance(line, bytes) else json.dumps(line).encode()
                await asyncio.sleep(0)
                await scripted.session.wait_for_idle()
                await asyncio.sleep(0)

        with path.open("wb") as file:
            return await run_rpc_mode(scripted.pi, lines=typed(), writer=OutputWriter(file.fileno()))

    assert run_scripted([faux_assistant_message(text) for text in answers], play, cwd=folder) == 0
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def responses(written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in written if each["type"] == "response"]


def test_a_prompt_is_answered_before_its_events(tmp_path: Path) -> None:
    written = served(tmp_path, [{"id": "1", "type": "prompt", "message": "hi"}], ["hello"])
    assert written[0] == {
        "id": "1", "type": "response", "command": "prompt", "success": True, "data": {"disposition": "started"}
    }  # fmt: skip
    assert [written[1]["type"], written[-1]["type"]] == ["agent_start", "agent_settled"]


def test_answers_carry_the_id_of_their_command_whatever_it_is(tmp_path: Path) -> None:
    lines = [{"id": value, "type": "get_commands"} for value in ("a", 7, None)]
    assert [answer["id"] for answer in responses(served(tmp_path, lines))] == ["a", 7, None]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{", "not a JSON line"),
        (b"[]", "'type'"),
        (b'{"type": 1}', "'type'"),
        (b'{"type": "dance"}', "'dance'"),
        (b'{"type": "prompt"}', "'message'"),
        (b'{"type": "prompt", "message": "a", "images": [1]}', "'images'"),
        (b'{"type": "set_auto_retry", "enabled": "yes"}', "'enabled'"),
        (b'{"type": "set_steering_mode", "mode": "some"}', "'mode'"),
        (b'{"type": "get_entries", "since": "none"}', "'none'"),
        (b'{"type": "set_session_name", "name": " "}', "'name'"),
        (b'{"type": "set_model", "provider": "p", "modelId": "m"}', "'p/m'"),
    ],
)
def test_a_line_that_cannot_be_carried_out_gets_one_answer_that_names_the_fault(
    tmp_path: Path, line: bytes, error: str
) -> None:
    (refused, fine) = responses(served(tmp_path, [line, {"type": "get_commands"}]))
    assert not refused["success"]
    assert error in refused["error"]
    assert fine["success"]


def test_the_end_of_the_input_ends_commands_that_still_run(tmp_path: Path) -> None:
    served(tmp_path, [{"type": "bash", "command": "touch begun; sleep 5; touch ended"}])
    assert not (tmp_path / "ended").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe whose reader has left")
def test_after_the_reader_of_the_answers_has_left_no_line_is_read(tmp_path: Path) -> None:
    read: list[int] = []
    read_end, write_end = os.pipe()
    os.close(read_end)

    async def play(scripted: Scripted) -> int:
        async def typed() -> AsyncIterator[bytes]:
            for number in range(100):
                read.append(number)
                yield b'{"type":"get_commands"}'
                await asyncio.sleep(0)

        return await run_rpc_mode(scripted.pi, lines=typed(), writer=OutputWriter(write_end))

    assert run_scripted([], play, cwd=tmp_path) == 1
    os.close(write_end)
    assert len(read) < 10


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe whose reader has left")
def test_a_reader_that_leaves_ends_the_server_though_no_line_comes_any_more(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()

    async def play(scripted: Scripted) -> int:
        async def typed() -> AsyncIterator[bytes]:
            os.close(read_end)
            yield b'{"type":"get_commands"}'
            await asyncio.Event().wait()

        return await asyncio.wait_for(run_rpc_mode(scripted.pi, lines=typed(), writer=OutputWriter(write_end)), 20)

    assert run_scripted([], play, cwd=tmp_path) == 1
    os.close(write_end)


def test_a_new_session_goes_on_being_heard(tmp_path: Path) -> None:
    lines = [{"type": "new_session"}, {"type": "set_session_name", "name": "next"}]
    written = served(tmp_path, lines)
    assert {"type": "session_info_changed", "name": "next"} in written


def test_what_a_session_holds_is_told_with_its_entries_as_stored(tmp_path: Path) -> None:
    lines: list[bytes | dict[str, Any]] = [
        {"type": "prompt", "message": "hi"},
        {"type": "get_last_assistant_text"},
        {"type": "get_entries"},
        {"type": "get_fork_messages"},
        {"type": "get_session_stats"},
    ]
    _, text, entries, forks, stats = (each["data"] for each in responses(served(tmp_path, lines, ["hello"])))
    assert text == {"text": "hello"}
    assert entries["leafId"] == entries["entries"][-1]["id"]
    assert [each["text"] for each in forks["messages"]] == ["hi"]
    assert (stats["userMessages"], stats["assistantMessages"]) == (1, 1)
