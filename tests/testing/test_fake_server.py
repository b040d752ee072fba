"""The scripted HTTP server that other tests talk to."""

from __future__ import annotations

import http.client
import json
import socket
import threading

import pytest

from pinyon.testing.fake_server import Cut, FakeServer, Gate, Reply, Stall, encode_sse


def post(server: FakeServer, body: object = None, path: str = "/v1") -> tuple[int, bytes]:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        client.request("POST", path, body=json.dumps(body), headers={"X-Name": "value"})
        response = client.getresponse()
        return response.status, response.read()
    finally:
        client.close()


def test_requests_are_recorded_and_replies_follow_the_script_with_the_last_one_repeating() -> None:
    with FakeServer([Reply.json({"n": 1}), Reply.text("two", status=418)]) as server:
        answers = [post(server, {"k": number}, f"/p{number}") for number in range(3)]
    assert answers == [(200, b'{"n": 1}'), (418, b"two"), (418, b"two")]
    assert [request.path for request in server.requests] == ["/p0", "/p1", "/p2"]
    assert [request.json for request in server.requests] == [{"k": 0}, {"k": 1}, {"k": 2}]
    assert server.requests[0].headers["x-name"] == "value"


def test_a_reply_may_be_made_from_the_request() -> None:
    with FakeServer([lambda request: Reply.json({"echo": request.json})]) as server:
        assert json.loads(post(server, [1])[1]) == {"echo": [1]}


def test_play_starts_over() -> None:
    with FakeServer([Reply.text("a")]) as server:
        post(server)
        server.play([Reply.text("b")])
        assert server.requests == []
        assert post(server) == (200, b"b")


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("piece_bytes", [None, 1, 5])
def test_an_event_stream_arrives_whole_in_every_framing(framing: str, piece_bytes: int | None) -> None:
    reply = Reply.sse([("a", {"x": "é"}), (None, "two\nlines")], piece_bytes=piece_bytes, framing=framing)  # type: ignore[arg-type]
    with FakeServer([reply]) as server:
        body = post(server)[1]
    assert body.decode() == 'event: a\ndata: {"x": "é"}\n\ndata: two\ndata: lines\n\n'


def test_a_cut_ends_the_answer_in_the_middle() -> None:
    reply = Reply.sse([("a", "1"), Cut(politely=True), ("b", "2")])
    with FakeServer([reply]) as server, pytest.raises(http.client.IncompleteRead):
        post(server)


def test_a_reset_instead_of_an_answer() -> None:
    with FakeServer([Reply.drop()]) as server, pytest.raises(OSError):
        post(server)


def test_a_server_that_never_answers_stops_all_the_same() -> None:
    with FakeServer([Reply.never()]) as server:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        server.wait_for_requests(1)
        assert server.open_connection_count == 1
    assert client.recv(1) == b""
    client.close()
    assert server.open_connection_count == 0


def test_a_gate_holds_the_answer_until_the_test_opens_it() -> None:
    gate = threading.Event()
    answers: list[tuple[int, bytes]] = []
    with FakeServer([Reply(body=[b"a", Gate(gate), b"b"])]) as server:
        client = threading.Thread(target=lambda: answers.append(post(server)))
        client.start()
        server.wait_for_requests(1)
        assert answers == []
        gate.set()
        client.join()
    assert answers == [(200, b"ab")]


def test_a_stalled_client_is_noticed_when_it_leaves() -> None:
    with FakeServer([Reply(body=[b"a", Stall()])]) as server:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        server.wait_for_requests(1)
        client.close()
        server.wait_until_idle()


def test_raw_bytes_replace_the_response() -> None:
    with FakeServer([Reply(raw=b"SSH-2.0-nonsense\r\n")]) as server, pytest.raises(http.client.BadStatusLine):
        post(server)


def test_lone_surrogates_can_be_sent_as_the_broken_bytes_that_they_are() -> None:
    assert encode_sse(None, "\ud83d") == b"data: \xed\xa0\xbd\n\n"
