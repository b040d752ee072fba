"""The list that chooses and orders the models which cycling goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual.strip import Strip

from pinyon.ai.model import Model
from pinyon.ai.resolver import ScopedModel
from pinyon.tui.canvas import text_rows
from pinyon.tui.selector import Choice, Selector


class ScopeList(Selector):
    """Every change is told to `changed` with the models in order; `save` keeps them. An empty scope means all models.

    `missing` are patterns of the settings that match nothing.
    """

    def __init__(
        self,
        models: Sequence[Model],
        scope: Sequence[ScopedModel],
        *,
        missing: Sequence[str] = (),
        changed: Callable[[list[ScopedModel]], None],
        save: Callable[[list[ScopedModel]], None],
    ) -> None:
        self._models = {model.spec: model for model in models}
        self._levels = {entry.model.spec: entry.thinking_level for entry in scope}
        self._models |= {entry.model.spec: entry.model for entry in scope}
        self.enabled = [entry.model.spec for entry in scope]
        self._missing = list(missing)
        self._changed = changed
        self._save = save
        self.is_unsaved = False
        names = ("enableAll", "clearAll", "toggleProvider", "reorderUp", "reorderDown", "save")
        super().__init__("Models to cycle through", self._rows(), actions=dict.fromkeys(self._ids(names), _nothing))

    @staticmethod
    def _ids(names: Sequence[str]) -> list[str]:
        return [f"app.models.{name}" for name in names]

    def _rows(self) -> list[Choice]:
        others = sorted((spec for spec in self._models if spec not in self.enabled), key=str.casefold)
        rows = [self._choice(spec, is_on=True) for spec in self.enabled]
        rows += [self._choice(spec, is_on=False) for spec in others]
        return rows + [Choice(None, pattern, note="not available") for pattern in self._missing]

    def _choice(self, spec: str, *, is_on: bool) -> Choice:
        model, level = self._models[spec], self._levels.get(spec)
        number = f"{self.enabled.index(spec) + 1}. " if is_on else ""
        named = f"{model.id}:{level}" if level else model.id
        return Choice(spec, f"{number}{named}", note=f"[{model.provider}]", is_current=is_on, search=model.name)

    @property
    def scope(self) -> list[ScopedModel]:
        """The scope as it is now; empty where it limits nothing."""
        if len(self.enabled) == len(self._models):
            return []
        return [ScopedModel(self._models[spec], self._levels.get(spec)) for spec in self.enabled]

    def accept(self, choice: Choice) -> None:
        """Take a model in or out."""
        if choice.value is None:
            return
        if choice.value in self.enabled:
            self.enabled.remove(choice.value)
        else:
            self.enabled.append(choice.value)
        self._update()

    def act(self, action: str) -> None:
        """All, none, a whole provider, the order, saving."""
        name = action.removeprefix("app.models.")
        if name == "save":
            self._save(self.scope)
            self.is_unsaved = False
            return
        found = [row.value for row in self.shown if row.value is not None]
        chosen = self.chosen.value if self.chosen is not None else None
        match name:
            case "enableAll":
                self.enabled += [spec for spec in found if spec not in self.enabled]
            case "clearAll":
                self.enabled = [spec for spec in self.enabled if spec not in found]
            case "toggleProvider" if chosen is not None:
                self._toggle_provider(self._models[chosen].provider)
            case "reorderUp" | "reorderDown" if chosen in self.enabled:
                self._reorder(chosen, -1 if name == "reorderUp" else 1)
            case _:
                return
        self._update()

    def _toggle_provider(self, provider: str) -> None:
        own = [spec for spec, model in self._models.items() if model.provider == provider]
        if all(spec in self.enabled for spec in own):
            self.enabled = [spec for spec in self.enabled if spec not in own]
        else:
            self.enabled += [spec for spec in own if spec not in self.enabled]

    def _reorder(self, spec: str, step: int) -> None:
        at = self.enabled.index(spec)
        target = max(0, min(len(self.enabled) - 1, at + step))
        self.enabled.insert(target, self.enabled.pop(at))

    def _update(self) -> None:
        self.is_unsaved = True
        self._changed(self.scope)
        self.replace_choices(self._rows())

    def head(self, width: int) -> list[Strip]:
        """How many, and whether that is kept."""
        count = f"{len(self.enabled)}/{len(self._models)}" if self.enabled else f"all {len(self._models)}"
        text = Text(f"   {count} models", style=self.tone.style("muted"))
        if self.is_unsaved:
            text.append("  not saved", self.tone.style("warning"))
        return text_rows(text, width)[:1]

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        parts = [
            f"{hint('tui.select.confirm')} in or out",
            f"{hint('app.models.enableAll')} all",
            f"{hint('app.models.clearAll')} none",
            f"{hint('app.models.toggleProvider')} provider",
            f"{hint('app.models.reorderUp')}/{hint('app.models.reorderDown')} order",
            f"{hint('app.models.save')} saves",
            f"{hint('tui.select.cancel')} closes",
        ]
        return " · ".join(parts)


def scope_patterns(scope: Sequence[ScopedModel]) -> list[str]:
    """The scope as the settings keep it."""
    return [
        f"{entry.model.spec}:{entry.thinking_level}" if entry.thinking_level else entry.model.spec for entry in scope
    ]


def _nothing(choice: Choice) -> None:
    del choice
