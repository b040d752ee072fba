"""The JSON schema of settings files, made from the table of settings, for editors that check and complete them."""

from __future__ import annotations

from typing import Any

from pinyon.resources.setting import SETTINGS


def settings_schema() -> dict[str, Any]:
    """A schema (draft 2020-12) of a whole file. Keys that are not in the table are allowed; null counts as absent."""
    root: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of Pinyon and pi",
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
    }
    for setting in SETTINGS:
        *parents, name = setting.path
        place = root
        for parent in parents:
            place = place["properties"].setdefault(parent, {"type": ["object", "null"], "properties": {}})
        entry: dict[str, Any] = {"description": setting.doc, "anyOf": [setting.kind.schema, {"type": "null"}]}
        if setting.default is not None:
            entry["default"] = setting.default
        place["properties"][name] = entry
    return root
