"""Configuration folders, names and switches, as programs that embed Pinyon need them."""

from __future__ import annotations

from pinyon._util.config import (
    APP_NAME,
    CONFIG_DIR_NAME,
    DEFAULT_MODEL_SPEC,
    DEFAULT_THINKING_LEVEL,
    agent_dir,
    agents_skills_dir,
    are_experimental_features_enabled,
    docs_path,
    examples_path,
    home_dir,
    is_offline,
    package_dir,
    readme_path,
)

__all__ = [
    "APP_NAME",
    "CONFIG_DIR_NAME",
    "DEFAULT_MODEL_SPEC",
    "DEFAULT_THINKING_LEVEL",
    "agent_dir",
    "agents_skills_dir",
    "are_experimental_features_enabled",
    "docs_path",
    "examples_path",
    "home_dir",
    "is_offline",
    "package_dir",
    "readme_path",
]
