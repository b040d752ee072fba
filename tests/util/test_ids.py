"""Identifiers of sessions and entries."""

from __future__ import annotations

import re
import uuid

from pinyon._util.ids import entry_id, uuid4, uuid7


class Taken:
    """Says that the first `count` ids are taken."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __contains__(self, item: object) -> bool:
        self.left -= 1
        return self.left >= 0


def test_an_entry_id_is_eight_hex_digits() -> None:
    assert re.fullmatch("[0-9a-f]{8}", entry_id(()))


def test_a_taken_entry_id_is_drawn_again() -> None:
    taken = Taken(99)
    assert len(entry_id(taken)) == 8
    assert taken.left == -1


def test_after_a_hundred_collisions_an_entry_gets_a_whole_uuid() -> None:
    assert uuid.UUID(entry_id(Taken(100))).version == 4


def test_session_ids_carry_their_time_and_are_distinct() -> None:
    first, second = uuid.UUID(uuid7(0x0123_4567_89AB)), uuid.UUID(uuid7(0x0123_4567_89AB))
    assert first.hex[:12] == second.hex[:12] == "0123456789ab"
    assert (first.version, first.variant) == (7, uuid.RFC_4122)
    assert first != second


def test_random_ids_are_version_four() -> None:
    first, second = uuid4(), uuid4()
    assert uuid.UUID(first).version == 4
    assert str(uuid.UUID(first)) == first != second
