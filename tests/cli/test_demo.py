import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinyon.cli.demo import hints, own_command


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without keys, network or earlier sessions."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    (tmp_path / "tmp").mkdir()
    return {**kept, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}


def pinyon(env: dict[str, str], cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pinyon", *arguments],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_demo_mends_a_real_program_and_its_session_goes_on(home: dict[str, str], tmp_path: Path) -> None:
    done = pinyon(home, tmp_path, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("SCRIPTED", "FAILED (failures=1)", "[edit] shop.py", "OK", "pinyon -c -p", "--model ollama/"):
        assert said in done.stdout
    (project,) = (tmp_path / "tmp").glob("pinyon-demo-*")
    assert "// 100" in (project / "shop.py").read_text()

    more = pinyon(home, project, "-c", "-p", "What did you change?")
    assert (more.returncode, more.stderr) == (0, "")
    assert "scripted model" in more.stdout
    assert "// 100" in more.stdout
    (session,) = (tmp_path / ".pi" / "agent" / "sessions").rglob("*.jsonl")
    assert session.read_text().count('"role":"user"') == 2


def test_the_hints_name_the_command_as_it_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "my tools" / "pinyon"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command() == f"'{program}'"
    assert f"&& '{program}' -c -p" in hints(tmp_path, own_command())
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_command() == "pinyon"
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    assert own_command().endswith(" -m pinyon")


def test_without_a_model_one_line_says_what_to_do(home: dict[str, str], tmp_path: Path) -> None:
    done = pinyon(home, tmp_path, "-p", "hello")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.strip().splitlines()
    for said in ("no model", "ANTHROPIC_API_KEY", "models.json", "pinyon demo"):
        assert said in line


def test_keys_of_an_older_version_are_moved_once(home: dict[str, str], tmp_path: Path) -> None:
    agent_dir = tmp_path / ".pi" / "agent"
    agent_dir.mkdir(parents=True)
    (agent_dir / "settings.json").write_text('{"theme": "dark", "apiKeys": {"anthropic": "sk-old"}}')
    done = pinyon(home, tmp_path, "--list-models", "sonnet")
    assert done.returncode == 0
    assert "anthropic" in done.stdout
    assert "Moved the credentials of anthropic" in done.stderr
    assert "sk-old" not in done.stdout + done.stderr
    assert "sk-old" in (agent_dir / "auth.json").read_text()
    assert "apiKeys" not in (agent_dir / "settings.json").read_text()
    assert "Moved" not in pinyon(home, tmp_path, "--list-models").stderr
