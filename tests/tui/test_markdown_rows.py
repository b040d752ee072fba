"""Markdown as rows: everything is shown, nothing is wider than the screen, growing costs no difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tui.markdown.render import markdown_rows
from pinyon.tui.markdown.view import MarkdownView
from pinyon.tui.tone import Tone

TONE = Tone()
SAMPLE = """# Title

A **bold** word, *slanted*, ~~gone~~, `code`, [link](https://example.com/x) and <b>html</b>.

1. one
   - nested
2. two

- [x] done
- [ ] open

> quoted
> more

```python
def f(x):
    return x  # comment
```

| a | b |
|---|--:|
| 1 | 漢字 ✅ |

---
end \u0600 e\u0301 👩‍👩‍👧 🇩🇪
"""


def text_of(source: str, width: int = 60) -> str:
    return "\n".join(row.text.rstrip() for row in markdown_rows(source, width, TONE))


def test_each_kind_of_block_is_shown() -> None:
    shown = text_of(SAMPLE)
    for part in (
        "Title",
        "link\n(https://example.com/x)",
        "<b>html</b>",
        "1. one",
        "   • nested",
        "☑ done",
        "☐ open",
        "│ quoted",
        "```python",
        "  def f(x):",
        "│ 1 │",
        "────",
    ):
        assert part in shown


@pytest.mark.parametrize("width", [1, 2, 5, 11, 20, 22, 40, 119, 120, 200])
def test_no_row_is_wider_or_narrower_than_asked(width: int) -> None:
    assert {row.cell_length for row in markdown_rows(SAMPLE, width, TONE)} == {width}


@given(st.text(alphabet="#*-`>|[]() \n12.ab漢👩‍✅\u3164\t", max_size=120), st.integers(1, 40))
def test_any_text_fits_any_width(source: str, width: int) -> None:
    assert all(row.cell_length == width for row in markdown_rows(source, width, TONE))


def test_terminal_control_bytes_do_not_get_through() -> None:
    rows = markdown_rows("[x](https://e.org/\x1b]52;c;QQ\x07) \x1b[2J *a\x9b31m*", 60, TONE)
    written = "".join(row.text for row in rows)
    assert "\x1b" not in written
    assert "\x07" not in written
    assert "\x9b" not in written


def test_only_safe_links_are_links() -> None:
    linked = Tone(hyperlinks=True)

    def links(source: str) -> set[str]:
        rows = markdown_rows(source, 60, linked)
        return {segment.style.link for row in rows for segment in row if segment.style and segment.style.link}

    assert links("[a](https://example.com)") == {"https://example.com"}
    assert links("[a](vscode://run)") == set()


@pytest.mark.parametrize("step", [1, 3, 17])
def test_a_text_that_grew_looks_like_one_that_was_there_at_once(step: int) -> None:
    view = MarkdownView()
    for end in range(step, len(SAMPLE) + step, step):
        view.set_text(SAMPLE[:end])
        view.rows(60, TONE)
    view.finish()
    grown = [row.text for row in view.rows(60, TONE)]
    assert grown == [row.text for row in markdown_rows(SAMPLE, 60, TONE)]


def test_long_code_that_is_still_being_written_shows_every_line_once() -> None:
    view = MarkdownView()
    code = "\n".join(f"x{number} = {number}" for number in range(200))
    view.set_text(f"```python\n{code}")
    shown = [row.text.strip() for row in view.rows(60, TONE)]
    assert [line for line in shown if line.startswith("x")] == code.split("\n")
