"""The table of every action that a key can do, with its default keys."""

from __future__ import annotations

import msgspec


class Binding(msgspec.Struct, frozen=True):
    """One action: its id in `keybindings.json`, its keys, those on Windows where they differ, and what it does."""

    id: str
    keys: tuple[str, ...]
    doc: str
    windows: tuple[str, ...] | None = None


def _row(spec: str, keys: str, doc: str, windows: str | None = None) -> Binding:
    return Binding(spec, tuple(keys.split()), doc, None if windows is None else tuple(windows.split()))


EDITOR = (
    _row("tui.editor.cursorUp", "up", "move up, or back in the history"),
    _row("tui.editor.cursorDown", "down", "move down, or forward in the history"),
    _row("tui.editor.historyPrevious", "", "older prompt, wherever the cursor is"),
    _row("tui.editor.historyNext", "", "newer prompt, wherever the cursor is"),
    _row("tui.editor.historySearch", "ctrl+r", "search older prompts"),
    _row("tui.editor.cursorLeft", "left ctrl+b", "move left"),
    _row("tui.editor.cursorRight", "right ctrl+f", "move right"),
    _row("tui.editor.cursorWordLeft", "alt+left ctrl+left alt+b", "move a word left"),
    _row("tui.editor.cursorWordRight", "alt+right ctrl+right alt+f", "move a word right"),
    _row("tui.editor.cursorLineStart", "home ctrl+a", "start of the line"),
    _row("tui.editor.cursorLineEnd", "end ctrl+e", "end of the line"),
    _row("tui.editor.jumpForward", "ctrl+]", "jump forward to a character"),
    _row("tui.editor.jumpBackward", "ctrl+alt+]", "jump back to a character"),
    _row("tui.editor.pageUp", "pageUp ctrl+pageUp", "page up in the editor"),
    _row("tui.editor.pageDown", "pageDown ctrl+pageDown", "page down in the editor"),
    _row("tui.editor.deleteCharBackward", "backspace", "delete the character before the cursor"),
    _row("tui.editor.deleteCharForward", "delete ctrl+d", "delete the character at the cursor"),
    _row("tui.editor.deleteWordBackward", "ctrl+w alt+backspace", "delete the word before the cursor"),
    _row("tui.editor.deleteWordForward", "alt+d alt+delete", "delete the word after the cursor"),
    _row("tui.editor.deleteToLineStart", "ctrl+u", "delete to the start of the line"),
    _row("tui.editor.deleteToLineEnd", "ctrl+k", "delete to the end of the line"),
    _row("tui.editor.yank", "ctrl+y", "put back what was deleted"),
    _row("tui.editor.yankPop", "alt+y", "put back what was deleted before"),
    _row("tui.editor.undo", "ctrl+-", "undo", "ctrl+z"),
    _row("tui.editor.redo", "alt+-", "redo"),
)
INPUT = (
    _row("tui.input.newLine", "shift+enter ctrl+j", "new line"),
    _row("tui.input.submit", "enter", "send"),
    _row("tui.input.tab", "tab", "complete"),
    _row("tui.input.copy", "ctrl+c", "copy the selection"),
)
SELECT = (
    _row("tui.select.up", "up", "previous row of a list"),
    _row("tui.select.down", "down", "next row of a list"),
    _row("tui.select.pageUp", "pageUp", "page up in a list"),
    _row("tui.select.pageDown", "pageDown", "page down in a list"),
    _row("tui.select.confirm", "enter", "choose"),
    _row("tui.select.cancel", "escape ctrl+c", "close"),
)
VIEW = (
    _row("tui.altScreen.pageUp", "pageUp", "scroll a page up"),
    _row("tui.altScreen.pageDown", "pageDown", "scroll a page down"),
    _row("tui.altScreen.halfPageUp", "", "scroll half a page up"),
    _row("tui.altScreen.halfPageDown", "", "scroll half a page down"),
    _row("tui.altScreen.lineUp", "", "scroll a line up"),
    _row("tui.altScreen.lineDown", "", "scroll a line down"),
    _row("tui.altScreen.previousPrompt", "ctrl+shift+up ctrl+up", "jump to the prompt before", "ctrl+up"),
    _row("tui.altScreen.nextPrompt", "ctrl+shift+down ctrl+down", "jump to the prompt after", "ctrl+down"),
    _row("tui.altScreen.search", "ctrl+shift+f", "search the transcript", "ctrl+f"),
    _row("tui.altScreen.searchNext", "enter ctrl+g", "next match"),
    _row("tui.altScreen.searchPrevious", "shift+enter ctrl+shift+g", "previous match"),
    _row("tui.altScreen.searchClose", "escape", "end the search"),
    _row("tui.altScreen.top", "ctrl+home", "start of the transcript"),
    _row("tui.altScreen.bottom", "ctrl+end", "end of the transcript"),
)
APP = (
    _row("app.interrupt", "escape", "stop what runs"),
    _row("app.clear", "ctrl+c", "clear the editor; twice: quit"),
    _row("app.exit", "ctrl+d", "quit when the editor is empty"),
    _row("app.suspend", "ctrl+z", "put the program to sleep", ""),
    _row("app.editor.external", "ctrl+g", "write in another editor"),
    _row("app.clipboard.pasteImage", "ctrl+v", "paste an image or text from the clipboard", "alt+v ctrl+v"),
    _row("app.session.new", "", "new session"),
    _row("app.session.tree", "", "session tree"),
    _row("app.session.fork", "", "fork from an earlier prompt"),
    _row("app.session.resume", "", "open another session"),
    _row("app.session.togglePath", "ctrl+p", "sessions: show paths"),
    _row("app.session.toggleSort", "ctrl+s", "sessions: next order"),
    _row("app.session.toggleNamedFilter", "ctrl+n", "sessions: named ones only"),
    _row("app.session.rename", "ctrl+r", "sessions: rename"),
    _row("app.session.delete", "ctrl+d", "sessions: delete"),
    _row("app.session.deleteNoninvasive", "ctrl+backspace", "sessions: delete while the search is empty"),
    _row("app.model.select", "ctrl+l", "choose a model"),
    _row("app.model.cycleForward", "ctrl+p", "next model"),
    _row("app.model.cycleBackward", "shift+ctrl+p", "previous model", "alt+p"),
    _row("app.models.save", "ctrl+s", "models: keep as default"),
    _row("app.models.enableAll", "ctrl+a", "models: enable all"),
    _row("app.models.clearAll", "ctrl+x", "models: enable none"),
    _row("app.models.toggleProvider", "ctrl+p", "models: toggle the provider"),
    _row("app.models.reorderUp", "alt+up", "models: move up"),
    _row("app.models.reorderDown", "alt+down", "models: move down"),
    _row("app.thinking.cycle", "shift+tab", "next thinking level"),
    _row("app.thinking.save", "ctrl+s", "thinking: keep as default"),
    _row("app.thinking.toggle", "ctrl+t", "show or fold thinking"),
    _row("app.tools.expand", "ctrl+o", "unfold or fold tool output"),
    _row("app.message.copy", "ctrl+x", "copy the last answer"),
    _row("app.message.followUp", "alt+enter", "queue for the end of the run", "ctrl+q alt+enter"),
    _row("app.message.dequeue", "alt+up", "take queued messages back", "alt+q alt+up"),
    _row("app.tree.foldOrUp", "ctrl+left alt+left", "tree: fold, or up"),
    _row("app.tree.unfoldOrDown", "ctrl+right alt+right", "tree: unfold, or down"),
    _row("app.tree.editLabel", "shift+l", "tree: edit the label"),
    _row("app.tree.toggleLabelTimestamp", "shift+t", "tree: show label times"),
    _row("app.tree.filter.default", "ctrl+d", "tree: default filter"),
    _row("app.tree.filter.noTools", "ctrl+t", "tree: without tools"),
    _row("app.tree.filter.userOnly", "ctrl+u", "tree: prompts only"),
    _row("app.tree.filter.labeledOnly", "ctrl+l", "tree: labelled only"),
    _row("app.tree.filter.all", "ctrl+a", "tree: everything"),
    _row("app.tree.filter.cycleForward", "ctrl+o", "tree: next filter"),
    _row("app.tree.filter.cycleBackward", "shift+ctrl+o", "tree: previous filter"),
)
SECTIONS = {"Editor": EDITOR, "Input": INPUT, "Lists": SELECT, "Transcript": VIEW, "Program": APP}
BINDINGS = {binding.id: binding for section in SECTIONS.values() for binding in section}

LEGACY_IDS = {
    "cursorUp": "tui.editor.cursorUp",
    "cursorDown": "tui.editor.cursorDown",
    "cursorLeft": "tui.editor.cursorLeft",
    "cursorRight": "tui.editor.cursorRight",
    "cursorWordLeft": "tui.editor.cursorWordLeft",
    "cursorWordRight": "tui.editor.cursorWordRight",
    "cursorLineStart": "tui.editor.cursorLineStart",
    "cursorLineEnd": "tui.editor.cursorLineEnd",
    "jumpForward": "tui.editor.jumpForward",
    "jumpBackward": "tui.editor.jumpBackward",
    "pageUp": "tui.editor.pageUp",
    "pageDown": "tui.editor.pageDown",
    "deleteCharBackward": "tui.editor.deleteCharBackward",
    "deleteCharForward": "tui.editor.deleteCharForward",
    "deleteWordBackward": "tui.editor.deleteWordBackward",
    "deleteWordForward": "tui.editor.deleteWordForward",
    "deleteToLineStart": "tui.editor.deleteToLineStart",
    "deleteToLineEnd": "tui.editor.deleteToLineEnd",
    "yank": "tui.editor.yank",
    "yankPop": "tui.editor.yankPop",
    "undo": "tui.editor.undo",
    "newLine": "tui.input.newLine",
    "submit": "tui.input.submit",
    "tab": "tui.input.tab",
    "copy": "tui.input.copy",
    "selectUp": "tui.select.up",
    "selectDown": "tui.select.down",
    "selectPageUp": "tui.select.pageUp",
    "selectPageDown": "tui.select.pageDown",
    "selectConfirm": "tui.select.confirm",
    "selectCancel": "tui.select.cancel",
    "interrupt": "app.interrupt",
    "clear": "app.clear",
    "exit": "app.exit",
    "suspend": "app.suspend",
    "externalEditor": "app.editor.external",
    "pasteImage": "app.clipboard.pasteImage",
    "newSession": "app.session.new",
    "tree": "app.session.tree",
    "fork": "app.session.fork",
    "resume": "app.session.resume",
    "selectModel": "app.model.select",
    "cycleModelForward": "app.model.cycleForward",
    "cycleModelBackward": "app.model.cycleBackward",
    "cycleThinkingLevel": "app.thinking.cycle",
    "toggleThinking": "app.thinking.toggle",
    "expandTools": "app.tools.expand",
    "followUp": "app.message.followUp",
    "dequeue": "app.message.dequeue",
    "toggleSessionNamedFilter": "app.session.toggleNamedFilter",
}
"""Short ids of older files and the ids that they mean."""
