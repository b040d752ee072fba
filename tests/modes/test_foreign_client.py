"""A client of another implementation drives the command. Runs where one is given.

`PINYON_FOREIGN_CLIENT` is the path of a JavaScript module that exports `RpcClient`; `node` is looked for on the path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Home

from pinyon.testing.fake_openai import delta_chunk, openai_answer
from pinyon.testing.fake_server import FakeServer, Reply, Stall

CLIENT = os.environ.get("PINYON_FOREIGN_CLIENT")
NODE = shutil.which("node")
HALF = Reply.sse([(None, delta_chunk({"content": "half"})), Stall()])


@pytest.mark.skipif(not (CLIENT and NODE), reason="needs node, and PINYON_FOREIGN_CLIENT naming a client's module")
def test_a_foreign_client_works_by_changing_the_command_alone(tmp_path: Path) -> None:
    answers = [openai_answer("one"), HALF, openai_answer("three"), openai_answer("a summary of it all")]
    with FakeServer(answers) as server:
        home = Home(tmp_path, server.url)
        model = {"id": "m", "reasoning": True}
        provider = {"baseUrl": server.url + "/v1", "api": "openai-completions", "apiKey": "k", "models": [model]}
        home.write(home.agent_dir / "models.json", {"providers": {"fake": provider}})
        home.write(home.agent_dir / "settings.json", {"compaction": {"keepRecentTokens": 1}})
        given = driven(home)
    assert given["start"] == ["m", 0, False]
    assert given["prompt"] == ["agent_start", "agent_settled", "one"]
    assert (given["pending"], given["aborted"]) == (2, False)
    assert given["cleared"] == {"steering": ["steered"], "followUp": ["followed"]}
    assert given["third"] == "three"
    assert given["levels"][0][:2] == ["off", "minimal"]
    assert given["levels"][1] == {"level": "off"} or given["levels"][1]["level"]
    assert (given["models"], given["setModel"], given["cycled"]) == (["m"], "m", None)
    assert given["bash"] == ["shell\n", 3, False]
    assert (given["entries"], given["tree"], given["commands"]) == (True, 1, [])
    assert given["messages"] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "bashExecution",
    ]
    assert given["stats"] == [3, 128000]
    assert given["page"].endswith(".html")
    assert given["ownPage"] == "own.html"
    assert given["compact"] == [True, "number", "string"]
    assert given["forkMessages"] == ["first question", "second question", "third question"]
    assert given["fork"] == {"text": "second question", "cancelled": False}
    assert [given["clone"], given["newSession"], given["switch"]] == [{"cancelled": False}] * 3
    assert (given["forkedFile"], given["emptyCount"], given["back"]) == (True, 0, [True, "driven"])
    assert given["refusal"]
    assert given["settled"] == 3


def driven(home: Home) -> dict[str, Any]:
    """What the client's script prints."""
    here = Path(__file__).parent
    assert NODE is not None
    result = subprocess.run(
        [NODE, here / "foreign_client.mjs", str(CLIENT), here / "command_shim.mjs", home.project, "fake", "m"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home.path),
            "PI_CODING_AGENT_DIR": str(home.agent_dir),
            "PINYON_PYTHON": sys.executable,
        },
        cwd=home.project,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    given: dict[str, Any] = json.loads(result.stdout)
    return given
