"""What extensions share with each other and with the program around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.extensions.event_bus import EventBus, create_event_bus

__all__ = ["EventBus", "create_event_bus"]

__getattr__, __dir__, _names = lazy_exports(__name__, {"pinyon.extensions.event_bus": ("EventBus", "create_event_bus")})
