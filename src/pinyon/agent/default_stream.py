"""The stream function of loops and agents that are given none: the built-in wire APIs, or what a program sets."""

from __future__ import annotations

from pinyon.ai.stream import StreamFn


class _DefaultStream:
    """Holds what `set_default_stream_fn` was given."""

    def __init__(self) -> None:
        self.stream_fn: StreamFn | None = None


_default = _DefaultStream()


def set_default_stream_fn(stream_fn: StreamFn | None) -> None:
    """Use `stream_fn` wherever an agent or a loop is given none; None returns to the built-in wire APIs."""
    _default.stream_fn = stream_fn


def default_stream_fn() -> StreamFn:
    """What was set, else the request function of `pinyon.ai`."""
    if _default.stream_fn is not None:
        return _default.stream_fn
    from pinyon.ai.request import stream

    return stream
