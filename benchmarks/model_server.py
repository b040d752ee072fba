"""A model server for benchmarks: prepared Anthropic-style replies over loopback HTTP, in a process of its own.

Started with the name of a script: `text` answers with one sentence, `tools` with 50 rounds of one bash call and then a
sentence, `deltas:N` with one answer of N text deltas, `paced:N` with N deltas of Markdown, 200 a second. Prints its
port on the first line of standard output.
"""

from __future__ import annotations

import asyncio
import json
import sys

HEADERS = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n"
TOOL_ROUNDS = 50
LAST_WORDS = "streamed to the end"
PACED_EVENTS, PAUSE_S = 10, 0.05


def event(name: str, **fields: object) -> bytes:
    """One server-sent event of the Messages API."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def message(blocks: list[bytes], stop: str, output_tokens: int) -> bytes:
    """A whole streamed answer around its content events."""
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench-1", "content": [], "usage": usage}
    return b"".join(
        (
            event("message_start", message=start),
            *blocks,
            event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": output_tokens}),
            event("message_stop"),
        )
    )


def text_answer(deltas: int) -> bytes:
    """An answer of `deltas` short pieces of text."""
    pieces = [
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": f"word{number % 10} "})
        for number in range(deltas)
    ]
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return message([start, *pieces, event("content_block_stop", index=0)], "end_turn", deltas)


def paced_answer(deltas: int) -> bytes:
    """An answer of `deltas` pieces of Markdown: headings, lists, emphasis and code."""
    section = (
        ["## ", "Part\n\n"]
        + [f"word{n} " for n in range(40)]
        + ["\n\n- **one** ", "item\n", "- `two` ", "items\n\n"]
        + ["```python\n", *(f"x{n} = {n}\n" for n in range(12)), "```\n\n"]
    )
    words = [section[number % len(section)] for number in range(deltas - 1)] + [f"\n\n{LAST_WORDS}"]
    pieces = [event("content_block_delta", index=0, delta={"type": "text_delta", "text": word}) for word in words]
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return message([start, *pieces, event("content_block_stop", index=0)], "end_turn", deltas)


def tool_answer(number: int) -> bytes:
    """An answer that calls bash once."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": "echo hi"})}
    return message(
        [
            event("content_block_start", index=0, content_block=block),
            event("content_block_delta", index=0, delta=delta),
            event("content_block_stop", index=0),
        ],
        "tool_use",
        20,
    )


def replies(script: str) -> list[bytes]:
    """The answers of a script in order; the last one repeats."""
    kind, _, count = script.partition(":")
    if kind == "deltas":
        return [text_answer(int(count))]
    if kind == "paced":
        return [paced_answer(int(count))]
    if kind == "tools":
        return [*(tool_answer(number) for number in range(TOOL_ROUNDS)), text_answer(5)]
    return [text_answer(5)]


async def write_body(writer: asyncio.StreamWriter, answer: bytes, *, is_paced: bool) -> None:
    """Write the answer at once, or a few events at a time."""
    events = answer.split(b"\n\n") if is_paced else []
    if not events:
        writer.write(answer)
    for at in range(0, len(events), PACED_EVENTS):
        is_last = at + PACED_EVENTS >= len(events)
        writer.write(b"\n\n".join(events[at : at + PACED_EVENTS]) + (b"" if is_last else b"\n\n"))
        await writer.drain()
        await asyncio.sleep(PAUSE_S)
    await writer.drain()


async def serve(script: str) -> None:
    """Answer each POST by the next prepared reply; the round is told from the tool results in the request."""
    answers = replies(script)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.decode("latin-1").split("\r\n"):
                    name, _, value = line.partition(":")
                    if name.lower() == "content-length":
                        length = int(value)
                body = await reader.readexactly(length)
                turn = min(body.count(b'"tool_result"'), len(answers) - 1)
                answer = answers[turn]
                writer.write(HEADERS.format(length=len(answer)).encode())
                await write_body(writer, answer, is_paced=script.startswith("paced"))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
