"""`--export`: a page from a session file, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import Home
from tests.export.recorded import stored_session


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "http://127.0.0.1:9")


def test_a_page_is_written_to_the_named_file(home: Home) -> None:
    source = stored_session(home.project)
    code, out, err = home.run("--export", source.name, "page.html", model=None)
    assert (code, out, err) == (0, "Exported to page.html\n", "")
    assert "session-data" in (home.project / "page.html").read_text()


def test_without_a_name_the_page_is_called_after_the_session(home: Home) -> None:
    source = stored_session(home.project)
    code, out, _ = home.run("--export", str(source), model=None)
    assert (code, out) == (0, "Exported to pi-session-small.html\n")
    assert (home.project / "pi-session-small.html").exists()


def test_keys_of_the_user_do_not_stand_in_the_page(home: Home) -> None:
    source = stored_session(home.project, prompt="my key is sk-canary-0001 and tok-canary-0002")
    home.write(home.agent_dir / "auth.json", {"openai": {"type": "api_key", "key": "tok-canary-0002"}})
    code, _, _ = home.run("--export", str(source), "p.html", model=None, env={"ANTHROPIC_API_KEY": "sk-canary-0001"})
    assert code == 0
    import base64
    import re

    data = re.search(r'application/json">([^<]*)<', (home.project / "p.html").read_text())
    assert data is not None
    assert b"canary" not in base64.b64decode(data[1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--export", "gone.jsonl"), "gone.jsonl"),
        (("--export", "notes.txt"), "notes.txt"),
        (("--export", "small.jsonl", "a.html", "b.html"), "'b.html'"),
        (("--export", "small.jsonl", "no/where.html"), "where.html"),
    ],
)
def test_what_cannot_be_exported_is_named(home: Home, arguments: tuple[str, ...], said: str) -> None:
    stored_session(home.project)
    (home.project / "notes.txt").write_text("hello\n")
    code, out, err = home.run(*arguments, model=None)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert said in err
    assert "Traceback" not in err
