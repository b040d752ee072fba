"""Loading everything that users bring for one working directory, with what programs add to it or put in its place.

Order of precedence: the project's settings entries and folders, the user's, packages, paths of flags and programs, and
last what extensions add. Of two resources with one name the first is used, and the other is told about.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from pinyon._util import config as _config
from pinyon.resources.context_file import ContextFile, find_context_files
from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.file_cache import FileCache
from pinyon.resources.foreign_extension import foreign_extensions
from pinyon.resources.named_resource import (
    LoadedPrompts,
    LoadedSkills,
    LoadedThemes,
    load_prompts,
    load_skills,
    load_themes,
)
from pinyon.resources.prompt_source import load_append_prompt, load_system_prompt
from pinyon.resources.resource_place import FoundResource, Owner, find_explicit, find_resources, owners_of
from pinyon.resources.settings import SettingsManager

if TYPE_CHECKING:
    from pinyon.resources.package.finder import PackageResources
    from pinyon.resources.package.manager import Progress

T = TypeVar("T")
Override = Callable[[T], T]
PackageFinder = Callable[[ResourceKind, list[ResourceDiagnostic]], Iterable[FoundResource]]
"""The files of a kind that packages bring, in order; packages of the command line are no matter of it."""


class ResourceLoader(Protocol):
    """What a session needs of resources. Programs may bring an object of their own."""

    @property
    def diagnostics(self) -> list[ResourceDiagnostic]:
        """What was noticed while loading."""
        ...

    async def reload(self) -> None:
        """Look at everything again."""
        ...

    def get_skills(self) -> LoadedSkills:
        """The skills."""
        ...

    def get_prompts(self) -> LoadedPrompts:
        """The prompt templates."""
        ...

    def get_themes(self) -> LoadedThemes:
        """The themes beside the built-in ones."""
        ...

    def get_agents_files(self) -> list[ContextFile]:
        """The context files."""
        ...

    def get_system_prompt(self) -> str | None:
        """The custom system prompt; None for the built-in one."""
        ...

    def get_append_system_prompt(self) -> list[str]:
        """The texts to append to the system prompt."""
        ...


class ResourcePaths(msgspec.Struct, kw_only=True, frozen=True):
    """Paths of each kind beside those that are discovered."""

    extensions: Sequence[str] = ()
    skills: Sequence[str] = ()
    prompts: Sequence[str] = ()
    themes: Sequence[str] = ()

    def of(self, kind: ResourceKind) -> Sequence[str]:
        """The paths of one kind."""
        paths: Sequence[str] = getattr(self, kind)
        return paths


class LoaderOptions(msgspec.Struct, kw_only=True):
    """What is left out, added, or replaced. An override gets what was found and returns what is used instead; it runs
    at every loading. `without` names kinds that are not discovered; added paths of them still count.
    """

    without: frozenset[ResourceKind] = frozenset()
    additional: ResourcePaths = ResourcePaths()
    no_context_files: bool = False
    system_prompt: str | None = None
    append_system_prompt: Sequence[str] = ()
    skills_override: Override[LoadedSkills] | None = None
    prompts_override: Override[LoadedPrompts] | None = None
    themes_override: Override[LoadedThemes] | None = None
    agents_files_override: Override[list[ContextFile]] | None = None
    system_prompt_override: Override[str | None] | None = None
    append_system_prompt_override: Override[list[str]] | None = None
    package_finder: PackageFinder | None = None


class DefaultResourceLoader:
    """Finds and reads resources in the folders and settings of the user and of a trusted project.

    Nothing is read before `load` or `reload`. Loading again reads only files that changed.
    """

    def __init__(
        self,
        *,
        cwd: str | Path,
        agent_dir: str | Path | None = None,
        settings_manager: SettingsManager | None = None,
        options: LoaderOptions | None = None,
        home: Path | None = None,
    ) -> None:
        self.cwd = Path(cwd).absolute()
        self.agent_dir = _config.agent_dir() if agent_dir is None else _config.expand_home(str(agent_dir))
        self.settings = settings_manager or SettingsManager.create(self.cwd, self.agent_dir)
        self.options = options or LoaderOptions()
        self._home = home
        self._files = FileCache()
        self._extended = ResourcePaths()
        self._diagnostics: list[ResourceDiagnostic] = []
        self._skills = LoadedSkills([])
        self._prompts = LoadedPrompts([])
        self._themes = LoadedThemes([])
        self._extensions: list[FoundResource] = []
        self._packages: PackageResources | None = None
        self._package_failures: dict[str, str] = {}
        self._agents_files: list[ContextFile] = []
        self._system_prompt: str | None = None
        self._append: list[str] = []

    async def reload(self, *, resolve_project_trust: Callable[[Path], Awaitable[bool]] | None = None) -> None:
        """Read the settings again and look at everything again.

        `resolve_project_trust(cwd)` is asked whether the project may count now.
        """
        if resolve_project_trust is not None:
            self.settings.set_project_trusted(await resolve_project_trust(self.cwd))
        await self.settings.reload()
        self._look_for_packages()
        await self.install_missing_packages()
        self.load()

    async def install_missing_packages(self, progress: Progress | None = None) -> bool:
        """Fetch packages that the settings ask for and that are not there; nothing while offline.

        Returns whether there was anything to fetch; `load` shows what came of it.
        """
        from pinyon._util.config import is_offline

        if self._packages is None or not self._packages.missing or is_offline():
            return False
        from pinyon.resources.package.manager import PackageManager

        manager = PackageManager(cwd=self.cwd, agent_dir=self.agent_dir, settings=self.settings, progress=progress)
        self._package_failures = await manager.install_missing()
        return True

    def load(self) -> None:
        """Look at everything again, with the settings as they were read last."""
        options, told = self.options, list[ResourceDiagnostic]()
        self._diagnostics = told
        self._look_for_packages()
        if self._packages is not None:
            told += self._packages.diagnostics
        self._extensions = self._found("extensions", told)
        told += foreign_extensions(self._extensions)
        self._load_named()
        self._agents_files = _overridden(options.agents_files_override, self._context_files(told))
        trusted = self.settings.is_project_trusted
        prompt = load_system_prompt(self.cwd, self.agent_dir, options.system_prompt, trusted=trusted, diagnostics=told)
        append = load_append_prompt(
            self.cwd, self.agent_dir, options.append_system_prompt, trusted=trusted, diagnostics=told
        )
        self._system_prompt = _overridden(options.system_prompt_override, prompt)
        self._append = _overridden(options.append_system_prompt_override, append)

    def extend_resources(
        self, *, skill_paths: Sequence[str] = (), prompt_paths: Sequence[str] = (), theme_paths: Sequence[str] = ()
    ) -> None:
        """Add paths that an extension named; they come last. They hold until they are replaced by another call."""
        self._extended = ResourcePaths(skills=skill_paths, prompts=prompt_paths, themes=theme_paths)
        self._load_named()

    @property
    def diagnostics(self) -> list[ResourceDiagnostic]:
        """What was noticed at the last loading, collisions of a kind after its other findings."""
        named = (self._skills, self._prompts, self._themes)
        return [*self._diagnostics, *(finding for each in named for finding in each.diagnostics)]

    @property
    def files_read(self) -> int:
        """How many files of skills, templates and themes were read so far."""
        return self._files.reads

    def get_extension_files(self) -> list[FoundResource]:
        """The files of extensions in the order of loading; those that are switched off are among them."""
        return list(self._extensions)

    def get_skills(self) -> LoadedSkills:
        """The skills in order of precedence, and what is wrong with others."""
        return self._skills

    def get_prompts(self) -> LoadedPrompts:
        """The prompt templates in order of precedence, and what is wrong with others."""
        return self._prompts

    def get_themes(self) -> LoadedThemes:
        """The themes beside the built-in ones, and what is wrong with others."""
        return self._themes

    def get_agents_files(self) -> list[ContextFile]:
        """The context files in the order of the prompt."""
        return self._agents_files

    def get_system_prompt(self) -> str | None:
        """The custom system prompt; None for the built-in one."""
        return self._system_prompt

    def get_append_system_prompt(self) -> list[str]:
        """The texts to append to the system prompt."""
        return self._append

    def find(self, kind: ResourceKind) -> list[FoundResource]:
        """All files of a kind with their switches, for programs that show or change those; nothing is read."""
        return self._found(kind, [])

    def _load_named(self) -> None:
        options, files = self.options, self._files
        told: dict[ResourceKind, list[ResourceDiagnostic]] = {"skills": [], "prompts": [], "themes": []}
        found = {kind: [each for each in self._found(kind, told[kind]) if each.is_enabled] for kind in told}
        skills = load_skills(found["skills"], files, told["skills"])
        prompts = load_prompts(found["prompts"], files, told["prompts"])
        themes = load_themes(found["themes"], files, told["themes"])
        self._skills = _overridden(options.skills_override, skills)
        self._prompts = _overridden(options.prompts_override, prompts)
        self._themes = _overridden(options.themes_override, themes)

    def _found(self, kind: ResourceKind, told: list[ResourceDiagnostic]) -> list[FoundResource]:
        options, found = self.options, list[FoundResource]()
        if kind not in options.without:
            found += find_resources(kind, self._owners(), told)
            if options.package_finder is not None:
                found += options.package_finder(kind, told)
            elif self._packages is not None:
                found += self._packages.find(kind, told)
        found += find_explicit(kind, options.additional.of(kind), told)
        found += find_explicit(kind, self._extended.of(kind), told)
        return found

    def _owners(self) -> list[Owner]:
        settings = self.settings
        return owners_of(
            self.cwd,
            self.agent_dir,
            is_trusted=settings.is_project_trusted,
            project_settings=settings.get_project_settings(),
            global_settings=settings.get_global_settings(),
            home=self._home,
        )

    def _look_for_packages(self) -> None:
        self._packages = None
        owners = self._owners()
        if self.options.package_finder is None and any(owner.settings.get("packages") for owner in owners):
            from pinyon.resources.package.finder import PackageResources

            self._packages = PackageResources(owners, self._package_failures)

    def _context_files(self, told: list[ResourceDiagnostic]) -> list[ContextFile]:
        if self.options.no_context_files:
            return []
        found = find_context_files(self.cwd, self.agent_dir)
        told += found.diagnostics
        return list(found.files)


def _overridden(override: Override[T] | None, value: T) -> T:
    return value if override is None else override(value)
