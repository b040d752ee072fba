"""`pinyon doctor`: every look after another, for people or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.config import CONFIG_DIR_NAME, agent_dir
from pinyon._util.secret import redact
from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.doctor.finding import Finding
from pinyon.cli.entry import write
from pinyon.cli.package_args import PackageArgs, PackageArgsError, parse_package_args
from pinyon.cli.package_command import run_work, usage_error

if TYPE_CHECKING:
    from pinyon.resources.settings import SettingsManager

USAGE = """\
Usage: pinyon doctor [--json] [-a|-na]

Says what of ~/.pi/agent and of this project is used, ignored or broken, and how to mend it. It only reads, and asks no
server. The exit code is 1 if something is broken.

--json            one JSON object instead of text
-a, --approve     look at the project as if it were trusted; -na, --no-approve does not
"""
_MARKS = {"used": "ok     ", "note": "note   ", "ignored": "ignored", "broken": "BROKEN "}


def run_doctor(arguments: Sequence[str]) -> int:
    """`pinyon doctor`; returns the exit code."""
    try:
        args = parse_package_args(arguments, switches=frozenset({"--json"}))
    except PackageArgsError as error:
        return usage_error(str(error), USAGE)
    if args.is_help:
        return write(sys.stdout, USAGE)

    async def work() -> int:
        findings = [_without_secrets(each) for each in await examine(Path.cwd(), args)]
        text = _json(findings) if "--json" in args.switches else _text(findings)
        return write(sys.stdout, text) or int(any(each.status == "broken" for each in findings))

    return run_work(work)


async def examine(cwd: Path, args: PackageArgs) -> list[Finding]:
    """Everything that there is to say about the user's files, the project in `cwd`, and the machine."""
    from pinyon.cli.doctor.brought import look_at_packages, look_at_project, look_at_resources
    from pinyon.cli.doctor.calm_storage import CalmSettingsStorage
    from pinyon.cli.doctor.machine import look_at_machine
    from pinyon.resources.loader import DefaultResourceLoader
    from pinyon.resources.package.manager import PackageManager
    from pinyon.resources.settings import SettingsManager
    from pinyon.resources.trust import decide_project_trust

    folder = agent_dir()
    settings = SettingsManager.from_storage(CalmSettingsStorage(cwd, folder), project_trusted=False)
    default = settings.get_default_project_trust()
    decision = decide_project_trust(cwd, folder, override=args.trust, default=default)
    settings.set_project_trusted(decision.trusted)
    loader = DefaultResourceLoader(cwd=cwd, agent_dir=folder, settings_manager=settings)
    loader.load()
    return [
        *look_at_machine(),
        *_look_at_user(cwd, folder, settings),
        *look_at_project(cwd, decision),
        *look_at_resources(loader),
        *await look_at_packages(PackageManager(cwd=cwd, agent_dir=folder, settings=settings)),
    ]


def _look_at_user(cwd: Path, folder: Path | None, settings: SettingsManager) -> list[Finding]:
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.cli.doctor import user_file
    from pinyon.cli.doctor.conversation import look_at_sessions

    if folder is None:
        mend = "set HOME or PI_CODING_AGENT_DIR"
        return [Finding("folder", "broken", "there is no agent folder: no home is known", None, mend)]
    if not folder.is_dir():
        return [Finding("folder", "note", "there is no agent folder yet; the first run makes it", str(folder))]
    auth = AuthStorage.create(folder / "auth.json")
    registry = ModelRegistry.create(auth, folder / "models.json")
    project = cwd / CONFIG_DIR_NAME
    sessions = os.environ.get("PI_CODING_AGENT_SESSION_DIR") or settings.get_session_dir() or folder / "sessions"
    return [
        Finding("folder", "used", "agent folder", str(folder)),
        *user_file.look_at_settings(settings, {"user": folder / "settings.json", "project": project / "settings.json"}),
        *user_file.look_at_credentials(folder / "auth.json", auth),
        *user_file.look_at_models(folder / "models.json", registry.get_errors()),
        *user_file.look_at_trust(folder / "trust.json"),
        *user_file.look_at_keys(folder / "keybindings.json"),
        *user_file.look_at_others(folder),
        *user_file.look_at_locks([folder, project]),
        *look_at_sessions(Path(sessions).expanduser()),
    ]


def _without_secrets(finding: Finding) -> Finding:
    import msgspec

    return msgspec.structs.replace(finding, message=redact(finding.message))


def _json(findings: Sequence[Finding]) -> str:
    import msgspec

    from pinyon._util import json as json_text

    is_well = all(each.status != "broken" for each in findings)
    value = {"ok": is_well, "findings": [msgspec.to_builtins(each) for each in findings]}
    return json_text.encode_pretty(value).decode() + "\n"


def _text(findings: Sequence[Finding]) -> str:
    lines: list[str] = []
    for each in findings:
        where = f"  {each.path}" if each.path and each.path not in each.message else ""
        lines.append(f"{_MARKS[each.status]} {each.area}: {each.message}{where}")
        if each.mend is not None:
            lines.append(f"          {each.mend}")
    counts = {status: sum(each.status == status for each in findings) for status in ("broken", "ignored")}
    lines.append(f"\n{counts['broken']} broken, {counts['ignored']} ignored")
    return strip_terminal_control("\n".join(lines)) + "\n"
