"""The start of a real run: from parsed arguments to a mode that works and an exit code.

The order matters and is fixed: arguments, working directory, session, services for the session's own directory,
model, prompts, and only then the mode. Whatever is wrong on the way ends with one clear line on standard error and exit
code 1.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from pinyon._util.config import agent_dir, expand_home, is_offline
from pinyon._util.safe_path import path_exists
from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.args import CliArgs, check_args, parse_args
from pinyon.cli.entry import write
from pinyon.cli.flag import COMMANDS
from pinyon.cli.timing import mark, take_times
from pinyon.errors import PinyonError

if TYPE_CHECKING:
    from pinyon.cli.migration import Migration
    from pinyon.coding.limit import Limits
    from pinyon.coding.pi_agent import PiAgent
    from pinyon.coding.services import ResourceOptions, Services
    from pinyon.resources.diagnostic import ResourceKind
    from pinyon.resources.settings import SettingsManager
    from pinyon.session.session import Session

_TOLD_DAMAGE = 5


class StartError(PinyonError):
    """Raised when a start ends because of what was told already."""


def run(argv: Sequence[str]) -> int:
    """Run the command line that `cli.entry` did not answer by itself; returns the exit code."""
    # Conversations are many objects and few cycles: looking for cycles after every 700 of them costs up to a third.
    gc.set_threshold(100_000, 20, 50)
    mark("begin")
    if is_offline() or "--offline" in argv:
        os.environ.update({"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"})
    os.environ.update({"PI_CODING_AGENT": "true", "AI_AGENT": "pi"})
    if argv and argv[0] in COMMANDS:
        return _run_command(argv[0], argv[1:])
    args = parse_args(argv)
    problems = [*args.problems, *check_args(args)]
    for problem in problems:
        tell(f"{problem.type.capitalize()}: {problem.message}")
    if any(problem.type == "error" for problem in problems):
        return 1
    mark("arguments")
    try:
        return _run_mode(args)
    except StartError:
        return 1
    except PinyonError as error:
        return fail(str(error))


def fail(message: str) -> int:
    """Tell an error and return exit code 1."""
    tell(f"Error: {message}")
    return 1


def tell(message: str) -> None:
    """Write a line for people to standard error."""
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(strip_terminal_control(message) + "\n")
        sys.stderr.flush()


def warn(message: str) -> None:
    """Tell a warning."""
    tell(f"Warning: {message}")


def _run_command(name: str, arguments: Sequence[str]) -> int:
    from pinyon.cli.command import RUNNERS, run_command

    if name not in RUNNERS:
        return fail(f"`pinyon {name}` is not part of this version yet")
    try:
        return run_command(name, arguments)
    except PinyonError as error:
        return fail(str(error))


def _run_mode(args: CliArgs) -> int:
    cwd = _working_directory()
    if args.export is not None:
        return _export(args.export, args.messages)
    move_old_credentials()
    _move_old_files()
    if args.list_models:
        return _list_models(args, cwd)
    is_one_shot = args.print or args.mode in ("json", "rpc") or not _is_terminal()
    if not is_one_shot:
        from pinyon.cli.interactive import run_interactive_mode

        return run_interactive_mode(args, cwd)
    if args.resume:
        return fail(
            "--resume shows sessions to choose from and needs the interactive mode; --continue goes on with the newest "
            "session of this folder, --session with one given by path or id"
        )
    return _run_print_mode(args, cwd, args.mode or "text")


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise PinyonError("the working directory does not exist any more; change to one that does") from None


def _is_terminal() -> bool:
    if os.environ.get("PINYON_WEB"):  # the screen goes to a page, through a driver of its own
        return True
    return sys.stdin.isatty() and sys.stdout.isatty()


def _run_print_mode(args: CliArgs, cwd: Path, mode: str) -> int:
    from pinyon.cli.interrupt import run_until_signal
    from pinyon.modes.output import OutputGuard

    with OutputGuard() as guard:
        return run_until_signal(_serve_rpc(args, cwd, guard.fd) if mode == "rpc" else _print(args, cwd, mode, guard.fd))


async def _print(args: CliArgs, cwd: Path, mode: str, fd: int) -> int:
    from pinyon._util.thread import in_daemon_thread
    from pinyon.cli.prompt_input import start_prompts
    from pinyon.cli.stdin_text import read_piped_text
    from pinyon.coding.selection import NO_MODEL
    from pinyon.modes.output import OutputWriter
    from pinyon.modes.print_mode import run_print_mode

    pi = await start(args, cwd, can_cycle=False)
    # Pipes may stay silent; in the loop's own thread they would keep signals from being heard.
    prompts = await in_daemon_thread(
        lambda: start_prompts(
            args.messages,
            args.files,
            cwd,
            piped=lambda has_prompt: read_piped_text(has_prompt=has_prompt, warn=warn),
        ),
        "prompt-input",
    )
    mark("prompts")
    _tell_times()
    if pi.session.model is None:
        return fail(pi.model_fallback_message or NO_MODEL)
    if pi.model_fallback_message:
        warn(pi.model_fallback_message)
    return await run_print_mode(
        pi,
        "json" if mode == "json" else "text",
        prompts.first,
        prompts.images,
        prompts.others,
        writer=OutputWriter(fd),
        progress=_progress_stream(args, mode),
    )


def _progress_stream(args: CliArgs, mode: str) -> TextIO | None:
    """The terminal that shows what a run is doing: for a person who waits for text, and has a terminal that can."""
    can_show = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return sys.stderr if mode == "text" and can_show and not args.quiet else None


async def _serve_rpc(args: CliArgs, cwd: Path, fd: int) -> int:
    from pinyon.modes.output import OutputWriter
    from pinyon.modes.rpc.server import run_rpc_mode

    prepared = await prepare(args, cwd)

    async def open_session() -> None:
        await prepared.open_session()
        if message := prepared.pi.model_fallback_message:
            warn(message)
        _tell_times()

    return await run_rpc_mode(prepared.pi, writer=OutputWriter(fd), open_session=open_session)


def _tell_times() -> None:
    if times := take_times():
        tell(times)


def _tell_notice(kind: str, message: str) -> None:
    tell(f"{kind.capitalize()}: {message}")


async def start(
    args: CliArgs, cwd: Path, say: Callable[[Any, str], None] = _tell_notice, *, can_cycle: bool = True
) -> PiAgent:
    """Build the agent and its session as the arguments ask.

    `say(kind, message)` tells what was noticed on the way; `can_cycle`: somebody may step through the models.
    """
    prepared = await prepare(args, cwd, say, can_cycle=can_cycle)
    await prepared.open_session()
    return prepared.pi


class Prepared(NamedTuple):
    """An agent whose session is chosen, and what makes it the active one."""

    pi: PiAgent
    open_session: Callable[[], Awaitable[None]]


async def prepare(
    args: CliArgs, cwd: Path, say: Callable[[Any, str], None] = _tell_notice, *, can_cycle: bool = True
) -> Prepared:
    """The first part of `start`: everything that needs nobody to answer questions."""
    from pinyon.cli.model_choice import choose_model
    from pinyon.cli.session_choice import choose_session
    from pinyon.coding.pi_agent import PiAgent

    def warn(message: str) -> None:
        say("warning", message)

    mark("modules")
    services = _services(args, cwd)
    mark("services")
    manager, tree = await choose_session(args, cwd, services.settings, warn=warn)
    _tell_damage(tree, warn)
    session_cwd = Path(tree.get_cwd())
    if session_cwd != cwd:
        services = _services(args, session_cwd)
    await services.install_missing_packages(lambda line: say("info", line))
    mark("session")
    if services.settings.is_project_trusted and path_exists(session_cwd / ".pi" / "commands"):
        await _move_project_files(services, session_cwd, say)
    _tell_diagnostics(services, say)
    choice = await choose_model(args, services, tree, warn=warn, can_cycle=can_cycle)
    mark("model")
    pi = await PiAgent.create(
        services=services,
        session_manager=manager,
        model=choice.model,
        thinking_level=choice.thinking_level,
        stream_fn=choice.stream_fn,
        scoped_models=choice.scoped_models,
        tools=args.tools,
        exclude_tools=args.exclude_tools,
        no_tools="all" if args.no_tools else "builtin" if args.no_builtin_tools else None,
        limits=_limits(args),
        if_in_use=args.if_in_use or "fail",
    )

    async def open_session() -> None:
        session = await pi.create_agent_session(session=tree)
        mark("agent")
        if unknown := session.toolset.unknown_names:
            warn(f"no tool is called {', '.join(map(repr, unknown))}; the tools are {', '.join(session.toolset.names)}")

    return Prepared(pi, open_session)


async def _move_project_files(services: Services, cwd: Path, say: Callable[[Any, str], None]) -> None:
    from pinyon.cli.migration import migrate_project_folder

    migration = migrate_project_folder(cwd)
    tell_migration(migration, cwd / ".pi", say)
    if migration.done:
        await services.reload()


def tell_migration(migration: Migration, folder: Path, say: Callable[[Any, str], None] = _tell_notice) -> None:
    """Say in one line what was moved, and what could not be."""
    if migration.done:
        say("info", f"moved in {str(folder)!r}: {'; '.join(migration.done)}")
    for problem in migration.problems:
        say("warning", problem)


def _tell_diagnostics(services: Services, say: Callable[[Any, str], None]) -> None:
    """Tell what is wrong with settings and resources. Without a screen, an error ends the start."""
    is_plain = say is _tell_notice
    for kind, message in dict.fromkeys((each.type, each.message) for each in services.diagnostics):
        # A project's own version of a user's resource is ordinary: only a screen has room to mention it.
        if kind != "collision" or not is_plain:
            say("warning" if kind == "collision" else kind, message)
    if is_plain and any(each.type == "error" for each in services.diagnostics):
        raise StartError


def _limits(args: CliArgs) -> Limits:
    """What this invocation may use, all its prompts together."""
    from pinyon.coding.limit import Limits

    return Limits(
        max_turns=args.max_turns,
        max_tokens=args.max_tokens,
        max_cost=args.max_cost,
        max_wall_time_s=args.max_time_s,
        scope="opened",
    )


def _tell_damage(tree: Session, warn: Callable[[str], None]) -> None:
    """Say what could not be read of a resumed session."""
    if not tree.diagnostics:
        return
    for diagnostic in tree.diagnostics[:_TOLD_DAMAGE]:
        warn(f"session file {str(tree.get_session_file())!r}: {diagnostic.message}")
    if len(tree.diagnostics) > _TOLD_DAMAGE:
        warn(f"session file {str(tree.get_session_file())!r} has more damage; all that could be saved is used")


def move_old_credentials() -> None:
    """Bring credentials of older versions into `auth.json`, once."""
    folder = agent_dir()
    if folder is None or (folder / "auth.json").exists():
        return
    if not (folder / "oauth.json").exists() and not (folder / "settings.json").exists():
        return
    from pinyon.ai.auth_migration import migrate_credentials

    result = migrate_credentials(folder)
    for problem in result.problems:
        warn(problem)
    if result.providers:
        tell(f"Moved the credentials of {', '.join(result.providers)} into {str(folder / 'auth.json')!r}")


def _move_old_files() -> None:
    """Bring what older versions kept elsewhere to where it belongs, once."""
    folder = agent_dir()
    if folder is not None:
        from pinyon.cli.migration import migrate_agent_folder

        tell_migration(migrate_agent_folder(folder), folder)


def _services(args: CliArgs, cwd: Path) -> Services:
    from pinyon.coding.services import create_services

    services = create_services(cwd, options=_resource_options(args))
    use_proxy(services.settings)
    return services


def _resource_options(args: CliArgs) -> ResourceOptions:
    from pinyon.coding.services import ResourceOptions
    from pinyon.resources.loader import ResourcePaths

    left_out: dict[ResourceKind, bool] = {
        "extensions": args.no_extensions,
        "skills": args.no_skills,
        "prompts": args.no_prompt_templates,
        "themes": args.no_themes,
    }
    return ResourceOptions(
        system_prompt=args.system_prompt,
        append_system_prompt=args.append_system_prompt,
        no_context_files=args.no_context_files,
        without=frozenset(kind for kind, is_left_out in left_out.items() if is_left_out),
        additional=ResourcePaths(
            skills=_absolute(args.skills),
            prompts=_absolute(args.prompt_templates),
            themes=_absolute(args.themes),
        ),
        trust_override=args.project_trust,
        session_trust=args.session_trust,
    )


def _absolute(paths: Sequence[str]) -> list[str]:
    """Paths of flags start from where the program was started, whatever the session's folder is."""
    return [str(Path(expand_home(path)).absolute()) for path in paths]


def use_proxy(settings: SettingsManager) -> None:
    """Let the proxy of the settings serve where the environment names none."""
    proxy = settings.get_http_proxy()
    if proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            os.environ.setdefault(name, proxy)


def _export(source: str, messages: Sequence[str]) -> int:
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.known_secret import known_secrets
    from pinyon.export import PageExtras, export_from_file

    if len(messages) > 1:
        return fail(f"--export writes one page; there is nothing to do with {messages[1]!r}")
    secrets = known_secrets(AuthStorage.create())
    page = export_from_file(source, messages[0] if messages else None, PageExtras(secrets=secrets))
    return write(sys.stdout, f"Exported to {strip_terminal_control(str(page))}\n")


def _list_models(args: CliArgs, cwd: Path) -> int:
    from pinyon.cli.interrupt import run_until_signal
    from pinyon.cli.list_models import list_models

    async def listing() -> int:
        services = _services(args, cwd)
        for diagnostic in services.diagnostics:
            tell(f"{diagnostic.severity.capitalize()}: {diagnostic.message}")
        text = await list_models(services.registry, args.list_models_search)
        return write(sys.stderr if args.print or args.mode else sys.stdout, text)

    return run_until_signal(listing())
