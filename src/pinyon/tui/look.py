"""How everything is drawn: colours and display settings, kept in step with the settings, the terminal and the theme."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace
from rich.console import Console
from textual.timer import Timer

from pinyon.tui.capability import ImageProtocol, color_system, image_protocol, is_multiplexed, takes_hyperlinks
from pinyon.tui.image_painter import ImagePainter
from pinyon.tui.theme.terminal_color import QUESTION, TerminalColors
from pinyon.tui.theme.theming import Theming
from pinyon.tui.tone import Tone

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_ANSWERS_S = 0.1
_LOOK_S = 0.1
_TMUX_S = 2.0


class Look:
    """Owns the tone of the application. `apply` after any change of settings or themes; `preview` shows a theme without
    keeping it.
    """

    def __init__(self, app: PinyonApp) -> None:
        self._app = app
        self._environ = dict(os.environ)
        start = app.start_options
        terminal = TerminalColors(colorfgbg=self._environ.get("COLORFGBG", ""))
        self.theming = Theming(start.agent_dir, terminal, self._tell)
        self.painter: ImagePainter | None = None
        self._previewed: str | None = None
        self._answers: Timer | None = None
        self._watch: Timer | None = None
        self._tmux_links = False
        self.use_colors("auto")

    def first_tone(self) -> Tone:
        """The tone before the settings are read."""
        hint = self._app.keymap.hint
        return Tone(
            palette=self.theming.palette(self._app.start_options.theme or "system"),
            expand_hint=hint("app.tools.expand"),
            cancel_hint=hint("app.interrupt"),
            home=str(Path.home()),
            hyperlinks=takes_hyperlinks(self._environ),
        )

    def start(self) -> None:
        """Draw everything anew after other programs had the terminal."""
        self._app.app_resume_signal.subscribe(self._app, self._after_sleep, immediate=True)

    def _after_sleep(self, _: object) -> None:
        self._app.refresh(layout=True)
        if self.painter is not None:
            self.painter.forget()
            self._app.transcript.draw_soon()

    def end(self) -> None:
        """Take images away before the terminal is given back."""
        if self.painter is not None:
            self.painter.clear()

    # What is drawn.

    def apply(self) -> None:
        """Draw as the settings say."""
        app, desk = self._app, self._app.desk
        if desk is None:
            app.set_tone(replace(app.tone, palette=self.theming.palette(self._wanted())))
            return
        from pinyon.resources import setting

        get = desk.setting
        self.theming.themes = desk.pi.services.loader.get_themes().themes
        self.use_colors(get(setting.TERMINAL_TRUE_COLOR))
        app.editor.padding = int(get(setting.EDITOR_PADDING_X))
        app.transcript.scrollbar = get(setting.FULLSCREEN_SCROLLBAR)
        app.transcript.wheel.rows = get(setting.FULLSCREEN_WHEEL_SCROLL_LINES)
        links = get(setting.TERMINAL_HYPERLINKS)
        shows_images = get(setting.TERMINAL_SHOW_IMAGES)
        protocol = image_protocol(self._environ, get(setting.TERMINAL_IMAGES)) if shows_images else None
        self._use_images(protocol)
        app.set_tone(
            replace(
                app.tone,
                palette=self.theming.palette(self._wanted()),
                pad=int(get(setting.OUTPUT_PAD)),
                code_indent=get(setting.MARKDOWN_CODE_BLOCK_INDENT),
                hide_thinking=get(setting.HIDE_THINKING_BLOCK),
                hyperlinks=takes_hyperlinks(self._environ, True if links == "auto" and self._tmux_links else links),
                image_columns=int(get(setting.TERMINAL_IMAGE_WIDTH_CELLS)) if protocol is not None else 0,
            )
        )
        self._watch_file()

    def use_colors(self, wanted: Any) -> None:
        """Use as many colours as the terminal has."""
        app = self._app
        system = color_system(self._environ, wanted)
        if app.console.color_system != system:
            app.console = Console(
                color_system=system,
                file=app.console.file,
                force_terminal=True,
                legacy_windows=False,
                safe_box=False,
                emoji=False,
                highlight=False,
                _environ={},
            )

    def _use_images(self, protocol: ImageProtocol | None) -> None:
        """Draw images by this protocol from now on, or not at all."""
        if protocol == (self.painter.protocol if self.painter is not None else None):
            return
        if self.painter is not None:
            self.painter.clear()
        self.painter = ImagePainter(protocol, self._app.write_terminal) if protocol is not None else None
        self._app.transcript.on_pictures = self.painter.paint if self.painter is not None else None

    def preview(self, theme: str | None) -> None:
        """Draw in another theme for now; None goes back to what the settings say."""
        self._previewed = theme
        self.apply()

    def theme_names(self) -> list[str]:
        """The themes that can be chosen."""
        return self.theming.names()

    def _wanted(self) -> str:
        if self._previewed is not None:
            return self._previewed
        given = self._app.start_options.theme
        desk = self._app.desk
        if given or desk is None:
            return given or "system"
        from pinyon.resources.setting import THEME

        return str(desk.setting(THEME))

    def _tell(self, text: str, kind: Literal["warning", "error"]) -> None:
        if self._app.is_running:
            self._app.call_later(self._app.notify_user, text, kind)

    # What changes by itself.

    def hear(self, reply: str) -> None:
        """Take an answer of the terminal; colours are used when all have come."""
        terminal = self.theming.terminal
        if reply.startswith("[?997;"):
            terminal.scheme_is_dark = reply[6] == "1"
            self._ask_again()
        elif terminal.hear(reply):
            if self._answers is None:
                self._answers = self._app.set_timer(_ANSWERS_S, self._answered)
        elif reply.endswith("c") and self._answers is not None:
            self._answers.stop()
            self._answered()

    def _answered(self) -> None:
        self._answers = None
        self.apply()

    def _ask_again(self) -> None:
        self._app.write_terminal(QUESTION)
        self.apply()

    def _watch_file(self) -> None:
        """Look at the file of the theme as long as one is used."""
        if self.theming.watches_file and self._watch is None:
            self._watch = self._app.set_interval(_LOOK_S, self._look_at_file)
        elif not self.theming.watches_file and self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _look_at_file(self) -> None:
        if self.theming.look():
            self.apply()

    async def ask_tmux(self) -> None:
        """Ask tmux whether the terminal around it takes links."""
        desk = self._app.desk
        if desk is None or not self._environ.get("TMUX") or not is_multiplexed(self._environ):
            return
        command = ["tmux", "display-message", "-p", "#{client_termfeatures}"]
        features = await desk.outside.run_quietly(command, _TMUX_S)
        if features is not None and "hyperlinks" in features.split(","):
            self._tmux_links = True
            self.apply()
