"""Every provider, once through each of its wire APIs: where a request goes, how it is signed, and a streamed turn with
a tool call and its result.

The addresses are the real ones; a transport takes each request to a server on this machine instead, over real HTTP.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec
import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.catalogue import all_models
from pinyon.ai.content import TextContent, ToolCall, UserBlock
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.option import StreamOptions
from pinyon.ai.provider import Provider, providers
from pinyon.ai.tool import Tool
from pinyon.ai.transport import DefaultTransport, HttpRequest, HttpResponse
from pinyon.testing import fake_anthropic, fake_bedrock, fake_openai, fake_responses
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply

KEY = "the-key-of-a-test"
LS = Tool("ls", "List a folder.", {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}})
CALL = {"path": "."}

GATEWAY = "https://gateway.ai.cloudflare.com/v1/acc/gw"
QWEN = "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1"
QWEN_CN = "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1"

ADDRESSES = {
    ("amazon-bedrock", "bedrock-converse-stream"): "https://bedrock-runtime.eu-west-1.amazonaws.com",
    ("ant-ling", "openai-completions"): "https://api.ant-ling.com/v1",
    ("anthropic", "anthropic-messages"): "https://api.anthropic.com",
    ("azure", "azure-openai-responses"): "https://res.openai.azure.com/openai/v1",
    ("azure", "openai-completions"): "https://res.openai.azure.com/openai/v1",
    ("baseten", "openai-completions"): "https://inference.baseten.co/v1",
    ("cerebras", "openai-completions"): "https://api.cerebras.ai/v1",
    ("cloudflare-ai-gateway", "anthropic-messages"): f"{GATEWAY}/anthropic",
    ("cloudflare-ai-gateway", "openai-completions"): f"{GATEWAY}/compat",
    ("cloudflare-ai-gateway", "openai-responses"): f"{GATEWAY}/openai",
    ("cloudflare-workers-ai", "openai-completions"): "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
    ("deepseek", "openai-completions"): "https://api.deepseek.com",
    ("fireworks", "openai-completions"): "https://api.fireworks.ai/inference/v1",
    ("github-copilot", "anthropic-messages"): "https://api.individual.githubcopilot.com",
    ("github-copilot", "openai-completions"): "https://api.individual.githubcopilot.com",
    ("github-copilot", "openai-responses"): "https://api.individual.githubcopilot.com",
    ("google", "google-generative-ai"): "https://generativelanguage.googleapis.com/v1beta",
    ("google-vertex", "google-vertex"): "https://aiplatform.googleapis.com/v1/publishers/google",
    ("groq", "openai-completions"): "https://api.groq.com/openai/v1",
    ("huggingface", "openai-completions"): "https://router.huggingface.co/v1",
    ("kimi-coding", "openai-completions"): "https://api.kimi.com/coding/v1",
    ("meta", "openai-responses"): "https://api.meta.ai/v1",
    ("minimax", "anthropic-messages"): "https://api.minimax.io/anthropic",
    ("minimax-cn", "anthropic-messages"): "https://api.minimaxi.com/anthropic",
    ("mistral", "mistral-conversations"): "https://api.mistral.ai",
    ("moonshotai", "openai-completions"): "https://api.moonshot.ai/v1",
    ("moonshotai-cn", "openai-completions"): "https://api.moonshot.cn/v1",
    ("nvidia", "openai-completions"): "https://integrate.api.nvidia.com/v1",
    ("openai", "openai-responses"): "https://api.openai.com/v1",
    ("openai-codex", "openai-codex-responses"): "https://chatgpt.com/backend-api",
    ("opencode", "anthropic-messages"): "https://opencode.ai/inference/anthropic",
    ("opencode", "google-generative-ai"): "https://opencode.ai/inference/google/v1beta",
    ("opencode", "openai-completions"): "https://opencode.ai/inference/openai/v1",
    ("opencode", "openai-responses"): "https://opencode.ai/inference/openai/v1",
    ("opencode-go", "anthropic-messages"): "https://opencode.ai/inference/go/anthropic",
    ("opencode-go", "google-generative-ai"): "https://opencode.ai/inference/go/google/v1beta",
    ("opencode-go", "openai-completions"): "https://opencode.ai/inference/go/openai/v1",
    ("opencode-go", "openai-responses"): "https://opencode.ai/inference/go/openai/v1",
    ("openrouter", "anthropic-messages"): "https://openrouter.ai/api",
    ("openrouter", "openai-completions"): "https://openrouter.ai/api/v1",
    ("qwen-token-plan", "openai-completions"): QWEN,
    ("qwen-token-plan-cn", "openai-completions"): QWEN_CN,
    ("qwen-token-plan-individual", "openai-completions"): QWEN,
    ("qwen-token-plan-individual-cn", "openai-completions"): QWEN_CN,
    ("radius", "pi-messages"): "https://radius.pi.dev/v1",
    ("together", "openai-completions"): "https://api.together.ai/v1",
    ("vercel-ai-gateway", "anthropic-messages"): "https://ai-gateway.vercel.sh",
    ("xai", "openai-responses"): "https://api.x.ai/v1",
    ("xiaomi", "openai-completions"): "https://api.xiaomimimo.com/v1",
    ("xiaomi-token-plan-ams", "openai-completions"): "https://token-plan-ams.xiaomimimo.com/v1",
    ("xiaomi-token-plan-cn", "openai-completions"): "https://token-plan-cn.xiaomimimo.com/v1",
    ("xiaomi-token-plan-sgp", "openai-completions"): "https://token-plan-sgp.xiaomimimo.com/v1",
    ("zai", "openai-completions"): "https://api.z.ai/api/coding/paas/v4",
    ("zai-coding-cn", "openai-completions"): "https://open.bigmodel.cn/api/coding/paas/v4",
}
"""Where each provider is asked in each of its APIs, with the variables of `SURROUNDINGS`."""

SURROUNDINGS = {
    "AWS_REGION": "eu-west-1",
    "AZURE_OPENAI_RESOURCE_NAME": "res",
    "CLOUDFLARE_ACCOUNT_ID": "acc",
    "CLOUDFLARE_GATEWAY_ID": "gw",
}

CLASSIFIERS_ONLY = {"typesafe"}

PATHS: dict[str, Callable[[str], str]] = {
    "anthropic-messages": lambda _: "/v1/messages?beta=true",
    "azure-openai-responses": lambda _: "/responses?api-version=v1",
    "bedrock-converse-stream": lambda model_id: f"/model/{model_id.replace(':', '%3A')}/converse-stream",
    "google-generative-ai": lambda model_id: f"/models/{model_id}:streamGenerateContent?alt=sse",
    "google-vertex": lambda model_id: f"/models/{model_id}:streamGenerateContent?alt=sse",
    "mistral-conversations": lambda _: "/v1/chat/completions",
    "openai-codex-responses": lambda _: "/codex/responses",
    "openai-completions": lambda _: "/chat/completions",
    "openai-responses": lambda _: "/responses",
    "pi-messages": lambda _: "/messages",
}

BEARER = {"authorization": f"Bearer {KEY}"}
SIGNATURES: dict[str, dict[str, str]] = {
    "anthropic-messages": {"x-api-key": KEY},
    "azure-openai-responses": {"api-key": KEY},
    "google-generative-ai": {"x-goog-api-key": KEY},
    "google-vertex": {"x-goog-api-key": KEY},
}
"""How a key is sent where it is no bearer token."""

CREDENTIAL_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cf-aig-authorization")

TURNS = [(providers()[provider_id], api) for provider_id, api in ADDRESSES]


class Detour:
    """A transport that takes every request to one server, under the path that it had, and keeps the addresses."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._inner = DefaultTransport()
        self.urls: list[str] = []

    async def open(self, request: HttpRequest) -> HttpResponse:
        self.urls.append(request.url)
        parts = urlsplit(request.url)
        url = f"{self._server.url}{parts.path}{'?' if parts.query else ''}{parts.query}"
        return await self._inner.open(msgspec.structs.replace(request, url=url))


def codex_token() -> str:
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJub25lIn0.{middle}.x"


def registry_for(provider: Provider) -> ModelRegistry:
    """A registry in whose environment or store only this provider has a credential."""
    env = {**SURROUNDINGS, "HOME": "/nowhere"}
    if provider.env:
        env[provider.env[-1]] = KEY
        return ModelRegistry.in_memory(AuthStorage.in_memory(env=env))
    token = codex_token()
    signed_in = {"type": "oauth", "access": token, "refresh": "r", "expires": 2**52, "accountId": "account-1"}
    return ModelRegistry.in_memory(AuthStorage.in_memory({provider.id: signed_in}, env=env))


def model_for(registry: ModelRegistry, provider: Provider, api: str) -> Model:
    """The provider's first model where it speaks `api`, else its first one that does."""
    models = [model for model in registry.models_of(provider.id) if model.api == api]
    assert models, f"the catalogue has no model of {provider.id} with the API {api}"
    return next((model for model in models if model.id == provider.default_model), models[0])


def responses(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    message, call = fake_responses.message, fake_responses.function_call(name, CALL)
    look = fake_responses.responses_answer(message("Let me look."), call)
    return look, fake_responses.responses_answer(message("Done."))


def completions(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    calls = [fake_openai.call(name, CALL, call_id="callid123")]
    return fake_openai.openai_answer("Let me look.", calls=calls), fake_openai.openai_answer("Done.")


def anthropic(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    text = fake_anthropic.text
    look = fake_anthropic.anthropic_answer(text("Let me look."), fake_anthropic.tool_use(name, CALL))
    return look, fake_anthropic.anthropic_answer(text("Done."))


def bedrock(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    text, call = fake_bedrock.text, fake_bedrock.tool_use(name, CALL)
    return fake_bedrock.bedrock_answer(text("Let me look."), call), fake_bedrock.bedrock_answer(text("Done."))


def google(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}

    def answer(*parts: object) -> ScriptedReply:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", "index": 0}
        return Reply.sse([(None, {"candidates": [candidate], "usageMetadata": usage})])

    return answer({"text": "Let me look."}, {"functionCall": {"name": name, "args": CALL}}), answer({"text": "Done."})


def pi_messages(name: str) -> tuple[ScriptedReply, ScriptedReply]:
    counts = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15}
    usage = {**counts, "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)}

    def answer(reason: str, *events: dict[str, object]) -> ScriptedReply:
        whole = [{"type": "start"}, *events, {"type": "done", "reason": reason, "usage": usage}]
        return Reply.sse([(None, event) for event in whole])

    def text(value: str) -> list[dict[str, object]]:
        kinds = ({"type": "text_start"}, {"type": "text_delta", "delta": value}, {"type": "text_end"})
        return [{**kind, "contentIndex": 0} for kind in kinds]

    call: list[dict[str, object]] = [
        {"type": "toolcall_start", "contentIndex": 1, "id": "call-1", "toolName": name},
        {"type": "toolcall_delta", "contentIndex": 1, "delta": json.dumps(CALL)},
        {"type": "toolcall_end", "contentIndex": 1},
    ]
    return answer("toolUse", *text("Let me look."), *call), answer("stop", *text("Done."))


ANSWERS: dict[str, Callable[[str], tuple[ScriptedReply, ScriptedReply]]] = {
    "anthropic-messages": anthropic,
    "azure-openai-responses": responses,
    "bedrock-converse-stream": bedrock,
    "google-generative-ai": google,
    "google-vertex": google,
    "mistral-conversations": completions,
    "openai-codex-responses": responses,
    "openai-completions": completions,
    "openai-responses": responses,
    "pi-messages": pi_messages,
}


def result_of(call: ToolCall) -> ToolResultMessage:
    content: list[UserBlock] = [TextContent("a.txt")]
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=content, is_error=False, timestamp=2)


async def turn(provider: Provider, api: str) -> tuple[Model, list[AssistantMessage], list[RecordedRequest], list[str]]:
    registry = registry_for(provider)
    model = model_for(registry, provider, api)
    with FakeServer(ANSWERS[api]("ls")) as server:
        detour = Detour(server)
        options = StreamOptions(http=detour, session_id="session-1", transport="sse", reasoning="high")
        messages: list[Message] = [
            SystemMessage(content="be brief", timestamp=0, tools_added=[LS]),
            UserMessage(content="what is here?", timestamp=1),
        ]
        first = await registry.complete(model, messages, options)
        messages += [first, *(result_of(block) for block in first.content if isinstance(block, ToolCall))]
        second = await registry.complete(model, messages, options)
        return model, [first, second], server.requests, detour.urls


@pytest.mark.parametrize(("provider", "api"), TURNS, ids=[f"{provider.id}-{api}" for provider, api in TURNS])
def test_a_turn_with_a_tool_call_goes_to_the_right_address_signed(
    provider: Provider, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_OPENAI_BASE_URL", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in SURROUNDINGS.items():
        monkeypatch.setenv(name, value)
    model, answers, requests, urls = asyncio.run(turn(provider, api))
    assert [answer.error_message for answer in answers if answer.error_message] == []
    calls = [block for block in answers[0].content if isinstance(block, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("ls", CALL)]
    assert [answer.stop_reason for answer in answers] == ["toolUse", "stop"]
    assert urls == [ADDRESSES[provider.id, api] + PATHS[api](model.id)] * 2
    for request in requests:
        assert request.method == "POST"
        sent = {name: request.headers[name] for name in CREDENTIAL_HEADERS if name in request.headers}
        assert sent == signature_of(provider, api)
        assert request.headers["user-agent"].startswith("pinyon") or api == "bedrock-converse-stream"
        for name, value in expected_headers(provider).items():
            assert request.headers[name] == value
    assert b"a.txt" in requests[1].body
    assert b'"ls"' in requests[0].body


def signature_of(provider: Provider, api: str) -> dict[str, str]:
    if provider.id == "cloudflare-ai-gateway":
        return {"cf-aig-authorization": f"Bearer {KEY}"}
    if provider.id == "openai-codex":
        return {"authorization": f"Bearer {codex_token()}"}
    if provider.id == "github-copilot":
        return BEARER
    return SIGNATURES.get(api, BEARER)


def expected_headers(provider: Provider) -> dict[str, str]:
    match provider.id:
        case "nvidia":
            return {"nvcf-poll-seconds": "3600"}
        case "opencode" | "opencode-go":
            return {"x-opencode-session": "session-1"}
        case "openai-codex":
            return {"chatgpt-account-id": "account-1"}
        case _:
            return {}


def test_no_provider_and_no_api_of_its_models_is_left_out() -> None:
    assert {provider_id for provider_id, _ in ADDRESSES} | CLASSIFIERS_ONLY == set(providers())
    assert {(model.provider, model.api) for model in all_models()} == set(ADDRESSES)
