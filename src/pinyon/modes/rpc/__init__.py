"""RPC mode: commands as JSON lines on standard input, responses and events as JSON lines on standard output.

`run_rpc_mode` is the server; `RpcClient` and `SyncRpcClient` start one in a child process and speak with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.modes.rpc.client import BashResult, ForkMessage, RpcClient, RpcCommand, RpcState
    from pinyon.modes.rpc.client_event import RpcEvent, UiRequest, UnknownLine
    from pinyon.modes.rpc.connection import RpcError
    from pinyon.modes.rpc.server import run_rpc_mode
    from pinyon.modes.rpc.sync_client import SyncRpcClient

__all__ = [
    "BashResult",
    "ForkMessage",
    "RpcClient",
    "RpcCommand",
    "RpcError",
    "RpcEvent",
    "RpcState",
    "SyncRpcClient",
    "UiRequest",
    "UnknownLine",
    "run_rpc_mode",
]

_HOMES = {
    "pinyon.modes.rpc.client": ("BashResult", "ForkMessage", "RpcClient", "RpcCommand", "RpcState"),
    "pinyon.modes.rpc.client_event": ("RpcEvent", "UiRequest", "UnknownLine"),
    "pinyon.modes.rpc.connection": ("RpcError",),
    "pinyon.modes.rpc.server": ("run_rpc_mode",),
    "pinyon.modes.rpc.sync_client": ("SyncRpcClient",),
}
__getattr__, __dir__, _ = lazy_exports(__name__, _HOMES)
