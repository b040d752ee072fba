import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.local_server import DEFAULT_CONTEXT_TOKENS, LOCAL_SERVERS, find_models, named_local_provider
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.option import StreamOptions
from pinyon.ai.transport import FunctionTransport, HttpRequest, MemoryResponse, TransportError
from pinyon.errors import ModelError


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
        (":9000", "http://127.0.0.1:9000"),
        ("[::]:9000", "http://[::1]:9000"),
        ("[fe80::1]", "http://[fe80::1]:11434"),
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


def test_names_are_kept_when_details_do_not_come_in_time() -> None:
    async def answer(request: HttpRequest) -> MemoryResponse:
        if request.url.endswith("/api/tags"):
            return MemoryResponse(200, {}, [b'{"models": [{"name": "slow"}, {"name": "slow"}]}'])
        return await asyncio.Event().wait()  # type: ignore[return-value] # never answers

    models = asyncio.run(find_models(FunctionTransport(answer), ["ollama"], env={}))
    assert [(model.id, model.context_window) for model in models] == [("slow", DEFAULT_CONTEXT_TOKENS)]


def test_an_older_lm_studio_is_asked_in_the_common_way() -> None:
    models = find({"http://127.0.0.1:1234/v1/models": {"data": [{"id": "m"}]}})
    assert [model.spec for model in models] == ["lm-studio/m"]


def test_a_context_that_cannot_be_true_is_not_believed() -> None:
    (model,) = find({"http://127.0.0.1:8000/v1/models": {"data": [{"id": "m", "max_model_len": 10**15}]}})
    assert model.context_window == DEFAULT_CONTEXT_TOKENS


def test_a_key_of_the_environment_is_sent_to_its_server_only() -> None:
    transport = serve({})
    asyncio.run(find_models(transport, ["vllm", "llama.cpp"], env={"VLLM_API_KEY": "k"}))
    keys = {request.url.split(":")[2][:4]: request.headers.get("authorization") for request in transport.requests}
    assert keys == {"8000": "Bearer k", "8080": None}


class RealServer:
    """A loopback server that answers every connection with the same bytes, or never."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.connections = 0

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        if self.answer is None:
            await reader.read()
        else:
            writer.write(self.answer)
            await writer.drain()
        writer.close()


def http_answer(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def ask_registry(answer: bytes | None, spec: str) -> tuple[str | None, str, int]:
    """What `spec` resolves to, the complaint, and how often the server was contacted."""

    async def run() -> tuple[str | None, str, int]:
        server = RealServer(answer)
        async with server as address:
            registry = ModelRegistry.in_memory(
                AuthStorage.in_memory(env={"VLLM_BASE_URL": address, "ANTHROPIC_API_KEY": "k"})
            )
            try:
                found = await registry.resolve_cli(spec)
            except ModelError as error:
                return None, str(error), server.connections
            usable = registry.has_configured_auth(found.model)
            _, options = await registry.prepare(found.model, StreamOptions())
            return f"{found.model.spec} {found.model.context_window} {usable} {options.api_key}", "", server.connections

    return asyncio.run(run())


def test_a_spec_that_names_a_local_server_asks_it_over_the_network() -> None:
    answer = http_answer(b'{"data": [{"id": "org/big", "max_model_len": 5000}, {"id": "other"}]}')
    assert ask_registry(answer, "vllm/org/big") == ("vllm/org/big 5000 True local", "", 1)
    assert ask_registry(answer, "vllm/big")[0] == "vllm/org/big 5000 True local"
    assert "offers no model 'nope'; it has org/big, other" in ask_registry(answer, "vllm/nope")[1]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{",
        http_answer(b"<html>", "200 OK"),
        http_answer(b'{"data": [{"id": "m"}]}', "500 Oops"),
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_a_real_server_that_stalls_or_lies_is_named_in_the_complaint(answer: bytes | None) -> None:
    found, complaint, _ = ask_registry(answer, "vllm/m")
    assert found is None
    assert "no vLLM server with models answers at http://127.0.0.1:" in complaint
    assert "VLLM_BASE_URL" in complaint


def test_no_local_server_is_contacted_for_other_models() -> None:
    answer = http_answer(b'{"data": [{"id": "m"}]}')
    assert ask_registry(answer, "anthropic/claude-opus-4-5")[2] == 0


def test_a_model_that_the_user_described_needs_no_answer_of_the_server(tmp_path: Path) -> None:
    described = {"baseUrl": "http://h/v1", "api": "openai-completions", "apiKey": "own", "models": [{"id": "mine"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"ollama": described}}))
    transport = serve({})
    registry = ModelRegistry(AuthStorage.in_memory(env={}), tmp_path / "models.json", transport=transport)
    found = asyncio.run(registry.resolve_cli("ollama/mine"))
    _, options = asyncio.run(registry.prepare(found.model, StreamOptions()))
    assert (found.model.base_url, options.api_key) == ("http://h/v1", "own")
    assert transport.requests == []
    assert asyncio.run(registry.resolve_cli("ollama/other")).warning is not None
    assert transport.requests != []
