"""The Gemini API for developers, signed with an API key. `google_run` says which options it knows."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.apis.google_payload import EncodingMemory
from pinyon.ai.apis.google_run import Endpoint, google_events, stream_url
from pinyon.ai.exchange import Exchange, is_signed, missing_key
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream

_AUTH_HEADERS = ("x-goog-api-key", "authorization")


class GoogleGenerativeAI:
    """The wire API; remembers only how messages were encoded."""

    def __init__(self) -> None:
        self._memory = EncodingMemory()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        if not is_signed(model, options, _AUTH_HEADERS):
            raise missing_key(model)

        async def locate(_: Exchange) -> Endpoint:
            return Endpoint(stream_url(model.base_url, model.id), key_headers(model, options, options.api_key))

        return AssistantMessageEventStream(
            google_events(model, messages, options, LiveAnswer(model), self._memory, locate)
        )


API = GoogleGenerativeAI()


def key_headers(model: Model, options: StreamOptions, api_key: str | None) -> dict[str, str]:
    """All headers, lowest layer first: identity, protocol, the model's, the caller's."""
    protocol = {"accept": "text/event-stream", "content-type": "application/json"}
    if api_key:
        protocol["x-goog-api-key"] = api_key
    identity = identity_headers(model.provider, options.identity)
    return merge_headers(identity, protocol, model.headers or None, options.headers)
