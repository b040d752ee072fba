"""What there is once a session is open: the agent, its conversation, and everything that works on them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pinyon.ai.message import UserMessage
from pinyon.ai.resolver import ScopedModel
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import SessionEvent
from pinyon.coding.pi_agent import PiAgent
from pinyon.resources import setting
from pinyon.resources.setting import Setting
from pinyon.session import kind as entry_kinds
from pinyon.tui.accounting import Accounting, footer_facts
from pinyon.tui.block.notice import NoticeBlock
from pinyon.tui.command.builtin import builtin_commands
from pinyon.tui.command.resource import resource_commands
from pinyon.tui.conversation import Conversation
from pinyon.tui.footer import FooterFacts
from pinyon.tui.header import ResourcesBlock
from pinyon.tui.message_block import Renderers
from pinyon.tui.model_switch import ModelSwitch
from pinyon.tui.outside import Outside
from pinyon.tui.place import home_short
from pinyon.tui.preview import EditPreview
from pinyon.tui.user_screen import UserScreen
from pinyon.tui.welcome import welcome
from pinyon.tui.work import Work

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_FRAME_S = 1 / 30
_HISTORY_SEED = 100
_PAUSE_S = 0.005


async def open_desk(app: PinyonApp) -> None:
    """Build the agent, show its session and send the prompts of the start."""
    notices: list[tuple[Literal["info", "warning", "error"], str]] = []
    start = app.start_options
    pi = await start.create(lambda kind, text: notices.append((kind, text)))
    desk = Desk(app, pi)
    for command in (*builtin_commands(), *resource_commands(pi.services)):
        app.commands.add(command)
    await asyncio.to_thread(app.history.load)
    pi.ui = UserScreen(app.seam)
    app.desk = desk  # with the next line one step: nothing may see a desk without a session
    desk.bind(pi.session, is_first=True)
    app.spinner.stop("starting")
    app.start(app.look.ask_tmux())
    for kind, text in notices:
        app.notify_user(text, kind)
    desk.tell_missing_model()
    if start.resume:
        app.run_command("resume")
    if start.prompts is not None:
        for prompt in await start.prompts():
            await desk.send_first(prompt.text, list(prompt.images))
    lines, app.early_prompts = app.early_prompts, []
    desk.send_lines(lines)


class Desk:
    """The session that is open and the parts that serve it. `bind` moves them to another session."""

    def __init__(self, app: PinyonApp, pi: PiAgent) -> None:
        self._app = app
        self.pi = pi
        self.renderers = Renderers()
        self.work = Work(app)
        self.outside = Outside(app)
        self.models = ModelSwitch(app)
        self.conversation = self._new_conversation(pi.session)
        self.sums = Accounting(pi.session.session)
        self._preview = EditPreview(app)
        self._unsubscribe: Any = None
        self._is_frame_due = False
        self._scope: list[ScopedModel] | None = None
        pi.set_rebind_session(self.bind)

    # The session.

    @property
    def session(self) -> AgentSession:
        """The open session."""
        return self.pi.session

    @property
    def cwd(self) -> Path:
        """Where the session works."""
        return Path(self.session.session.get_cwd())

    def path(self, text: str) -> Path:
        """The file that a user means by a text."""
        return self.cwd / Path(text).expanduser()

    def bind(self, session: AgentSession, *, is_first: bool = False) -> None:
        """Show a session and listen to it."""
        app = self._app
        app.overlays.close_all()
        if not is_first:
            app.spinner.clear()
        app.pending.steering, app.pending.follow_ups, app.pending.shells = [], [], []
        app.pending.update_rows()
        app.transcript.clear()
        if self.is_header_shown:
            app.transcript.add(app.header)
        self._show_resources()
        self.conversation = self._new_conversation(session)
        self.conversation.load()
        self.sums = Accounting(session.session)
        self._scope_session(session)
        self.apply_settings()
        session.subscribe(self._hear)
        app.level_changed()
        app.start(self._catch_up(session))
        self.name_window()

    def _scope_session(self, session: AgentSession) -> None:
        """Let cycling go through the models that were chosen here, where that was done."""
        if self._scope is not None:
            session.set_scoped_models(self._scope)

    def use_scope(self, scope: list[ScopedModel]) -> None:
        """Let cycling go through these models from now on, also in later sessions."""
        self._scope = scope
        self.session.set_scoped_models(scope)

    def show_again(self) -> None:
        """Show the open session anew, as after a move in its tree."""
        app = self._app
        app.transcript.clear()
        if self.is_header_shown:
            app.transcript.add(app.header)
        self.conversation = self._new_conversation(self.session)
        self.conversation.load()
        app.start(self._catch_up(self.session))

    def _new_conversation(self, session: AgentSession) -> Conversation:
        return Conversation(session, self._app.transcript, self.renderers, self._frame_soon)

    async def _catch_up(self, session: AgentSession) -> None:
        """What may come a little later: older blocks, prompts for the history, the sums."""
        app = self._app
        app.footer_soon()
        await asyncio.sleep(0)
        app.history.seed(recent_prompts(session))
        for step in (self.conversation.load_older, self.sums.count):
            while session is self.session and step():  # noqa: ASYNC110 - a pause for keys, nothing to wait for
                await asyncio.sleep(_PAUSE_S)
        app.footer_soon()

    def _hear(self, event: SessionEvent) -> None:
        from pinyon.coding.event import SessionInfoChanged, ThinkingLevelChanged

        self.conversation.hear(event)
        self.work.hear(event)
        self._preview.look(self.conversation.tools_to_preview())
        if isinstance(event, SessionInfoChanged):
            self.name_window()
            self._app.footer_soon()
        elif isinstance(event, ThinkingLevelChanged):
            self._app.level_changed()
            self._app.footer_soon()

    def _frame_soon(self) -> None:
        """Bring the growing answer to the screen within a frame."""
        if not self._is_frame_due:
            self._is_frame_due = True
            self._app.set_timer(_FRAME_S, self._frame)

    def _frame(self) -> None:
        self._is_frame_due = False
        self.conversation.flush()

    async def send_first(self, text: str, images: list[Any]) -> None:
        """Send a prompt of the command line and wait for its end."""
        from pinyon.errors import PinyonError

        try:
            await self.session.prompt(text, images=images, source="interactive", streaming_behavior="followUp")
        except PinyonError as error:
            self._app.give_back(text)
            self._app.notify_user(str(error), "error")

    def send_lines(self, lines: list[str]) -> None:
        """Send lines that were typed before there was an editor; without a model they become its text."""
        app = self._app
        kept = [line for line in lines if self.session.model is None and not line.startswith(("/", "!"))]
        if kept:
            app.give_back("\n\n".join(kept))
        for line in lines:
            if line not in kept:
                self.work.send_text(line)

    async def move_to(self, pi: PiAgent) -> None:
        """Serve another agent; the one of before is left."""
        before, self.pi = self.pi, pi
        pi.ui = UserScreen(self._app.seam)
        pi.set_rebind_session(self.bind)
        self.bind(pi.session)
        await before.dispose()

    # What settings say.

    def setting(self, item: Setting[Any]) -> Any:
        """The value of a setting."""
        return self.pi.services.settings.get(item)

    def save_setting(self, key: str, value: Any) -> None:
        """Change a setting of the user now and keep it in the user's file."""
        item = next(item for item in setting.SETTINGS if item.key == key)
        self.pi.services.settings.set(item, value)

    @property
    def is_header_shown(self) -> bool:
        """Whether the header stands over the transcript."""
        quiet = self.setting(setting.QUIET_STARTUP)
        return self._app.start_options.is_verbose or quiet in (False, "header")

    @property
    def menu_rows(self) -> int:
        """How many completions are shown."""
        return int(self.setting(setting.AUTOCOMPLETE_MAX_VISIBLE))

    @property
    def double_escape_action(self) -> str:
        """What two Escapes do."""
        return str(self.setting(setting.DOUBLE_ESCAPE_ACTION))

    def change_setting(self, item: Setting[Any], value: Any) -> None:
        """Change a setting now and keep it; what runs follows it. Raises `ConfigError` for a value that it cannot have.

        None takes it out of the user's file.
        """
        self.pi.services.settings.set(item, value)
        session = self.session
        match item.key:
            case "compaction.enabled":
                session.set_auto_compaction_enabled(self.setting(item))
            case "retry.enabled":
                session.set_auto_retry_enabled(self.setting(item))
            case "steeringMode":
                session.set_steering_mode(self.setting(item))
            case "followUpMode":
                session.set_follow_up_mode(self.setting(item))
            case _:
                pass
        self.apply_settings()
        self._app.footer_soon()

    def setting_source(self, item: Setting[Any]) -> str:
        """Whose file has a setting, for people; empty where none has."""
        settings = self.pi.services.settings
        for name, table in (("the project", settings.get_project_settings()), ("you", settings.get_global_settings())):
            value: Any = table
            for key in item.path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return f" · set by {name}"
        return ""

    @property
    def theme_setting(self) -> str:
        """The theme in use, as flag or setting name it."""
        return str(self._app.start_options.theme or self.setting(setting.THEME))

    def show_theme(self, name: str | None) -> None:
        """Draw in a theme without keeping it; None goes back to the one that is kept."""
        self._app.look.preview(name)

    def keep_theme(self, name: str) -> None:
        """Draw in a theme from now on."""
        self._app.start_options.theme = None
        self.change_setting(setting.THEME, name)

    def apply_settings(self) -> None:
        """Draw as the settings say."""
        self._app.look.apply()

    def _show_resources(self) -> None:
        quiet = self.setting(setting.QUIET_STARTUP)
        if quiet in (True, "header") and not self._app.start_options.is_verbose:
            return
        resources = self.pi.services.resources
        context = [home_short(Path(file.path)) for file in resources.context_files]
        skills = sorted(skill.name for skill in resources.skills)
        block = ResourcesBlock([("Context", context), ("Skills", skills)])
        if block.sections:
            block.is_tight = False
            self._app.transcript.add(block)

    def tell_missing_model(self) -> None:
        """Offer ways to a model where none can be used; one who has begun to write is only told."""
        app = self._app
        if self.session.model is not None:
            if self.pi.model_fallback_message:
                app.notify_user(self.pi.model_fallback_message, "warning")
        elif app.editor.buffer.text or app.early_prompts or app.start_options.resume:
            app.notify_user("No model can be used yet. /login signs in; what you wrote stays in the editor.", "warning")
        else:
            app.start(welcome(app))

    # Facts.

    def facts(self) -> FooterFacts:
        """What the footer tells."""
        self.sums.count()
        providers = {model.provider for model in self.pi.services.registry.get_available()}
        return footer_facts(self.session, self.sums, show_provider=len(providers) > 1, statuses=self._app.statuses)

    def name_window(self) -> None:
        """Name the window after session and folder."""
        self._app.attention.set_title("pinyon", self.session.session_name or "", self.cwd.name or str(self.cwd))

    async def attach_image(self, data: bytes, mime_type: str) -> None:
        """Attach an image to the prompt that is being written, as a chip."""
        import base64

        from pinyon.ai.content import ImageContent
        from pinyon.tui.editor.attachment import Attachment

        size = await asyncio.to_thread(image_size, data)
        image = ImageContent(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type)
        app = self._app
        app.editing.insert(app.editor.attachments.add(Attachment(image=image, size=size)) + " ")
        app.text_changed()

    async def attach_file(self, path: Path) -> None:
        """Attach an image file; one that cannot be read is pasted as its path."""
        from pinyon.tools.image_type import SNIFF_BYTES, detect_image_mime_type

        data = await asyncio.to_thread(path.read_bytes)
        mime_type = detect_image_mime_type(data[:SNIFF_BYTES])
        if mime_type is not None:
            await self.attach_image(data, mime_type)
        else:
            self._app.editing.paste(str(path))
            self._app.text_changed()

    def notice_about_busy(self) -> bool:
        """Say that something must end first; False where nothing runs."""
        if self.session.is_idle and not self.session.is_compacting:
            return False
        self._app.transcript.add(NoticeBlock("warning", "Wait for the end of the run, or stop it first."))
        return True


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of an image in pixels, None where it is none."""
    from io import BytesIO

    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(data)) as image:
            return image.size
    except (UnidentifiedImageError, OSError, ValueError):
        return None


def recent_prompts(session: AgentSession) -> list[str]:
    """The latest prompts of a session, oldest first."""
    texts: list[str] = []
    for entry in session.session.upwards():
        if entry.kind == entry_kinds.USER and isinstance(entry.message, UserMessage):
            texts.append(entry.message.text)
            if len(texts) >= _HISTORY_SEED:
                break
    return texts[::-1]
