"""Pages of sessions as files: what they hold, what they refuse and what they keep out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.export.recorded import stored_session

from pinyon.ai.tool import Tool
from pinyon.errors import SessionError
from pinyon.export import PageExtras, PagePalette, export_from_file, export_session_to_html, html_file_name, page_colors
from pinyon.session.session import Session


def page_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="session-data" type="application/json">([^<]*)</script>', page)
    assert found is not None
    data: dict[str, Any] = json.loads(base64.b64decode(found[1]))
    return data


def test_a_page_holds_every_branch_of_the_session_as_it_stands_in_the_file(tmp_path: Path) -> None:
    source = stored_session(tmp_path)
    page = export_from_file(source, tmp_path / "page.html").read_text()
    lines = [json.loads(line) for line in source.read_bytes().splitlines()]
    data = page_data(page)
    assert data["header"] == lines[0]
    assert data["entries"] == lines[1:]
    assert data["leafId"] == lines[-1]["id"]
    assert "systemPrompt" not in data
    assert "tools" not in data


def test_a_page_is_named_after_its_session_and_written_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stored_session(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert html_file_name(source) == f"pi-session-{source.stem}.html"
    assert export_from_file(source) == Path(html_file_name(source))
    assert (tmp_path / html_file_name(source)).stat().st_size > 10_000


def test_a_page_runs_nothing_but_its_own_script_and_style(tmp_path: Path) -> None:
    page = export_from_file(stored_session(tmp_path), tmp_path / "page.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert "default-src &#x27;none&#x27;" in policy[1]
    assert "http://" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"\bon[a-z]+=", page.split("<body>")[1].split("<script id=")[0])


def test_prompt_and_tools_of_the_running_session_travel_with_the_page(tmp_path: Path) -> None:
    session = Session.open(stored_session(tmp_path))
    tool = Tool(name="read", description="Reads a file", parameters={"type": "object"})
    page = export_session_to_html(session, tmp_path / "p.html", PageExtras(system_prompt="Be kind.", tools=[tool]))
    data = page_data(page.read_text())
    assert data["systemPrompt"] == "Be kind."
    assert data["tools"] == [{"name": "read", "description": "Reads a file", "parameters": {"type": "object"}}]


def test_credentials_do_not_reach_a_page_but_code_about_them_does(tmp_path: Path) -> None:
    code = "headers['x-api-key'] = key"
    told = f"key sk-canary-12345678 at https://ann:canary-pass@host/x with Bearer canary0123456789, {code}"
    source = stored_session(tmp_path, prompt=told)
    page = export_from_file(source, tmp_path / "p.html", PageExtras(secrets=["sk-canary-12345678"]))
    text = json.dumps(page_data(page.read_text()))
    assert "canary" not in text
    assert code in text


def test_the_title_is_the_name_of_the_session_as_text(tmp_path: Path) -> None:
    session = Session.open(stored_session(tmp_path))
    session.append_session_info("a </title><script>alert(1)</script> & <!--data-->")
    page = export_session_to_html(session, tmp_path / "p.html").read_text()
    assert "<title>a &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;!--data--&gt;</title>" in page
    assert page_data(page)["header"]["id"] == session.get_session_id()


def test_an_older_page_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    source = stored_session(tmp_path)
    target = export_from_file(source, tmp_path / "p.html")
    assert export_from_file(source, target) == target
    notes = tmp_path / "notes.html"
    notes.write_text("<p>mine</p>")
    with pytest.raises(SessionError, match=r"notes\.html.*choose another name"):
        export_from_file(source, notes)
    assert notes.read_text() == "<p>mine</p>"
    before = source.read_bytes()
    with pytest.raises(SessionError, match="choose another name"):
        export_from_file(source, source)
    assert source.read_bytes() == before
    with pytest.raises(SessionError, match="choose another name"):
        export_from_file(source, tmp_path)


@pytest.mark.parametrize("content", [b"", b"not json\n", b'{"type":"message"}\n'])
def test_what_is_no_session_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "x.jsonl"
    source.write_bytes(content)
    with pytest.raises(SessionError, match=r"x\.jsonl"):
        export_from_file(source, tmp_path / "p.html")
    assert source.read_bytes() == content
    assert not (tmp_path / "p.html").exists()


def test_a_missing_file_a_session_in_memory_and_an_empty_one_say_so(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"gone\.jsonl"):
        export_from_file(tmp_path / "gone.jsonl")
    with pytest.raises(SessionError, match="kept in memory"):
        export_session_to_html(Session.in_memory(tmp_path))
    with pytest.raises(SessionError, match="nothing is saved yet"):
        export_session_to_html(Session.create(tmp_path, tmp_path / "sessions"))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"nowhere.*folder must exist"):
        export_from_file(stored_session(tmp_path), tmp_path / "nowhere" / "p.html")


@pytest.mark.parametrize(
    ("palette", "light_page", "dark_page"),
    [
        (None, "#f6f6f3", "#17181b"),
        (PagePalette(user_message="#ffffff"), "#f5f5f5", "#17181b"),
        (PagePalette(user_message="#333344"), "#f6f6f3", "#242430"),
        (PagePalette(user_message="#334", page="#101010"), "#f6f6f3", "#101010"),
        (PagePalette(user_message="nonsense", page="url(x)"), "#f6f6f3", "#17181b"),
        (PagePalette(page="#fed"), "#fed", "#17181b"),
    ],
)
def test_a_theme_colours_the_surroundings_it_is_made_for(
    palette: PagePalette | None, light_page: str, dark_page: str
) -> None:
    light, dark = page_colors(palette)
    assert (light["page"], dark["page"]) == (light_page, dark_page)
    assert set(light) == set(dark)
