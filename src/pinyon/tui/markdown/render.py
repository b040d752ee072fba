"""From Markdown to rows of cells: one function for each kind of block.

Nothing of the text is dropped: HTML is shown as it was written. Widths that leave no room for a layout fall back to
plain wrapped text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import blank, clamped, clean, hard_rows, inset, plain, rendered, text_row, text_rows
from pinyon.tui.markdown.code import highlighted
from pinyon.tui.markdown.inline import inline_text
from pinyon.tui.tone import Tone

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode
    from rich.console import JustifyMethod
    from rich.table import Table

_MIN_NESTED_COLUMNS = 12
_MIN_TABLE_COLUMN = 5
_NONE = Style()


@lru_cache(maxsize=2)
def markdown_parser(*, as_typed: bool = False) -> MarkdownIt:
    """The parser: CommonMark with tables and strikethrough, HTML as text; `as_typed` leaves backslashes alone."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return parser.disable(["escape", "entity"]) if as_typed else parser


@lru_cache(maxsize=768)
def markdown_rows(source: str, width: int, tone: Tone, base: Style = _NONE) -> tuple[Strip, ...]:
    """The rows of a Markdown text in `width` columns; `base` is the style under everything."""
    from markdown_it.tree import SyntaxTreeNode

    root = SyntaxTreeNode(markdown_parser(as_typed=tone.as_typed).parse(clean(source)))
    width = max(1, width)
    return tuple(clamped(row, width, base) for row in _blocks(root.children, width, tone, base, is_tight=False))


def _blocks(nodes: list[SyntaxTreeNode], width: int, tone: Tone, base: Style, *, is_tight: bool) -> list[Strip]:
    rows: list[Strip] = []
    last: SyntaxTreeNode | None = None
    for node in nodes:
        block = _block(node, width, tone, base)
        is_close = (is_tight and node.type != "fence") or (tone.as_typed and _follows(last, node))
        if rows and block and not is_close:
            rows.append(blank(width, base))
        rows += block
        last = node
    return rows


def _follows(last: SyntaxTreeNode | None, node: SyntaxTreeNode) -> bool:
    """Whether a block was written right under the one before, without a blank line."""
    return last is not None and last.map is not None and node.map is not None and last.map[1] == node.map[0]


def _block(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    match node.type:
        case "paragraph":
            return text_rows(_inline(node, tone, base), width, base)
        case "heading":
            return _heading(node, width, tone, base)
        case "fence" | "code_block":
            return _code(node, width, tone, base)
        case "bullet_list" | "ordered_list":
            return _list(node, width, tone, base)
        case "blockquote":
            return _quote(node, width, tone, base)
        case "hr":
            return [plain("─" * width, width, base + tone.style("mdHr"))]
        case "table":
            return _table(node, width, tone, base)
        case _ if node.children:
            return _blocks(node.children, width, tone, base, is_tight=False)
        case _:
            return text_rows(Text(node.content.rstrip("\n"), style=base), width, base)


def _inline(node: SyntaxTreeNode, tone: Tone, base: Style) -> Text:
    return inline_text(node.children[0], tone, base) if node.children else Text(style=base)


def _heading(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    style = base + tone.style("mdHeading", bold=True)
    if node.tag == "h1":
        style += Style(underline=True)
    return text_rows(_inline(node, tone, style), width, base)


def _code(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    language = node.info.strip().split(" ")[0] if node.type == "fence" else ""
    border = base + tone.style("mdCodeBlockBorder")
    code = node.content.rstrip("\n")
    has_fence = node.type == "fence" or not tone.as_typed
    rows = [_fence(language, width, tone, base)] if has_fence else []
    indent = min(len(tone.code_indent), max(0, width - _MIN_NESTED_COLUMNS))
    text = highlighted(code, language, tone.palette)
    rows += inset(_code_rows(text, width - indent, base), indent, 0, base)
    return [*rows, plain("```", width, border)] if has_fence else rows


def _fence(language: str, width: int, tone: Tone, base: Style) -> Strip:
    """The first line of a block of code: the fence calm, the language readable."""
    segments = [Segment("```", base + tone.style("mdCodeBlockBorder")), Segment(language, base + tone.style("dim"))]
    return clamped(Strip(segments), width, base)


def _code_rows(text: Text, width: int, base: Style) -> list[Strip]:
    """Lines of code, broken at the edge only."""
    rows: list[Strip] = []
    for line in text.split("\n", allow_blank=True):
        line.no_wrap = False
        pieces = line.divide(range(width, len(line), width)) if line.cell_len > width and line.plain.isascii() else None
        for piece in pieces or [line]:
            rows += text_rows(piece, width, base) if piece.cell_len > width else [text_row(piece, width, base)]
    return rows


def _list(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    is_tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
    number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    digits = len(str((number or 0) + len(node.children) - 1))
    bullet = base + tone.style("mdListBullet")
    rows: list[Strip] = []
    for offset, item in enumerate(node.children):
        marker = "• " if number is None else f"{number + offset:>{digits}}. "
        if tone.as_typed:
            marker = f"{item.info}{item.markup} "
        room = max(1, width - len(marker))
        body = _blocks(item.children, room, tone, base, is_tight=is_tight) or [blank(room, base)]
        body = _task(item, body, room, tone, base) or body
        if rows and not is_tight:
            rows.append(blank(width, base))
        rows += _marked(body, marker, bullet, base)
    return rows


def _task(item: SyntaxTreeNode, body: list[Strip], width: int, tone: Tone, base: Style) -> list[Strip] | None:
    """The rows of a task with its box as a sign."""
    first = item.children[0].children[0].content if item.children and item.children[0].children else ""
    if not first[:4].lower().startswith(("[ ] ", "[x] ")):
        return None
    is_done = first[1].lower() == "x"
    sign = plain("☑ " if is_done else "☐ ", 2, base + tone.style("success" if is_done else "muted"))
    return [Strip.join([sign, body[0].crop(4, width), blank(2, base)]), *body[1:]]


def _marked(body: list[Strip], marker: str, style: Style, base: Style) -> list[Strip]:
    head = plain(marker, len(marker), style)
    gap = blank(len(marker), base)
    return [Strip.join([gap if index else head, row]) for index, row in enumerate(body)]


def _quote(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    inner = base + tone.style("mdQuote", italic=True)
    if width < _MIN_NESTED_COLUMNS:
        return _blocks(node.children, width, tone, inner, is_tight=False)
    body = _blocks(node.children, width - 2, tone, inner, is_tight=False)
    bar = plain("│ ", 2, base + tone.style("mdQuoteBorder"))
    return [Strip.join([bar, row]) for row in body]


def _table(node: SyntaxTreeNode, width: int, tone: Tone, base: Style) -> list[Strip]:
    lines = [row.children for part in node.children for row in part.children]
    columns = max((len(line) for line in lines), default=0)
    if not columns or columns * _MIN_TABLE_COLUMN + 1 > width:
        return _narrow_table(lines, width, tone, base)
    return rendered(_rich_table(lines, columns, tone, base), width, base)


def _rich_table(lines: list[list[SyntaxTreeNode]], columns: int, tone: Tone, base: Style) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.ROUNDED, border_style=base + tone.style("mdCodeBlockBorder"), header_style=base, style=base)
    for index in range(columns):
        cell = lines[0][index] if index < len(lines[0]) else None
        style = str(cell.attrs.get("style", "")) if cell is not None else ""
        justify: JustifyMethod = "right" if "right" in style else "center" if "center" in style else "left"
        heading = _inline(cell, tone, base + Style(bold=True)) if cell is not None else Text()
        table.add_column(heading, justify=justify, overflow="fold")
    for line in lines[1:]:
        table.add_row(*(_inline(cell, tone, base) for cell in line))
    return table


def _narrow_table(lines: list[list[SyntaxTreeNode]], width: int, tone: Tone, base: Style) -> list[Strip]:
    """A table without room for columns: each row as lines of heading and value."""
    heads = [_inline(cell, tone, base + Style(bold=True)) for cell in lines[0]] if lines else []
    rows: list[Strip] = []
    for line in lines[1:]:
        if rows:
            rows.append(blank(width, base))
        for index, cell in enumerate(line):
            text = heads[index].copy() if index < len(heads) else Text(style=base)
            text.append(": ", base)
            text.append_text(_inline(cell, tone, base))
            rows += text_rows(text, width, base)
    return rows or hard_rows("", width, base)
