"""The cyclic garbage collector, switched off while many objects are made at once.

A collector that looks at every new object again and again costs more than the parser that makes them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_depth = [0, False]


@contextmanager
def collector_paused(*, keeps_objects: bool = False) -> Iterator[None]:
    """Keep the collector off inside the block; blocks may nest and run in several threads.

    With `keeps_objects` what exists at the end of the block is never looked at again: use it where very many objects
    were made that will live long and hold no cycles. They are still freed when nobody holds them any more.
    """
    with _lock:
        if _depth[0] == 0:
            _depth[1] = gc.isenabled()
            gc.disable()
        _depth[0] += 1
    try:
        yield
    finally:
        with _lock:
            _depth[0] -= 1
            if keeps_objects:
                gc.freeze()
            if _depth[0] == 0 and _depth[1]:
                gc.enable()
