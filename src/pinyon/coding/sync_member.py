"""Members of a synchronous twin, each made from the asynchronous member of the same name, with its types and words."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from pinyon.coding.loop_thread import LoopThread

Target = TypeVar("Target")
Params = ParamSpec("Params")
Value = TypeVar("Value")


class Twin(Generic[Target]):
    """Stands for `target`, which lives in the loop of `loop`."""

    def __init__(self, target: Target, loop: LoopThread) -> None:
        self.target = target
        """The asynchronous original. Its coroutines belong to the loop's thread."""
        self.loop = loop


class Waits(Generic[Params, Value]):
    """A coroutine method as a plain one that returns when it is done."""

    def __init__(self, method: Callable[Concatenate[Any, Params], Coroutine[Any, Any, Value]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, twin: None, owner: type) -> Waits[Params, Value]: ...

    @overload
    def __get__(self, twin: Twin[Any], owner: type) -> Callable[Params, Value]: ...

    def __get__(self, twin: Twin[Any] | None, owner: type) -> Any:
        if twin is None:
            return self

        def call(*args: Params.args, **kwargs: Params.kwargs) -> Value:
            return twin.loop.run(self._method(twin.target, *args, **kwargs))

        return update_wrapper(call, self._method.__get__(twin.target))


class Calls(Generic[Params, Value]):
    """A plain method, called in the loop's thread."""

    def __init__(self, method: Callable[Concatenate[Any, Params], Value]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, twin: None, owner: type) -> Calls[Params, Value]: ...

    @overload
    def __get__(self, twin: Twin[Any], owner: type) -> Callable[Params, Value]: ...

    def __get__(self, twin: Twin[Any] | None, owner: type) -> Any:
        if twin is None:
            return self

        def call(*args: Params.args, **kwargs: Params.kwargs) -> Value:
            return twin.loop.call(lambda: self._method(twin.target, *args, **kwargs))

        return update_wrapper(call, self._method.__get__(twin.target))


class Reads(Generic[Value]):
    """A property, read in the loop's thread."""

    def __init__(self, read: Callable[[Any], Value]) -> None:
        self._read = read

    @overload
    def __get__(self, twin: None, owner: type) -> Reads[Value]: ...

    @overload
    def __get__(self, twin: Twin[Any], owner: type) -> Value: ...

    def __get__(self, twin: Twin[Any] | None, owner: type) -> Any:
        return self if twin is None else twin.loop.call(lambda: self._read(twin.target))
