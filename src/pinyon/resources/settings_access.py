"""A getter and a setter for every setting, named after its key: `get_retry_max_retries`, `set_retry_max_retries`.

A setter takes the value, or None to take the setting out of the file, and the scope (`"global"` or `"project"`).
`SettingsManager` adds getters for values that several settings make together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from pinyon.resources import setting as _setting
from pinyon.resources.setting import Setting
from pinyon.resources.settings_storage import SettingsScope

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class _Store(Protocol):
    def get(self, setting: Setting[T]) -> T: ...

    def set(self, setting: Setting[T], value: T | None, *, scope: SettingsScope = "global") -> None: ...


class SetValue(Protocol[T_contra]):
    """Stores a value; None takes the setting out."""

    def __call__(self, value: T_contra | None, *, scope: SettingsScope = "global") -> None:
        """Raises like `SettingsManager.set`."""
        ...


class Reads(Generic[T]):
    """A getter of one setting."""

    __slots__ = ("_of",)

    def __init__(self, of: Setting[T]) -> None:
        self._of = of

    def __get__(self, store: Any, owner: type[Any]) -> Callable[[], T]:
        return lambda: _read(store, self._of)


class Writes(Generic[T]):
    """A setter of one setting."""

    __slots__ = ("_of",)

    def __init__(self, of: Setting[T]) -> None:
        self._of = of

    def __get__(self, store: Any, owner: type[Any]) -> SetValue[T]:
        def write(value: T | None, *, scope: SettingsScope = "global") -> None:
            _write(store, self._of, value, scope)

        return write


def _read(store: _Store, setting: Setting[T]) -> T:
    return store.get(setting)


def _write(store: _Store, setting: Setting[T], value: T | None, scope: SettingsScope) -> None:
    store.set(setting, value, scope=scope)


class SettingAccess:
    """The getters and setters, in the order of the table."""

    set_default_provider = Writes(_setting.DEFAULT_PROVIDER)
    set_default_model = Writes(_setting.DEFAULT_MODEL)
    set_default_thinking_level = Writes(_setting.DEFAULT_THINKING_LEVEL)
    get_model_thinking_levels = Reads(_setting.MODEL_THINKING_LEVELS)
    set_model_thinking_levels = Writes(_setting.MODEL_THINKING_LEVELS)
    set_thinking_budgets = Writes(_setting.THINKING_BUDGETS)
    set_enabled_models = Writes(_setting.ENABLED_MODELS)
    set_transport = Writes(_setting.TRANSPORT)
    get_oauth = Reads(_setting.OAUTH)
    set_oauth = Writes(_setting.OAUTH)
    set_http_proxy = Writes(_setting.HTTP_PROXY)
    set_models_url = Writes(_setting.MODELS_URL)
    set_http_idle_timeout_ms = Writes(_setting.HTTP_IDLE_TIMEOUT_MS)
    set_websocket_connect_timeout_ms = Writes(_setting.WEBSOCKET_CONNECT_TIMEOUT_MS)
    set_steering_mode = Writes(_setting.STEERING_MODE)
    set_follow_up_mode = Writes(_setting.FOLLOW_UP_MODE)
    set_session_dir = Writes(_setting.SESSION_DIR)
    set_default_tools = Writes(_setting.DEFAULT_TOOLS)
    set_default_project_trust = Writes(_setting.DEFAULT_PROJECT_TRUST)
    get_retry_enabled = Reads(_setting.RETRY_ENABLED)
    set_retry_enabled = Writes(_setting.RETRY_ENABLED)
    get_retry_max_retries = Reads(_setting.RETRY_MAX_RETRIES)
    set_retry_max_retries = Writes(_setting.RETRY_MAX_RETRIES)
    get_retry_base_delay_ms = Reads(_setting.RETRY_BASE_DELAY_MS)
    set_retry_base_delay_ms = Writes(_setting.RETRY_BASE_DELAY_MS)
    get_retry_max_agent_delay_ms = Reads(_setting.RETRY_MAX_AGENT_DELAY_MS)
    set_retry_max_agent_delay_ms = Writes(_setting.RETRY_MAX_AGENT_DELAY_MS)
    get_retry_provider_timeout_ms = Reads(_setting.RETRY_PROVIDER_TIMEOUT_MS)
    set_retry_provider_timeout_ms = Writes(_setting.RETRY_PROVIDER_TIMEOUT_MS)
    get_retry_provider_max_retries = Reads(_setting.RETRY_PROVIDER_MAX_RETRIES)
    set_retry_provider_max_retries = Writes(_setting.RETRY_PROVIDER_MAX_RETRIES)
    get_retry_provider_max_retry_delay_ms = Reads(_setting.RETRY_PROVIDER_MAX_RETRY_DELAY_MS)
    set_retry_provider_max_retry_delay_ms = Writes(_setting.RETRY_PROVIDER_MAX_RETRY_DELAY_MS)
    get_compaction_enabled = Reads(_setting.COMPACTION_ENABLED)
    set_compaction_enabled = Writes(_setting.COMPACTION_ENABLED)
    get_compaction_reserve_tokens = Reads(_setting.COMPACTION_RESERVE_TOKENS)
    set_compaction_reserve_tokens = Writes(_setting.COMPACTION_RESERVE_TOKENS)
    get_compaction_keep_recent_tokens = Reads(_setting.COMPACTION_KEEP_RECENT_TOKENS)
    set_compaction_keep_recent_tokens = Writes(_setting.COMPACTION_KEEP_RECENT_TOKENS)
    get_compaction_model_overrides = Reads(_setting.COMPACTION_MODEL_OVERRIDES)
    set_compaction_model_overrides = Writes(_setting.COMPACTION_MODEL_OVERRIDES)
    set_compaction_model = Writes(_setting.COMPACTION_MODEL)
    set_branch_summary_reserve_tokens = Writes(_setting.BRANCH_SUMMARY_RESERVE_TOKENS)
    set_cache_warming = Writes(_setting.CACHE_WARMING)
    set_shell_path = Writes(_setting.SHELL_PATH)
    set_shell_command_prefix = Writes(_setting.SHELL_COMMAND_PREFIX)
    get_images_auto_resize = Reads(_setting.IMAGES_AUTO_RESIZE)
    set_images_auto_resize = Writes(_setting.IMAGES_AUTO_RESIZE)
    get_images_block_images = Reads(_setting.IMAGES_BLOCK_IMAGES)
    set_images_block_images = Writes(_setting.IMAGES_BLOCK_IMAGES)
    set_packages = Writes(_setting.PACKAGES)
    set_extensions = Writes(_setting.EXTENSIONS)
    set_skills = Writes(_setting.SKILLS)
    set_prompts = Writes(_setting.PROMPTS)
    set_themes = Writes(_setting.THEMES)
    get_enable_skill_commands = Reads(_setting.ENABLE_SKILL_COMMANDS)
    set_enable_skill_commands = Writes(_setting.ENABLE_SKILL_COMMANDS)
    get_npm_command = Reads(_setting.NPM_COMMAND)
    set_npm_command = Writes(_setting.NPM_COMMAND)
    get_pip_command = Reads(_setting.PIP_COMMAND)
    set_pip_command = Writes(_setting.PIP_COMMAND)
    get_self_update_command = Reads(_setting.SELF_UPDATE_COMMAND)
    set_self_update_command = Writes(_setting.SELF_UPDATE_COMMAND)
    get_hide_thinking_block = Reads(_setting.HIDE_THINKING_BLOCK)
    set_hide_thinking_block = Writes(_setting.HIDE_THINKING_BLOCK)
    get_show_cache_miss_notices = Reads(_setting.SHOW_CACHE_MISS_NOTICES)
    set_show_cache_miss_notices = Writes(_setting.SHOW_CACHE_MISS_NOTICES)
    get_external_editor = Reads(_setting.EXTERNAL_EDITOR)
    set_external_editor = Writes(_setting.EXTERNAL_EDITOR)
    get_double_escape_action = Reads(_setting.DOUBLE_ESCAPE_ACTION)
    set_double_escape_action = Writes(_setting.DOUBLE_ESCAPE_ACTION)
    get_tree_filter_mode = Reads(_setting.TREE_FILTER_MODE)
    set_tree_filter_mode = Writes(_setting.TREE_FILTER_MODE)
    get_theme = Reads(_setting.THEME)
    set_theme = Writes(_setting.THEME)
    get_quiet_startup = Reads(_setting.QUIET_STARTUP)
    set_quiet_startup = Writes(_setting.QUIET_STARTUP)
    get_tui_mode = Reads(_setting.TUI_MODE)
    set_tui_mode = Writes(_setting.TUI_MODE)
    get_fullscreen_exit_output = Reads(_setting.FULLSCREEN_EXIT_OUTPUT)
    set_fullscreen_exit_output = Writes(_setting.FULLSCREEN_EXIT_OUTPUT)
    get_fullscreen_scrollbar = Reads(_setting.FULLSCREEN_SCROLLBAR)
    set_fullscreen_scrollbar = Writes(_setting.FULLSCREEN_SCROLLBAR)
    get_fullscreen_copy_on_select = Reads(_setting.FULLSCREEN_COPY_ON_SELECT)
    set_fullscreen_copy_on_select = Writes(_setting.FULLSCREEN_COPY_ON_SELECT)
    get_fullscreen_wheel_scroll_lines = Reads(_setting.FULLSCREEN_WHEEL_SCROLL_LINES)
    set_fullscreen_wheel_scroll_lines = Writes(_setting.FULLSCREEN_WHEEL_SCROLL_LINES)
    get_editor_padding_x = Reads(_setting.EDITOR_PADDING_X)
    get_output_pad = Reads(_setting.OUTPUT_PAD)
    set_output_pad = Writes(_setting.OUTPUT_PAD)
    get_autocomplete_max_visible = Reads(_setting.AUTOCOMPLETE_MAX_VISIBLE)
    get_show_hardware_cursor = Reads(_setting.SHOW_HARDWARE_CURSOR)
    set_show_hardware_cursor = Writes(_setting.SHOW_HARDWARE_CURSOR)
    get_terminal_show_images = Reads(_setting.TERMINAL_SHOW_IMAGES)
    set_terminal_show_images = Writes(_setting.TERMINAL_SHOW_IMAGES)
    get_terminal_image_width_cells = Reads(_setting.TERMINAL_IMAGE_WIDTH_CELLS)
    set_terminal_image_width_cells = Writes(_setting.TERMINAL_IMAGE_WIDTH_CELLS)
    get_terminal_clear_on_shrink = Reads(_setting.TERMINAL_CLEAR_ON_SHRINK)
    set_terminal_clear_on_shrink = Writes(_setting.TERMINAL_CLEAR_ON_SHRINK)
    get_terminal_show_terminal_progress = Reads(_setting.TERMINAL_SHOW_TERMINAL_PROGRESS)
    set_terminal_show_terminal_progress = Writes(_setting.TERMINAL_SHOW_TERMINAL_PROGRESS)
    get_terminal_notifications = Reads(_setting.TERMINAL_NOTIFICATIONS)
    set_terminal_notifications = Writes(_setting.TERMINAL_NOTIFICATIONS)
    get_terminal_notify_command = Reads(_setting.TERMINAL_NOTIFY_COMMAND)
    set_terminal_notify_command = Writes(_setting.TERMINAL_NOTIFY_COMMAND)
    get_terminal_title = Reads(_setting.TERMINAL_TITLE)
    set_terminal_title = Writes(_setting.TERMINAL_TITLE)
    get_terminal_clipboard = Reads(_setting.TERMINAL_CLIPBOARD)
    set_terminal_clipboard = Writes(_setting.TERMINAL_CLIPBOARD)
    get_terminal_hyperlinks = Reads(_setting.TERMINAL_HYPERLINKS)
    set_terminal_hyperlinks = Writes(_setting.TERMINAL_HYPERLINKS)
    get_terminal_true_color = Reads(_setting.TERMINAL_TRUE_COLOR)
    set_terminal_true_color = Writes(_setting.TERMINAL_TRUE_COLOR)
    get_terminal_images = Reads(_setting.TERMINAL_IMAGES)
    set_terminal_images = Writes(_setting.TERMINAL_IMAGES)
    get_markdown_code_block_indent = Reads(_setting.MARKDOWN_CODE_BLOCK_INDENT)
    set_markdown_code_block_indent = Writes(_setting.MARKDOWN_CODE_BLOCK_INDENT)
    get_markdown_mermaid = Reads(_setting.MARKDOWN_MERMAID)
    set_markdown_mermaid = Writes(_setting.MARKDOWN_MERMAID)
    get_warnings_anthropic_extra_usage = Reads(_setting.WARNINGS_ANTHROPIC_EXTRA_USAGE)
    set_warnings_anthropic_extra_usage = Writes(_setting.WARNINGS_ANTHROPIC_EXTRA_USAGE)
    get_collapse_changelog = Reads(_setting.COLLAPSE_CHANGELOG)
    set_collapse_changelog = Writes(_setting.COLLAPSE_CHANGELOG)
    get_branch_summary_skip_prompt = Reads(_setting.BRANCH_SUMMARY_SKIP_PROMPT)
    set_branch_summary_skip_prompt = Writes(_setting.BRANCH_SUMMARY_SKIP_PROMPT)
    get_codemode_mode = Reads(_setting.CODEMODE_MODE)
    set_codemode_mode = Writes(_setting.CODEMODE_MODE)
    get_codemode_inline_budget = Reads(_setting.CODEMODE_INLINE_BUDGET)
    set_codemode_inline_budget = Writes(_setting.CODEMODE_INLINE_BUDGET)
    get_session_share_destination = Reads(_setting.SESSION_SHARE_DESTINATION)
    set_session_share_destination = Writes(_setting.SESSION_SHARE_DESTINATION)
    get_enable_install_telemetry = Reads(_setting.ENABLE_INSTALL_TELEMETRY)
    set_enable_install_telemetry = Writes(_setting.ENABLE_INSTALL_TELEMETRY)
    get_enable_analytics = Reads(_setting.ENABLE_ANALYTICS)
    set_enable_analytics = Writes(_setting.ENABLE_ANALYTICS)
    get_tracking_id = Reads(_setting.TRACKING_ID)
    set_tracking_id = Writes(_setting.TRACKING_ID)
    get_last_changelog_version = Reads(_setting.LAST_CHANGELOG_VERSION)
    set_last_changelog_version = Writes(_setting.LAST_CHANGELOG_VERSION)
    get_extension_changelog_versions = Reads(_setting.EXTENSION_CHANGELOG_VERSIONS)
    set_extension_changelog_versions = Writes(_setting.EXTENSION_CHANGELOG_VERSIONS)

    def set_editor_padding_x(self: _Store, columns: int, *, scope: SettingsScope = "global") -> None:
        """Blank columns beside the editor's text; values outside of 0 to 3 are moved into it."""
        self.set(_setting.EDITOR_PADDING_X, min(max(columns, 0), 3), scope=scope)

    def set_autocomplete_max_visible(self: _Store, rows: int, *, scope: SettingsScope = "global") -> None:
        """Rows of the completion list; values outside of 3 to 20 are moved into it."""
        self.set(_setting.AUTOCOMPLETE_MAX_VISIBLE, min(max(rows, 3), 20), scope=scope)
