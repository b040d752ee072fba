"""The inside of a paragraph: emphasis, code, links and line breaks, as one styled text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from pinyon.tui.tone import Tone

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_SCHEMES = ("http:", "https:", "mailto:", "file:")
_NONE = Style()


def inline_text(node: SyntaxTreeNode, tone: Tone, base: Style = _NONE) -> Text:
    """The text of an inline node."""
    text = Text(style=base)
    _append(text, node, tone, base)
    return text


def _append(text: Text, node: SyntaxTreeNode, tone: Tone, style: Style) -> None:
    for child in node.children:
        match child.type:
            case "text":
                text.append(child.content, style)
            case "softbreak" | "hardbreak":
                text.append("\n", style)
            case "code_inline":
                text.append(child.content, style + tone.style("mdCode"))
            case "strong":
                _append(text, child, tone, style + Style(bold=True))
            case "em":
                _append(text, child, tone, style + Style(italic=True))
            case "s":
                _append(text, child, tone, style + Style(strike=True))
            case "link":
                _append_link(text, child, tone, style)
            case "image":
                text.append(f"[{child.content or 'image'}]", style + tone.style("mdLink"))
                text.append(f" ({child.attrs.get('src', '')})", style + tone.style("mdLinkUrl"))
            case _ if child.children:
                _append(text, child, tone, style)
            case _:
                text.append(child.content, style)


def _append_link(text: Text, node: SyntaxTreeNode, tone: Tone, style: Style) -> None:
    url = str(node.attrs.get("href", ""))
    start = len(text)
    linked = style + tone.style("mdLink") + Style(underline=True)
    is_safe = url.lower().startswith(_SCHEMES)
    _append(text, node, tone, linked + Style(link=url) if tone.hyperlinks and is_safe else linked)
    shown = text.plain[start:]
    if not (tone.hyperlinks and is_safe) and url not in (shown, f"mailto:{shown}"):
        text.append(f" ({url})", style + tone.style("mdLinkUrl"))
