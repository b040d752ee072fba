import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinyon.modes.output import HIGH_WATER_BYTES, OutputClosedError, OutputWriter


def test_lines_reach_a_file_in_order_and_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb") as file:

        async def scene() -> None:
            out = OutputWriter(file.fileno())
            for number in range(1000):
                out.write(b"%d\n" % number)
            assert path.stat().st_size == 0
            await out.drain()
            await out.flush()

        asyncio.run(scene())
    assert path.read_bytes() == b"".join(b"%d\n" % number for number in range(1000))


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows do not say whether they have room")
def test_a_slow_reader_holds_the_writer_back_without_blocking_the_loop_and_loses_nothing() -> None:
    read_end, write_end = os.pipe()
    sent = b"x" * (HIGH_WATER_BYTES + 1)

    async def scene() -> bytes:
        out = OutputWriter(write_end)
        out.write(sent)
        waiting = asyncio.ensure_future(out.drain())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        received = b""
        while len(received) < len(sent):
            received += await asyncio.to_thread(os.read, read_end, 1 << 16)
        await waiting
        await out.flush()
        return received

    assert asyncio.run(scene()) == sent
    os.close(read_end)
    os.close(write_end)


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows do not say whether they have room")
def test_after_the_reader_has_gone_output_is_dropped_and_draining_says_so() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)

    async def scene() -> None:
        out = OutputWriter(write_end)
        out.write(b"lost\n")
        await out.flush()
        assert out.closed.is_set()
        out.write(b"dropped\n")
        with pytest.raises(OutputClosedError):
            await out.drain()

    asyncio.run(scene())
    os.close(write_end)


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows do not say whether they have room")
def test_whoever_is_held_back_goes_on_when_the_reader_leaves() -> None:
    read_end, write_end = os.pipe()

    async def scene() -> None:
        out = OutputWriter(write_end)
        out.write(b"x" * (HIGH_WATER_BYTES + 1))
        draining = asyncio.create_task(out.drain())
        for _ in range(3):
            await asyncio.sleep(0)
        assert not draining.done()
        os.close(read_end)
        with pytest.raises(OutputClosedError):
            await asyncio.wait_for(draining, 20)

    asyncio.run(scene())
    os.close(write_end)


def test_inside_the_guard_prints_and_child_processes_reach_standard_error() -> None:
    program = (
        "import os, subprocess, sys\n"
        "from pinyon.modes.output import OutputGuard\n"
        "with OutputGuard() as guard:\n"
        "    print('a library')\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"a child\")'])\n"
        "    os.write(guard.fd, b'the mode\\n')\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["the mode", "after", ""]
    assert sorted(done.stderr.split("\n")) == ["", "a child", "a library"]
