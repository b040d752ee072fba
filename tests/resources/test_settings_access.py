from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.errors import ConfigError
from pinyon.resources import setting as _setting
from pinyon.resources.setting import SETTINGS, Setting
from pinyon.resources.settings import SettingsManager
from pinyon.resources.settings_schema import settings_schema


def named(setting: Setting[Any]) -> str:
    """`retry.maxRetries` → `retry_max_retries`."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", setting.key.replace(".", "_"))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_can_be_stored_and_taken_out_by_its_name(setting: Setting[Any]) -> None:
    manager = SettingsManager.in_memory()
    if setting is _setting.DEVICE_ID:
        pytest.skip("the id is made once and then kept")
    schema = setting.kind.schema
    samples: dict[str, Any] = {"string": "x", "boolean": True, "number": 1, "array": ["x"]}
    value = setting.default
    if value is None:
        value = schema["enum"][0] if "enum" in schema else samples[schema["type"]]
    write = getattr(manager, f"set_{named(setting)}")
    write(value)
    assert manager.get(setting) == value
    if setting in (_setting.EDITOR_PADDING_X, _setting.AUTOCOMPLETE_MAX_VISIBLE):
        return
    write(None)
    assert manager.get(setting) == setting.default


def test_getters_give_typed_values_and_defaults() -> None:
    manager = SettingsManager.in_memory({"theme": "mine", "outputPad": "wide", "terminal": {"showImages": False}})
    assert manager.get_theme() == "mine"
    assert manager.get_output_pad() == 1
    assert manager.get_terminal_show_images() is False
    assert manager.get_quiet_startup() is False


def test_values_out_of_range_are_moved_into_it() -> None:
    manager = SettingsManager.in_memory()
    manager.set_editor_padding_x(9)
    manager.set_autocomplete_max_visible(0)
    assert (manager.get_editor_padding_x(), manager.get_autocomplete_max_visible()) == (3, 3)


def test_a_setter_writes_the_scope_that_is_named(tmp_path: Path) -> None:
    manager = SettingsManager.create(tmp_path / "p", tmp_path / "agent", project_trusted=True)
    manager.set_theme("dark", scope="project")
    assert manager.get_global_settings() == {}
    assert manager.get_project_settings() == {"theme": "dark"}
    with pytest.raises(ConfigError, match="user's own"):
        manager.set_cache_warming("off", scope="project")


def test_provider_and_model_are_stored_together() -> None:
    manager = SettingsManager.in_memory()
    manager.set_default_model_and_provider("p", "m")
    assert manager.get_global_settings() == {"defaultProvider": "p", "defaultModel": "m"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300_000) | st.floats(-2, 2) | st.sampled_from(["all", "auto", "x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "clientId"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(SETTINGS), VALUES)
def test_the_schema_accepts_what_is_read_and_refuses_what_is_not(setting: Setting[Any], value: Any) -> None:
    try:
        setting.kind.read(value)
        is_read = True
    except ValueError:
        is_read = False
    try:
        fastjsonschema.validate(setting.kind.schema, value)
        is_valid = True
    except fastjsonschema.JsonSchemaException:
        is_valid = False
    assert is_valid == is_read


def test_the_schema_of_a_file_knows_every_setting_and_lets_others_be() -> None:
    check = fastjsonschema.compile({**settings_schema(), "$schema": "http://json-schema.org/draft-07/schema#"})
    check({"retry": {"maxRetries": 3, "mine": 1}, "other": [], "theme": None})
    with pytest.raises(fastjsonschema.JsonSchemaException, match="maxRetries"):
        check({"retry": {"maxRetries": "many"}})
    for setting in SETTINGS:
        place = settings_schema()
        for key in setting.path:
            place = place["properties"][key]
        assert place["description"] == setting.doc
