"""`--list-models`: a table of what can be used, or what to do when nothing can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pinyon._util.fuzzy import fuzzy_score
from pinyon._util.terminal import strip_terminal_control
from pinyon.ai.model import Model, supported_levels
from pinyon.ai.model_registry import ModelRegistry

HEADINGS = ("provider", "model", "context", "max-out", "thinking", "images")

NOTHING_USABLE = """\
No model can be used yet. Any of these makes one usable:
  - set an API key:        export ANTHROPIC_API_KEY=...   (or OPENAI_API_KEY, OPENROUTER_API_KEY, ...)
  - sign in:               pinyon auth login openrouter   (or another provider; most ask for a key)
  - describe a server:     ~/.pi/agent/models.json   (any OpenAI- or Anthropic-compatible server)
  - start a local server:  Ollama, llama.cpp, LM Studio or vLLM on its default port; it then appears here
  - look around first:     pinyon demo
"""


async def list_models(registry: ModelRegistry, search: str | None = None) -> str:
    """The table of models that have credentials, those of local servers that answer now included."""
    await registry.find_local_models()
    return models_table(registry.get_available(), search)


def models_table(models: Iterable[Model], search: str | None = None) -> str:
    """The table of models that match `search`, sorted by provider and id; a line that says so when none does."""
    listed = sorted(models, key=lambda model: (model.provider, model.id))
    if not listed:
        return NOTHING_USABLE
    found = _matching(listed, search) if search else listed
    if not found:
        return f"No model matches {search!r}.\n"
    rows = [HEADINGS, *(_row(model) for model in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )


def _matching(models: Sequence[Model], search: str) -> list[Model]:
    """The models with every word of `search` in provider or id; without any, those with its letters in order."""
    words = search.casefold().split()
    names = [(f"{model.provider} {model.id}", model) for model in models]
    literal = [model for name, model in names if all(word in name.casefold() for word in words)]
    return literal or [model for name, model in names if fuzzy_score(search, name) is not None]


def _row(model: Model) -> tuple[str, ...]:
    thinks = model.reasoning and supported_levels(model) != ["off"]
    cells = (
        model.provider,
        model.id,
        tokens_text(model.context_window),
        tokens_text(model.max_tokens),
        "yes" if thinks else "no",
        "yes" if "image" in model.input else "no",
    )
    return tuple(strip_terminal_control(cell).replace("\n", " ") for cell in cells)


def tokens_text(count: int) -> str:
    """A count of tokens in decimal units, with one decimal where it is not whole: `128K`, `4.1K`, `1M`, `1.0M`."""
    for unit, size in (("M", 1_000_000), ("K", 1000)):
        if count >= size:
            return f"{count // size}{unit}" if count % size == 0 else f"{count / size:.1f}{unit}"
    return str(count)
