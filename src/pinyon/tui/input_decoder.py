"""From what a terminal sends to keys, pastes, mouse and replies, however the bytes were cut on the way.

Key encodings: xterm's, its `modifyOtherKeys` (`CSI 27 ; modifiers ; code ~`), and the Kitty keyboard protocol
(`CSI code ; modifiers ; text u`).
"""

from __future__ import annotations

import re
from typing import Final

from textual import events, messages
from textual._xterm_parser import XTermParser
from textual.message import Message

ESC: Final = "\x1b"
_PASTE_START: Final = "\x1b[200~"
_PASTE_END: Final = "\x1b[201~"
_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CSI_PART = re.compile(r"\x1b\[[0-?]*[ -/]*\Z")
_SS3 = re.compile(r"\x1bO[0-9;]*[@-~]")
_SS3_PART = re.compile(r"\x1bO[0-9;]*\Z")
_STRING = re.compile(r"\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)")
_STRING_PART = re.compile(r"\x1b[\]P_^X][^\x07\x1b]*(?:\x1b)?\Z")
_MOUSE = re.compile(r"\x1b\[<?[-\d;]+[mM]\Z")
_OLD_MOUSE = re.compile(r"\x1b\[M(...)", re.DOTALL)
_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~\Z")
_MODE = re.compile(r"\x1b\[\?(\d+);(\d)\$y\Z")
_RESIZE = re.compile(r"\x1b\[48;(\d+)(?::[\d:]*)?;(\d+)(?::[\d:]*)?;(\d+)(?::[\d:]*)?;(\d+)(?::[\d:]*)?t\Z")
_CURSOR = re.compile(r"\x1b\[(\d+);(\d+)R\Z")
_ANSWER = re.compile(r"\x1b\[\?(?:[\d;]*c|997;[12]n)\Z")
"""The kind of terminal, and whether its colours are dark or light."""
_MAX_STRING = 100_000


class InputDecoder:
    """Feed it with text; it gives the messages that are complete. `is_waiting` tells that an escape byte could still
    become either a key of its own or the beginning of something; `flush` decides for the key.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._paste: list[str] | None = None
        self._parser = XTermParser()
        self.replies: list[str] = []
        """Strings that the terminal sent on its own, such as colours, newest last."""

    @property
    def is_waiting(self) -> bool:
        """Whether time alone can decide what was sent."""
        return self._paste is None and bool(self._rest)

    def feed(self, text: str) -> list[Message]:
        """The messages that `text` completes."""
        self._rest += text
        found: list[Message] = []
        while self._rest:
            taken = self._take_paste(found) if self._paste is not None else self._take(found)
            if not taken:
                break
        return found

    def flush(self) -> list[Message]:
        """What is left, as keys."""
        rest, self._rest = self._rest, ""
        if not rest:
            return []
        if rest == ESC:
            return [events.Key("escape", ESC)]
        if rest.startswith(ESC) and len(rest) == 2 and not rest[1].isspace() and rest[1] != ESC:
            return self._alt(rest[1])
        if rest == ESC + ESC:
            return [events.Key("escape", ESC), events.Key("escape", ESC)]
        return []

    def _take_paste(self, found: list[Message]) -> bool:
        assert self._paste is not None
        end = self._rest.find(_PASTE_END)
        if end < 0:
            keep = _partial(self._rest, _PASTE_END)
            self._paste.append(self._rest[: len(self._rest) - keep])
            self._rest = self._rest[len(self._rest) - keep :]
            return False
        self._paste.append(self._rest[:end])
        self._rest = self._rest[end + len(_PASTE_END) :]
        found.append(events.Paste("".join(self._paste).replace("\x00", "")))
        self._paste = None
        return True

    def _take(self, found: list[Message]) -> bool:
        """Take one key or sequence from the front; False where more is needed."""
        rest = self._rest
        if rest[0] != ESC:
            end = 1
            self._rest = rest[end:]
            found += self._keys(rest[:end])
            return True
        if len(rest) == 1:
            return False
        if rest.startswith(_PASTE_START):
            self._rest, self._paste = rest[len(_PASTE_START) :], []
            return True
        match = _OLD_MOUSE.match(rest) or _CSI.match(rest) or _SS3.match(rest) or _STRING.match(rest)
        if match is not None and not (rest.startswith("\x1b[M") and match.re is _CSI):
            self._rest = rest[match.end() :]
            found += self._sequence(match[0])
            return True
        if self._is_unfinished(rest):
            return False
        return self._take_alt(rest, found)

    @staticmethod
    def _is_unfinished(rest: str) -> bool:
        if rest.startswith("\x1b[M") and len(rest) < 6:
            return True
        if len(rest) > _MAX_STRING:
            return False
        return any(pattern.match(rest) for pattern in (_CSI_PART, _SS3_PART, _STRING_PART))

    def _take_alt(self, rest: str, found: list[Message]) -> bool:
        if rest[1] != ESC:
            self._rest = rest[2:]
            found += self._alt(rest[1])
            return True
        inner = _CSI.match(rest, 1) or _SS3.match(rest, 1)
        if inner is not None and not rest.startswith(_PASTE_START, 1):
            self._rest = rest[inner.end() :]
            found += [_with_alt(key) for key in self._sequence(inner[0])]
            return True
        if len(rest) == 2 or (not rest.startswith(_PASTE_START, 1) and self._is_unfinished(rest[1:])):
            return False
        self._rest = rest[1:]
        found.append(events.Key("escape", ESC))
        return True

    def _alt(self, character: str) -> list[Message]:
        names = {"\r": "alt+enter", "\n": "alt+enter", "\x7f": "alt+backspace", "\t": "alt+tab", " ": "alt+space"}
        if character in names:
            return [events.Key(names[character], None)]
        return [_with_alt(key) for key in self._keys(character)]

    def _sequence(self, sequence: str) -> list[Message]:
        if sequence == "\x1b[I":
            return [events.AppFocus()]
        if sequence == "\x1b[O":
            return [events.AppBlur()]
        if sequence[1] in "]P_^X":
            self.replies.append(sequence)
            return [messages_reply(sequence)]
        if _ANSWER.match(sequence):
            return [messages_reply(sequence)]
        if (match := _OTHER_KEY.match(sequence)) is not None:
            return self._keys(f"\x1b[{match[2]};{match[1]}u")
        if (match := _RESIZE.match(sequence)) is not None:
            return [self._resize(*(int(part) for part in match.groups()))]
        if (match := _MODE.match(sequence)) is not None:
            return self._mode(match[1], int(match[2]))
        if (match := _CURSOR.match(sequence)) is not None and not sequence.startswith("\x1b[1;"):
            return [events.CursorPosition(int(match[2]) - 1, int(match[1]) - 1)]
        keys = self._keys(sequence)
        if keys:
            return keys
        if _MOUSE.match(sequence):
            event = self._parser.parse_mouse_code(sequence)
            return [event] if event is not None else []
        return []

    def _keys(self, sequence: str) -> list[Message]:
        keys = self._parser._sequence_to_key_events(sequence)  # noqa: SLF001 - Textual's own table of keys
        return [key for key in keys if key.key != "<ignore>"]

    def _resize(self, height: int, width: int, pixel_height: int, pixel_width: int) -> Message:
        event = events.Resize.from_dimensions((width, height), (pixel_width, pixel_height))
        self._parser.terminal_size, self._parser.terminal_pixel_size = event.size, event.pixel_size
        self._parser.mouse_pixels = True
        return event

    def _mode(self, mode: str, setting: int) -> list[Message]:
        if mode == "2026" and setting > 0:
            return [messages.TerminalSupportsSynchronizedOutput()]
        return []


class TerminalReply(Message):
    """A string that the terminal sent in answer to a question."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class EarlyText(Message):
    """What was typed before the terminal was in raw mode; an Enter is a line feed in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def messages_reply(sequence: str) -> TerminalReply:
    """The reply in an OSC or DCS sequence, without its frame."""
    return TerminalReply(sequence[1:].rstrip("\x07").removesuffix("\x1b\\"))


def _with_alt(message: Message) -> Message:
    if not isinstance(message, events.Key) or "alt+" in message.key:
        return message
    name = message.key
    if len(name) == 1 and name.isupper():
        name = f"shift+{name.lower()}"
    return events.Key(f"alt+{name}", None)


def _partial(text: str, marker: str) -> int:
    """How many characters at the end of `text` may be the beginning of `marker`."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0
