"""Copying and pasting through the clipboard programs of the desktop, and through the terminal where there are none."""

from __future__ import annotations

import asyncio
import stat
import sys
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.tui.stage import stage

from pinyon.testing import faux_assistant_message, faux_text
from pinyon.tui.clipboard import copy_text, read_image, read_text, wants_terminal_copy

if sys.platform != "linux":
    pytest.skip("the programs that are faked here are those of Linux", allow_module_level=True)


class Desktop:
    """A folder of fake programs in front of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desktop:
    fakes = Desktop(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(fakes.folder))
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "SSH_TTY", "MOSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    return fakes


def png() -> bytes:
    target = BytesIO()
    Image.new("RGB", (3, 2)).save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize("name", ["wl-copy", "xclip", "xsel", "pbcopy", "termux-clipboard-set"])
def test_any_of_the_programs_takes_the_text(desktop: Desktop, tmp_path: Path, name: str) -> None:
    target = tmp_path / "copied"
    desktop.program(name, f"open({str(target)!r}, 'wb').write(sys.stdin.buffer.read())")
    assert asyncio.run(copy_text("some 你好"))
    assert target.read_bytes() == "some 你好".encode()


def test_a_program_that_fails_gives_way_to_the_next(desktop: Desktop, tmp_path: Path) -> None:
    target = tmp_path / "copied"
    desktop.program("wl-copy", "sys.stdin.read(); raise SystemExit(1)")
    desktop.program("xclip", f"open({str(target)!r}, 'w').write(sys.stdin.read())")
    assert asyncio.run(copy_text("text"))
    assert target.read_text() == "text"


def test_a_program_that_does_not_read_is_no_success_and_no_crash(desktop: Desktop) -> None:
    desktop.program("wl-copy", "sys.stdin.close(); raise SystemExit(1)")
    assert not asyncio.run(copy_text("x" * 1_000_000))


def test_without_a_display_its_programs_are_not_called(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    desktop.program("xclip", "sys.stdout.write('wrong')")
    monkeypatch.delenv("DISPLAY")
    assert asyncio.run(read_text()) == ""


def test_an_image_is_read_only_if_it_is_one(desktop: Desktop) -> None:
    desktop.program("wl-paste", f"sys.stdout.buffer.write({png()!r} if 'image/png' in sys.argv else b'words')")
    assert asyncio.run(read_image()) == png()
    desktop.program("wl-paste", "sys.stdout.write('words')")
    assert asyncio.run(read_image()) is None
    assert asyncio.run(read_text()) == "words"


def test_a_pasted_image_becomes_a_chip_and_text_is_inserted(desktop: Desktop, tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path) as running:
            desktop.program("wl-paste", f"sys.stdout.buffer.write({png()!r} if 'image/png' in sys.argv else b'')")
            await running.press("ctrl+v")
            await running.until_shown("[image #1")
            desktop.program("wl-paste", "sys.stdout.write('' if 'image/png' in sys.argv else 'pasted words')")
            await running.press("ctrl+v")
            await running.until_shown("pasted words")
            desktop.program("wl-paste", "raise SystemExit(1)")
            await running.press("ctrl+v")
            await running.until_shown("nothing that can be pasted")

    asyncio.run(run())


def test_the_last_answer_is_copied_through_the_terminal_where_nothing_else_takes_it(
    desktop: Desktop, tmp_path: Path
) -> None:
    assert not list(desktop.folder.iterdir())

    async def run() -> None:
        async with stage(tmp_path, [faux_assistant_message([faux_text("the answer")])]) as running:
            await running.say("question")
            await running.press("ctrl+x")
            await running.until(lambda: running.app.clipboard == "the answer")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("environ", "wants"),
    [({}, False), ({"PI_CLIPBOARD_OSC52": "1"}, True), ({"SSH_TTY": "/dev/pts/1"}, True), ({"SSH_TTY": ""}, False)],
)
def test_over_ssh_the_terminal_is_asked_too(environ: dict[str, str], wants: bool) -> None:
    assert wants_terminal_copy(environ) is wants
