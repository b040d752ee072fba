"""Virtual models in a session: a route decides who answers each request, and its memory stands in the tree."""

from __future__ import annotations

from typing import Any

from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.stream import StreamFn
from pinyon.ai.virtual_model import VIRTUAL_API, RoutedStream, RouteMemory
from pinyon.session.session import Session

STATE_ENTRY = "pi.virtual-model-state"


def routed_stream(registry: ModelRegistry, tree: Session) -> StreamFn:
    """The stream function of a session on `tree`; states of routes are custom entries of the branch."""

    def load(model: Model) -> Any:
        for entry in reversed(tree.get_branch()):
            if entry.type == "custom" and entry.custom_type == STATE_ENTRY:
                data = entry.data
                if isinstance(data, dict) and (data.get("provider"), data.get("modelId")) == model.key:
                    return data.get("state")
        return None

    def keep(model: Model, state: Any) -> None:
        data = {"provider": model.provider, "modelId": model.id, "state": state}
        tree.append_custom_entry(STATE_ENTRY, data)

    return RoutedStream(registry.virtual, registry, RouteMemory(load=load, keep=keep))


def chosen_virtual(registry: ModelRegistry, tree: Session) -> Model | None:
    """The virtual model that the branch chose last; None where that was a real one, or one that is gone.

    Answers carry the names of the real models behind it, so that they do not tell.
    """
    if not registry.virtual.provider_ids():
        return None
    for entry in reversed(tree.get_branch()):
        if entry.type == "model_change":
            model = registry.find(entry.provider, entry.model_id)
            return model if model is not None and model.api == VIRTUAL_API else None
    return None
