"""Model servers on this machine: Ollama, llama.cpp, LM Studio and vLLM, found on their default ports when asked for.

A server is contacted only by `find_models`. Whatever it answers is taken with care: one that is not there, stalls,
lies or speaks another protocol simply offers no models.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.model import Model
from pinyon.ai.transport import HttpRequest, Transport, TransportError, read_body

FIND_TIMEOUT_S = 0.3
"""Longest wait for all servers together, in seconds."""

MOST_CONTEXT_TOKENS = 16_000_000
"""A server that claims a larger context is not believed."""

DEFAULT_CONTEXT_TOKENS = 8192
"""Context of a model whose server does not tell it."""

_ANSWER_LIMIT_BYTES = 4 << 20
_UNSPECIFIED_HOSTS = (("://0.0.0.0", "://127.0.0.1"), ("://[::]", "://[::1]"), ("://:", "://127.0.0.1:"))

Get = Callable[..., Awaitable[Any]]
"""Asks a path of a server and returns the JSON value, or None when there is none."""


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of server: the provider id of its models, its address, and how it lists them."""

    provider: str
    name: str
    base_url: str
    env: tuple[str, ...]
    key_env: str
    list_models: Callable[[LocalServer, str, Get], Awaitable[list[Model]]]

    def address(self, env: Mapping[str, str]) -> str:
        """Root URL without a trailing slash: the environment's, else the default."""
        given = next((env[name] for name in self.env if env.get(name)), "")
        if not given:
            return self.base_url
        url = given if "://" in given else f"http://{given}"
        for anywhere, here in _UNSPECIFIED_HOSTS:
            url = url.replace(anywhere, here)
        url = url.rstrip("/").removesuffix("/v1")
        has_port = ":" in url.partition("://")[2].rpartition("]")[2]
        return url if has_port or "://" in given else f"{url}:{self.base_url.rpartition(':')[2]}"


async def find_models(
    transport: Transport, providers: Iterable[str] | None = None, *, env: Mapping[str, str] | None = None
) -> list[Model]:
    """The models that local servers offer now, all asked at the same time within `FIND_TIMEOUT_S`.

    `providers` limits the search to some of `LOCAL_PROVIDERS`. Never raises.
    """
    environment = os.environ if env is None else env
    wanted = None if providers is None else set(providers)
    servers = [server for server in LOCAL_SERVERS if wanted is None or server.provider in wanted]
    deadline = asyncio.get_running_loop().time() + FIND_TIMEOUT_S
    found = await asyncio.gather(*(_models_of(server, transport, environment, deadline) for server in servers))
    return [model for models in found for model in models]


async def _models_of(server: LocalServer, transport: Transport, env: Mapping[str, str], deadline: float) -> list[Model]:
    root = server.address(env)
    key = env.get(server.key_env)

    async def ask(path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            async with asyncio.timeout_at(deadline):
                return await _ask(transport, root + path, body, key)
        except TimeoutError:
            return None

    models = await server.list_models(server, root, ask)
    return list({model.id: model for model in models}.values())


async def _ask(transport: Transport, url: str, body: Mapping[str, Any] | None, key: str | None) -> Any:
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    request = HttpRequest(
        method="GET" if body is None else "POST",
        url=url,
        headers=headers,
        body=b"" if body is None else _json.encode(body),
        connect_timeout_s=FIND_TIMEOUT_S,
        idle_timeout_s=FIND_TIMEOUT_S,
        env={"NO_PROXY": "*", "no_proxy": "*"},
    )
    try:
        response = await transport.open(request)
        data = await read_body(response, _ANSWER_LIMIT_BYTES)
    except TransportError:
        return None
    if response.status != 200:
        return None
    try:
        return _json.decode(data)
    except _json.JsonError:
        return None


def _model(server: LocalServer, root: str, model_id: str, context: object, **fields: Any) -> Model:
    is_size = isinstance(context, int) and not isinstance(context, bool) and 0 < context <= MOST_CONTEXT_TOKENS
    window = context if is_size and isinstance(context, int) else DEFAULT_CONTEXT_TOKENS
    return Model(
        id=model_id,
        name=f"{model_id} ({server.name})",
        api="openai-completions",
        provider=server.provider,
        base_url=f"{root}/v1",
        context_window=window,
        max_tokens=max(1, min(16_384, window // 2)),
        **fields,
    )


def _objects(value: object, key: str) -> list[dict[str, Any]]:
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _names(items: Sequence[dict[str, Any]], key: str) -> list[str]:
    return [item[key] for item in items if isinstance(item.get(key), str) and item[key].strip()]


async def _ollama(server: LocalServer, root: str, ask: Get) -> list[Model]:
    names = _names(_objects(await ask("/api/tags"), "models"), "name")
    details = await asyncio.gather(*(ask("/api/show", {"model": name}) for name in names))
    return [_ollama_model(server, root, name, detail) for name, detail in zip(names, details, strict=True)]


def _ollama_model(server: LocalServer, root: str, name: str, detail: object) -> Model:
    info = detail.get("model_info") if isinstance(detail, dict) else None
    lengths = info.items() if isinstance(info, dict) else ()
    context = next((value for key, value in lengths if str(key).endswith(".context_length")), None)
    abilities = detail.get("capabilities") if isinstance(detail, dict) else None
    kinds = abilities if isinstance(abilities, list) else []
    inputs = ["text", "image"] if "vision" in kinds else ["text"]
    return _model(server, root, name, context, input=inputs, reasoning="thinking" in kinds)


async def _llama_cpp(server: LocalServer, root: str, ask: Get) -> list[Model]:
    listed, props = await asyncio.gather(ask("/v1/models"), ask("/props"))
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    context = settings.get("n_ctx") if isinstance(settings, dict) else None
    return [_model(server, root, name, context) for name in _names(_objects(listed, "data"), "id")]


async def _lm_studio(server: LocalServer, root: str, ask: Get) -> list[Model]:
    listed = await ask("/api/v0/models") or await ask("/v1/models")
    items = [item for item in _objects(listed, "data") if item.get("type") != "embeddings"]
    return [
        _model(
            server,
            root,
            item["id"],
            item.get("loaded_context_length") or item.get("max_context_length"),
            input=["text", "image"] if item.get("type") == "vlm" else ["text"],
        )
        for item in items
        if isinstance(item.get("id"), str) and item["id"].strip()
    ]


async def _vllm(server: LocalServer, root: str, ask: Get) -> list[Model]:
    items = _objects(await ask("/v1/models"), "data")
    return [
        _model(server, root, item["id"], item.get("max_model_len"))
        for item in items
        if isinstance(item.get("id"), str) and item["id"].strip()
    ]


LOCAL_SERVERS: tuple[LocalServer, ...] = (
    LocalServer(
        provider="ollama",
        name="Ollama",
        base_url="http://127.0.0.1:11434",
        env=("OLLAMA_HOST",),
        key_env="OLLAMA_API_KEY",
        list_models=_ollama,
    ),
    LocalServer(
        provider="llama.cpp",
        name="llama.cpp",
        base_url="http://127.0.0.1:8080",
        env=("LLAMA_BASE_URL",),
        key_env="LLAMA_API_KEY",
        list_models=_llama_cpp,
    ),
    LocalServer(
        provider="lm-studio",
        name="LM Studio",
        base_url="http://127.0.0.1:1234",
        env=("LMSTUDIO_BASE_URL",),
        key_env="LM_API_TOKEN",
        list_models=_lm_studio,
    ),
    LocalServer(
        provider="vllm",
        name="vLLM",
        base_url="http://127.0.0.1:8000",
        env=("VLLM_BASE_URL",),
        key_env="VLLM_API_KEY",
        list_models=_vllm,
    ),
)

LOCAL_PROVIDERS = tuple(server.provider for server in LOCAL_SERVERS)
"""Provider ids of local servers; their models need no key."""


def local_key_variable(provider: str) -> str:
    """The variable that may hold the key of a local server that asks for one."""
    return next(server.key_env for server in LOCAL_SERVERS if server.provider == provider)


def local_server_silence(provider: str, env: Mapping[str, str]) -> str:
    """What to say when a local server offers no model."""
    server = next(server for server in LOCAL_SERVERS if server.provider == provider)
    return (
        f"no {server.name} server with models answers at {server.address(env)}; start it and load a model, "
        f"or set {server.env[0]} to its address"
    )


def named_local_provider(spec: str) -> str | None:
    """The local provider that a model spec names in front of its first slash, None where it names none."""
    provider = spec.strip().partition("/")[0].casefold()
    return provider if provider in LOCAL_PROVIDERS else None
