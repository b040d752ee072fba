"""The tree of a session: filtered, searched, folded, labelled, and a place chosen in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text
from textual.strip import Strip

from pinyon.session.session import Session
from pinyon.session.tree import SessionTreeNode
from pinyon.tui.canvas import clean, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.overlay import DOCK_SHARE
from pinyon.tui.picker.entry_line import EntryLines, entry_text
from pinyon.tui.picker.tree_rows import FILTERS, TreeFilter, TreeRow, TreeView, tree_rows
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.text_field import TextField

_FILTER_KEYS: dict[str, TreeFilter] = {
    "default": "default",
    "noTools": "no-tools",
    "userOnly": "user-only",
    "labeledOnly": "labeled-only",
    "all": "all",
}
_ACTIONS = (
    *(f"app.tree.filter.{name}" for name in _FILTER_KEYS),
    "app.tree.filter.cycleForward",
    "app.tree.filter.cycleBackward",
    "app.tree.foldOrUp",
    "app.tree.unfoldOrDown",
    "app.tree.editLabel",
    "app.tree.toggleLabelTimestamp",
    "app.message.copy",
)


class TreeList(Selector):
    """The result is the id of an entry. `set_label` stores a label (None takes it away), `copy` copies a text."""

    def __init__(
        self,
        session: Session,
        *,
        set_label: Callable[[str, str | None], None],
        copy: Callable[[str], None],
        view: TreeView | None = None,
        selected: str | None = None,
    ) -> None:
        self._session = session
        self._set_label = set_label
        self._copy = copy
        self.view = view or TreeView()
        self._lines = EntryLines(session.get_entries())
        self._roots = session.get_tree()
        self._active = {entry.id for entry in session.get_branch()}
        self._leaf = session.get_leaf_id()
        self._tree: dict[str, TreeRow] = {}
        self._labelling: TextField | None = None
        self.shows_times = False
        super().__init__("Session tree", [], actions=dict.fromkeys(_ACTIONS, _nothing))
        self.select(selected or self._leaf)
        if selected is None and self.shown and self.chosen is not None and self.chosen.value != self._leaf:
            self.at = self._nearest_to_leaf()

    def _nearest_to_leaf(self) -> int:
        """The last shown row of the active branch."""
        return max((at for at, row in enumerate(self.shown) if self._tree[row.value].is_active), default=0)

    # Rows.

    def matches(self, query: str) -> list[Choice]:
        """The rows of the tree that filter and search leave."""
        words = query.lower().split()
        self.view.is_match = (lambda node: self._has_words(node, words)) if words else None
        rows = tree_rows(self._roots, self._active, self._leaf, self.view)
        self._tree = {row.entry.id: row for row in rows}
        return [Choice(row.entry.id, "") for row in rows]

    def _has_words(self, node: SessionTreeNode, words: list[str]) -> bool:
        line = self._lines.line(node.entry)
        text = f"{node.label or ''} {line.sign} {line.text} {entry_text(node.entry)}".lower()
        return all(word in text for word in words)

    def refilter(self) -> None:
        """Search anew and stay on the same entry where it is still shown."""
        chosen = self.chosen.value if self.chosen is not None else None
        super().refilter()
        if chosen in self._tree:
            self.select(chosen)
        elif self.shown:
            self.at = self._nearest_to_leaf()

    def list_rows(self) -> int:
        """Half of the screen."""
        room = self.app.size.height
        return max(1, min(int(room * DOCK_SHARE) - self.head_rows - 6, max(5, room // 2)))

    def row(self, choice: Choice, number: int, width: int) -> Strip:
        """Lines of the tree, where folding is possible, whose it is, label, text."""
        row, tone = self._tree[choice.value], self.tone
        is_chosen = number == self.at
        text = Text(no_wrap=True).append(" → " if is_chosen else "   ", tone.style("accent"))
        lines = row.lines[self._shift(width) :]
        text.append(lines, tone.style("borderMuted"))
        if row.has_children and row.is_start:
            text.append("⊞ " if row.is_folded else "⊟ ", tone.style("dim"))
        text.append("• " if row.is_active else "  ", tone.style("accent"))
        if row.label:
            text.append(f"[{clean(row.label)}] ", tone.style("warning"))
            if self.shows_times:
                text.append(f"{_shown_time(row.label_time)} ", tone.style("dim"))
        line = self._lines.line(row.entry)
        if line.sign:
            text.append(f"{clean(line.sign)}: ", tone.style(line.role))
        room = max(1, width - text.cell_len - 1)
        body = fit(clean(line.text).replace("\n", " "), room)
        role = "accent" if is_chosen else "text" if line.sign else line.role
        text.append(body, tone.style(role, bold=is_chosen))
        if choice.value == self._leaf and text.cell_len + 8 < width:
            text.append("  ← here", tone.style("dim"))
        return text_rows(text, width)[0]

    def _shift(self, width: int) -> int:
        """How far deep lines are moved out of sight, so that the chosen text can be read."""
        if self.chosen is None:
            return 0
        return max(0, cell_len(self._tree[self.chosen.value].lines) - width // 3)

    def head(self, width: int) -> list[Strip]:
        """The filter, or the label that is being written."""
        if self._labelling is not None:
            return [self._labelling.row(width, self.tone, " label › ")]
        text = Text("   ", no_wrap=True)
        for name in FILTERS:
            is_on = name == self.view.filter
            text.append(f"{'●' if is_on else '○'} {name}  ", self.tone.style("accent" if is_on else "dim"))
        return text_rows(text, width)[:1]

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        if self._labelling is not None:
            return f"{hint('tui.select.confirm')} keeps the label, an empty one removes it"
        names = {
            "app.tree.filter.cycleForward": "filter",
            "app.tree.foldOrUp": "folds",
            "app.tree.unfoldOrDown": "unfolds",
            "app.tree.editLabel": "labels",
            "app.message.copy": "copies",
        }
        keys = " · ".join(f"{hint(action)} {name}" for action, name in names.items() if hint(action))
        return f"{hint('tui.select.confirm')} goes there · {keys}"

    # Keys.

    def handle(self, key: str, character: str | None) -> None:
        """A label that is being written has the keys before the list."""
        if self._labelling is None:
            super().handle(key, character)
            return
        if self.keymap.is_bound(key, "tui.select.confirm"):
            self._keep_label(self._labelling.text.strip())
        elif self.keymap.is_bound(key, "tui.select.cancel"):
            self._labelling = None
        else:
            self._labelling.handle(key, character, self.keymap)
        self.update_rows()

    def cancel(self) -> None:
        """Clear the search, then close."""
        if self.field.text:
            self.field = TextField()
            self.refilter()
        else:
            super().cancel()

    def act(self, action: str) -> None:
        """Filter, fold, label, copy."""
        row = self._tree.get(self.chosen.value) if self.chosen is not None else None
        name = action.rpartition(".")[2]
        if action.startswith("app.tree.filter."):
            self._change_filter(name)
        elif action == "app.tree.toggleLabelTimestamp":
            self.shows_times = not self.shows_times
        elif row is None:
            return
        elif action == "app.tree.editLabel":
            self._labelling = TextField(row.label)
        elif action == "app.message.copy":
            self._copy(entry_text(row.entry))
        elif action == "app.tree.foldOrUp":
            self._fold_or_up(row)
        else:
            self._unfold_or_down(row)

    def _change_filter(self, name: str) -> None:
        if name in ("cycleForward", "cycleBackward"):
            step = 1 if name == "cycleForward" else -1
            self.view.filter = FILTERS[(FILTERS.index(self.view.filter) + step) % len(FILTERS)]
        else:
            wanted = _FILTER_KEYS[name]
            self.view.filter = "default" if self.view.filter == wanted else wanted
        self.refilter()

    def _fold_or_up(self, row: TreeRow) -> None:
        if row.is_start and row.has_children and not row.is_folded:
            self.view.folded.add(row.entry.id)
            self.refilter()
            return
        starts = [at for at in range(self.at) if self._tree[self.shown[at].value].is_start]
        self.at = starts[-1] if starts else 0

    def _unfold_or_down(self, row: TreeRow) -> None:
        if row.is_folded:
            self.view.folded.discard(row.entry.id)
            self.refilter()
            return
        later = range(self.at + 1, len(self.shown))
        self.at = next((at for at in later if self._tree[self.shown[at].value].is_start), len(self.shown) - 1)

    def _keep_label(self, text: str) -> None:
        self._labelling = None
        if self.chosen is None:
            return
        self._set_label(self.chosen.value, text or None)
        self._roots = self._session.get_tree()
        self.refilter()

    def paste(self, text: str) -> None:
        """Into the label while it is written, else into the search."""
        if self._labelling is not None:
            self._labelling.paste(text)
            self.update_rows()
        else:
            super().paste(text)


def _shown_time(iso: str) -> str:
    try:
        return datetime.fromisoformat(iso).astimezone().strftime("%m-%d %H:%M")
    except ValueError:
        return iso[:16]


def _nothing(choice: Choice) -> None:
    del choice
