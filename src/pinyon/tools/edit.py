"""The edit tool: exact-text replacements in one file, all of them or none.

Only the bytes of the replaced spans change, whatever the encoding, byte order mark, line ends or typography of the
rest. The difference is computed before anything is written.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from typing import Any

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon._util.text import clean_surrogates, has_surrogate
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.diff import EditDiff, describe_change
from pinyon.tools.edit_match import (
    Edit,
    EditError,
    MatchText,
    Replacement,
    locate_edits,
    normalise_newlines,
    splice,
)
from pinyon.tools.mutation_queue import with_file_mutation_queue
from pinyon.tools.operations.protocol import EditOperations
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.path import path_candidates
from pinyon.tools.text_encoding import DecodedText, TextEncoding, decode_losslessly

_INLINE_BYTES = 128 * 1024
_REPLACEMENT_CHARACTER = "\ufffd"


class EditPlan(msgspec.Struct, frozen=True):
    """A checked edit: the bytes to write and what will have changed."""

    data: bytes
    change: EditDiff


def requested_edits(params: dict[str, Any]) -> list[Edit]:
    """The edits of a call; raises `EditError` when there are none or they have another shape."""
    items = params.get("edits")
    if not isinstance(items, list) or not items:
        raise EditError("'edits' must hold at least one replacement with 'oldText' and 'newText'.")
    return [_requested_edit(item, index) for index, item in enumerate(items)]


def _requested_edit(item: Any, index: int) -> Edit:
    if isinstance(item, dict):
        old_text, new_text = item.get("oldText"), item.get("newText")
        if isinstance(old_text, str) and isinstance(new_text, str):
            return Edit(clean_surrogates(old_text), clean_surrogates(new_text))
    raise EditError(f"edits[{index}] must have the texts 'oldText' and 'newText'.")


def plan_edits(data: bytes, edits: Sequence[Edit], path: str) -> EditPlan:
    """What the edits make of a file's bytes; `path` is the name to show.

    Raises `EditError` for an old text that is missing or ambiguous, overlapping edits, text that the file's encoding
    does not have, and edits that change nothing.
    """
    decoded = decode_losslessly(data)
    source = MatchText(normalise_newlines(decoded.text))
    replacements = locate_edits(source, [_without_mark(edit, decoded.encoding) for edit in edits], path)
    _refuse_replacement_characters(source, replacements, path)
    if all(source.text[item.start : item.end] == item.text for item in replacements):
        raise EditError(f"The edits leave {path!r} as it is: the new text equals the old one.")
    changed = _encode(decoded, source.text, replacements, path)
    change = describe_change(path, source.text, replacements)
    shown = EditDiff(clean_surrogates(change.diff), clean_surrogates(change.patch), change.first_changed_line)
    return EditPlan(changed, shown)


def _without_mark(edit: Edit, encoding: TextEncoding) -> Edit:
    if not encoding.mark:
        return edit
    return Edit(edit.old_text.removeprefix("\ufeff"), edit.new_text.removeprefix("\ufeff"))


def _refuse_replacement_characters(source: MatchText, replacements: Sequence[Replacement], path: str) -> None:
    """Stop what looks like undecodable bytes, seen as U+FFFD, being written back as that character."""
    if not has_surrogate(source.text):
        return
    for replacement in replacements:
        old = source.text[replacement.start : replacement.end]
        if replacement.text.count(_REPLACEMENT_CHARACTER) > old.count(_REPLACEMENT_CHARACTER):
            raise EditError(
                f"edits[{replacement.index}].newText holds the character {_REPLACEMENT_CHARACTER}, which stands for "
                f"bytes of {path!r} that are no text. Leave them out of the edit. Nothing was changed."
            )


def _encode(decoded: DecodedText, text: str, replacements: Sequence[Replacement], path: str) -> bytes:
    pieces = splice(decoded.text, text, replacements)
    try:
        return decoded.encoding.mark + b"".join([decoded.encoding.encode(piece) for piece in pieces])
    except UnicodeEncodeError as error:
        missing = error.object[error.start : error.end]
        raise EditError(
            f"{path!r} is encoded as {decoded.encoding.label}, which has no {missing!r}. "
            "Use other characters or convert the file first. Nothing was changed."
        ) from error


async def edit_file(
    params: dict[str, Any], cwd: str, operations: EditOperations, signal: AbortSignal
) -> AgentToolResult:
    """Make the edits of one call, waiting for other changes of the same file.

    An abort is noticed between the steps, never in the middle of one. Raises `ToolError`; the file is then unchanged,
    or its old content was put back.
    """
    signal.raise_if_aborted()
    path, edits = str(params.get("path", "")), requested_edits(params)
    target = await _locate(path, cwd, operations)
    plan = await with_file_mutation_queue(target, lambda: _change(target, edits, path, operations, signal))
    change = plan.change
    details = {"diff": change.diff, "patch": change.patch, "firstChangedLine": change.first_changed_line}
    count = f"{len(edits)} replacement" + ("s" if len(edits) > 1 else "")
    return AgentToolResult([TextContent(f"Made {count} in {clean_surrogates(path)}.")], details=details)


async def _locate(path: str, cwd: str, operations: EditOperations) -> str:
    """The path that the call means; a name exactly as written counts where only that one exists."""
    plain, *as_written = path_candidates(path, cwd)
    for candidate in as_written:
        if not await _is_accessible(plain, operations) and await _is_accessible(candidate, operations):
            return candidate
    return plain


async def _is_accessible(path: str, operations: EditOperations) -> bool:
    try:
        await operations.access(path)
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ENOTDIR)
    return True


async def _change(
    target: str, edits: Sequence[Edit], path: str, operations: EditOperations, signal: AbortSignal
) -> EditPlan:
    signal.raise_if_aborted()
    data = await _read(target, operations, signal)
    signal.raise_if_aborted()
    if len(data) <= _INLINE_BYTES:
        plan = plan_edits(data, edits, path)
    else:
        plan = await asyncio.to_thread(plan_edits, data, edits, path)
        signal.raise_if_aborted()
    try:
        await operations.write_file(target, _payload(plan.data))
    except OSError as error:
        raise FileAccessError("write", target, error, await _put_back(target, data, operations)) from error
    return plan


async def _read(target: str, operations: EditOperations, signal: AbortSignal) -> bytes:
    try:
        await operations.access(target)
        signal.raise_if_aborted()
        return await operations.read_file(target)
    except OSError as error:
        raise FileAccessError("edit", target, error) from error


async def _put_back(target: str, data: bytes, operations: EditOperations) -> str:
    try:
        await operations.write_file(target, _payload(data))
    except OSError:
        return "The old content could not be put back either: check the file."
    return "Nothing was changed."


def _payload(data: bytes) -> str | bytes:
    """Text where the bytes are UTF-8, since operations may know nothing else."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


async def compute_edits_diff(
    path: str, edits: Sequence[dict[str, Any]], cwd: str, operations: EditOperations | None = None
) -> dict[str, Any]:
    """What an edit call would change, without changing it: `diff` and `firstChangedLine`, or `error`."""
    if operations is None:
        from pinyon.tools.operations.local import default_edit_operations

        operations = default_edit_operations()
    try:
        wanted = requested_edits({"edits": list(edits)})
        target = await _locate(path, cwd, operations)
        data = await _read(target, operations, AbortSignal())
        plan = await asyncio.to_thread(plan_edits, data, wanted, path)
    except ToolError as error:
        return {"error": str(error)}
    return {"diff": plan.change.diff, "firstChangedLine": plan.change.first_changed_line}
