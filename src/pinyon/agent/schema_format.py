"""The `format` keyword of JSON Schema: what the named string formats look like (RFC 3339, 3986, 5321, 6570, 6901)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

# Texts, not compiled patterns: `re` compiles and keeps them when a schema first asks for one.
_DATE = r"(\d{4})-(\d\d)-(\d\d)"
_TIME = r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|[+-](\d\d):(\d\d))"
_DURATION = r"P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_MAILBOX = r"[^\s@\"(),:;<>\[\\\]]+@[^\s@\"(),:;<>\[\\\]]+"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_SCHEME = r"[a-zA-Z][a-zA-Z0-9+.-]*:"
_REFERENCE = r"(?:[^\s\x00-\x20\x7f<>\"{}|\\^`%]|%[0-9a-fA-F]{2})*"
_TEMPLATE = r"(?:[^\x00-\x20\"'%<>\\^`{|}]|%[0-9a-fA-F]{2}|\{[+#./;?&=,!@|]?[\w.,:*%]+\})*"
_POINTER = r"(?:/(?:[^~/]|~[01])*)*"
_RELATIVE_POINTER = r"(?:0|[1-9]\d*)(?:#|(?:/(?:[^~/]|~[01])*)*)"


def is_format(name: str, text: str) -> bool:
    """Whether `text` has the named format; unknown names accept everything."""
    test = _FORMATS.get(name)
    return test is None or test(text)


def _is_date(text: str) -> bool:
    found = re.fullmatch(_DATE, text, re.ASCII)
    if not found:
        return False
    try:
        date(*map(int, found.groups()))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    found = re.fullmatch(_TIME, text, re.ASCII)
    if not found:
        return False
    hour, minute, second, offset_hour, offset_minute = (int(part or 0) for part in found.groups())
    return hour < 24 and minute < 60 and second <= 60 and offset_hour < 24 and offset_minute < 60


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_hostname(text: str) -> bool:
    return len(text) <= 253 and all(re.fullmatch(_LABEL, label) for label in text.split("."))


def _is_ip(version: int) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        import ipaddress

        kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return test


def _is_uri(text: str) -> bool:
    return re.match(_SCHEME, text) is not None and re.fullmatch(_REFERENCE, text) is not None


def _is_web_address(text: str) -> bool:
    return _is_uri(text) and text.partition(":")[0].lower() in ("http", "https", "ftp") and "://" in text


def _matches(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text, flags) is not None


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """A pattern of a schema (ECMA-262 with Unicode) as a Python one, None where it cannot be read."""
    try:
        return re.compile(_python_pattern(pattern))
    except (re.error, OverflowError, RecursionError):
        return None


_PATTERN_PART = r"\\(?:[pP]\{[^}]*\}|u\{([0-9a-fA-F]+)\}|.)|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<(?![=!])|\$"
_ASCII_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_PROPERTY_CLASSES = {
    "L": r"[^\W\d_]", "Letter": r"[^\W\d_]", "Alphabetic": r"[^\W\d_]", "N": r"\d", "Nd": r"\d", "Number": r"\d",
    "Z": r"\s", "White_Space": r"\s",
}  # fmt: skip


def _python_pattern(pattern: str) -> str:
    return re.sub(_PATTERN_PART, _python_part, pattern, flags=re.DOTALL)


def _python_part(found: re.Match[str]) -> str:
    part = found[0]
    if part == "$":
        return r"\Z"
    if part == "(?<":
        return "(?P<"
    if part.startswith("["):
        return re.sub(r"\\([dw])", lambda escape: _ASCII_CLASSES[escape[1]], part)
    if found[1]:
        return re.escape(chr(int(found[1], 16)))
    if part[1] in "pP":
        base = _PROPERTY_CLASSES.get(part[3:-1], ".")
        return base if part[1] == "p" else f"(?!{base})."
    if part[1] in "dwDW":
        return f"[{'^' if part[1].isupper() else ''}{_ASCII_CLASSES[part[1].lower()]}]"
    return part


_FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "duration": _matches(_DURATION, re.ASCII),
    "email": lambda text: text.isascii() and re.fullmatch(_MAILBOX, text) is not None,
    "idn-email": _matches(_MAILBOX),
    "hostname": _is_hostname,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "uri": lambda text: text.isascii() and _is_uri(text),
    "uri-reference": lambda text: text.isascii() and re.fullmatch(_REFERENCE, text) is not None,
    "iri": _is_uri,
    "iri-reference": _matches(_REFERENCE),
    "url": _is_web_address,
    "uri-template": _matches(_TEMPLATE),
    "uuid": _matches(_UUID),
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(_RELATIVE_POINTER, re.ASCII),
    "regex": lambda text: compile_pattern(text) is not None,
}
