"""The interactive mode as a Textual application: the screen, the keys, and the parts that work behind them.

The first screen is drawn before anything slow begins. What is typed meanwhile is kept. Everything that runs longer is a
task that this application owns and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.driver import Driver
from textual.screen import Screen

from pinyon.tui.announcer import Announcer
from pinyon.tui.attention import Attention
from pinyon.tui.block.notice import NoticeKind
from pinyon.tui.command.command import CommandTable, SlashCommand
from pinyon.tui.completer import Completer
from pinyon.tui.editor.completion import CommandSource, FileSource, FolderSource
from pinyon.tui.editor.dropped import pasted_image
from pinyon.tui.editor.editing import Editing
from pinyon.tui.editor.history import HISTORY_FILE, PromptHistory
from pinyon.tui.editor.view import EditorView
from pinyon.tui.footer import Footer, FooterFacts
from pinyon.tui.header import HeaderBlock
from pinyon.tui.input_decoder import EarlyText, TerminalReply
from pinyon.tui.keymap import Keymap
from pinyon.tui.look import Look
from pinyon.tui.overlay import Overlay, OverlayStack
from pinyon.tui.pending import Pending
from pinyon.tui.place import home_short
from pinyon.tui.router import Router
from pinyon.tui.seam import AppSeam
from pinyon.tui.search_bar import SearchBar
from pinyon.tui.spinner import Spinner
from pinyon.tui.start import InteractiveStart
from pinyon.tui.tone import Tone
from pinyon.tui.transcript import Transcript
from pinyon.tui.widget_area import WidgetArea

if TYPE_CHECKING:
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.pi_agent import PiAgent
    from pinyon.tui.desk import Desk

_LAST_WORDS_S = 5.0


class MainScreen(Screen[None], inherit_bindings=False):
    """The only screen. Keys are routed by the application."""


class PinyonApp(App[int], inherit_bindings=False):
    """See the module. `desk` is there once the session is open."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: ansi_default; layout: vertical; }
    #dock { height: auto; max-height: 85%; }
    #slot { height: auto; }
    RowsWidget { background: ansi_default; }
    Transcript { background: ansi_default; }
    """

    def __init__(self, start: InteractiveStart) -> None:
        super().__init__(ansi_color=True)
        self.start_options = start
        self.keymap = Keymap.load(start.agent_dir)
        self.look = Look(self)
        self.tone = self.look.first_tone()
        self.transcript = Transcript(id="transcript")
        self.header = HeaderBlock(lambda: self.keymap)
        self.search_bar = SearchBar(self.transcript, id="search")
        self.pending = Pending(id="pending")
        self.above = WidgetArea(is_apart=True, id="above")
        self.editor = EditorView(id="editor")
        self.slot = Vertical(self.editor, id="slot")
        self.below = WidgetArea(id="below")
        self.footer = Footer(id="footer")
        self.history = PromptHistory(start.agent_dir / HISTORY_FILE if start.agent_dir is not None else None)
        self.editing = Editing(self.editor, self.history, lambda: self.keymap)
        self.commands = CommandTable()
        self.announcer = Announcer(self)
        self.spinner = Spinner(self.announcer.spinner_changed)
        self.overlays = OverlayStack(self.slot, self.editor)
        self.completer = self._make_completer()
        self.router = Router(self)
        self.desk: Desk | None = None
        self.seam = AppSeam(self)
        self.exit_status = 0
        self.start_fault: str | None = None
        self.attention = Attention(self)
        self.early_prompts: list[str] = []
        self.statuses: dict[str, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_expanded = False

    def _make_completer(self) -> Completer:
        cwd = self.start_options.cwd
        place = lambda: self.desk.cwd if self.desk is not None else cwd  # noqa: E731 - a thunk for two sources
        return Completer(
            self.editor,
            self.editing,
            [CommandSource(self.commands), FileSource(place), FolderSource(place)],
            run=self.start,
            submit=lambda: self.submit("steer"),
            visible=lambda: min(self.desk.menu_rows if self.desk is not None else 5, max(1, self.size.height // 3)),
        )

    # The screen.

    def get_default_screen(self) -> Screen[None]:
        """The screen without bindings of its own."""
        return MainScreen(id="_default")

    def get_driver_class(self) -> type[Driver]:
        """Our driver on terminals of Unix; Textual's elsewhere."""
        if os.name == "nt" or "TEXTUAL_DRIVER" in os.environ:
            return super().get_driver_class()
        from pinyon.tui.terminal import TerminalDriver

        return TerminalDriver

    def compose(self) -> ComposeResult:
        """Transcript, then a dock of everything else."""
        yield self.transcript
        yield Vertical(self.search_bar, self.pending, self.above, self.slot, self.below, self.footer, id="dock")

    def on_mount(self) -> None:
        """Draw the first screen, then begin to work."""
        self.footer.facts = FooterFacts(place=home_short(self.start_options.cwd), has_model=True)
        self.editor.placeholder = "Ask, or / for commands"
        self.use_keymap(self.keymap)
        self.look.start()
        self.transcript.add(self.header)
        self.editor.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """After the first paint: everything that takes time."""
        self.start(self._open())

    async def _open(self) -> None:
        self.spinner.start("starting", "Starting")
        await asyncio.to_thread(_import_heavy)
        from pinyon.errors import PinyonError
        from pinyon.tui.desk import open_desk

        try:
            await open_desk(self)
        except (PinyonError, OSError) as error:
            self.start_fault = str(error)
            self.exit(1)

    def set_tone(self, tone: Tone) -> None:
        """Draw everything in other colours or with other settings."""
        self.tone = tone
        for part in (self.search_bar, self.pending, self.above, self.editor, self.below, self.footer):
            part.tone = tone
        self.transcript.tone = tone
        self.overlays.restyle(tone)
        for part in (self.search_bar, self.pending, self.above, self.editor, self.below, self.footer):
            part.update_rows()

    # Tasks.

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine; an error of it is shown, and it ends with the program."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    async def _quietly(self, work: Awaitable[None]) -> None:
        await work

    def start_quietly(self, work: Awaitable[None]) -> asyncio.Task[Any]:
        """The same for anything that can be awaited."""
        return self.start(self._quietly(work))

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None:
            return
        error = task.exception()
        assert error is not None
        from pinyon.errors import PinyonError

        if isinstance(error, PinyonError | OSError):
            self.spinner.stop("starting")
            self.notify_user(str(error), "error")
        else:
            self._handle_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    async def end_tasks(self) -> None:
        """End everything that still runs."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # What is there.

    @property
    def is_ready(self) -> bool:
        """Whether the session is open."""
        return self.desk is not None

    @property
    def session(self) -> AgentSession:
        """The open session."""
        return self.desk_or_fail.session

    @property
    def pi(self) -> PiAgent:
        """The agent."""
        return self.desk_or_fail.pi

    @property
    def desk_or_fail(self) -> Desk:
        """The desk; a fault of the program before the session is open."""
        assert self.desk is not None
        return self.desk

    # Keys and pastes.

    async def on_event(self, event: events.Event) -> None:
        """Route keys and pastes; everything else goes its usual way."""
        if isinstance(event, events.Key):
            if self.search_bar.is_open and self.overlays.front is None:
                from pinyon.tui.key import normal_key

                self.search_bar.handle(normal_key(event.key), event.character, self.keymap)
            else:
                self.router.handle(event.key, event.character)
            return
        if isinstance(event, events.Paste):
            self._paste(event.text)
            return
        await super().on_event(event)

    def _paste(self, text: str) -> None:
        if self.overlays.front is not None:
            self.overlays.front.paste(text)
        elif self.search_bar.is_open:
            self.search_bar.paste(text)
        elif self.desk is not None and (path := pasted_image(text, self.desk.cwd)) is not None:
            self.start(self.desk.attach_file(path))
        else:
            self.editing.paste(text)
            self.text_changed()

    def text_changed(self) -> None:
        """Draw the editor and look for completions."""
        self.level_changed()
        self.editor.update_rows()
        if self.is_ready:
            self.completer.text_changed()

    def level_changed(self) -> None:
        """Colour the border of the editor by what it holds and how much the model thinks."""
        text = self.editor.buffer.text
        level = self.session.thinking_level if self.desk is not None else "off"
        role = f"thinking{level.capitalize()}"
        self.editor.border_role = "dim" if text.startswith("!!") else "bashMode" if text.startswith("!") else role
        self.editor.update_rows()

    def clear_editor(self, *, remember: str) -> None:
        """Empty the editor after its text was taken; `remember` goes to the history."""
        self.editing.take()
        if remember:
            self.history.add(remember)
        self.text_changed()

    def give_back(self, text: str) -> None:
        """Put a text that could not be sent back into the editor, before what was typed since."""
        current = self.editor.buffer.text
        self.editing.set_text(f"{text}\n\n{current}" if current.strip() else text)
        self.text_changed()

    def on_text_selected(self) -> None:
        """Copy what the mouse selected, where the settings say so; it stays marked for a moment."""
        from pinyon.resources.setting import FULLSCREEN_COPY_ON_SELECT

        if self.desk is not None and self.desk.setting(FULLSCREEN_COPY_ON_SELECT):
            self.desk.outside.copy_marked()

    def on_transcript_selected(self) -> None:
        """The same for a word or paragraph."""
        self.on_text_selected()

    # Notices.

    def write_terminal(self, data: str) -> None:
        """Send a sequence to the terminal that is not part of the picture."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(data)

    def notify_user(self, text: str, kind: NoticeKind = "info") -> None:
        """Say something in the transcript; a status takes the place of the one right before it."""
        self.announcer.notify(text, kind)

    def hint(self, text: str) -> None:
        """Say something in the border of the editor for a moment."""
        self.announcer.hint(text)

    def say_starting(self) -> None:
        """Tell that a prompt cannot be sent yet."""
        self.hint("Still starting; your text is kept")

    def footer_soon(self) -> None:
        """Bring the footer up to date within a moment."""
        self.announcer.footer_soon()

    def on_terminal_reply(self, event: TerminalReply) -> None:
        """Use the colours that the terminal tells of."""
        self.look.hear(event.text)

    # What keys and commands ask for.

    def submit(self, behavior: Literal["steer", "followUp"]) -> None:
        """Send the text of the editor."""
        if self.desk is None:
            self.say_starting()
        else:
            self.desk.work.submit(behavior)

    def run_command(self, name: str, argument: str = "") -> None:
        """Run a slash command."""
        command = self.commands.get(name)
        if command is not None and command.run is not None:
            self.start(self.run_slash(command, argument))

    async def run_slash(self, command: SlashCommand, argument: str) -> None:
        """Run a slash command and show what goes wrong."""
        from pinyon.errors import PinyonError

        assert command.run is not None
        try:
            await command.run(self, argument)
        except (PinyonError, OSError) as error:
            self.notify_user(str(error), "error")

    async def ask(self, overlay: Overlay) -> Any:
        """Show an overlay in place of the editor and return its result."""
        self.completer.close()
        return await self.overlays.ask(overlay, self.tone, self.keymap)

    def stop_work(self) -> bool:
        """Stop what runs; False where nothing does."""
        return self.desk is not None and self.desk.work.stop()

    def take_queue_back(self) -> None:
        """Put queued messages back into the editor."""
        self.desk_or_fail.work.take_queue_back()

    def double_escape(self) -> None:
        """What two Escapes on an empty editor do."""
        action = self.desk_or_fail.double_escape_action
        if action in ("tree", "fork"):
            self.run_command(action)

    def open_search(self) -> None:
        """Search the transcript."""
        self.search_bar.open()

    def close_search(self) -> None:
        """End the search."""
        self.search_bar.close()

    def search_history(self) -> None:
        """Choose an older prompt."""
        self.start(self._search_history())

    async def _search_history(self) -> None:
        from pinyon.tui.selector import Choice, Selector

        entries = self.history.search("")
        choices = [Choice(text, " ".join(text.split())) for text in entries[:500]]
        chosen = await self.ask(Selector("Earlier prompts", choices, query=self.editor.buffer.text))
        if isinstance(chosen, str):
            self.editing.set_text(chosen)
            self.text_changed()

    def paste_from_clipboard(self) -> None:
        """Insert what is in the clipboard."""
        self.desk_or_fail.outside.paste()

    def copy_last(self) -> None:
        """Copy the selection or the last answer."""
        self.desk_or_fail.outside.copy_last()

    def copy_selection(self) -> bool:
        """Copy what the mouse selected."""
        return self.desk is not None and self.desk.outside.copy_selection()

    def edit_externally(self) -> None:
        """Write the prompt in another editor."""
        self.desk_or_fail.outside.edit_externally()

    def go_to_sleep(self) -> None:
        """Sleep until the shell wakes the program."""
        self.desk_or_fail.outside.go_to_sleep()

    def cycle_model(self, direction: int) -> None:
        """Use the next or previous model."""
        self.desk_or_fail.models.cycle_model(direction)

    def cycle_thinking(self) -> None:
        """Use the next thinking level."""
        self.desk_or_fail.models.cycle_thinking()

    def toggle_thinking(self) -> None:
        """Show or fold all thinking, and keep that."""
        self.set_tone(replace(self.tone, hide_thinking=not self.tone.hide_thinking))
        self.save_setting("hideThinkingBlock", self.tone.hide_thinking)
        self.hint("Thinking is folded" if self.tone.hide_thinking else "Thinking is shown")

    def toggle_expanded(self) -> None:
        """Unfold or fold the output of all tools."""
        self._is_expanded = not self._is_expanded
        self.transcript.set_expanded(self._is_expanded)

    def save_setting(self, key: str, value: Any) -> None:
        """Keep a setting of the user."""
        self.desk_or_fail.save_setting(key, value)

    async def attach_image(self, data: bytes, mime_type: str) -> None:
        """Attach an image to the prompt that is being written."""
        await self.desk_or_fail.attach_image(data, mime_type)

    def use_keymap(self, keymap: Keymap) -> None:
        """Use other keys from now on."""
        self.keymap = keymap
        self.transcript.bottom_hint = keymap.hint("tui.altScreen.bottom")
        self.pending.dequeue_hint = keymap.hint("app.message.dequeue")
        self.spinner.cancel_hint = keymap.hint("app.interrupt")
        hints = {"expand_hint": keymap.hint("app.tools.expand"), "cancel_hint": keymap.hint("app.interrupt")}
        self.set_tone(replace(self.tone, **hints))

    # The end.

    def on_early_text(self, event: EarlyText) -> None:
        """Take what was typed before the terminal was ours: whole lines are prompts, the rest is being written."""
        *lines, rest = event.text.split("\n")
        lines = [line.strip() for line in lines if line.strip()]
        if rest:
            self.editing.insert(rest)
            self.text_changed()
        if self.desk is not None:
            self.desk.send_lines(lines)
            return
        self.early_prompts += lines
        self.pending.steering = list(self.early_prompts)
        self.pending.update_rows()

    async def open_demo(self) -> None:
        """Put a scratch project with a scripted model in the place of the session, with its prompt ready to be sent."""
        make = self.start_options.create_demo
        if make is None:
            return
        pi, prompt = await make()
        await self.desk_or_fail.move_to(pi)
        self.editing.set_text(prompt)
        self.text_changed()
        self.notify_user(
            f"A scripted model in a scratch project: press {self.keymap.hint('tui.input.submit')} to watch it work. "
            "It has fixed answers and no intelligence; /login leads to a real one.",
            "info",
        )

    def on_terminal_gone(self) -> None:
        """The terminal was closed."""
        self.start(self.die())

    async def die(self) -> None:
        """End without a terminal: close the session, then stop at once."""
        if self.desk is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.desk.pi.dispose(), _LAST_WORDS_S)
        os._exit(129)

    def print_fault(self) -> None:
        """Say what ended the program, after the screen is back."""
        self._print_error_renderables()

    def quit(self) -> None:
        """Leave the program in good order."""
        self.overlays.close_all()
        self.look.end()
        self.attention.end()
        self.exit(self.exit_status)


def _import_heavy() -> None:
    """Import what a session needs, in a thread, so that keys are answered meanwhile."""
    import pinyon.coding.pi_agent
    import pinyon.tui.desk  # noqa: F401
