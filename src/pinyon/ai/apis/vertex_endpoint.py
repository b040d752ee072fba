"""Where a Vertex AI model is served: by project and location, by an express key, or at an address of the user's own.

Source: the vendor's published list of endpoints, and its guide to express mode.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

import msgspec

from pinyon.ai.apis.google_run import stream_url
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions

API_VERSION = "v1"
GLOBAL_HOST = "https://aiplatform.googleapis.com"

_PLACEHOLDER_KEYS = frozenset({"gcp-vertex-credentials"})
_MULTI_REGIONS = frozenset({"us", "eu"})
_VERSION = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?:/|$)")
_LOCATION = re.compile(r"[a-z0-9-]+")


class VertexPlace(msgspec.Struct, frozen=True):
    """What a request is signed with and sent to; texts are empty where nothing is known."""

    api_key: str
    project: str
    location: str
    own_url: str

    @property
    def has_collection(self) -> bool:
        """Whether project and location are both known, and the location can be part of a host name."""
        return bool(self.project) and _LOCATION.fullmatch(self.location) is not None


def variable(name: str, options: StreamOptions) -> str:
    """An environment variable, as the request or the process has it; empty where neither does."""
    return (options.env or {}).get(name) or os.environ.get(name) or ""


def vertex_place(model: Model, options: StreamOptions) -> VertexPlace:
    """What is known about where `model` is served."""
    extra = options.extra or {}
    project = extra.get("project") or variable("GOOGLE_CLOUD_PROJECT", options) or variable("GCLOUD_PROJECT", options)
    location = extra.get("location") or variable("GOOGLE_CLOUD_LOCATION", options)
    is_template = "{location}" in model.base_url
    return VertexPlace(
        api_key=real_key(options.api_key or ""),
        project=str(project),
        location=str(location),
        own_url="" if is_template else model.base_url,
    )


def real_key(text: str) -> str:
    """The API key, empty where the text only stands in for one."""
    is_stand_in = text in _PLACEHOLDER_KEYS or (text.startswith("<") and text.endswith(">"))
    return "" if is_stand_in else text


def vertex_url(place: VertexPlace, model_id: str) -> str:
    """The address that streams answers of a model.

    An address of the user's own is the collection already; the version is added where its path names none.
    """
    publisher_model = model_id if model_id.startswith("publishers/") else f"publishers/google/models/{model_id}"
    if place.own_url:
        has_version = _VERSION.search(urlsplit(place.own_url).path)
        base = place.own_url.rstrip("/")
        return stream_url(base if has_version else f"{base}/{API_VERSION}", publisher_model)
    if place.api_key:
        return stream_url(f"{GLOBAL_HOST}/{API_VERSION}", publisher_model)
    collection = f"projects/{place.project}/locations/{place.location}"
    return stream_url(f"{_host(place.location)}/{API_VERSION}/{collection}", publisher_model)


def _host(location: str) -> str:
    if location == "global":
        return GLOBAL_HOST
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
