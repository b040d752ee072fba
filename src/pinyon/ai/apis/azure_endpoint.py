"""Where Azure serves OpenAI's models: the resource's address and the deployment that stands for a model.

Settings come from the options of a request (`azure_base_url`, `azure_resource_name`, `azure_api_version`,
`azure_deployment_name` in `StreamOptions.extra`), then from the environment (`AZURE_OPENAI_BASE_URL`,
`AZURE_OPENAI_RESOURCE_NAME`, `AZURE_OPENAI_API_VERSION`, `AZURE_OPENAI_DEPLOYMENT_NAME_MAP`), then from the model.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.errors import ModelError

PROVIDER = "azure"

_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com")
_VERSIONED_PATH = "/openai/v1"
_SHORT_PATHS = ("", "/openai", "/openai/v1/responses")
_DEFAULT_VERSION = "v1"


class AzureEndpoint(msgspec.Struct, frozen=True):
    """A base URL without a slash at its end, the API version, and what the resource calls the model."""

    base_url: str
    api_version: str
    deployment: str


def azure_endpoint(model: Model, options: StreamOptions) -> AzureEndpoint:
    """Resolve where a request goes. Raises `ModelError` when nothing names the resource."""
    return AzureEndpoint(
        base_url=_base_url(model, options),
        api_version=_setting(options, "azure_api_version", "AZURE_OPENAI_API_VERSION") or _DEFAULT_VERSION,
        deployment=_deployment(model, options),
    )


def _base_url(model: Model, options: StreamOptions) -> str:
    url = _setting(options, "azure_base_url", "AZURE_OPENAI_BASE_URL")
    resource = _setting(options, "azure_resource_name", "AZURE_OPENAI_RESOURCE_NAME")
    if not url and resource:
        url = f"https://{resource}.openai.azure.com{_VERSIONED_PATH}"
    url = url or model.base_url
    if not url:
        raise ModelError(
            f"nothing says where Azure serves {model.spec!r}; set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"
        )
    return _normalised(url.strip())


def _normalised(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not (parts.hostname or "").endswith(_HOSTS):
        return url.rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, _VERSIONED_PATH if path in _SHORT_PATHS else path, "", ""))


def _deployment(model: Model, options: StreamOptions) -> str:
    named = (options.extra or {}).get("azure_deployment_name")
    if isinstance(named, str) and named:
        return named
    for pair in _variable(options, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP").split(","):
        model_id, separator, deployment = pair.partition("=")
        if separator and model_id.strip() == model.id and deployment.strip():
            return deployment.strip()
    return model.id


def _setting(options: StreamOptions, option: str, variable: str) -> str:
    value = (options.extra or {}).get(option)
    return value if isinstance(value, str) and value else _variable(options, variable)


def _variable(options: StreamOptions, name: str) -> str:
    return (options.env or {}).get(name) or os.environ.get(name) or ""
