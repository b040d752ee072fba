"""What users bring: settings, context files and other resources of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.resources.context_file import (
        ContextFile,
        ContextFiles,
        find_context_files,
        load_project_context_files,
    )
    from pinyon.resources.diagnostic import ResourceDiagnostic
    from pinyon.resources.prompt_source import load_append_prompt, load_system_prompt
    from pinyon.resources.settings import (
        CompactionSettings,
        ProviderRetrySettings,
        RetrySettings,
        SettingsError,
        SettingsManager,
        SettingsProblem,
    )
    from pinyon.resources.settings_storage import FileSettingsStorage, MemorySettingsStorage, SettingsStorage
    from pinyon.resources.skill import Skill, format_skills_for_prompt
    from pinyon.resources.trust import (
        TrustDecision,
        TrustStoreError,
        decide_project_trust,
        has_gated_resources,
        read_trust_decision,
    )

__all__ = [
    "CompactionSettings",
    "ContextFile",
    "ContextFiles",
    "FileSettingsStorage",
    "MemorySettingsStorage",
    "ProviderRetrySettings",
    "ResourceDiagnostic",
    "RetrySettings",
    "SettingsError",
    "SettingsManager",
    "SettingsProblem",
    "SettingsStorage",
    "Skill",
    "TrustDecision",
    "TrustStoreError",
    "decide_project_trust",
    "find_context_files",
    "format_skills_for_prompt",
    "has_gated_resources",
    "load_append_prompt",
    "load_project_context_files",
    "load_system_prompt",
    "read_trust_decision",
]

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "pinyon.resources.context_file": (
            "ContextFile",
            "ContextFiles",
            "find_context_files",
            "load_project_context_files",
        ),
        "pinyon.resources.diagnostic": ("ResourceDiagnostic",),
        "pinyon.resources.prompt_source": ("load_append_prompt", "load_system_prompt"),
        "pinyon.resources.settings": (
            "CompactionSettings",
            "ProviderRetrySettings",
            "RetrySettings",
            "SettingsError",
            "SettingsManager",
            "SettingsProblem",
        ),
        "pinyon.resources.settings_storage": (
            "FileSettingsStorage",
            "MemorySettingsStorage",
            "SettingsStorage",
        ),
        "pinyon.resources.skill": ("Skill", "format_skills_for_prompt"),
        "pinyon.resources.trust": (
            "TrustDecision",
            "TrustStoreError",
            "decide_project_trust",
            "has_gated_resources",
            "read_trust_decision",
        ),
    },
)
