"""The page of a session: its data beside the style and the script that show it.

The data is one JSON object, `{header, entries, leafId, systemPrompt?, tools?}`, in base64 inside a `script` element of
type `application/json`. The entries are those of all branches, as they stand in the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.secret import redact_transcript
from pinyon.ai.tool import Tool
from pinyon.export.palette import PagePalette, page_colors
from pinyon.session.session import Session

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("element", "markdown", "highlight", "conversation", "tool", "entry", "outline", "page")
"""The parts of the page's script, in the order in which they are put together."""

_OPAQUE_KEYS = frozenset({"data", "thinkingSignature", "thoughtSignature", "textSignature", "id"})
"""Values that are no text: pictures, opaque provider data and ids."""


class PageExtras(msgspec.Struct, kw_only=True):
    """What a page shows beside the session file.

    `system_prompt` and `tools` are those of the running session; old files record neither. `secrets` are credentials
    that must not stand in the page. `palette` colours it like a theme.
    """

    system_prompt: str | None = None
    tools: Sequence[Tool] = ()
    secrets: Iterable[str] = ()
    palette: PagePalette | None = None


def session_page(session: Session, extras: PageExtras | None = None) -> str:
    """The whole page as one HTML text."""
    extras = extras if extras is not None else PageExtras()
    style, script = _style(extras.palette), _script()
    parts = {
        "title": escape(session.get_session_name() or f"Session {session.get_session_id()}"),
        "policy": escape(_policy(style, script)),
        "style": style,
        "data": base64.b64encode(_json.encode(_page_data(session, extras))).decode("ascii"),
        "script": script,
    }
    page = _asset("page.html")
    for name, value in parts.items():  # the data comes late: what it holds is never looked at for marks
        page = page.replace(f"<!--{name}-->", value, 1)
    return page


def _page_data(session: Session, extras: PageExtras) -> dict[str, Any]:
    secrets = [secret for secret in extras.secrets if secret]
    lines = [_json.decode(line) for line in session.lines()]
    data = {"header": lines[0], "entries": lines[1:], "leafId": session.get_leaf_id()}
    if extras.system_prompt:
        data["systemPrompt"] = extras.system_prompt
    if extras.tools:
        data["tools"] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in extras.tools
        ]
    return {key: _without_secrets(value, secrets) for key, value in data.items()}


def _without_secrets(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return redact_transcript(value, secrets)
    if isinstance(value, list):
        return [_without_secrets(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key in _OPAQUE_KEYS and isinstance(item, str) else _without_secrets(item, secrets)
            for key, item in value.items()
        }
    return value


def _style(palette: PagePalette | None) -> str:
    light, dark = page_colors(palette)
    rules = (
        f":root{{color-scheme:light dark;{_properties(light)}}}",
        f"@media (prefers-color-scheme:dark){{:root{{{_properties(dark)}}}}}",
        f':root[data-theme="light"]{{color-scheme:light;{_properties(light)}}}',
        f':root[data-theme="dark"]{{color-scheme:dark;{_properties(dark)}}}',
    )
    return "\n".join((*rules, _asset("page.css")))


def _properties(colors: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


@cache
def _script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing but this script, this style and pictures inside the page (Content Security Policy level 3)."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_source_hash(script)}",
            f"style-src {_source_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
