"""What the sessions of one working directory share: settings, credentials, models and the project's instructions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinyon._util.config import agent_dir as default_agent_dir
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.resources.context_file import ContextFile
from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.loader import DefaultResourceLoader, LoaderOptions, ResourceLoader, ResourcePaths
from pinyon.resources.settings import SettingsManager

if TYPE_CHECKING:
    from pinyon.resources.prompt_template import PromptTemplate
    from pinyon.resources.skill import Skill
    from pinyon.resources.theme import Theme


class PromptResources(msgspec.Struct, kw_only=True):
    """What users bring, as it is now."""

    system_prompt: str | None = None
    append_system_prompt: list[str] = msgspec.field(default_factory=list)
    context_files: list[ContextFile] = msgspec.field(default_factory=list)
    skills: list[Skill] = msgspec.field(default_factory=list)
    prompts: list[PromptTemplate] = msgspec.field(default_factory=list)
    themes: list[Theme] = msgspec.field(default_factory=list)


class ResourceOptions(msgspec.Struct, kw_only=True):
    """What a start asks of resources: prompts given as text or path, paths to add, and discovery to leave out.

    `trust_override` settles the trust of every project, `session_trust` that of single ones by their real path.
    """

    system_prompt: str | None = None
    append_system_prompt: Sequence[str] = ()
    no_context_files: bool = False
    without: frozenset[ResourceKind] = frozenset()
    additional: ResourcePaths = ResourcePaths()
    trust_override: bool | None = None
    session_trust: Mapping[str, bool] = msgspec.field(default_factory=dict)

    def trust_of(self, cwd: Path) -> bool | None:
        """Whether this start settled the trust of a project; None leaves it to saved decisions and settings."""
        if self.trust_override is not None:
            return self.trust_override
        return self.session_trust.get(os.path.realpath(cwd)) if self.session_trust else None

    def loader_options(self) -> LoaderOptions:
        """The part of it that a resource loader takes."""
        return LoaderOptions(
            without=self.without,
            additional=self.additional,
            no_context_files=self.no_context_files,
            system_prompt=self.system_prompt,
            append_system_prompt=self.append_system_prompt,
        )


class Services(msgspec.Struct, kw_only=True):
    """The shared parts, and what was noticed while they were loaded."""

    cwd: Path
    agent_dir: Path | None
    settings: SettingsManager
    auth_storage: AuthStorage
    registry: ModelRegistry
    loader: ResourceLoader
    options: ResourceOptions
    diagnostics: list[ResourceDiagnostic] = msgspec.field(default_factory=list)

    @property
    def resources(self) -> PromptResources:
        """What the loader has now."""
        loader = self.loader
        return PromptResources(
            system_prompt=loader.get_system_prompt(),
            append_system_prompt=loader.get_append_system_prompt(),
            context_files=loader.get_agents_files(),
            skills=loader.get_skills().skills,
            prompts=loader.get_prompts().prompts,
            themes=loader.get_themes().themes,
        )

    async def install_missing_packages(self, progress: Callable[[str], None] | None = None) -> None:
        """Fetch packages that the settings ask for and that are not there, unless offline, and load what they bring."""
        if isinstance(self.loader, DefaultResourceLoader):
            known = self.loader.diagnostics
            if await self.loader.install_missing_packages(progress):
                self.loader.load()
                rest = [each for each in self.diagnostics if not any(each is one for one in known)]
                self.diagnostics = [*rest, *self.loader.diagnostics]

    async def reload(self) -> None:
        """Read settings and resources again; sessions see them from their next prompt on."""
        await self.settings.reload()
        await self.loader.reload()
        self.diagnostics = [*self.settings.diagnostics, *self.loader.diagnostics]

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
    loader: ResourceLoader | None = None,
) -> Services:
    """Load what is not given for `cwd` (default: the process's). A `loader` of the caller's own has loaded already.

    Files that cannot be used become diagnostics; nothing is changed on disk.
    """
    cwd = Path(cwd).absolute() if cwd is not None else Path.cwd()
    options = options or ResourceOptions()
    folder = agent_dir or default_agent_dir()
    settings = settings or SettingsManager.create(cwd, folder, project_trusted=options.trust_of(cwd))
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
    if loader is None:
        own = DefaultResourceLoader(
            cwd=cwd, agent_dir=folder, settings_manager=settings, options=options.loader_options()
        )
        own.load()
        loader = own
    return Services(
        cwd=cwd,
        agent_dir=folder,
        settings=settings,
        auth_storage=auth_storage or registry.auth_storage,
        registry=registry,
        loader=loader,
        options=options,
        diagnostics=[*diagnostics, *loader.diagnostics],
    )
