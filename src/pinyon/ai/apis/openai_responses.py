"""The Responses API, as its vendor and the services that pass requests on to it speak it.

Options that only this API knows, in `StreamOptions.extra`: `reasoning_effort` (a thinking level, or the provider's own
word), `reasoning_summary` (`auto`, `detailed` or `concise`), `service_tier` (such as `flex` or `priority`) and
`tool_choice` (a text, or the object that names a tool).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.apis.responses_header import request_headers
from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.apis.responses_run import Endpoint, ResponsesApi
from pinyon.ai.exchange import is_signed, missing_key
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions

_AUTH_HEADERS = ("authorization", "cf-aig-authorization")


def _require_credential(model: Model, options: StreamOptions) -> None:
    if not is_signed(model, options, _AUTH_HEADERS):
        raise missing_key(model)


def _endpoint(request: ResponsesRequest, messages: Sequence[Message]) -> Endpoint:
    model = request.model
    vendor = "OpenAI" if model.provider == "openai" else model.provider
    return Endpoint(
        url=f"{model.base_url.rstrip('/')}/responses",
        headers=request_headers(request, messages, {"authorization": f"Bearer {request.options.api_key}"}),
        model_name=model.id,
        error_prefix=f"{vendor} API error",
    )


API = ResponsesApi("openai", _require_credential, _endpoint)
