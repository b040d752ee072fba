from __future__ import annotations

import gc
import threading

import pytest

from pinyon._util.collector import collector_paused


def test_the_collector_is_off_inside_and_on_again_after_nested_blocks() -> None:
    assert gc.isenabled()
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_inside_turns_it_on_again() -> None:
    with pytest.raises(ValueError, match="x"), collector_paused():
        raise ValueError("x")
    assert gc.isenabled()


def test_blocks_in_several_threads_end_with_the_last_one() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collector_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    with collector_paused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_kept_objects_are_not_looked_at_again() -> None:
    before = gc.get_freeze_count()
    try:
        with collector_paused(keeps_objects=True):
            kept = [[number] for number in range(1000)]
        assert gc.get_freeze_count() > before
        assert len(kept) == 1000
    finally:
        gc.unfreeze()
