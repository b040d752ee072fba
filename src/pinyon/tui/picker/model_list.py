"""The list of models: all that can be used, or those of the scope, with provider and context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from rich.text import Text
from textual.strip import Strip

from pinyon.ai.model import Model
from pinyon.tui.canvas import text_rows
from pinyon.tui.quantity import shown_tokens
from pinyon.tui.selector import Choice, Selector

Errand = Literal["sign_in", "local_servers"]
"""What the last rows of the list lead to instead of a model."""

_ERRANDS: tuple[tuple[Errand, str], ...] = (
    ("sign_in", "Sign in to another provider…"),
    ("local_servers", "Look for model servers on this machine…"),
)


class ModelOffer(msgspec.Struct, kw_only=True):
    """What the list shows: the usable models, the specs of the scope in order, those in use and kept as default."""

    models: Sequence[Model]
    scope: Sequence[str] = ()
    current: str = ""
    default: str = ""


class ModelList(Selector):
    """The result is a model, an `Errand`, or None. `save` keeps a model as the default of new sessions."""

    def __init__(self, offer: ModelOffer, *, query: str = "", save: Callable[[Model], None], status: str = "") -> None:
        self.offer = offer
        self.is_scoped = bool(offer.scope)
        self.status = status
        self._save = save
        super().__init__(
            "Model",
            self._rows(),
            query=query,
            actions={"app.models.save": self._keep, "tui.input.tab": lambda _: None},
        )

    def _rows(self) -> list[Choice]:
        offer = self.offer
        places = {spec: number for number, spec in enumerate(offer.scope)}
        models = [model for model in offer.models if not self.is_scoped or model.spec in places]
        models.sort(key=lambda model: (model.spec != offer.current, model.spec != offer.default, self._place(model)))
        rows = [self._choice(model, is_favourite=model.spec in places) for model in models]
        return [*rows, *(Choice(errand, label) for errand, label in _ERRANDS)]

    def _place(self, model: Model) -> tuple[int, str, str]:
        is_ordered = self.is_scoped and model.spec in self.offer.scope
        return (list(self.offer.scope).index(model.spec) if is_ordered else 0, model.provider, model.id)

    def _choice(self, model: Model, *, is_favourite: bool) -> Choice:
        named = f" ({model.name})" if model.name and model.name != model.id else ""
        marks = [
            mark for mark, is_set in (("★", is_favourite), ("default", model.spec == self.offer.default)) if is_set
        ]
        note = "  ".join([*marks, f"[{model.provider}]", f"{shown_tokens(model.context_window):>5}"])
        return Choice(
            model,
            f"{model.id}{named}",
            note=note,
            is_current=model.spec == self.offer.current,
            search=model.provider,
            detail=_facts(model),
        )

    def act(self, action: str) -> None:
        """Save, or show the other list; that works without a row as well."""
        if action == "tui.input.tab":
            if self.offer.scope:
                self.is_scoped = not self.is_scoped
                self.replace_choices(self._rows())
        else:
            super().act(action)

    def _keep(self, choice: Choice) -> object:
        if not isinstance(choice.value, Model):
            return None
        self._save(choice.value)
        return choice.value

    def refresh_offer(self, offer: ModelOffer, status: str) -> None:
        """Show other models and stay on the same one."""
        chosen = self.chosen.value.spec if self.chosen and isinstance(self.chosen.value, Model) else None
        self.offer, self.status = offer, status
        self.replace_choices(self._rows())
        found = (row.value for row in self.shown if isinstance(row.value, Model) and row.value.spec == chosen)
        if (same := next(found, None)) is not None:
            self.select(same)
        self.update_rows()

    def head(self, width: int) -> list[Strip]:
        """Which list this is, and how the search for more went."""
        rows: list[Strip] = []
        if self.offer.scope:
            text = Text("   ")
            for name, is_shown in (("all", not self.is_scoped), ("scope", self.is_scoped)):
                text.append(f"{'●' if is_shown else '○'} {name}  ", self.tone.style("accent" if is_shown else "dim"))
            rows += text_rows(text, width)[:1]
        if self.status:
            rows += text_rows(Text(f"   {self.status}", style=self.tone.style("muted")), width)[:1]
        return rows

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        scope = f"{hint('tui.input.tab')} all or scope" if self.offer.scope else ""
        return self.select_hint(f"{hint('app.models.save')} keeps as default", scope)


def _facts(model: Model) -> str:
    parts = [f"context {shown_tokens(model.context_window)}", f"answers up to {shown_tokens(model.max_tokens)}"]
    if "image" in model.input:
        parts.append("images")
    if model.reasoning:
        parts.append("thinks")
    if model.cost.input or model.cost.output:
        parts.append(f"${model.cost.input:g} in, ${model.cost.output:g} out a million tokens")
    return f"{model.spec} · {' · '.join(parts)}"
