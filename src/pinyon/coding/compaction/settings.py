"""When and how much to compact."""

from __future__ import annotations

from pinyon.ai.model import Model
from pinyon.resources.settings import CompactionSettings, SettingsManager

DEFAULT_COMPACTION_SETTINGS = CompactionSettings()
"""What holds where nobody chose otherwise."""


def should_compact(tokens: int, window: int, settings: CompactionSettings) -> bool:
    """Whether a context of `tokens` leaves too little of `window`."""
    return settings.enabled and tokens > window - settings.reserve_tokens


def compaction_settings(settings: SettingsManager, model: Model | None) -> CompactionSettings:
    """What the settings say for a model. Raises `SettingsError` for values that are no token counts."""
    return settings.get_compaction_settings(*(model.key if model is not None else (None, None)))
