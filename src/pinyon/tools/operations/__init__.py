"""Operations of the tools: what each needs from the world, on the local disk or in an `ExecutionEnv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.tools.operations.command import (
        create_local_bash_operations,
        create_local_powershell_operations,
        env_bash_operations,
    )
    from pinyon.tools.operations.environment import (
        env_edit_operations,
        env_find_operations,
        env_grep_operations,
        env_ls_operations,
        env_read_operations,
        env_write_operations,
    )
    from pinyon.tools.operations.local import (
        default_edit_operations,
        default_find_operations,
        default_grep_operations,
        default_ls_operations,
        default_read_operations,
        default_write_operations,
    )
    from pinyon.tools.operations.protocol import (
        BashExecOptions,
        BashOperations,
        BatchStatOperations,
        ContentOperations,
        DirectoryEntry,
        EditOperations,
        EntryStat,
        FindOperations,
        GlobOperations,
        GrepOperations,
        ImageTypeOperations,
        LsOperations,
        ReadableWriteOperations,
        ReadOperations,
        SizedReadOperations,
        StreamReadOperations,
        WalkOperations,
        WriteOperations,
    )

__all__ = [
    "BashExecOptions",
    "BashOperations",
    "BatchStatOperations",
    "ContentOperations",
    "DirectoryEntry",
    "EditOperations",
    "EntryStat",
    "FindOperations",
    "GlobOperations",
    "GrepOperations",
    "ImageTypeOperations",
    "LsOperations",
    "ReadOperations",
    "ReadableWriteOperations",
    "SizedReadOperations",
    "StreamReadOperations",
    "WalkOperations",
    "WriteOperations",
    "create_local_bash_operations",
    "create_local_powershell_operations",
    "default_edit_operations",
    "default_find_operations",
    "default_grep_operations",
    "default_ls_operations",
    "default_read_operations",
    "default_write_operations",
    "env_bash_operations",
    "env_edit_operations",
    "env_find_operations",
    "env_grep_operations",
    "env_ls_operations",
    "env_read_operations",
    "env_write_operations",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.tools.operations.command": (
            "create_local_bash_operations",
            "create_local_powershell_operations",
            "env_bash_operations",
        ),
        "pinyon.tools.operations.environment": (
            "env_edit_operations",
            "env_find_operations",
            "env_grep_operations",
            "env_ls_operations",
            "env_read_operations",
            "env_write_operations",
        ),
        "pinyon.tools.operations.local": (
            "default_edit_operations",
            "default_find_operations",
            "default_grep_operations",
            "default_ls_operations",
            "default_read_operations",
            "default_write_operations",
        ),
        "pinyon.tools.operations.protocol": (
            "BashExecOptions",
            "BashOperations",
            "BatchStatOperations",
            "ContentOperations",
            "DirectoryEntry",
            "EditOperations",
            "EntryStat",
            "FindOperations",
            "GlobOperations",
            "GrepOperations",
            "ImageTypeOperations",
            "LsOperations",
            "ReadOperations",
            "ReadableWriteOperations",
            "SizedReadOperations",
            "StreamReadOperations",
            "WalkOperations",
            "WriteOperations",
        ),
    },
)
