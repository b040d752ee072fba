"""`RpcClient` for programs without an event loop: the same methods, each of which waits for its answer.

    with SyncRpcClient(model="anthropic/claude-sonnet-4-5") as client:
        client.prompt_and_wait("What is in this folder?")
        print(client.get_last_assistant_text())

A thread with an event loop of its own does the work. Listeners are called in that thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from pinyon.modes.rpc.client import EventListener, RpcClient

Params = ParamSpec("Params")
Result = TypeVar("Result")


class _Waiting(Generic[Params, Result]):
    """A method of `RpcClient` that is waited for."""

    def __init__(self, method: Callable[Concatenate[RpcClient, Params], Coroutine[Any, Any, Result]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, client: SyncRpcClient, owner: type[SyncRpcClient]) -> Callable[Params, Result]:
        def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            return client.wait_for(self._method(client.client, *args, **kwargs))

        return call


class SyncRpcClient:
    """An RPC session in a child process. Takes the arguments of `RpcClient`; start it with `start` or `with`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client = RpcClient(*args, **kwargs)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rpc-client", daemon=True)

    def start(self) -> None:
        """Start the server. Raises `RpcError` when it ends at once."""
        self._thread.start()
        try:
            self.wait_for(self.client.start())
        except BaseException:
            self._end_loop()
            raise

    def stop(self) -> None:
        """End the server: with SIGTERM, after a second for good. The client cannot be used again."""
        if self._thread.is_alive():
            self.wait_for(self.client.stop())
            self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine of `client`, run in the client's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener(event)` in the client's thread; returns what ends it."""
        return self.client.subscribe(listener)

    @property
    def stderr(self) -> str:
        """The last lines that the server wrote to its standard error."""
        return self.client.stderr

    def __enter__(self) -> SyncRpcClient:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    abort = _Waiting(RpcClient.abort)
    abort_bash = _Waiting(RpcClient.abort_bash)
    abort_retry = _Waiting(RpcClient.abort_retry)
    bash = _Waiting(RpcClient.bash)
    clear_queue = _Waiting(RpcClient.clear_queue)
    clone = _Waiting(RpcClient.clone)
    close = _Waiting(RpcClient.close)
    collect_events = _Waiting(RpcClient.collect_events)
    compact = _Waiting(RpcClient.compact)
    cycle_model = _Waiting(RpcClient.cycle_model)
    cycle_thinking_level = _Waiting(RpcClient.cycle_thinking_level)
    export_html = _Waiting(RpcClient.export_html)
    follow_up = _Waiting(RpcClient.follow_up)
    fork = _Waiting(RpcClient.fork)
    get_available_models = _Waiting(RpcClient.get_available_models)
    get_available_thinking_levels = _Waiting(RpcClient.get_available_thinking_levels)
    get_commands = _Waiting(RpcClient.get_commands)
    get_entries = _Waiting(RpcClient.get_entries)
    get_fork_messages = _Waiting(RpcClient.get_fork_messages)
    get_last_assistant_text = _Waiting(RpcClient.get_last_assistant_text)
    get_messages = _Waiting(RpcClient.get_messages)
    get_session_stats = _Waiting(RpcClient.get_session_stats)
    get_state = _Waiting(RpcClient.get_state)
    get_tree = _Waiting(RpcClient.get_tree)
    new_session = _Waiting(RpcClient.new_session)
    prompt = _Waiting(RpcClient.prompt)
    prompt_and_wait = _Waiting(RpcClient.prompt_and_wait)
    request = _Waiting(RpcClient.request)
    respond_ui = _Waiting(RpcClient.respond_ui)
    set_auto_compaction = _Waiting(RpcClient.set_auto_compaction)
    set_auto_retry = _Waiting(RpcClient.set_auto_retry)
    set_follow_up_mode = _Waiting(RpcClient.set_follow_up_mode)
    set_model = _Waiting(RpcClient.set_model)
    set_session_name = _Waiting(RpcClient.set_session_name)
    set_steering_mode = _Waiting(RpcClient.set_steering_mode)
    set_thinking_level = _Waiting(RpcClient.set_thinking_level)
    steer = _Waiting(RpcClient.steer)
    switch_session = _Waiting(RpcClient.switch_session)
    wait_for_idle = _Waiting(RpcClient.wait_for_idle)
