"""Texts for the operating system, the same under every locale: UTF-8, whatever the system claims to speak."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pinyon._util.text import clean_surrogates, has_surrogate


def native_text(text: str) -> str | bytes:
    """An argument, path or variable for a system call.

    On POSIX these are the UTF-8 bytes, in which surrogates that stand for raw bytes of a name become those bytes.
    Raises `UnicodeEncodeError` for other lone surrogates.
    """
    return text if sys.platform == "win32" else text.encode("utf-8", "surrogateescape")


def native_arguments(arguments: Sequence[str]) -> list[str | bytes]:
    """Arguments for a new process."""
    return [native_text(argument) for argument in arguments]


def native_environment(variables: Mapping[str, str]) -> dict[Any, str | bytes]:
    """Environment variables for a new process."""
    return {native_text(name): native_text(value) for name, value in variables.items()}


def file_name(text: str) -> str:
    """A path in the form in which Python's file functions name its UTF-8 bytes, whatever the locale.

    Surrogates that stand for raw bytes keep doing so, others become U+FFFD.
    """
    if text.isascii() or sys.platform == "win32":
        return text
    try:
        return os.fsdecode(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return os.fsdecode(clean_surrogates(text).encode())


def readable_name(name: str) -> str:
    """A name that the system gave, as UTF-8 text; bytes that are none become U+FFFD."""
    if not has_surrogate(name):
        return name
    try:
        return os.fsencode(name).decode("utf-8", "replace")
    except UnicodeEncodeError:
        return clean_surrogates(name)
