"""The tools of a session: which exist, which are active, what the prompt says of them, and how they run.

A later registration replaces an earlier one of the same name. Only active tools are declared to the model; a change
takes effect with the next turn, as a system message of the transcript.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.errors import ConfigError
from pinyon.resources.settings import DEFAULT_TOOL_NAMES
from pinyon.resources.settings_merge import edit_tool_names

NoTools = Literal["all", "builtin"]

CallContext = Callable[[str, AbortSignal], ToolContext]
"""Makes the context of the tool call with an id; called for every call, because model and level change."""

MakeTool = Callable[[str], ToolDefinition]
"""Makes the tool of a name."""


class ToolChoice:
    """Which tools a user asked for: an allowlist or edits of the defaults, a denylist, and switches.

    `tools` holds names and `*` patterns, or only `+name` and `-name` edits of `defaults`; mixing both raises
    `ConfigError`. `exclude` is applied last.
    """

    def __init__(
        self,
        *,
        tools: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        no_tools: NoTools | None = None,
        defaults: Sequence[str] = DEFAULT_TOOL_NAMES,
    ) -> None:
        edits = [name for name in tools or () if name[:1] in "+-"]
        if tools and edits and len(edits) != len(tools):
            raise ConfigError(
                f"tools {', '.join(tools)!r} mix plain names with '+name'/'-name' edits; use one form or the other"
            )
        self._allowed = None if tools is None or edits else tuple(tools)
        self._edits = tuple(edits)
        self._exclude = tuple(exclude)
        self._no_tools = no_tools
        self._defaults = tuple(defaults)

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return self._allowed is None and not (self._edits or self._exclude or self._no_tools)

    def default_names(self, builtin: Iterable[str]) -> list[str]:
        """The built-in tools that start active, in the order of `builtin`."""
        if self._allowed is not None:
            return [name for name in builtin if self.permits(name)]
        wanted = [] if self._no_tools else list(self._defaults)
        if self._edits:
            wanted = edit_tool_names(wanted, self._edits)
        known = set(builtin)
        return [name for name in wanted if name in known and self.permits(name)]

    def use_defaults(self, defaults: Sequence[str]) -> None:
        """Let other built-in tools start active where nothing else was asked for."""
        self._defaults = tuple(defaults)

    def permits(self, name: str) -> bool:
        """Whether a tool of this name may be active at all."""
        if any(fnmatchcase(name, pattern) for pattern in self._exclude) or f"-{name}" in self._edits:
            return False
        return self._allowed is None or any(fnmatchcase(name, pattern) for pattern in self._allowed)

    def unmatched(self, known: Iterable[str]) -> list[str]:
        """The names and patterns of the choice that mean none of the `known` tools."""
        names = tuple(known)
        wanted = (*(self._allowed or ()), *(edit[1:] for edit in self._edits), *self._exclude)
        return [pattern for pattern in dict.fromkeys(wanted) if not any(fnmatchcase(name, pattern) for name in names)]

    def permits_added(self, name: str) -> bool:
        """Whether a tool that an extension or program adds starts active."""
        if self._no_tools == "all" and self._allowed is None:
            return False
        return self.permits(name)


class Toolset:
    """Registered tools and the names of the active ones, in order.

    `on_change` is called after the active tools changed, so that the agent runs what the model is told of.
    """

    def __init__(
        self,
        *,
        context: CallContext,
        choice: ToolChoice,
        on_change: Callable[[list[AgentTool]], None],
    ) -> None:
        self._context = context
        self._choice = choice
        self._on_change = on_change
        self._makers: dict[str, MakeTool] = {}
        self._builtin: MakeTool | None = None
        self._definitions: dict[str, ToolDefinition] = {}
        self._bound: dict[str, AgentTool] = {}
        self._active: list[str] = []

    def offer_builtin(self, names: Sequence[str], make: MakeTool) -> None:
        """Add the built-in tools of these names, each made when it is first needed; activate those that start so."""
        self._builtin = make
        self._make_with(names, make)
        self._active += [name for name in self._choice.default_names(names) if name not in self._active]
        self._changed()

    def renew_builtin(self, make: MakeTool, defaults: Sequence[str]) -> None:
        """Make the built-in tools anew and go by other defaults.

        What is active stays; names that are new among the defaults join. Tools that took the place of built-in ones
        keep it.
        """
        names = [name for name, maker in self._makers.items() if maker is self._builtin]
        before = self._choice.default_names(names)
        self._choice.use_defaults(defaults)
        fresh = [name for name in self._choice.default_names(names) if name not in before]
        self._builtin = make
        self._make_with(names, make)
        self._active += [name for name in fresh if name not in self._active]
        self._changed()

    def _make_with(self, names: Sequence[str], make: MakeTool) -> None:
        for name in names:
            self._makers[name] = make
            self._definitions.pop(name, None)
            self._bound.pop(name, None)

    def register(self, definitions: Iterable[ToolDefinition]) -> None:
        """Add tools of a program or an extension; those that start active are activated at once."""
        for definition in definitions:
            name = definition.name
            self._makers[name] = _giving(definition)
            self._definitions[name] = definition
            self._bound.pop(name, None)
            if name not in self._active and self._starts_active(name):
                self._active.append(name)
        self._changed()

    def _starts_active(self, name: str) -> bool:
        definition = self._definitions[name]
        direct = definition.exposure in ("direct", "model-only")
        return direct and definition.default_active is not False and self._choice.permits_added(name)

    @property
    def names(self) -> list[str]:
        """Names of all registered tools, in order of registration."""
        return list(self._makers)

    @property
    def unknown_names(self) -> list[str]:
        """Names and patterns that were asked for and mean no registered tool; one may be registered later."""
        return self._choice.unmatched(self._makers)

    @property
    def active_names(self) -> list[str]:
        """Names of the active tools, in order."""
        return list(self._active)

    @property
    def active(self) -> list[ToolDefinition]:
        """The active tools, in order."""
        return [self._made(name) for name in self._active]

    @property
    def definitions(self) -> list[ToolDefinition]:
        """All registered tools that are not hidden, in order of registration."""
        return [tool for tool in map(self._made, self._makers) if tool.exposure != "hidden"]

    @property
    def callable_names(self) -> list[str]:
        """Names of the tools that other tools may call."""
        return [
            name
            for name, tool in ((name, self._made(name)) for name in self._makers)
            if tool.exposure in ("codemode", "deferred") or (tool.exposure == "direct" and name in self._active)
        ]

    def get(self, name: str) -> ToolDefinition | None:
        """The registered tool of this name."""
        return self._made(name) if name in self._makers else None

    def bound(self, name: str) -> AgentTool | None:
        """The tool of this name as the loop runs it."""
        return self._runnable(name) if name in self._makers else None

    @property
    def callable_tools(self) -> list[AgentTool]:
        """The tools that other tools may call, as they run."""
        return [self._runnable(name) for name in self.callable_names]

    @property
    def uses_defaults(self) -> bool:
        """Whether the user left the choice of tools to the defaults, so that a session's own set may be restored."""
        return self._choice.is_default

    def restore(self, names: Sequence[str]) -> list[str]:
        """Activate what a branch has declared, in place of what is active; returns the names that no tool has yet."""
        self.set_active(names)
        return [name for name in names if name not in self._makers]

    def set_active(self, names: Iterable[str]) -> None:
        """Make exactly these tools active; unknown, hidden and refused ones are ignored.

        Tools that stay active keep their order; new ones follow.
        """
        wanted = [name for name in dict.fromkeys(names) if self._can_activate(name)]
        kept = [name for name in self._active if name in wanted]
        self._active = kept + [name for name in wanted if name not in kept]
        self._changed()

    def _can_activate(self, name: str) -> bool:
        tool = self.get(name)
        return tool is not None and tool.exposure != "hidden" and self._choice.permits(name)

    def _made(self, name: str) -> ToolDefinition:
        definition = self._definitions.get(name)
        if definition is None:
            definition = self._definitions[name] = self._makers[name](name)
        return definition

    def _runnable(self, name: str) -> AgentTool:
        tool = self._bound.get(name)
        if tool is None:
            tool = self._bound[name] = _bind(self._made(name), self._context)
        return tool

    def _changed(self) -> None:
        self._on_change([self._runnable(name) for name in self._active])


def _bind(definition: ToolDefinition, context: CallContext) -> AgentTool:
    """The tool as the loop runs it, each call in a context of its own."""

    def run(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate
    ) -> Awaitable[AgentToolResult] | AgentToolResult:
        return definition.execute(tool_call_id, params, signal, on_update, context(tool_call_id, signal))

    tool = definition.bind()
    tool.execute = run
    return tool


def _giving(definition: ToolDefinition) -> MakeTool:
    return lambda _: definition
