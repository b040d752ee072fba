"""Where configuration lives: the folders and switches that pi and Pinyon share.

Every path function reads the environment when it is called. Without a home directory there is no agent folder: the
functions return None, never a relative path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

APP_NAME = "pinyon"
"""Command, distribution and import name; also the product name in user agents."""

CONFIG_DIR_NAME = ".pi"
"""Name of the configuration folder in the home directory and in projects."""

DEFAULT_MODEL_SPEC = "anthropic/claude-sonnet-4-5"
"""Model of an empty model spec in the programmatic interface."""

DEFAULT_THINKING_LEVEL = "medium"
"""Thinking level where neither flags, session nor settings name one."""


def home_dir() -> Path | None:
    """The user's home directory, or None where the system knows none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def expand_home(text: str) -> Path:
    """`~` and `~/...` under the home directory; other texts as they are."""
    home = home_dir()
    if home is not None and (text == "~" or text.startswith(("~/", "~\\"))):
        return home / text[2:] if len(text) > 1 else home
    return Path(text)


def agent_dir(env: Mapping[str, str] | None = None) -> Path | None:
    """The agent folder: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`; None without a home."""
    override = (os.environ if env is None else env).get("PI_CODING_AGENT_DIR")
    if override:
        return expand_home(override)
    home = home_dir()
    return None if home is None else home / CONFIG_DIR_NAME / "agent"


def agents_skills_dir() -> Path | None:
    """The skills folder that agents of any make share, `~/.agents/skills`; None without a home."""
    home = home_dir()
    return None if home is None else home / ".agents" / "skills"


def package_dir() -> Path:
    """Root of README, docs and examples: `PI_PACKAGE_DIR`, else what is installed with the package."""
    override = os.environ.get("PI_PACKAGE_DIR")
    if override:
        return expand_home(override)
    module_dir = Path(__file__).resolve().parents[1]
    checkout = module_dir.parents[1]
    return checkout if (checkout / "pyproject.toml").is_file() else module_dir / "share"


def readme_path() -> Path:
    """README.md of the package."""
    return package_dir() / "README.md"


def docs_path() -> Path:
    """Documentation folder of the package."""
    return package_dir() / "docs"


def examples_path() -> Path:
    """Examples folder of the package."""
    return package_dir() / "examples"


def is_offline(env: Mapping[str, str] | None = None) -> bool:
    """Whether `PI_OFFLINE` forbids automatic network use (`1`, `true` or `yes`, any case)."""
    return (os.environ if env is None else env).get("PI_OFFLINE", "").lower() in {"1", "true", "yes"}


def are_experimental_features_enabled() -> bool:
    """Whether `PI_EXPERIMENTAL` is exactly `1`."""
    return os.environ.get("PI_EXPERIMENTAL") == "1"
