"""Which key does what: the table of defaults with the user's `keybindings.json` over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinyon._util.safe_path import read_file
from pinyon.tui.binding import BINDINGS, LEGACY_IDS
from pinyon.tui.key import is_key, normal_key, shown_key

KEYS_FILE = "keybindings.json"


class Keymap:
    """Keys by action. A value of the user's file replaces the defaults of its action; an empty list disables it."""

    def __init__(
        self, overrides: Mapping[str, tuple[str, ...]] | None = None, *, windows: bool = os.name == "nt"
    ) -> None:
        self.overrides = dict(overrides or {})
        self._keys: dict[str, tuple[str, ...]] = {}
        for binding in BINDINGS.values():
            default = binding.windows if windows and binding.windows is not None else binding.keys
            self._keys[binding.id] = self.overrides.get(binding.id, tuple(map(normal_key, default)))

    @classmethod
    def load(cls, agent_dir: Path | None) -> Keymap:
        """The keys of the user; without a readable file, the defaults."""
        return cls(read_overrides(agent_dir / KEYS_FILE) if agent_dir is not None else None)

    def keys(self, action: str) -> tuple[str, ...]:
        """The keys of an action."""
        return self._keys.get(action, ())

    def is_bound(self, key: str, action: str) -> bool:
        """Whether `key`, in its normal spelling, does `action`."""
        return key in self._keys.get(action, ())

    def first(self, key: str, actions: tuple[str, ...]) -> str | None:
        """The first of `actions` that the key does."""
        return next((action for action in actions if key in self._keys.get(action, ())), None)

    def hint(self, action: str) -> str:
        """The first key of an action as hints show it; empty where it is disabled."""
        keys = self.keys(action)
        return shown_key(keys[0]) if keys else ""

    def conflicts(self) -> list[tuple[str, list[str]]]:
        """Keys that the user's file gives to several actions."""
        owners: dict[str, list[str]] = {}
        for action, keys in self.overrides.items():
            for key in keys:
                owners.setdefault(key, []).append(action)
        return [(key, actions) for key, actions in owners.items() if len(actions) > 1]


def read_overrides(path: Path) -> dict[str, tuple[str, ...]]:
    """The valid lines of a key file; a file that cannot be read or is no object gives none."""
    import msgspec

    try:
        value = msgspec.json.decode(read_file(path))
    except (OSError, msgspec.DecodeError):
        return {}
    return parse_overrides(value) if isinstance(value, dict) else {}


def parse_overrides(value: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Actions and keys of a decoded key file. Old short ids are understood; the full id wins over them."""
    found: dict[str, tuple[str, ...]] = {}
    for is_legacy in (True, False):
        for name, raw in value.items():
            action = LEGACY_IDS.get(name) if is_legacy else name
            keys = _keys(raw)
            if action in BINDINGS and keys is not None:
                found[action] = keys
    return found


def _keys(raw: Any) -> tuple[str, ...] | None:
    items = [raw] if isinstance(raw, str) else raw
    if not isinstance(items, list) or not all(isinstance(item, str) and is_key(item) for item in items):
        return None
    return tuple(normal_key(item) for item in items)
