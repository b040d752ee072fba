"""Wire APIs: how requests are spoken to model servers, by the name that stands in a model's `api` field.

Built-in APIs are imported when the first model asks for them. Programs add their own with `register_api`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.errors import ModelError


class WireApi(Protocol):
    """One way to ask a model server for an answer."""

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """Prepare a request; it goes out with the first event that is asked for.

        Prompt and tools stand in the system messages. Raises `AuthError` when no credential was given; every other
        failure arrives as the stream's `error` event.
        """
        ...


_BUILT_IN = {
    "anthropic-messages": "pinyon.ai.apis.anthropic_messages",
    "azure-openai-responses": "pinyon.ai.apis.azure_openai_responses",
    "openai-codex-responses": "pinyon.ai.apis.openai_codex_responses",
    "google-generative-ai": "pinyon.ai.apis.google_generative_ai",
    "google-vertex": "pinyon.ai.apis.google_vertex",
    "mistral-conversations": "pinyon.ai.apis.mistral_conversations",
    "openai-completions": "pinyon.ai.apis.openai_completions",
    "bedrock-converse-stream": "pinyon.ai.apis.bedrock_converse_stream",
    "openai-responses": "pinyon.ai.apis.openai_responses",
    "faux": "pinyon.ai.apis.faux",
    "pi-messages": "pinyon.ai.apis.pi_messages",
}
"""API name → the module whose `API` it is."""

_registered: dict[str, WireApi] = {}


def api_names() -> list[str]:
    """The names of all APIs, sorted."""
    return sorted({*_BUILT_IN, *_registered})


def get_api(name: str) -> WireApi:
    """The API called `name`. Raises `ModelError` for a name that nobody registered."""
    api = _registered.get(name)
    if api is not None:
        return api
    home = _BUILT_IN.get(name)
    if home is None:
        known = ", ".join(api_names())
        raise ModelError(f"unknown wire API {name!r}; a model's `api` must be one of: {known}")
    return cast("WireApi", import_module(home).API)


def register_api(name: str, api: WireApi) -> Callable[[], None]:
    """Serve models whose `api` is `name` by `api`, also in place of a built-in one; returns what undoes it."""
    previous = _registered.get(name)
    _registered[name] = api

    def undo() -> None:
        if _registered.get(name) is not api:
            return
        if previous is None:
            del _registered[name]
        else:
            _registered[name] = previous

    return undo
