"""When and how much to compact."""

from __future__ import annotations

import msgspec

from pinyon.ai.model import Model
from pinyon.resources.settings import SettingsManager


class CompactionSettings(msgspec.Struct, kw_only=True):
    """Limits of compaction, in tokens.

    A context is compacted when it leaves less than `reserve_tokens` of the window, down to about `keep_recent_tokens`
    of recent messages. `enabled` gates automatic compaction only.
    """

    enabled: bool = True
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000


def should_compact(tokens: int, window: int, settings: CompactionSettings) -> bool:
    """Whether a context of `tokens` leaves too little of `window`."""
    return settings.enabled and tokens > window - settings.reserve_tokens


def compaction_settings(settings: SettingsManager, model: Model | None) -> CompactionSettings:
    """What the settings say for a model. Raises `SettingsError` for values that are no token counts."""
    values = settings.get_compaction_settings(*(model.key if model is not None else (None, None)))
    return CompactionSettings(
        enabled=values.enabled,
        reserve_tokens=values.reserve_tokens,
        keep_recent_tokens=values.keep_recent_tokens,
    )
