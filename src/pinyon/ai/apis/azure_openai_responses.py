"""The Responses API as Azure serves it: another address, deployments in place of models, the key in `api-key`.

Options in `StreamOptions.extra`: those of the vendor's Responses API, and those of `azure_endpoint`.

Source of the protocol: the published reference of the Azure OpenAI v1 API.
"""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.apis.azure_endpoint import azure_endpoint
from pinyon.ai.apis.responses_header import request_headers
from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.apis.responses_run import Endpoint, ResponsesApi
from pinyon.ai.exchange import is_signed, missing_key
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions

_AUTH_HEADERS = ("api-key", "authorization")


def _require_credential(model: Model, options: StreamOptions) -> None:
    if not is_signed(model, options, _AUTH_HEADERS):
        raise missing_key(model)


def _endpoint(request: ResponsesRequest, messages: Sequence[Message]) -> Endpoint:
    target = azure_endpoint(request.model, request.options)
    return Endpoint(
        url=f"{target.base_url}/responses?api-version={target.api_version}",
        headers=request_headers(request, messages, {"api-key": request.options.api_key or ""}),
        model_name=target.deployment,
        error_prefix="Azure OpenAI API error",
    )


API = ResponsesApi("azure", _require_credential, _endpoint)
