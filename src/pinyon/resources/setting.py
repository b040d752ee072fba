"""The table of every setting: key, type, default, the files that may set it, and how two files combine.

Settings are read with `SettingsManager.get(SETTING)` or its named getters; `docs/settings.md` is made from this table.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, get_args

from pinyon.ai.model import ThinkingLevel
from pinyon.ai.option import Transport
from pinyon.resources.setting_kind import (
    BUDGETS,
    CLIENTS,
    FLAG,
    LEVELS,
    LIST,
    OBJECT,
    TEXT,
    TEXTS,
    TIMEOUT,
    Kind,
    choice,
    either,
    strict_whole,
    whole,
)

T = TypeVar("T")

SettingScope = Literal["both", "global", "combined"]
"""`both`: the project's value wins; `global`: only the user's file counts; `combined`: both lists are used."""

SettingMerge = Literal["replace", "deep", "edits"]
"""`deep`: objects merge key by key; `edits`: a list of only `+x`/`-x` entries is appended, else it replaces."""

QueueMode = Literal["all", "one-at-a-time"]
ProjectTrustDefault = Literal["ask", "always", "never"]
CacheWarming = Literal["off", "streaming", "idle"]


class Setting(Generic[T]):
    """One setting. `key` is its dotted path in the file. A `strict` one raises when it is used with a bad value;
    others fall back to their default with a warning.
    """

    __slots__ = ("before_trust", "default", "doc", "key", "kind", "merge", "scope", "strict")

    def __init__(
        self,
        key: str,
        kind: Kind[T],
        default: T,
        doc: str,
        *,
        scope: SettingScope = "both",
        merge: SettingMerge = "replace",
        strict: bool = False,
        before_trust: bool = False,
    ) -> None:
        self.key = key
        self.kind = kind
        self.default = default
        self.doc = doc
        self.scope = scope
        self.merge = merge
        self.strict = strict
        self.before_trust = before_trust

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to the value."""
        return tuple(self.key.split("."))


DEFAULT_PROVIDER: Setting[str | None] = Setting("defaultProvider", TEXT, None, "provider of new sessions")
DEFAULT_MODEL: Setting[str | None] = Setting("defaultModel", TEXT, None, "model id of new sessions")
DEFAULT_THINKING_LEVEL: Setting[ThinkingLevel | None] = Setting(
    "defaultThinkingLevel", choice(*get_args(ThinkingLevel)), None, "thinking level of new sessions; `medium` if unset"
)
MODEL_THINKING_LEVELS: Setting[dict[str, ThinkingLevel]] = Setting(
    "modelThinkingLevels", LEVELS, {}, "thinking level per model, before the default level", merge="deep"
)
THINKING_BUDGETS: Setting[dict[str, int]] = Setting(
    "thinkingBudgets", BUDGETS, {}, "tokens that a level may think, where the server takes a budget", merge="deep"
)
ENABLED_MODELS: Setting[list[str] | None] = Setting(
    "enabledModels", TEXTS, None, "patterns of the models to offer, as for `--models`; all if unset"
)
TRANSPORT: Setting[Transport] = Setting("transport", choice(*get_args(Transport)), "auto", "how answers are streamed")
OAUTH: Setting[dict[str, str]] = Setting(
    "oauth", CLIENTS, {}, "OAuth client ids of your own, for sign-ins that need one", scope="global", merge="deep"
)
HTTP_PROXY: Setting[str | None] = Setting(
    "httpProxy", TEXT, None, "proxy for HTTP and HTTPS where the environment names none", scope="global"
)
MODELS_URL: Setting[str | None] = Setting(
    "modelsUrl", TEXT, None, "catalogue server that `pinyon update --models` asks; none by default", scope="global"
)
HTTP_IDLE_TIMEOUT_MS: Setting[int] = Setting(
    "httpIdleTimeoutMs", TIMEOUT, 300_000, "longest silence of a model server; 0 waits for ever", strict=True
)
WEBSOCKET_CONNECT_TIMEOUT_MS: Setting[int] = Setting(
    "websocketConnectTimeoutMs", TIMEOUT, 15_000, "longest wait for a WebSocket connection", strict=True
)

STEERING_MODE: Setting[QueueMode] = Setting(
    "steeringMode", choice(*get_args(QueueMode)), "one-at-a-time", "how many steering messages a turn takes"
)
FOLLOW_UP_MODE: Setting[QueueMode] = Setting(
    "followUpMode", choice(*get_args(QueueMode)), "one-at-a-time", "how many queued follow-ups a turn takes"
)
SESSION_DIR: Setting[str | None] = Setting(
    "sessionDir", TEXT, None, "folder for sessions; `--session-dir` and the environment win", before_trust=True
)
DEFAULT_TOOLS: Setting[list[str] | None] = Setting(
    "defaultTools",
    TEXTS,
    None,
    "tools of new sessions, `read bash edit write` if unset; `+x` and `-x` change that list, `[]` means none",
    merge="edits",
)
DEFAULT_PROJECT_TRUST: Setting[ProjectTrustDefault] = Setting(
    "defaultProjectTrust",
    choice(*get_args(ProjectTrustDefault)),
    "ask",
    "whether projects without a saved decision are trusted",
    scope="global",
)

RETRY_ENABLED: Setting[bool] = Setting("retry.enabled", FLAG, True, "ask again after a failure that may pass")
RETRY_MAX_RETRIES: Setting[int] = Setting("retry.maxRetries", whole(), 3, "how often an answer is asked for again")
RETRY_BASE_DELAY_MS: Setting[int] = Setting(
    "retry.baseDelayMs", whole(unit="milliseconds"), 2_000, "wait before the first repeat; doubles each time"
)
RETRY_MAX_AGENT_DELAY_MS: Setting[int] = Setting(
    "retry.maxAgentDelayMs", whole(unit="milliseconds"), 60_000, "longest wait before a repeat"
)
RETRY_PROVIDER_TIMEOUT_MS: Setting[int | None] = Setting(
    "retry.provider.timeoutMs", whole(unit="milliseconds"), None, "timeout of one request; the idle timeout if unset"
)
RETRY_PROVIDER_MAX_RETRIES: Setting[int] = Setting(
    "retry.provider.maxRetries", whole(), 0, "repeats of one HTTP request before its answer has begun"
)
RETRY_PROVIDER_MAX_RETRY_DELAY_MS: Setting[int] = Setting(
    "retry.provider.maxRetryDelayMs",
    whole(unit="milliseconds"),
    60_000,
    "longest wait that a server may ask for; longer ones fail",
)

COMPACTION_ENABLED: Setting[bool] = Setting(
    "compaction.enabled", FLAG, True, "summarise old history when the context is full"
)
COMPACTION_RESERVE_TOKENS: Setting[int] = Setting(
    "compaction.reserveTokens", strict_whole(), 16_384, "tokens kept free for the answer", strict=True
)
COMPACTION_KEEP_RECENT_TOKENS: Setting[int] = Setting(
    "compaction.keepRecentTokens", strict_whole(), 20_000, "tokens of recent history that stay as they are", strict=True
)
COMPACTION_MODEL_OVERRIDES: Setting[dict[str, Any]] = Setting(
    "compaction.modelOverrides",
    OBJECT,
    {},
    "`reserveTokens` and `keepRecentTokens` per `provider/id`",
    merge="deep",
    strict=True,
)
COMPACTION_MODEL: Setting[str | None] = Setting(
    "compaction.model", TEXT, None, "`provider/id` of the model that writes summaries; default: the session's own"
)
BRANCH_SUMMARY_RESERVE_TOKENS: Setting[int] = Setting(
    "branchSummary.reserveTokens", whole(), 16_384, "tokens kept free when a branch is summarised"
)
CACHE_WARMING: Setting[CacheWarming] = Setting(
    "cacheWarming",
    choice(*get_args(CacheWarming)),
    "idle",
    "keep the provider's prompt cache alive: never, while answers stream, or also while idle",
    scope="global",
)

SHELL_PATH: Setting[str | None] = Setting("shellPath", TEXT, None, "shell for commands; found by itself if unset")
SHELL_COMMAND_PREFIX: Setting[str | None] = Setting(
    "shellCommandPrefix", TEXT, None, "line put before every command, such as a profile to source"
)
IMAGES_AUTO_RESIZE: Setting[bool] = Setting("images.autoResize", FLAG, True, "shrink images to what the model takes")
IMAGES_BLOCK_IMAGES: Setting[bool] = Setting("images.blockImages", FLAG, False, "never send images to a model")

PACKAGES: Setting[list[Any]] = Setting("packages", LIST, [], "packages to load", scope="combined")
EXTENSIONS: Setting[list[Any]] = Setting("extensions", LIST, [], "extension files and filters", scope="combined")
SKILLS: Setting[list[Any]] = Setting("skills", LIST, [], "skill files and filters", scope="combined")
PROMPTS: Setting[list[Any]] = Setting("prompts", LIST, [], "prompt template files and filters", scope="combined")
THEMES: Setting[list[Any]] = Setting("themes", LIST, [], "theme files and filters", scope="combined")
ENABLE_SKILL_COMMANDS: Setting[bool] = Setting("enableSkillCommands", FLAG, True, "offer skills as `/skill:name`")
NPM_COMMAND: Setting[list[str] | None] = Setting("npmCommand", TEXTS, None, "command that installs npm packages")
PIP_COMMAND: Setting[list[str] | None] = Setting("pipCommand", TEXTS, None, "command that installs Python packages")
SELF_UPDATE_COMMAND: Setting[list[str] | None] = Setting(
    "selfUpdateCommand", TEXTS, None, "command that updates the program itself", scope="global"
)

_AUTO_FLAG: Kind[Any] = either(FLAG, choice("auto"))

HIDE_THINKING_BLOCK: Setting[bool] = Setting("hideThinkingBlock", FLAG, False, "fold the model's thinking")
SHOW_CACHE_MISS_NOTICES: Setting[bool] = Setting(
    "showCacheMissNotices", FLAG, False, "tell when the prompt cache was missed"
)
EXTERNAL_EDITOR: Setting[str | None] = Setting(
    "externalEditor", TEXT, None, "editor command; `$VISUAL`, `$EDITOR` if unset"
)
DOUBLE_ESCAPE_ACTION: Setting[str] = Setting(
    "doubleEscapeAction", choice("tree", "fork", "none"), "tree", "what two Escapes on an empty editor open"
)
TREE_FILTER_MODE: Setting[str] = Setting(
    "treeFilterMode",
    choice("default", "no-tools", "user-only", "labeled-only", "all"),
    "default",
    "first filter of the session tree",
)
THEME: Setting[str] = Setting("theme", TEXT, "system", "colour theme, or a `light/dark` pair")
QUIET_STARTUP: Setting[Any] = Setting("quietStartup", either(FLAG, choice("header")), False, "say less at the start")
TUI_MODE: Setting[str] = Setting("tuiMode", choice("fullscreen", "regular"), "fullscreen", "how the screen is drawn")
FULLSCREEN_EXIT_OUTPUT: Setting[str] = Setting(
    "fullscreenExitOutput", choice("transcript", "resume-hint"), "transcript", "what is left on the terminal at exit"
)
FULLSCREEN_SCROLLBAR: Setting[str] = Setting(
    "fullscreenScrollbar", choice("auto", "always", "hidden"), "auto", "scrollbar"
)
FULLSCREEN_COPY_ON_SELECT: Setting[bool] = Setting("fullscreenCopyOnSelect", FLAG, True, "copy what the mouse selects")
FULLSCREEN_WHEEL_SCROLL_LINES: Setting[Any] = Setting(
    "fullscreenWheelScrollLines", either(whole(1, 100), choice("auto")), "auto", "lines per turn of the wheel"
)
EDITOR_PADDING_X: Setting[int] = Setting("editorPaddingX", whole(0, 3), 0, "blank columns beside the editor's text")
OUTPUT_PAD: Setting[int] = Setting("outputPad", choice(0, 1), 1, "blank columns beside the transcript")
AUTOCOMPLETE_MAX_VISIBLE: Setting[int] = Setting(
    "autocompleteMaxVisible", whole(3, 20), 5, "rows of the completion list"
)
SHOW_HARDWARE_CURSOR: Setting[bool | None] = Setting(
    "showHardwareCursor", FLAG, None, "show the terminal's own cursor; `PI_HARDWARE_CURSOR` if unset"
)
TERMINAL_SHOW_IMAGES: Setting[bool] = Setting("terminal.showImages", FLAG, True, "draw images where the terminal can")
TERMINAL_IMAGE_WIDTH_CELLS: Setting[int] = Setting(
    "terminal.imageWidthCells", whole(1), 60, "width of images in columns"
)
TERMINAL_CLEAR_ON_SHRINK: Setting[bool | None] = Setting(
    "terminal.clearOnShrink", FLAG, None, "clear rows that are no longer used; `PI_CLEAR_ON_SHRINK` if unset"
)
TERMINAL_SHOW_TERMINAL_PROGRESS: Setting[bool] = Setting(
    "terminal.showTerminalProgress", FLAG, False, "show progress in the terminal's tab or task bar"
)
TERMINAL_NOTIFICATIONS: Setting[str] = Setting(
    "terminal.notifications",
    choice("off", "bell", "desktop", "both"),
    "off",
    "tell when a run ends or a question waits while another window has the focus",
)
TERMINAL_NOTIFY_COMMAND: Setting[str | None] = Setting(
    "terminal.notifyCommand", TEXT, None, "program that is run with the notice as its last word", scope="global"
)
TERMINAL_TITLE: Setting[bool] = Setting("terminal.title", FLAG, True, "name the window after session and folder")
TERMINAL_CLIPBOARD: Setting[str] = Setting(
    "terminal.clipboard",
    choice("auto", "always", "never"),
    "auto",
    "copy through the terminal (OSC 52): where there is no other way and over SSH, always, or never",
)
TERMINAL_HYPERLINKS: Setting[Any] = Setting("terminal.hyperlinks", _AUTO_FLAG, "auto", "clickable links")
TERMINAL_TRUE_COLOR: Setting[Any] = Setting("terminal.trueColor", _AUTO_FLAG, "auto", "24-bit colours")
TERMINAL_IMAGES: Setting[Any] = Setting(
    "terminal.images", choice("kitty", "iterm2", "auto", False), "auto", "image protocol of the terminal"
)
MARKDOWN_CODE_BLOCK_INDENT: Setting[str] = Setting("markdown.codeBlockIndent", TEXT, "  ", "text before lines of code")
MARKDOWN_MERMAID: Setting[str] = Setting(
    "markdown.mermaid", choice("off", "final", "streaming"), "streaming", "when Mermaid diagrams are drawn"
)
WARNINGS_ANTHROPIC_EXTRA_USAGE: Setting[bool] = Setting(
    "warnings.anthropicExtraUsage", FLAG, True, "warn that a subscription is billed beyond its limit"
)
COLLAPSE_CHANGELOG: Setting[bool] = Setting(
    "collapseChangelog", FLAG, False, "fold the list of changes after an update"
)
BRANCH_SUMMARY_SKIP_PROMPT: Setting[bool] = Setting(
    "branchSummary.skipPrompt", FLAG, False, "do not ask whether to summarise a branch that is left"
)
CODEMODE_MODE: Setting[str] = Setting(
    "codemode.mode", choice("on", "only"), "on", "tool calls from code beside or instead"
)
CODEMODE_INLINE_BUDGET: Setting[int] = Setting(
    "codemode.inlineBudget", whole(), 3_000, "tokens of tool descriptions in the prompt"
)
SESSION_SHARE_DESTINATION: Setting[str] = Setting(
    "sessionShareDestination", choice("auto", "gist", "radius"), "auto", "where shared sessions go"
)
ENABLE_INSTALL_TELEMETRY: Setting[bool] = Setting("enableInstallTelemetry", FLAG, False, "nothing is ever sent")
ENABLE_ANALYTICS: Setting[bool] = Setting("enableAnalytics", FLAG, False, "nothing is ever sent")
TRACKING_ID: Setting[str | None] = Setting("trackingId", TEXT, None, "kept for pi")
DEVICE_ID: Setting[str | None] = Setting(
    "deviceId", TEXT, None, "names this installation to OpenAI when you sign in there", scope="global"
)
LAST_CHANGELOG_VERSION: Setting[str | None] = Setting("lastChangelogVersion", TEXT, None, "kept for pi")
EXTENSION_CHANGELOG_VERSIONS: Setting[dict[str, Any]] = Setting(
    "extensionChangelogVersions", OBJECT, {}, "kept for pi", merge="deep"
)

GROUPS: dict[str, tuple[Setting[Any], ...]] = {
    "Models": (
        DEFAULT_PROVIDER,
        DEFAULT_MODEL,
        DEFAULT_THINKING_LEVEL,
        MODEL_THINKING_LEVELS,
        THINKING_BUDGETS,
        OAUTH,
        DEVICE_ID,
        HTTP_PROXY,
        MODELS_URL,
        HTTP_IDLE_TIMEOUT_MS,
        ENABLED_MODELS,
        TRANSPORT,
        WEBSOCKET_CONNECT_TIMEOUT_MS,
    ),
    "Sessions and trust": (STEERING_MODE, FOLLOW_UP_MODE, SESSION_DIR, DEFAULT_TOOLS, DEFAULT_PROJECT_TRUST),
    "Retry": (
        RETRY_ENABLED,
        RETRY_MAX_RETRIES,
        RETRY_BASE_DELAY_MS,
        RETRY_MAX_AGENT_DELAY_MS,
        RETRY_PROVIDER_TIMEOUT_MS,
        RETRY_PROVIDER_MAX_RETRIES,
        RETRY_PROVIDER_MAX_RETRY_DELAY_MS,
    ),
    "Compaction": (
        COMPACTION_ENABLED,
        COMPACTION_RESERVE_TOKENS,
        COMPACTION_KEEP_RECENT_TOKENS,
        COMPACTION_MODEL_OVERRIDES,
        COMPACTION_MODEL,
    ),
    "Tools and images": (SHELL_PATH, SHELL_COMMAND_PREFIX, IMAGES_AUTO_RESIZE, IMAGES_BLOCK_IMAGES),
    "Skills, prompt templates and themes": (
        SKILLS,
        PROMPTS,
        THEMES,
        ENABLE_SKILL_COMMANDS,
    ),
    "Interactive mode": (
        THEME,
        QUIET_STARTUP,
        HIDE_THINKING_BLOCK,
        DOUBLE_ESCAPE_ACTION,
        EXTERNAL_EDITOR,
        FULLSCREEN_EXIT_OUTPUT,
        EDITOR_PADDING_X,
        OUTPUT_PAD,
        AUTOCOMPLETE_MAX_VISIBLE,
        MARKDOWN_CODE_BLOCK_INDENT,
        TREE_FILTER_MODE,
        BRANCH_SUMMARY_SKIP_PROMPT,
        TUI_MODE,
        TERMINAL_NOTIFICATIONS,
        TERMINAL_NOTIFY_COMMAND,
        TERMINAL_SHOW_TERMINAL_PROGRESS,
        TERMINAL_TITLE,
        TERMINAL_CLIPBOARD,
        TERMINAL_HYPERLINKS,
    ),
    "Not used by Pinyon yet": (
        BRANCH_SUMMARY_RESERVE_TOKENS,
        CACHE_WARMING,
        PACKAGES,
        EXTENSIONS,
        NPM_COMMAND,
        PIP_COMMAND,
        SELF_UPDATE_COMMAND,
        SHOW_CACHE_MISS_NOTICES,
        FULLSCREEN_SCROLLBAR,
        FULLSCREEN_COPY_ON_SELECT,
        FULLSCREEN_WHEEL_SCROLL_LINES,
        SHOW_HARDWARE_CURSOR,
        TERMINAL_SHOW_IMAGES,
        TERMINAL_IMAGE_WIDTH_CELLS,
        TERMINAL_CLEAR_ON_SHRINK,
        TERMINAL_TRUE_COLOR,
        TERMINAL_IMAGES,
        MARKDOWN_MERMAID,
        WARNINGS_ANTHROPIC_EXTRA_USAGE,
        COLLAPSE_CHANGELOG,
        CODEMODE_MODE,
        CODEMODE_INLINE_BUDGET,
        SESSION_SHARE_DESTINATION,
        ENABLE_INSTALL_TELEMETRY,
        ENABLE_ANALYTICS,
        TRACKING_ID,
        LAST_CHANGELOG_VERSION,
        EXTENSION_CHANGELOG_VERSIONS,
    ),
}
"""The settings by topic, in the order of the documentation."""

SETTINGS: tuple[Setting[Any], ...] = tuple(setting for group in GROUPS.values() for setting in group)
"""Every setting."""
