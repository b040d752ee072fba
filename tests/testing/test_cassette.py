from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pinyon.ai.transport import HttpRequest, read_body
from pinyon.testing.cassette import Cassette, CassetteError, RecordMode
from pinyon.testing.fake_server import FakeServer, Reply

KEY = "sk-very-secret-0123456789"


def ask(cassette: Cassette, url: str, body: object = None) -> tuple[int, bytes]:
    async def scene() -> tuple[int, bytes]:
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        request = HttpRequest(method="POST", url=url, headers=headers, body=json.dumps(body).encode())
        response = await cassette.open(request)
        return response.status, await read_body(response, 1 << 20)

    return asyncio.run(scene())


def record(path: Path, replies: list[Reply], bodies: list[object], mode: RecordMode = "once") -> str:
    with FakeServer(replies) as server:
        cassette = Cassette(path, mode=mode, replacements={str(path.parent): "<here>"})
        for body in bodies:
            ask(cassette, f"{server.url}/v1/messages?key={KEY}&n=1", body)
        cassette.close()
        return f"{server.url}/v1/messages?key=other&n=1"


def test_answers_come_back_in_order_without_the_server(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.jsonl"
    url = record(path, [Reply.text("a"), Reply.text("b", status=429)], [1, 2])
    cassette = Cassette(path)
    assert [ask(cassette, url, body) for body in (1, 2)] == [(200, b"a"), (429, b"b")]
    assert cassette.faults == []


def test_no_secret_and_no_folder_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    url = record(path, [Reply.text(f"you sent {KEY} from {tmp_path}/x")], [{"echo": KEY, "cwd": str(tmp_path)}])
    text = path.read_text("utf-8")
    assert KEY not in text
    assert str(tmp_path) not in text
    elsewhere = Cassette(path, replacements={"/other/machine": "<here>"})
    assert ask(elsewhere, url) == (200, b"you sent *** from /other/machine/x")


def test_bytes_that_are_no_text_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    url = record(path, [Reply(body=[b"\xff\x00\xfe"])], [1])
    assert ask(Cassette(path), url) == (200, b"\xff\x00\xfe")


def test_a_request_more_than_was_recorded_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    url = record(path, [Reply.text("a")], [1])
    cassette = Cassette(path)
    ask(cassette, url)
    with pytest.raises(CassetteError, match=r"holds 1 answers for POST .* this is request 2"):
        ask(cassette, url)
    with pytest.raises(CassetteError, match="holds 0 answers"):
        ask(cassette, "https://elsewhere.invalid/")
    assert len(cassette.faults) == 2


@pytest.mark.parametrize(
    ("sent", "is_same"),
    [
        ({"text": "on 2026-12-01", "id": "0191b1c2-0000-7000-8000-0123456789ab"}, True),
        ({"text": "on 2027-01-31", "id": "0191b1c2-1111-7000-8000-0123456789ab"}, True),
        ({"id": "0191b1c2-0000-7000-8000-0123456789ab", "text": "on 2026-12-01"}, True),
        ({"text": "something else", "id": ""}, False),
    ],
)
def test_a_strict_recording_refuses_other_bodies(sent: object, is_same: bool, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    recorded = {"text": "on 2026-12-01", "id": "0191b1c2-0000-7000-8000-0123456789ab"}
    url = record(path, [Reply.text("a")], [recorded])
    strict = Cassette(path, is_strict=True)
    if is_same:
        assert ask(strict, url, sent) == (200, b"a")
    else:
        with pytest.raises(CassetteError, match="not the recorded one"):
            ask(strict, url, sent)
    assert ask(Cassette(path), url, sent) == (200, b"a")


def test_the_modes_decide_when_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    record(path, [Reply.text("a")], [1], "once")
    first = path.read_bytes()
    assert not Cassette(path, mode="once").is_recording
    record(path, [Reply.text("b")], [1], "all")
    assert path.read_bytes() != first


def test_nothing_is_written_where_nothing_was_asked(tmp_path: Path) -> None:
    record(tmp_path / "one.jsonl", [], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no recording"),
        (b"", "no recording of exchanges"),
        (b"{}\n", "no recording of exchanges"),
        (b'{"type":"session","version":3}\n', "no recording of exchanges"),
        (b'{"type":"pinyon_cassette","version":1}\nnonsense\n', "no recording of exchanges"),
        (b'{"type":"pinyon_cassette","version":2}\n', "version 2"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(content: bytes | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CassetteError, match=problem):
        Cassette(path)


def test_names_of_key_variables_are_kept_and_their_values_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-secret-value")
    path = tmp_path / "one.jsonl"
    record(path, [Reply.text("another-secret-value")], [1])
    assert "another-secret-value" not in path.read_text("utf-8")
    assert "ANTHROPIC_API_KEY" in Cassette(path).header.key_variables
