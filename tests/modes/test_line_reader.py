import asyncio
import os

import pytest

from pinyon.modes.rpc.line_reader import read_lines


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\r\n\r\nlast", [b"one", b"", b"last"]),
        ("a\u2028b\x0bc\rd\n".encode(), ["a\u2028b\x0bc\rd".encode()]),
        (b"x" * 200_000 + b"\ny\n", [b"x" * 200_000, b"y"]),
    ],
    ids=["nothing", "lines", "CRLF and no last end", "other separators", "long"],
)
def test_lines_end_at_line_feeds_alone(sent: bytes, lines: list[bytes]) -> None:
    read_end, write_end = os.pipe()

    async def scene() -> list[bytes]:
        def feed() -> None:
            with os.fdopen(write_end, "wb") as pipe:
                pipe.write(sent)

        feeding = asyncio.ensure_future(asyncio.to_thread(feed))
        received = [line async for line in read_lines(read_end)]
        await feeding
        return received

    assert asyncio.run(scene()) == lines
    os.close(read_end)
