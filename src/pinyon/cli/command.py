"""Sub-commands: which module runs each. A module is imported when its command is called."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

RUNNERS = {
    "acp": "pinyon.cli.acp_command:run_acp",
    "auth": "pinyon.cli.auth_command:run_auth",
    "completion": "pinyon.cli.completion:run_completion",
    "config": "pinyon.cli.config_command:run_config",
    "demo": "pinyon.cli.demo:run_demo_command",
    "doctor": "pinyon.cli.doctor.command:run_doctor",
    "install": "pinyon.cli.package_command:run_install",
    "list": "pinyon.cli.package_command:run_list",
    "remove": "pinyon.cli.package_command:run_remove",
    "uninstall": "pinyon.cli.package_command:run_remove",
    "web": "pinyon.cli.web_command:run_web",
    "update": "pinyon.cli.update:run_update",
}
"""Command → the function that takes the arguments behind it and gives the exit code."""


def run_command(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `RUNNERS`; returns its exit code."""
    module, function = RUNNERS[name].split(":")
    code: int = getattr(import_module(module), function)(arguments)
    return code
