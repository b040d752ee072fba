"""Pinyon: an AI coding agent for the terminal, for scripts and inside Python programs."""

from __future__ import annotations

from pinyon._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pinyon._version import __version__

__getattr__, __dir__, __all__ = lazy_exports(__name__, {"pinyon._version": ("__version__",)})
