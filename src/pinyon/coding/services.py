"""What the sessions of one working directory share: settings, credentials, models and the project's instructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pinyon._util.config import agent_dir as default_agent_dir
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.resources.context_file import ContextFile, find_context_files
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.prompt_source import load_append_prompt, load_system_prompt
from pinyon.resources.settings import SettingsManager
from pinyon.resources.skill import Skill


class PromptResources(msgspec.Struct, kw_only=True):
    """What files and flags contribute to the system prompt."""

    system_prompt: str | None = None
    append_system_prompt: list[str] = msgspec.field(default_factory=list)
    context_files: list[ContextFile] = msgspec.field(default_factory=list)
    skills: list[Skill] = msgspec.field(default_factory=list)


class ResourceOptions(msgspec.Struct, kw_only=True):
    """What a start asks of resources: prompts given as text or path, and discovery to leave out."""

    system_prompt: str | None = None
    append_system_prompt: Sequence[str] = ()
    no_context_files: bool = False
    trust_override: bool | None = None


class Services(msgspec.Struct, kw_only=True):
    """The shared parts, and what was noticed while they were loaded."""

    cwd: Path
    agent_dir: Path | None
    settings: SettingsManager
    auth_storage: AuthStorage
    registry: ModelRegistry
    resources: PromptResources
    options: ResourceOptions
    diagnostics: list[ResourceDiagnostic] = msgspec.field(default_factory=list)

    def for_cwd(self, cwd: Path) -> Services:
        """The services of another working directory, on the same credentials and models."""
        return create_services(
            cwd,
            agent_dir=self.agent_dir,
            auth_storage=self.auth_storage,
            registry=self.registry,
            options=self.options,
        )


def create_services(
    cwd: str | Path | None = None,
    *,
    agent_dir: Path | None = None,
    settings: SettingsManager | None = None,
    auth_storage: AuthStorage | None = None,
    registry: ModelRegistry | None = None,
    options: ResourceOptions | None = None,
) -> Services:
    """Load what is not given for `cwd` (default: the process's).

    Files that cannot be used become diagnostics; nothing is changed on disk.
    """
    cwd = Path(cwd).absolute() if cwd is not None else Path.cwd()
    options = options or ResourceOptions()
    folder = agent_dir or default_agent_dir()
    settings = settings or SettingsManager.create(cwd, folder, project_trusted=options.trust_override)
    if registry is None:
        auth_storage = auth_storage or AuthStorage.create(folder / "auth.json" if folder else None)
        auth_storage.sign_in.use(
            client_ids=settings.get_oauth_client_ids(),
            device_id=settings.get_device_id(),
            keep_device_id=settings.set_device_id,
        )
        registry = ModelRegistry.create(auth_storage, folder / "models.json" if folder else None)
    diagnostics = [
        *settings.diagnostics,
        *(ResourceDiagnostic("warning", str(error)) for error in registry.auth_storage.drain_errors()),
        *(ResourceDiagnostic("warning", problem) for problem in registry.get_errors()),
    ]
    resources = load_prompt_resources(cwd, folder, options, settings.is_project_trusted, diagnostics)
    return Services(
        cwd=cwd,
        agent_dir=folder,
        settings=settings,
        auth_storage=auth_storage or registry.auth_storage,
        registry=registry,
        resources=resources,
        options=options,
        diagnostics=diagnostics,
    )


def load_prompt_resources(
    cwd: Path, agent_dir: Path | None, options: ResourceOptions, trusted: bool, diagnostics: list[ResourceDiagnostic]
) -> PromptResources:
    """System prompt, additions and context files for `cwd`; project prompt files only in a trusted project."""
    append = load_append_prompt(cwd, agent_dir, options.append_system_prompt, trusted=trusted, diagnostics=diagnostics)
    context_files: list[ContextFile] = []
    if not options.no_context_files:
        found = find_context_files(cwd, agent_dir)
        context_files = list(found.files)
        diagnostics += found.diagnostics
    return PromptResources(
        system_prompt=load_system_prompt(
            cwd, agent_dir, options.system_prompt, trusted=trusted, diagnostics=diagnostics
        ),
        append_system_prompt=append,
        context_files=context_files,
    )
