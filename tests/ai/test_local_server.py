import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from pinyon.ai.local_server import DEFAULT_CONTEXT_TOKENS, LOCAL_SERVERS, find_models, named_local_provider
from pinyon.ai.model import Model
from pinyon.ai.transport import FunctionTransport, HttpRequest, MemoryResponse, TransportError


def serve(answers: Mapping[str, Any]) -> FunctionTransport:
    """A transport on which only the given URLs answer."""

    def answer(request: HttpRequest) -> MemoryResponse:
        value = answers.get(request.url)
        if value is None:
            raise TransportError("Connection error: ECONNREFUSED", "connection", "ECONNREFUSED")
        if request.method == "POST":
            value = value[json.loads(request.body)["model"]]
        return MemoryResponse(200, {}, [value if isinstance(value, bytes) else json.dumps(value).encode()])

    return FunctionTransport(answer)


def find(answers: Mapping[str, Any], env: Mapping[str, str] | None = None) -> list[Model]:
    return asyncio.run(find_models(serve(answers), env=env or {}))


def test_each_server_tells_names_and_context_in_its_own_way() -> None:
    models = find(
        {
            "http://127.0.0.1:11434/api/tags": {"models": [{"name": "qwen3:8b"}]},
            "http://127.0.0.1:11434/api/show": {
                "qwen3:8b": {"model_info": {"qwen3.context_length": 40960}, "capabilities": ["thinking", "vision"]}
            },
            "http://127.0.0.1:8080/v1/models": {"data": [{"id": "smol"}]},
            "http://127.0.0.1:8080/props": {"default_generation_settings": {"n_ctx": 4096}},
            "http://127.0.0.1:1234/api/v0/models": {
                "data": [
                    {"id": "gemma", "type": "vlm", "max_context_length": 32768, "loaded_context_length": 8000},
                    {"id": "embed", "type": "embeddings"},
                ]
            },
            "http://127.0.0.1:8000/v1/models": {"data": [{"id": "meta/llama", "max_model_len": 131072}]},
        }
    )
    assert {(model.spec, model.context_window) for model in models} == {
        ("ollama/qwen3:8b", 40960),
        ("llama.cpp/smol", 4096),
        ("lm-studio/gemma", 8000),
        ("vllm/meta/llama", 131072),
    }
    by_provider = {model.provider: model for model in models}
    assert by_provider["ollama"].reasoning
    assert by_provider["ollama"].input == ["text", "image"]
    assert by_provider["ollama"].base_url == "http://127.0.0.1:11434/v1"


def test_a_machine_without_servers_offers_nothing() -> None:
    assert find({}) == []


@pytest.mark.parametrize(
    "listing",
    [b"<html>hello</html>", [], {"data": None}, {"data": [1, {"id": 3}, {"id": " "}]}, b"\xff\xfe", {"object": "list"}],
)
def test_a_server_that_lies_offers_nothing(listing: object) -> None:
    urls = [
        server.base_url + path for server in LOCAL_SERVERS for path in ("/v1/models", "/api/tags", "/api/v0/models")
    ]
    assert find(dict.fromkeys(urls, listing)) == []


def test_a_missing_context_size_falls_back_to_a_careful_one() -> None:
    (model,) = find({"http://127.0.0.1:8000/v1/models": {"data": [{"id": "m", "max_model_len": "many"}]}})
    assert model.context_window == DEFAULT_CONTEXT_TOKENS
    assert 0 < model.max_tokens < model.context_window


@pytest.mark.parametrize(
    ("host", "root"),
    [
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("box", "http://box:11434"),
        ("https://box/v1/", "https://box"),
    ],
)
def test_the_vendors_variable_moves_the_address(host: str, root: str) -> None:
    models = find(
        {f"{root}/api/tags": {"models": [{"name": "m"}]}, f"{root}/api/show": {"m": {}}}, {"OLLAMA_HOST": host}
    )
    assert [model.base_url for model in models] == [f"{root}/v1"]


def test_a_stalling_server_does_not_hold_the_others_back() -> None:
    async def answer(request: HttpRequest) -> MemoryResponse:
        if ":8000" not in request.url:
            await asyncio.Event().wait()
        return MemoryResponse(200, {}, [b'{"data": [{"id": "quick"}]}'])

    models = asyncio.run(find_models(FunctionTransport(answer), env={}))
    assert [model.id for model in models] == ["quick"]


def test_only_the_providers_that_were_asked_for_are_contacted() -> None:
    transport = serve({})
    asyncio.run(find_models(transport, ["vllm"], env={}))
    assert [request.url for request in transport.requests] == ["http://127.0.0.1:8000/v1/models"]


def test_a_spec_names_its_local_provider() -> None:
    assert named_local_provider("Ollama/qwen3:8b") == "ollama"
    assert named_local_provider("openai/gpt-5") is None
