"""The built-in tools: read, bash, powershell, edit, write, grep, find and ls, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.tools.bash import (
        create_bash_tool,
        create_bash_tool_definition,
    )
    from pinyon.tools.catalogue import (
        CODING_TOOL_NAMES,
        READ_ONLY_TOOL_NAMES,
        TOOL_NAMES,
        TOOL_SNIPPETS,
        UnknownToolError,
        get_experimental_tool_sampling,
    )
    from pinyon.tools.command import (
        SpawnContext,
        SpawnHook,
    )
    from pinyon.tools.definition import (
        create_edit_tool_definition,
        create_read_tool_definition,
        create_write_tool_definition,
    )
    from pinyon.tools.edit import (
        compute_edits_diff,
    )
    from pinyon.tools.factory import (
        create_all_tool_definitions,
        create_all_tools,
        create_coding_tool_definitions,
        create_coding_tools,
        create_edit_tool,
        create_read_only_tool_definitions,
        create_read_only_tools,
        create_read_tool,
        create_tool,
        create_tool_definition,
        create_write_tool,
    )
    from pinyon.tools.find import (
        create_find_tool,
        create_find_tool_definition,
    )
    from pinyon.tools.grep import (
        create_grep_tool,
        create_grep_tool_definition,
    )
    from pinyon.tools.ls import (
        create_ls_tool,
        create_ls_tool_definition,
    )
    from pinyon.tools.mutation_queue import (
        with_file_mutation_queue,
    )
    from pinyon.tools.operations.command import (
        create_local_bash_operations,
        create_local_powershell_operations,
    )
    from pinyon.tools.powershell import (
        create_powershell_tool,
        create_powershell_tool_definition,
    )
    from pinyon.tools.truncate import (
        DEFAULT_MAX_BYTES,
        DEFAULT_MAX_LINES,
        GREP_MAX_LINE_LENGTH,
        TruncationResult,
        format_size,
        truncate_head,
        truncate_line,
        truncate_tail,
    )
    from pinyon.tools.user_command import (
        BashResult,
        execute_bash,
    )

__all__ = [
    "CODING_TOOL_NAMES",
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "GREP_MAX_LINE_LENGTH",
    "READ_ONLY_TOOL_NAMES",
    "TOOL_NAMES",
    "TOOL_SNIPPETS",
    "BashResult",
    "SpawnContext",
    "SpawnHook",
    "TruncationResult",
    "UnknownToolError",
    "compute_edits_diff",
    "create_all_tool_definitions",
    "create_all_tools",
    "create_bash_tool",
    "create_bash_tool_definition",
    "create_coding_tool_definitions",
    "create_coding_tools",
    "create_edit_tool",
    "create_edit_tool_definition",
    "create_find_tool",
    "create_find_tool_definition",
    "create_grep_tool",
    "create_grep_tool_definition",
    "create_local_bash_operations",
    "create_local_powershell_operations",
    "create_ls_tool",
    "create_ls_tool_definition",
    "create_powershell_tool",
    "create_powershell_tool_definition",
    "create_read_only_tool_definitions",
    "create_read_only_tools",
    "create_read_tool",
    "create_read_tool_definition",
    "create_tool",
    "create_tool_definition",
    "create_write_tool",
    "create_write_tool_definition",
    "execute_bash",
    "format_size",
    "get_experimental_tool_sampling",
    "truncate_head",
    "truncate_line",
    "truncate_tail",
    "with_file_mutation_queue",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.tools.bash": ("create_bash_tool", "create_bash_tool_definition"),
        "pinyon.tools.powershell": ("create_powershell_tool", "create_powershell_tool_definition"),
        "pinyon.tools.grep": ("create_grep_tool", "create_grep_tool_definition"),
        "pinyon.tools.find": ("create_find_tool", "create_find_tool_definition"),
        "pinyon.tools.ls": ("create_ls_tool", "create_ls_tool_definition"),
        "pinyon.tools.command": ("SpawnContext", "SpawnHook"),
        "pinyon.tools.user_command": ("BashResult", "execute_bash"),
        "pinyon.tools.operations.command": ("create_local_bash_operations", "create_local_powershell_operations"),
        "pinyon.tools.catalogue": (
            "CODING_TOOL_NAMES",
            "READ_ONLY_TOOL_NAMES",
            "TOOL_NAMES",
            "TOOL_SNIPPETS",
            "UnknownToolError",
            "get_experimental_tool_sampling",
        ),
        "pinyon.tools.definition": (
            "create_edit_tool_definition",
            "create_read_tool_definition",
            "create_write_tool_definition",
        ),
        "pinyon.tools.edit": ("compute_edits_diff",),
        "pinyon.tools.factory": (
            "create_all_tool_definitions",
            "create_all_tools",
            "create_coding_tool_definitions",
            "create_coding_tools",
            "create_edit_tool",
            "create_read_only_tool_definitions",
            "create_read_only_tools",
            "create_read_tool",
            "create_tool",
            "create_tool_definition",
            "create_write_tool",
        ),
        "pinyon.tools.mutation_queue": ("with_file_mutation_queue",),
        "pinyon.tools.truncate": (
            "DEFAULT_MAX_BYTES",
            "DEFAULT_MAX_LINES",
            "GREP_MAX_LINE_LENGTH",
            "TruncationResult",
            "format_size",
            "truncate_head",
            "truncate_line",
            "truncate_tail",
        ),
    },
)
