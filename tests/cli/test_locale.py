"""The command under locales that are not UTF-8: arguments, names, files, requests, sessions and output stay UTF-8."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.command import Home, texts

from pinyon.testing.fake_openai import call, openai_answer
from pinyon.testing.fake_server import FakeServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="arguments and names are Unicode there")

ANSWER = "✓ ➜ 你好 😀"
LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: str(locale["PYTHONIOENCODING"]))
@pytest.mark.parametrize("mode", ["text", "json"])
def test_everything_is_utf8_under_every_locale(tmp_path: Path, locale: dict[str, str], mode: str) -> None:
    calls = [call("write", {"path": "ü.txt", "content": "é✓"}), call("bash", {"command": "cat ü.txt; pwd"})]
    with FakeServer([openai_answer(calls=calls[:1]), openai_answer(calls=calls[1:]), openai_answer(ANSWER)]) as server:
        home = Home(tmp_path, server.url, project="wü你")
        (home.project / "AGENTS.md").write_text("上下文 ✓", encoding="utf-8")
        (home.project / "ä.txt").write_text("Anhang é", encoding="utf-8")
        code, output, errors = home.run("--mode", mode, "-p", "@ä.txt", "中文 提示", env=locale)
        sent = "\n".join(texts(server.requests[-1].json))
    assert (code, errors) == (0, "")
    assert (home.project / "ü.txt").read_text(encoding="utf-8") == "é✓"
    for text in (
        "中文 提示",
        "Anhang é",
        str(home.project / "ä.txt"),
        "上下文 ✓",
        "Wrote ü.txt.",
        f"é✓{home.project}\n",
    ):
        assert text in sent
    (session,) = home.session_files()
    entries = [json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()]
    assert entries[0]["cwd"] == str(home.project)
    assert ANSWER in texts(entries[-1])
    assert "\ufffd" not in sent + output + session.read_text(encoding="utf-8")
    if mode == "text":
        assert output == ANSWER + "\n"
    else:
        assert ANSWER in texts([json.loads(line) for line in output.splitlines()])
