"""Sessions as pages for people: one self-contained HTML file with the whole tree of a conversation.

A page needs no network and runs nothing but its own script: a content policy names that script and its style by hash,
and every text of the session reaches the document as text, never as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.export.html import export_from_file, export_session_to_html, html_file_name
    from pinyon.export.page import PageExtras, session_page
    from pinyon.export.palette import PagePalette, page_colors
    from pinyon.export.share import SharedSession, ShareError, share_as_gist

__all__ = [
    "PageExtras",
    "PagePalette",
    "ShareError",
    "SharedSession",
    "export_from_file",
    "export_session_to_html",
    "html_file_name",
    "page_colors",
    "session_page",
    "share_as_gist",
]

_HOMES = {
    "pinyon.export.html": ("export_from_file", "export_session_to_html", "html_file_name"),
    "pinyon.export.page": ("PageExtras", "session_page"),
    "pinyon.export.palette": ("PagePalette", "page_colors"),
    "pinyon.export.share": ("ShareError", "SharedSession", "share_as_gist"),
}
__getattr__, __dir__, _ = lazy_exports(__name__, _HOMES)
