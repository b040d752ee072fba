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
    from pinyon.resources.diagnostic import ResourceCollision, ResourceDiagnostic
    from pinyon.resources.loader import DefaultResourceLoader, LoaderOptions, ResourceLoader, ResourcePaths
    from pinyon.resources.named_resource import LoadedPrompts, LoadedSkills, LoadedThemes
    from pinyon.resources.package.manager import ListedPackage, PackageManager, PackageUpdate
    from pinyon.resources.prompt_source import load_append_prompt, load_system_prompt
    from pinyon.resources.prompt_template import PromptTemplate
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
    from pinyon.resources.skill_folder import load_skills, load_skills_with_diagnostics, load_skills_with_trust
    from pinyon.resources.source_info import SourceInfo
    from pinyon.resources.theme import Theme
    from pinyon.resources.trust import TrustDecision, decide_project_trust, has_gated_resources
    from pinyon.resources.trust_question import (
        ProjectTrust,
        TrustChoice,
        TrustQuestion,
        TrustVerdict,
        trust_question,
    )
    from pinyon.resources.trust_store import TrustStoreError, read_trust_decision, save_trust_decisions

__all__ = [
    "CompactionSettings",
    "ContextFile",
    "ContextFiles",
    "DefaultResourceLoader",
    "FileSettingsStorage",
    "ListedPackage",
    "LoadedPrompts",
    "LoadedSkills",
    "LoadedThemes",
    "LoaderOptions",
    "MemorySettingsStorage",
    "PackageManager",
    "PackageUpdate",
    "ProjectTrust",
    "PromptTemplate",
    "ProviderRetrySettings",
    "ResourceCollision",
    "ResourceDiagnostic",
    "ResourceLoader",
    "ResourcePaths",
    "RetrySettings",
    "SettingsError",
    "SettingsManager",
    "SettingsProblem",
    "SettingsStorage",
    "Skill",
    "SourceInfo",
    "Theme",
    "TrustChoice",
    "TrustDecision",
    "TrustQuestion",
    "TrustStoreError",
    "TrustVerdict",
    "decide_project_trust",
    "find_context_files",
    "format_skills_for_prompt",
    "has_gated_resources",
    "load_append_prompt",
    "load_project_context_files",
    "load_skills",
    "load_skills_with_diagnostics",
    "load_skills_with_trust",
    "load_system_prompt",
    "read_trust_decision",
    "save_trust_decisions",
    "trust_question",
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
        "pinyon.resources.diagnostic": ("ResourceCollision", "ResourceDiagnostic"),
        "pinyon.resources.loader": ("DefaultResourceLoader", "LoaderOptions", "ResourceLoader", "ResourcePaths"),
        "pinyon.resources.named_resource": ("LoadedPrompts", "LoadedSkills", "LoadedThemes"),
        "pinyon.resources.prompt_template": ("PromptTemplate",),
        "pinyon.resources.package.manager": ("ListedPackage", "PackageManager", "PackageUpdate"),
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
        "pinyon.resources.skill_folder": (
            "load_skills",
            "load_skills_with_diagnostics",
            "load_skills_with_trust",
        ),
        "pinyon.resources.source_info": ("SourceInfo",),
        "pinyon.resources.theme": ("Theme",),
        "pinyon.resources.trust": ("TrustDecision", "decide_project_trust", "has_gated_resources"),
        "pinyon.resources.trust_question": (
            "ProjectTrust",
            "TrustChoice",
            "TrustQuestion",
            "TrustVerdict",
            "trust_question",
        ),
        "pinyon.resources.trust_store": ("TrustStoreError", "read_trust_decision", "save_trust_decisions"),
    },
)
