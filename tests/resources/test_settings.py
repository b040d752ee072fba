from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources import setting as table
from pinyon.resources.setting import SETTINGS
from pinyon.resources.settings import CompactionSettings, RetrySettings, SettingsError, SettingsManager
from pinyon.resources.settings_merge import edit_tool_names, merge_objects, merge_settings, migrate_settings
from pinyon.resources.settings_storage import FileSettingsStorage, MemorySettingsStorage


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


class Folders:
    """A project and an agent folder with the two settings files."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "project"
        self.agent_dir = root / "agent"
        self.cwd.mkdir()
        self.user_file = self.agent_dir / "settings.json"
        self.project_file = self.cwd / ".pi" / "settings.json"

    def manager(self, user: object = None, project: object = None, *, trusted: bool | None = True) -> SettingsManager:
        if user is not None:
            write(self.user_file, user)
        if project is not None:
            write(self.project_file, project)
        return SettingsManager.create(self.cwd, self.agent_dir, project_trusted=trusted)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_without_any_file_every_setting_has_its_default(folders: Folders) -> None:
    manager = folders.manager()
    assert {s.key: manager.get(s) for s in SETTINGS} == {s.key: s.default for s in SETTINGS}
    assert manager.drain_errors() == []
    assert not folders.agent_dir.exists()
    assert manager.get_retry_settings() == RetrySettings(
        enabled=True, max_retries=3, base_delay_ms=2000, max_agent_delay_ms=60000
    )
    assert manager.get_compaction_settings() == CompactionSettings(
        enabled=True, reserve_tokens=16384, keep_recent_tokens=20000
    )
    assert manager.get_default_tools() == ["read", "bash", "edit", "write"]


def test_no_home_folder_means_no_user_settings(folders: Folders) -> None:
    write(folders.project_file, {"defaultModel": "m"})
    storage = FileSettingsStorage(folders.cwd, None)
    assert SettingsManager.from_storage(storage).get_default_model() == "m"


def test_nested_project_settings_merge_with_the_users(folders: Folders) -> None:
    manager = folders.manager({"retry": {"provider": {"timeoutMs": 5}, "maxRetries": 7}}, {"retry": {"enabled": False}})
    assert manager.get_provider_retry_settings().timeout_ms == 5
    assert manager.get_retry_settings() == RetrySettings(
        enabled=False, max_retries=7, base_delay_ms=2000, max_agent_delay_ms=60000
    )


def test_an_untrusted_project_changes_nothing_but_the_session_folder(folders: Folders) -> None:
    project = {"defaultModel": "theirs", "shellPath": "/evil", "sessionDir": "/sessions"}
    manager = folders.manager({"defaultModel": "mine"}, project, trusted=False)
    assert manager.get_default_model() == "mine"
    assert manager.get_shell_path() is None
    assert manager.get_project_settings() == {}
    assert manager.get_session_dir() == Path("/sessions")
    manager.set_project_trusted(trusted=True)
    assert manager.get_default_model() == "theirs"


def test_trust_left_open_follows_the_saved_decision(folders: Folders) -> None:
    project = {"defaultModel": "theirs"}
    assert folders.manager(None, project, trusted=None).get_default_model() is None
    write(folders.agent_dir / "trust.json", {str(folders.cwd.resolve()): True})
    assert folders.manager(None, project, trusted=None).get_default_model() == "theirs"


def test_a_project_that_asks_to_be_trusted_is_not_heard(folders: Folders) -> None:
    manager = folders.manager(None, {"defaultProjectTrust": "always", "defaultModel": "theirs"}, trusted=None)
    assert manager.get_default_model() is None


def test_unreadable_trust_decisions_are_reported_and_mean_untrusted(folders: Folders) -> None:
    write(folders.agent_dir / "trust.json", "{")
    manager = folders.manager({"defaultProjectTrust": "always"}, {"defaultModel": "theirs"}, trusted=None)
    assert not manager.is_project_trusted
    assert "trust.json" in manager.diagnostics[0].message


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("cacheWarming", "off", lambda m: m.get_cache_warming()),
        ("httpProxy", "http://proxy:1", lambda m: m.get_http_proxy()),
        ("defaultProjectTrust", "always", lambda m: m.get_default_project_trust()),
    ],
)
def test_a_project_cannot_set_what_belongs_to_the_user(folders: Folders, key: str, value: str, read: Any) -> None:
    assert read(folders.manager(None, {key: value})) != value
    assert read(folders.manager({key: value})) == value


def test_what_a_project_cannot_set_is_not_complained_of_there(folders: Folders) -> None:
    assert folders.manager(None, {"httpProxy": 5}).drain_errors() == []
    assert len(folders.manager({"httpProxy": 5}, {"httpProxy": 5}).drain_errors()) == 1


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.key)
def test_a_value_of_a_wrong_type_is_told_once_and_never_used(folders: Folders, setting: table.Setting[Any]) -> None:
    bad: Any = 5 if setting.kind.label in {"object", "list"} else {"no": ["such"]}
    nested = bad
    for key in reversed(setting.path):
        nested = {key: nested}
    manager = folders.manager(nested)
    problems = manager.drain_errors()
    assert len(problems) == 1
    assert repr(setting.key) in problems[0].message
    assert str(folders.user_file) in problems[0].message
    assert manager.drain_errors() == []
    if setting.strict:
        with pytest.raises(SettingsError, match=setting.path[-1]):
            manager.get(setting)
    else:
        assert manager.get(setting) == setting.default


def test_a_group_that_is_no_object_is_told(folders: Folders) -> None:
    manager = folders.manager({"retry": 5})
    assert "'retry' must be an object" in manager.drain_errors()[0].message
    assert manager.get_retry_settings().max_retries == 3


def test_null_counts_as_unset_and_hides_the_users_value(folders: Folders) -> None:
    manager = folders.manager({"defaultModel": "m", "retry": {"maxRetries": 9}}, {"defaultModel": None, "retry": None})
    assert manager.get_default_model() is None
    assert manager.get_retry_settings().max_retries == 3
    assert manager.drain_errors() == []


@pytest.mark.parametrize("number", [True, False, float("inf"), "3", -1])
def test_what_is_not_a_count_is_not_used_as_one(number: object) -> None:
    storage = MemorySettingsStorage({"global": json.dumps({"retry": {"maxRetries": number}})})
    manager = SettingsManager.from_storage(storage)
    assert manager.get_retry_settings().max_retries == 3


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "defaultModel": oops\n}', 2, 19),
        ('{"a": 1} trailing', 1, 10),
        ('// comment\n{"a": 1}', 1, 1),
        ('{"a": NaN}', None, None),
        ('["list"]', None, None),
        ('"text"', None, None),
    ],
)
def test_a_malformed_file_is_reported_with_its_place_and_left_alone(
    folders: Folders, text: str, line: int | None, column: int | None
) -> None:
    manager = folders.manager(text, {"defaultModel": "project"})
    [problem] = manager.drain_errors()
    assert (problem.scope, problem.path, problem.line, problem.column) == ("global", folders.user_file, line, column)
    assert str(folders.user_file) in problem.message
    assert not manager.is_readable("global")
    assert manager.is_readable("project")
    assert manager.get_default_model() == "project"
    assert folders.user_file.read_text(encoding="utf-8") == text


def test_a_trailing_comma_is_explained(folders: Folders) -> None:
    [problem] = folders.manager('{"a": 1,}').drain_errors()
    assert "trailing comma" in problem.message
    assert problem.line == 1


def test_bytes_that_are_not_utf8_are_reported(folders: Folders) -> None:
    folders.agent_dir.mkdir()
    folders.user_file.write_bytes(b'{"defaultModel": "\xff"}')
    assert "not UTF-8" in folders.manager().drain_errors()[0].message


def test_a_folder_in_place_of_the_file_is_reported(folders: Folders) -> None:
    folders.user_file.mkdir(parents=True)
    assert str(folders.user_file) in folders.manager().drain_errors()[0].message


def test_problems_of_an_untrusted_project_wait_until_it_is_trusted(folders: Folders) -> None:
    manager = folders.manager(None, "{", trusted=False)
    assert manager.drain_errors() == []
    manager.set_project_trusted(trusted=True)
    assert manager.drain_errors()[0].scope == "project"


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff{}", '\ufeff{"defaultModel": "m"}'])
def test_a_byte_order_mark_and_an_empty_file_are_no_problem(folders: Folders, text: str) -> None:
    manager = folders.manager(text)
    assert manager.drain_errors() == []
    assert manager.get_default_model() == ("m" if "m" in text else None)


def test_a_reload_reads_again_drops_overrides_and_keeps_values_of_a_broken_file(folders: Folders) -> None:
    manager = folders.manager({"defaultModel": "first"})
    manager.apply_overrides({"defaultModel": "over", "cacheWarming": "off"})
    assert (manager.get_default_model(), manager.get_cache_warming()) == ("over", "off")
    write(folders.user_file, {"defaultModel": "second"})
    asyncio.run(manager.reload())
    assert (manager.get_default_model(), manager.get_cache_warming()) == ("second", "idle")
    write(folders.user_file, "{")
    asyncio.run(manager.reload())
    assert manager.get_default_model() == "second"
    assert len(manager.drain_errors()) == 1


def test_unknown_keys_are_kept_and_handed_out_as_copies(folders: Folders) -> None:
    manager = folders.manager({"future": {"deep": [1]}})
    manager.get_settings()["future"]["deep"].append(2)
    assert manager.get_settings() == {"future": {"deep": [1]}}
    assert manager.get_global_settings() == {"future": {"deep": [1]}}


def test_overrides_are_not_shared_with_their_giver() -> None:
    overrides = {"thinkingBudgets": {"low": 1}}
    manager = SettingsManager.in_memory()
    manager.apply_overrides(overrides)
    overrides["thinkingBudgets"]["low"] = 2
    assert manager.get_thinking_budgets() == {"low": 1}


@pytest.mark.parametrize(
    ("user", "project", "names"),
    [
        (None, None, ["read", "bash", "edit", "write"]),
        (["read"], None, ["read"]),
        ([], None, []),
        (["+grep"], None, ["read", "bash", "edit", "write", "grep"]),
        (["-bash"], ["+ls"], ["read", "edit", "write", "ls"]),
        (["read", "ls"], ["-ls"], ["read"]),
        (["read", "ls"], ["grep"], ["grep"]),
        (["+grep"], [], []),
        (["+grep"], ["-grep"], ["read", "bash", "edit", "write"]),
        (["+bash", "+bash"], None, ["read", "bash", "edit", "write"]),
        (["-write", "+write"], None, ["read", "bash", "edit", "write"]),
    ],
)
def test_default_tools_are_replaced_or_edited(
    folders: Folders, user: list[str] | None, project: list[str] | None, names: list[str]
) -> None:
    manager = folders.manager(
        {} if user is None else {"defaultTools": user}, {} if project is None else {"defaultTools": project}
    )
    assert manager.get_default_tools() == names


def test_a_model_override_wins_field_by_field() -> None:
    manager = SettingsManager.in_memory(
        {"compaction": {"reserveTokens": 10, "modelOverrides": {"p/m": {"keepRecentTokens": 5}, "p/n": {}}}}
    )
    assert manager.get_compaction_settings("p", "m") == CompactionSettings(
        enabled=True, reserve_tokens=10, keep_recent_tokens=5
    )
    assert manager.get_compaction_settings("p", "n").keep_recent_tokens == 20000
    assert manager.get_compaction_settings("p", "other").reserve_tokens == 10


@pytest.mark.parametrize(
    ("compaction", "named"),
    [
        ({"reserveTokens": -1}, "reserveTokens"),
        ({"reserveTokens": 1.5}, "reserveTokens"),
        ({"keepRecentTokens": "many"}, "keepRecentTokens"),
        ({"modelOverrides": {"p/m": {"reserveTokens": True}}}, "p/m.reserveTokens"),
        ({"modelOverrides": {"p/m": 5}}, "p/m"),
        ({"modelOverrides": []}, "modelOverrides"),
    ],
)
def test_bad_compaction_numbers_raise_when_they_are_used(compaction: object, named: str) -> None:
    manager = SettingsManager.in_memory({"compaction": compaction})
    with pytest.raises(SettingsError, match="compaction") as caught:
        manager.get_compaction_settings("p", "m")
    assert named in str(caught.value)


@pytest.mark.parametrize(("value", "ms"), [(0, 0), ("disabled", 0), (1500, 1500), (1500.0, 1500)])
def test_timeouts_can_be_switched_off(value: object, ms: int) -> None:
    manager = SettingsManager.in_memory({"httpIdleTimeoutMs": value, "websocketConnectTimeoutMs": value})
    assert manager.get_http_idle_timeout_ms() == ms
    assert manager.get_websocket_connect_timeout_ms() == ms
    assert manager.get_provider_retry_settings().timeout_ms == ms


@pytest.mark.parametrize("value", [-1, "soon", True, {}])
def test_a_bad_timeout_raises_when_it_is_used(value: object) -> None:
    manager = SettingsManager.in_memory({"httpIdleTimeoutMs": value})
    with pytest.raises(SettingsError, match="httpIdleTimeoutMs"):
        manager.get_http_idle_timeout_ms()


def test_paths_start_at_home_where_they_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    manager = SettingsManager.in_memory({"sessionDir": "~/s", "shellPath": "~/sh"})
    assert manager.get_session_dir() == tmp_path / "s"
    assert manager.get_shell_path() == str(tmp_path / "sh")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"queueMode": "all"}, {"steeringMode": "all"}),
        ({"queueMode": "all", "steeringMode": "one-at-a-time"}, {"steeringMode": "one-at-a-time"}),
        ({"websockets": True}, {"transport": "websocket"}),
        ({"websockets": False}, {"transport": "sse"}),
        ({"websockets": True, "transport": "auto"}, {"transport": "auto"}),
        (
            {"skills": {"enableSkillCommands": False, "customDirectories": ["a"]}},
            {"skills": ["a"], "enableSkillCommands": False},
        ),
        ({"skills": {"enableSkillCommands": True}}, {"enableSkillCommands": True}),
        ({"skills": ["a"]}, {"skills": ["a"]}),
        ({"retry": {"maxDelayMs": 5}}, {"retry": {"provider": {"maxRetryDelayMs": 5}}}),
        (
            {"retry": {"maxDelayMs": 5, "provider": {"maxRetryDelayMs": 6}}},
            {"retry": {"provider": {"maxRetryDelayMs": 6}}},
        ),
    ],
)
def test_keys_of_older_versions_are_understood(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = json.dumps(old)
    assert migrate_settings(old) == new
    assert json.dumps(old) == before


def test_migrated_files_are_not_rewritten(folders: Folders) -> None:
    manager = folders.manager({"queueMode": "all"})
    assert manager.get_steering_mode() == "all"
    assert json.loads(folders.user_file.read_text(encoding="utf-8")) == {"queueMode": "all"}


def test_every_named_getter_reads_its_setting() -> None:
    manager = SettingsManager.in_memory(
        {
            "defaultProvider": "p",
            "defaultThinkingLevel": "high",
            "modelThinkingLevels": {"p/m": "low"},
            "enabledModels": ["p/*"],
            "transport": "sse",
            "followUpMode": "all",
            "shellCommandPrefix": "set -e",
            "images": {"autoResize": False, "blockImages": True},
            "httpProxy": "http://h:1",
            "retry": {"provider": {"maxRetries": 2, "maxRetryDelayMs": 9}},
        }
    )
    assert manager.get_default_provider() == "p"
    assert manager.get_default_thinking_level() == "high"
    assert manager.get_model_thinking_level("p", "m") == "low"
    assert manager.get_model_thinking_level("p", "n") is None
    assert manager.get_enabled_models() == ["p/*"]
    assert manager.get_transport() == "sse"
    assert manager.get_follow_up_mode() == "all"
    assert manager.get_shell_command_prefix() == "set -e"
    assert not manager.get_image_auto_resize()
    assert manager.get_block_images()
    assert manager.get_http_proxy() == "http://h:1"
    assert manager.get_provider_retry_settings().max_retries == 2
    assert manager.get_provider_retry_settings().max_retry_delay_ms == 9


def test_defaults_cannot_be_changed_through_a_value() -> None:
    manager = SettingsManager.in_memory()
    manager.get_thinking_budgets()["low"] = 1
    assert manager.get_thinking_budgets() == {}


def test_every_key_stands_once_in_the_table() -> None:
    keys = [setting.key for setting in SETTINGS]
    assert len(keys) == len(set(keys))
    constants = {value for value in vars(table).values() if isinstance(value, table.Setting)}
    assert constants == set(SETTINGS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(st.text(max_size=2), json_values, max_size=4)


@given(objects, objects, objects)
def test_merging_is_associative_and_the_override_is_always_found(a: Any, b: Any, c: Any) -> None:
    before = json.dumps([a, b])
    merged = merge_objects(a, b)
    assert json.dumps([a, b]) == before
    assert merge_objects(merged, b) == merged
    assert set(merged) == set(a) | set(b)
    assert all(merged[key] == value for key, value in b.items() if not isinstance(value, dict))
    assert merge_objects(merge_objects(a, b), c) == merge_objects(a, merge_objects(b, c)) or _mixed(a, b, c)


def _mixed(*layers: dict[str, Any]) -> bool:
    """A key that is an object in one layer and something else in the next is replaced, which order can change."""
    kinds: dict[str, set[bool]] = {}
    for layer in layers:
        for key, value in layer.items():
            kinds.setdefault(key, set()).add(isinstance(value, dict))
            if isinstance(value, dict):
                for inner, item in value.items():
                    kinds.setdefault(f"{key}.{inner}", set()).add(isinstance(item, dict))
    return any(len(kind) > 1 for kind in kinds.values())


@given(st.lists(st.sampled_from(["read", "+read", "-read", "ls", "+ls", "-ls"]), max_size=6))
def test_a_tool_list_never_holds_a_name_twice(entries: list[str]) -> None:
    names = edit_tool_names(["read", "bash"], entries)
    assert len(names) == len(set(names))
    assert all(not name.startswith(("+", "-")) for name in names)


def test_only_pure_edit_lists_are_appended() -> None:
    base = {"defaultTools": ["read"]}
    assert merge_settings(base, {"defaultTools": ["+ls"]})["defaultTools"] == ["read", "+ls"]
    assert merge_settings(base, {"defaultTools": ["+ls", "bash"]})["defaultTools"] == ["+ls", "bash"]
    assert merge_settings(base, {"defaultTools": "oops"})["defaultTools"] == "oops"
