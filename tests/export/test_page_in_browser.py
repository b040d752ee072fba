"""The exported page in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser import Page, needs_browser, open_browser
from tests.export.recorded import HOSTILE, TINY_PNG, Recording, assistant, call, result, text, user

from pinyon.export import export_from_file

pytestmark = needs_browser

MARKDOWN = """# Plan
Look at `parse.py`, **then** change ~~it~~ *her* snake_case_name: <b>raw</b>
[site](https://example.org) [bad](javascript:alert(1))

| step | cost |
|:--|--:|
| read | 3 |

> quoted

- one
  - nested
- [x] done

1. first
2. second

```python
def parse(x):  # comment
    return "text" + str(42)
```
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_browser() as page:
        page.resize(1200, 800)
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.problems.clear()
    yield browser
    assert browser.problems == []


def rich_session(folder: Path) -> tuple[Path, dict[str, str]]:
    """A session with an entry of every kind; the ids that tests ask for."""
    made, ids = Recording(), {}
    tools = [{"name": "read", "description": HOSTILE, "parameters": {"type": "object"}}]
    made.add(message={"role": "system", "content": "Be careful.\n" * 30, "toolsAdded": tools, "timestamp": 0})
    ids["first"] = made.add(message=user(text("Fix the parser")))
    thinking = {"type": "thinking", "thinking": "Let me see."}
    calls = [
        call("c1", "read", {"path": "/home/user/project/parse.py"}),
        call("c2", "edit", {"path": "parse.py"}),
        call("c3", "bash", {"command": "pytest -q"}),
        call("c4", "own_tool", None),
    ]
    ids["plan"] = made.add(message=assistant(thinking, text(MARKDOWN), *calls))
    made.add(message=result("c1", "read", "import os\n" * 40))
    made.add(message=result("c2", "edit", "ok", details={"diff": " 1 a\n-2 b\n+2 c"}))
    ids["failed"] = made.add(
        message=result("c3", "bash", "\x1b[31mFAILED\x1b[0m test\n", isError=True, durationMs=2345)
    )
    ids["answer"] = made.add(message=assistant(text("All good.")))
    made.add("label", targetId=ids["answer"], label="milestone")
    ids["other"] = made.add(
        parent=ids["first"], message=assistant(text("Other way"), errorMessage="429: slow down", stopReason="error")
    )
    ids["other leaf"] = made.add(message=user(text("zebra question")))
    made.add("branch_summary", parent=ids["answer"], fromId=ids["other leaf"], summary="Tried another way.")
    made.add("compaction", summary="## Goal\nParse.", firstKeptEntryId=ids["answer"], tokensBefore=12345)
    made.add("model_change", provider="fake", modelId="m2")
    shell = {"command": "ls", "output": "a\nb\n", "exitCode": 2, "cancelled": False, "truncated": False, "timestamp": 1}
    made.add(message={"role": "bashExecution", **shell})
    made.add("custom_message", customType="note", content="shown note", display=True)
    ids["hidden"] = made.add("custom_message", customType="note", content="secret note", display=False)
    skill = '<skill name="tidy" location="/x">\nTidy up\n</skill>\n\nnow'
    made.add(message=user(text(skill), {"type": "image", "mimeType": "image/png", "data": TINY_PNG}))
    ids["leaf"] = made.add(message=assistant(text(HOSTILE), call(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})))
    return made.write(folder / "rich.jsonl"), ids


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> dict[str, str]:
    source, ids = rich_session(tmp_path)
    target = export_from_file(source, tmp_path / "rich.html")
    page.open(target.as_uri())
    ids["address"] = target.as_uri()
    return ids


def words(page: Page, selector: str = "#conversation") -> str:
    found: str = page.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")
    return found


def entry(entry_id: str) -> str:
    return f"document.getElementById('entry-{entry_id}')"


def test_the_whole_path_to_the_leaf_is_shown_and_nothing_of_other_branches(page: Page, shown: dict[str, str]) -> None:
    seen = words(page)
    for part in ("Be careful.", "Fix the parser", "Let me see.", "All good.", "12,345 tokens before", "exit code 2"):
        assert part in seen
    assert "zebra question" not in seen
    assert "secret note" not in seen
    assert "429: slow down" not in seen
    assert "2.3 s" in seen
    assert "\x1b" not in seen
    assert "~/project/parse.py" in seen
    assert "milestone" in seen


def test_hostile_content_stays_text(page: Page, shown: dict[str, str]) -> None:
    assert page.evaluate("window.hacked === undefined")
    assert HOSTILE in words(page)
    assert page.evaluate("document.querySelectorAll('#conversation script, #conversation [onerror]').length") == 0
    assert page.evaluate("[...document.links].filter((a) => a.protocol === 'javascript:').length") == 0


def test_markdown_becomes_structure(page: Page, shown: dict[str, str]) -> None:
    inside = entry(shown["plan"])
    expected = {
        "h1": 1,
        "td": 2,
        "blockquote": 1,
        "li": 5,
        "li li": 1,
        "ol": 1,
        "del": 1,
        "strong": 1,
        "em": 1,
        ".markdown .hl-keyword": 2,
        ".hl-string": 1,
        ".hl-comment": 1,
        ".hl-number": 1,
        "input[type=checkbox]:checked": 1,
        ".diff-added": 1,
        ".diff-removed": 1,
    }
    count = f"(name) => [name, {inside}.querySelectorAll(name).length]"
    assert page.evaluate(f"Object.fromEntries({json.dumps(list(expected))}.map({count}))") == expected
    assert page.evaluate(f"{inside}.querySelector('a').href") == "https://example.org/"
    assert "snake_case_name: <b>raw</b>" in page.evaluate(f"{inside}.innerText")


def test_keys_show_and_hide_thinking_outputs_and_hidden_messages(page: Page, shown: dict[str, str]) -> None:
    thinking = f"{entry(shown['plan'])}.querySelector('.thinking').open"
    assert page.evaluate(thinking)
    page.press("t")
    assert not page.evaluate(thinking)
    imports = f"({entry(shown['plan'])}.innerText.match(/import os/g) || []).length"
    assert page.evaluate(imports) == 10
    page.press("o")
    assert page.evaluate(imports) == 40
    page.press("o")
    assert page.evaluate(imports) == 10
    page.press("h")
    assert "secret note" in words(page)
    page.press("h")
    assert "secret note" not in words(page)


def test_search_lists_what_has_all_the_words_and_a_click_opens_that_branch(page: Page, shown: dict[str, str]) -> None:
    page.press("/")
    page.write("question ZEBRA")
    page.wait_for("document.getElementById('count').textContent.startsWith('1 ')")
    page.press("t")  # goes into the search field, not to the toggle
    assert page.evaluate("document.getElementById('search').value") == "question ZEBRAt"
    page.evaluate("(() => { const field = document.getElementById('search'); field.value = 'zebra';"
                  " field.dispatchEvent(new Event('input')); })()")  # fmt: skip
    page.evaluate(f"document.querySelector('.row[data-id=\"{shown['other leaf']}\"]').click()")
    assert "zebra question" in words(page)
    assert "429: slow down" in words(page)
    assert "All good." not in words(page)
    page.press("Escape")
    assert "All good." in words(page)
    assert page.evaluate("document.getElementById('search').value") == ""


@pytest.mark.parametrize(
    ("filter_name", "listed", "passed_over"),
    [
        ("default", "Other way|429", "Model fake/m2"),
        ("user-only", "zebra question", "All good."),
        ("no-tools", "All good.", "read ~/project"),
        ("labeled-only", "All good.", "zebra question"),
        ("all", "Model fake/m2", "no such text"),
    ],
)
def test_filters_choose_what_the_outline_lists(
    page: Page, shown: dict[str, str], filter_name: str, listed: str, passed_over: str
) -> None:
    page.evaluate(f"(() => {{ const f = document.getElementById('filter'); f.value = '{filter_name}';"
                  " f.dispatchEvent(new Event('change')); })()")  # fmt: skip
    rows = page.evaluate("[...document.querySelectorAll('.row')].map((row) => row.innerText).join('\\n')")
    assert any(word in rows for word in listed.split("|"))
    assert passed_over not in rows


def test_the_outline_is_walked_with_the_keyboard(page: Page, shown: dict[str, str]) -> None:
    page.evaluate("document.getElementById('rows').focus()")
    page.press("Home")
    page.press("ArrowDown")
    assert page.evaluate("document.querySelector('.row.chosen').dataset.id") == shown["first"]
    page.press("End")
    page.press("Enter")
    assert page.evaluate("document.querySelector('.row.leaf').dataset.id") == shown["other leaf"]


def test_a_link_leads_to_its_entry_and_branch(page: Page, shown: dict[str, str]) -> None:
    page.open(f"{shown['address']}?leafId={shown['other leaf']}&targetId={shown['other']}")
    assert "zebra question" in words(page)
    assert page.evaluate(f"{entry(shown['other'])}.classList.contains('marked')")
    page.open(f"{shown['address']}?targetId=nobody&leafId=%3Cscript%3E")
    assert "All good." in words(page)


def test_a_result_is_found_inside_the_answer_that_called_for_it(page: Page, shown: dict[str, str]) -> None:
    page.open(f"{shown['address']}?leafId={shown['leaf']}&targetId={shown['failed']}")
    assert page.evaluate(f"{entry(shown['plan'])}.classList.contains('marked')")


def test_the_session_file_can_be_downloaded_again(page: Page, shown: dict[str, str]) -> None:
    page.evaluate("""(() => {
        window.saved = null;
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return make(blob); };
        [...document.querySelectorAll('.actions button')].find((b) => b.textContent === 'Download JSONL').click();
    })()""")
    page.wait_for("window.saved !== null")
    lines = [json.loads(line) for line in page.evaluate("window.saved").splitlines()]
    assert lines[0]["id"] == "rec-1"
    assert lines[-1]["id"] == shown["leaf"]


def test_light_and_dark_follow_the_reader_and_a_key(page: Page, shown: dict[str, str]) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    page.prefer_dark(True)
    dark = page.evaluate(ground)
    page.prefer_dark(False)
    light = page.evaluate(ground)
    assert dark != light
    page.press("d")
    assert page.evaluate(ground) == dark
    page.press("d")
    assert page.evaluate(ground) == light


def test_a_narrow_window_keeps_the_outline_in_a_drawer(page: Page, shown: dict[str, str]) -> None:
    page.resize(600, 800)
    try:
        visible = "getComputedStyle(document.getElementById('outline')).visibility"
        assert page.evaluate(visible) == "hidden"
        page.evaluate("document.getElementById('menu').click()")
        page.wait_for(f"{visible} === 'visible'")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.resize(1200, 800)


def test_a_long_session_shows_its_end_first_and_all_of_it_soon(page: Page, tmp_path: Path) -> None:
    made = Recording()
    for number in range(2500):
        made.add(message=user(text(f"question {number}")))
        made.add(message=assistant(text(f"## Answer {number}\n\n- `a`\n- **b**\n\n```python\nx = {number}\n```")))
    page.open(export_from_file(made.write(tmp_path / "long.jsonl"), tmp_path / "long.html").as_uri())
    first = page.evaluate("document.querySelectorAll('.entry').length")
    assert first >= 40
    assert page.evaluate("document.querySelectorAll('.row').length") < 100
    page.wait_for("document.querySelectorAll('.entry').length === 5000", timeout_s=60)
    seen = page.evaluate("document.elementFromPoint(700, 300).closest('.entry, .entries').innerText")
    assert "24" in seen  # still at the end, though thousands of entries were put before it


def test_a_very_deep_chain_and_a_circle_do_not_stop_the_page(page: Page, tmp_path: Path) -> None:
    made = Recording()
    made.add("custom", customType="x", parent="00000003")
    for _ in range(20_000):
        made.add("custom", customType="x")
    made.add(message=user(text("the end")))
    source = made.write(tmp_path / "deep.jsonl")
    page.open(export_from_file(source, tmp_path / "deep.html").as_uri())
    assert "the end" in words(page)
