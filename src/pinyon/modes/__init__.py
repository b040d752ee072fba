"""Ways to run an agent without a screen: print, JSON stream, RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.modes.print_mode import PrintFormat, run_print_mode
    from pinyon.modes.rpc.server import run_rpc_mode

__all__ = ["PrintFormat", "run_print_mode", "run_rpc_mode"]

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "pinyon.modes.print_mode": ("PrintFormat", "run_print_mode"),
        "pinyon.modes.rpc.server": ("run_rpc_mode",),
    },
)
