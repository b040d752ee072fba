"""Commands that the user runs beside the model: `!command` and `!!command`."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Callable

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal, OperationAbortedError
from pinyon._util.text import clean_surrogates
from pinyon.env.error import ShellAbortedError
from pinyon.tools.command_output import FullOutput
from pinyon.tools.operations.protocol import BashExecOptions, BashOperations
from pinyon.tools.printable import PrintableStream
from pinyon.tools.truncate import DEFAULT_MAX_BYTES, truncate_tail

KEPT_CHARACTERS = 2 * DEFAULT_MAX_BYTES
"""How many characters of the end are kept in memory at least; more than can be shown."""


class BashResult(msgspec.Struct, rename="camel", kw_only=True):
    """What a command printed and how it ended.

    `exit_code` is absent for a cancelled command. A truncated `output` is the end of the whole, which is in the file at
    `full_output_path`.
    """

    output: str
    exit_code: int | UnsetType = UNSET
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET


async def execute_bash(
    command: str,
    cwd: str | os.PathLike[str],
    *,
    operations: BashOperations | None = None,
    command_prefix: str | None = None,
    shell_path: str | None = None,
    on_chunk: Callable[[str], None] | None = None,
    signal: AbortSignal | None = None,
) -> BashResult:
    """Run a user's command; its output is freed of escape sequences and control characters.

    `command_prefix` is a line before the command, `shell_path` the shell when no `operations` are given, `on_chunk`
    gets the cleaned output as it comes. An abort gives the output so far with `cancelled`. Raises what the operations
    raise otherwise, such as `ExecutionError` for a missing folder or shell.
    """
    output = _UserOutput(on_chunk)
    chosen = operations or _local_operations(shell_path)
    command = clean_surrogates(command)
    prefixed = f"{command_prefix}\n{command}" if command_prefix else command
    try:
        code = await chosen.exec(prefixed, os.fspath(cwd), BashExecOptions(on_data=output.feed), signal)
        return output.result(UNSET if code is None else code)
    except (ShellAbortedError, OperationAbortedError):
        return output.result(None)
    except Exception:
        if signal is None or not signal.aborted:
            raise
        return output.result(None)  # operations of others tell of an abort in their own way
    finally:
        output.close()


class _UserOutput:
    """Cleans output as it comes and keeps its end; everything goes to a file once it is long."""

    def __init__(self, on_chunk: Callable[[str], None] | None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._printable = PrintableStream()
        self._on_chunk = on_chunk
        self._file = FullOutput("bash")
        self._chunks: deque[str] = deque()
        self._kept = 0
        self._raw_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take a block in."""
        self._raw_bytes += len(data)
        self._take(self._printable.feed(self._decoder.decode(data)))
        if self._raw_bytes > DEFAULT_MAX_BYTES:
            self._file.open()

    def result(self, exit_code: int | UnsetType | None) -> BashResult:
        """What there is at the end of the command; None stands for a cancelled one."""
        self._take(self._printable.feed(self._decoder.decode(b"", final=True)) + self._printable.finish())
        cut = truncate_tail("".join(self._chunks))
        if cut.truncated:
            self._file.open()
        self._file.close()
        return BashResult(
            output=cut.content,
            exit_code=UNSET if exit_code is None else exit_code,
            cancelled=exit_code is None,
            truncated=cut.truncated,
            full_output_path=UNSET if self._file.path is None else self._file.path,
        )

    def close(self) -> None:
        """Close the file, if there is one."""
        self._file.close()

    def _take(self, text: str) -> None:
        if not text:
            return
        self._file.write(text.encode())
        self._chunks.append(text)
        self._kept += len(text)
        while self._kept - len(self._chunks[0]) >= KEPT_CHARACTERS:
            self._kept -= len(self._chunks.popleft())
        if self._on_chunk is not None:
            self._on_chunk(text)


def _local_operations(shell_path: str | None) -> BashOperations:
    from pinyon.tools.operations.command import create_local_bash_operations

    return create_local_bash_operations(shell_path)
