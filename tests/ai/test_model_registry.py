"""The registry: which models there are, which can be used, and how their requests are signed."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController
from pinyon.ai.api import register_api
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.content import TextContent
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.message import AssistantMessage, Message, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.oauth import TokenAuth
from pinyon.ai.option import StreamOptions
from pinyon.ai.request_auth import NotConfiguredError
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.usage import Usage
from pinyon.errors import AuthError, ConfigError, ModelError

CANARY = "sk-canary-0123456789abcdef"
FAR = 4_000_000_000_000
SIGN_IN = {"type": "oauth", "access": "a", "refresh": "r", "expires": FAR}
CUSTOM = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions"}


class RecordingApi:
    """A wire API that keeps what it was asked and answers `ok`."""

    def __init__(self) -> None:
        self.requests: list[tuple[Model, StreamOptions]] = []

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        self.requests.append((model, options))
        return AssistantMessageEventStream(answer(model))


async def answer(model: Model) -> AsyncIterator[AssistantMessageEvent]:
    message = AssistantMessage(
        content=[TextContent(text="ok")],
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=Usage(),
        stop_reason="stop",
        timestamp=0,
    )
    yield Done(reason="stop", message=message)


@pytest.fixture
def api() -> Iterator[RecordingApi]:
    recording = RecordingApi()
    undo = register_api("openai-completions", recording)
    yield recording
    undo()


def registry_of(
    tmp_path: Path,
    providers: Mapping[str, Any] | None = None,
    *,
    stored: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> ModelRegistry:
    path = tmp_path / "models.json"
    if providers is not None:
        path.write_text(json.dumps({"providers": providers}))
    return ModelRegistry.create(AuthStorage.in_memory(stored, env=env or {}), path)


def model_of(registry: ModelRegistry, provider: str) -> Model:
    return registry.models_of(provider)[0]


def prepared(registry: ModelRegistry, model: Model, **options: Any) -> tuple[Model, StreamOptions]:
    return asyncio.run(registry.prepare(model, StreamOptions(**options)))


# What is known


def test_known_and_own_models_are_listed_and_only_those_with_credentials_are_available(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path,
        {"keyed": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]}, "bare": {**CUSTOM, "models": [{"id": "m"}]}},
        env={"GROQ_API_KEY": "k"},
    )
    everything = {model.provider for model in registry.get_all()}
    assert {"anthropic", "openai", "groq", "keyed", "bare"} <= everything
    assert {model.provider for model in registry.get_available()} == {"groq", "keyed"}
    assert registry.find("keyed", "m") == registry.get_available()[-1]
    assert registry.find("keyed", "nope") is None
    assert registry.find("nobody", "m") is None


def test_own_models_of_a_known_provider_stand_beside_its_models(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, {"anthropic": {"models": [{"id": "own"}]}}, env={"ANTHROPIC_API_KEY": "k"})
    own = registry.find("anthropic", "own")
    assert own is not None
    assert (own.api, own.base_url) == ("anthropic-messages", "https://api.anthropic.com")
    assert registry.find("anthropic", "claude-opus-4-5") is not None


def test_one_bad_entry_leaves_the_rest_usable_and_is_reported_with_file_and_key(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path,
        {
            "good": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]},
            "bad": {**CUSTOM, "apiKey": "k", "models": [{"id": ""}]},
            "nowhere": {"apiKey": "k", "models": [{"id": "x"}]},
        },
    )
    assert [model.spec for model in registry.get_available()] == ["good/m"]
    first, second = registry.get_errors()
    assert first.startswith(str(tmp_path / "models.json"))
    assert "providers.bad.models.0.id" in first
    assert "model 'x' has no api" in second
    assert registry.get_error() == f"{first}\n\n{second}"
    assert asyncio.run(registry.resolve_cli("m", provider="good")).model.spec == "good/m"


def test_a_broken_file_keeps_built_in_models_and_a_mended_one_is_read_on_refresh(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{")
    registry = registry_of(tmp_path, env={"GROQ_API_KEY": "k"})
    assert {model.provider for model in registry.get_available()} == {"groq"}
    assert registry.get_error() is not None
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"mine": {**CUSTOM, "models": [{"id": "m"}]}}}))
    assert registry.find("mine", "m") is None
    asyncio.run(registry.refresh())
    assert registry.find("mine", "m") is not None
    assert registry.get_error() is None


def test_nothing_is_read_in_memory() -> None:
    registry = ModelRegistry.in_memory(AuthStorage.in_memory(env={}))
    assert registry.get_available() == []
    assert registry.get_error() is None


def test_a_former_provider_id_leads_to_the_present_one(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, {"azure-openai-responses": {"baseUrl": "http://a", "models": [{"id": "d"}]}})
    assert registry.find("azure-openai-responses", "d") == registry.find("azure", "d")
    assert registry.find("azure", "d") is not None


def test_display_names_come_from_the_file_then_the_table(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, {"mine": {**CUSTOM, "name": "Mine", "models": [{"id": "m"}]}})
    names = [registry.get_provider_display_name(name) for name in ("mine", "groq", "unknown")]
    assert names == ["Mine", "Groq", "unknown"]


# Credentials


@pytest.mark.parametrize(
    ("config", "stored", "env", "expected"),
    [
        ({}, None, {}, (False, None, None)),
        ({}, {"type": "api_key", "key": "k"}, {}, (True, "stored", "auth.json")),
        ({}, None, {"GROQ_API_KEY": "k"}, (True, "environment", "GROQ_API_KEY")),
        ({"apiKey": "lit"}, None, {"GROQ_API_KEY": "k"}, (True, "models_json_key", "models.json")),
        ({"apiKey": "!cmd"}, None, {}, (True, "models_json_command", "models.json")),
        ({"apiKey": "$NOPE"}, None, {"GROQ_API_KEY": "k"}, (False, "models_json_key", "models.json")),
        ({}, {"type": "api_key", "key": "$NOPE"}, {"GROQ_API_KEY": "k"}, (True, "environment", "GROQ_API_KEY")),
        ({}, {"type": "api_key", "key": "!false"}, {}, (True, "stored", "auth.json")),
        ({}, SIGN_IN, {"GROQ_API_KEY": "k"}, (False, None, None)),
        ({"headers": {"Authorization": "x"}}, None, {}, (True, "models_json_key", "models.json")),
    ],
)  # fmt: skip
def test_the_source_of_credentials_is_told_without_running_commands(
    tmp_path: Path, config: dict[str, Any], stored: Any, env: dict[str, str], expected: tuple[Any, ...]
) -> None:
    registry = registry_of(
        tmp_path, {"groq": config} if config else None, stored={"groq": stored} if stored else None, env=env
    )
    status = registry.get_provider_auth_status("groq")
    assert (status.configured, status.source, status.label) == expected
    assert registry.has_configured_auth(model_of(registry, "groq")) is status.configured


def test_a_key_of_this_run_counts_before_everything_stored(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, stored={"groq": {"type": "api_key", "key": "stored"}})
    registry.auth_storage.set_runtime_api_key("groq", "run")
    assert registry.get_provider_auth_status("groq").source == "runtime"
    assert asyncio.run(registry.get_api_key_for_provider("groq")) == "run"


@pytest.mark.parametrize(
    ("config", "stored", "env", "key"),
    [
        ({"apiKey": "file"}, {"type": "api_key", "key": "stored"}, {"GROQ_API_KEY": "env"}, "stored"),
        ({"apiKey": "file"}, None, {"GROQ_API_KEY": "env"}, "file"),
        ({"apiKey": "${A}-$B"}, None, {"A": "1", "B": "2"}, "1-2"),
        ({"apiKey": "!printf 'from command\\n\\n'"}, None, {}, "from command"),
        ({}, None, {"GROQ_API_KEY": " env\n"}, "env"),
        ({}, {"type": "api_key", "key": "$A", "env": {"A": "own"}}, {"A": "process"}, "own"),
        ({}, {"type": "api_key", "key": "!false"}, {"GROQ_API_KEY": "env"}, "env"),
        ({"apiKey": "file"}, {"type": "api_key", "key": "$NOPE"}, {}, "file"),
    ],
)
def test_the_key_of_a_request_follows_the_precedence(
    tmp_path: Path, config: dict[str, Any], stored: Any, env: dict[str, str], key: str
) -> None:
    registry = registry_of(
        tmp_path, {"groq": config} if config else None, stored={"groq": stored} if stored else None, env=env
    )
    _, options = prepared(registry, model_of(registry, "groq"))
    assert options.api_key == key
    _, options = prepared(registry, model_of(registry, "groq"), api_key="explicit")
    assert options.api_key == "explicit"


@pytest.mark.parametrize(
    ("providers", "stored", "env", "reason"),
    [
        ({}, None, {}, "set GROQ_API_KEY, or run `pinyon auth login groq`, or pass --api-key, or store a key"),
        ({"groq": {"apiKey": "$NOPE"}}, None, {}, "key for provider 'groq': environment variable 'NOPE' is not set"),
        ({"groq": {"apiKey": "!exit 3"}}, None, {}, "API key for provider 'groq': its command ended with exit code 3"),
        ({"groq": {"apiKey": "!printf '\\n'"}}, None, {}, "printed nothing"),
        ({"groq": {"apiKey": "k", "headers": {"X-A": "$NOPE"}}}, None, {}, "header 'X-A' of provider 'groq'"),
        ({"groq": {"authHeader": True, "headers": {"api-key": "x"}}}, None, {}, "'authHeader' and no API key"),
        ({}, {"groq": SIGN_IN}, {}, "only works in the client"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_signed_says_what_is_missing(
    tmp_path: Path, providers: dict[str, Any], stored: Any, env: dict[str, str], reason: str
) -> None:
    registry = registry_of(tmp_path, providers, stored=stored, env=env)
    model = model_of(registry, "groq")
    with pytest.raises(AuthError) as caught:
        prepared(registry, model)
    assert reason in str(caught.value)
    result = asyncio.run(registry.get_api_key_and_headers(model))
    assert not result.ok
    assert reason in str(result.error)


def test_an_unusable_provider_is_explained(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, {"mine": {**CUSTOM, "models": [{"id": "m"}]}, "b": {**CUSTOM, "apiKey": "$X"}})
    assert "any text will do" in registry.missing_auth_message("mine")
    assert "set the environment variable X" in registry.missing_auth_message("b")
    assert registry.missing_auth_message("anthropic").startswith(
        "provider 'anthropic' is not configured: set ANTHROPIC"
    )


def test_a_bearer_token_of_the_environment_goes_into_its_header(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, env={"ANTHROPIC_AUTH_TOKEN": "tok", "ANTHROPIC_API_KEY": "key"})
    _, options = prepared(registry, model_of(registry, "anthropic"))
    assert (options.api_key, options.headers) == (None, {"Authorization": "Bearer tok", "x-api-key": None})


@pytest.mark.parametrize("where", ["env", "stored", "explicit"])
def test_subscription_tokens_of_another_client_are_refused_by_name(tmp_path: Path, where: str) -> None:
    token = "sk-ant-oat01-secret"
    env = {"ANTHROPIC_OAUTH_TOKEN": token} if where == "env" else {}
    stored = {"anthropic": {"type": "api_key", "key": token}} if where == "stored" else None
    registry = registry_of(tmp_path, stored=stored, env=env)
    with pytest.raises(NotConfiguredError, match="subscription token") as caught:
        prepared(registry, model_of(registry, "anthropic"), api_key=token if where == "explicit" else None)
    assert token not in str(caught.value)
    if where == "env":
        registry = registry_of(tmp_path, env={**env, "ANTHROPIC_API_KEY": "key"})
        assert prepared(registry, model_of(registry, "anthropic"))[1].api_key == "key"


def test_a_header_of_the_request_may_carry_the_credential(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    _, options = prepared(registry, model_of(registry, "groq"), headers={"authorization": "Bearer x"})
    assert (options.api_key, options.headers) == (None, {"authorization": "Bearer x"})
    with pytest.raises(NotConfiguredError):
        prepared(registry, model_of(registry, "groq"), headers={"authorization": None, "X": "y"})


def test_an_address_with_placeholders_is_filled_and_the_gateway_gets_its_own_header(tmp_path: Path) -> None:
    stored = {"cloudflare-ai-gateway": {"type": "api_key", "key": "k", "env": {"CLOUDFLARE_GATEWAY_ID": "gw"}}}
    registry = registry_of(tmp_path, stored=stored, env={"CLOUDFLARE_ACCOUNT_ID": "acc"})
    by_default = registry.find("cloudflare-ai-gateway", "workers-ai/@cf/moonshotai/kimi-k2.7-code")
    assert by_default is not None
    model, options = prepared(registry, by_default)
    assert model.base_url == "https://gateway.ai.cloudflare.com/v1/acc/gw/compat"
    assert options.api_key is None
    assert options.headers == {"Authorization": None, "x-api-key": None, "cf-aig-authorization": "Bearer k"}
    assert options.env == {"CLOUDFLARE_GATEWAY_ID": "gw"}
    lacking = registry_of(tmp_path, stored=stored)
    assert not lacking.is_usable("cloudflare-ai-gateway")
    with pytest.raises(NotConfiguredError, match="CLOUDFLARE_ACCOUNT_ID"):
        prepared(lacking, model_of(lacking, "cloudflare-ai-gateway"))


def test_a_signed_in_machine_needs_no_key(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, env={"AWS_PROFILE": "work"})
    assert registry.get_provider_auth_status("amazon-bedrock").label == "AWS_PROFILE"
    stored = {"amazon-bedrock": {"type": "api_key", "env": {"AWS_PROFILE": "own"}}}
    model = Model(id="m", name="m", api="bedrock-converse-stream", provider="amazon-bedrock", base_url="http://b")
    _, options = prepared(registry_of(tmp_path, stored=stored), model)
    assert (options.api_key, options.env) == (None, {"AWS_PROFILE": "own"})


class Flow:
    """A sign-in that signs with a header and an address of its own."""

    name = "Flow"

    async def login(self, interaction: object) -> OAuthCredential:
        raise NotImplementedError

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        raise NotImplementedError

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        return TokenAuth(headers={"Authorization": f"Bearer {credential.access}"}, base_url="http://account")


def test_a_sign_in_brings_headers_and_address(tmp_path: Path) -> None:
    stored = {"xai": {"type": "oauth", "access": "tok", "refresh": "r", "expires": FAR}}
    registry = registry_of(tmp_path, stored=stored, env={"XAI_API_KEY": "env"})
    registry.auth_storage.oauth_providers["xai"] = Flow()
    model = model_of(registry, "xai")
    assert registry.is_using_oauth(model)
    used, options = prepared(registry, model)
    assert (used.base_url, options.api_key, options.headers) == (
        "http://account",
        None,
        {"Authorization": "Bearer tok"},
    )
    result = asyncio.run(registry.get_api_key_and_headers(model))
    assert (result.ok, result.base_url, result.headers) == (True, "http://account", {"Authorization": "Bearer tok"})
    registry.auth_storage.set_runtime_api_key("xai", "k")
    assert not registry.is_using_oauth(model)


def test_a_sign_in_that_ran_out_and_cannot_be_renewed_is_not_usable(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, stored={"xai": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}})
    status = registry.get_provider_auth_status("xai")
    assert not status.configured
    assert "has run out" in str(status.problem)


# Headers and options


def test_headers_are_layered_without_regard_to_case(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path,
        {
            "mine": {
                **CUSTOM,
                "apiKey": "$KEY",
                "authHeader": True,
                "headers": {"X-One": "provider", "X-Two": "provider", "X-Three": "provider"},
                "models": [{"id": "m", "headers": {"x-two": "model $KEY", "X-Four": "model"}}],
                "modelOverrides": {"m": {"headers": {"X-Two": "override", "X-Five": "override"}}},
            }
        },
        env={"KEY": "k"},
    )
    _, options = prepared(registry, model_of(registry, "mine"), headers={"x-three": "request", "X-FOUR": None})
    assert options.headers == {
        "X-One": "provider",
        "Authorization": "Bearer k",
        "x-two": "model k",
        "X-Five": "override",
        "x-three": "request",
        "X-FOUR": None,
    }


def test_headers_of_a_known_model_and_the_session_header_are_sent(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, env={"NVIDIA_API_KEY": "k", "OPENCODE_API_KEY": "k"})
    _, options = prepared(registry, model_of(registry, "nvidia"))
    assert options.headers == {"NVCF-POLL-SECONDS": "3600"}
    _, options = prepared(registry, model_of(registry, "opencode"), session_id="s1")
    assert options.headers == {"x-opencode-session": "s1"}


def test_the_header_hook_runs_last_and_what_it_removes_stays_removed(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path, {"mine": {**CUSTOM, "apiKey": "k", "headers": {"A": "1"}, "models": [{"id": "m"}]}}
    )
    seen: list[dict[str, str]] = []

    async def hook(headers: dict[str, str]) -> dict[str, str]:
        seen.append(headers)
        return {"b": "2"}

    _, options = prepared(registry, model_of(registry, "mine"), headers={"B": "0", "C": None}, transform_headers=hook)
    assert seen == [{"A": "1", "B": "0"}]
    assert options.headers == {"A": None, "C": None, "b": "2"}
    assert options.transform_headers is None


def test_variables_of_the_request_count_first_and_reach_the_adapter(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, stored={"groq": {"type": "api_key", "key": "k", "env": {"A": "1", "B": "1"}}})
    _, options = prepared(registry, model_of(registry, "groq"), env={"B": "2"})
    assert options.env == {"A": "1", "B": "2"}


# Requests


def ask(registry: ModelRegistry, model: Model, **options: Any) -> AssistantMessage:
    messages: list[Message] = [UserMessage(content="hi", timestamp=0)]
    return asyncio.run(registry.complete(model, messages, StreamOptions(**options)))


def test_a_request_goes_to_the_wire_api_signed(tmp_path: Path, api: RecordingApi) -> None:
    registry = registry_of(tmp_path, {"mine": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]}})
    assert ask(registry, model_of(registry, "mine")).text == "ok"
    ((model, options),) = api.requests
    assert (model.spec, options.api_key) == ("mine/m", "k")


@pytest.mark.parametrize("command", [f"!echo {CANARY}; exit 1", f"!{CANARY}", f"${CANARY.replace('-', '_')}"])
def test_failures_arrive_as_error_events_without_secrets(tmp_path: Path, api: RecordingApi, command: str) -> None:
    registry = registry_of(tmp_path, {"mine": {**CUSTOM, "apiKey": command, "models": [{"id": "m"}]}})
    message = ask(registry, model_of(registry, "mine"))
    assert message.stop_reason == "error"
    assert "API key for provider 'mine'" in str(message.error_message)
    assert CANARY not in str(message.error_message)
    assert api.requests == []


def test_a_model_whose_api_nobody_speaks_is_an_error_event(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path, {"x": {"baseUrl": "http://h", "api": "nonesuch", "apiKey": "k", "models": [{"id": "m"}]}}
    )
    assert "nonesuch" in str(ask(registry, model_of(registry, "x")).error_message)


def test_an_aborted_request_that_fails_is_aborted(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, {"x": {**CUSTOM, "models": [{"id": "m"}]}})
    controller = AbortController()
    controller.abort()
    assert ask(registry, model_of(registry, "x"), signal=controller.signal).stop_reason == "aborted"


# Programs


def test_a_registered_provider_is_there_at_once_and_gone_when_taken_back(tmp_path: Path, api: RecordingApi) -> None:
    registry = registry_of(tmp_path)
    registry.register_provider(
        "acme", {"base_url": "http://acme", "apiKey": "k", "api": "openai-completions", "models": [{"id": "m"}]}
    )
    assert [model.spec for model in registry.get_available()] == ["acme/m"]
    registry.register_provider("acme", {"apiKey": "k2", "headers": {"X": "1"}})
    ask(registry, model_of(registry, "acme"))
    assert (api.requests[0][1].api_key, api.requests[0][1].headers) == ("k2", {"X": "1"})
    registry.unregister_provider("acme")
    assert registry.models_of("acme") == []


def test_a_registration_may_move_a_known_provider_or_replace_its_models(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    count = len(registry.models_of("groq"))
    registry.register_provider("groq", {"baseUrl": "http://proxy"})
    assert {model.base_url for model in registry.models_of("groq")} == {"http://proxy"}
    assert len(registry.models_of("groq")) == count
    registry.register_provider(
        "groq", {"models": [Model(id="a", name="A", api="x", provider="q", base_url="http://a")]}
    )
    assert [(model.spec, model.api) for model in registry.models_of("groq")] == [("groq/a", "x")]
    registry.unregister_provider("groq")
    assert len(registry.models_of("groq")) == count


@pytest.mark.parametrize(
    "config",
    [
        {"models": [{"id": "m"}]},
        {"baseUrl": "", "models": []},
        {"baseUrl": "http://h", "api": "a", "models": [{"id": ""}]},
        {"baseUrl": "http://h", "api": "a", "models": "m"},
        {"baseUrl": "http://h", "api": "a", "models": [5]},
        {"stream": lambda *_: None, "models": []},
        {"headers": {"a": 1}},
    ],
)
def test_a_registration_that_cannot_work_changes_nothing(tmp_path: Path, config: dict[str, Any]) -> None:
    registry = registry_of(tmp_path)
    with pytest.raises(ConfigError, match="acme"):
        registry.register_provider("acme", config)
    assert "acme" not in registry.provider_ids()


def test_a_registered_stream_function_answers_its_models(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    seen: list[StreamOptions] = []

    async def stream(model: Model, messages: list[Message], options: StreamOptions) -> AssistantMessageEventStream:
        seen.append(options)
        return AssistantMessageEventStream(answer(model))

    registry.register_provider("acme", {"stream": stream, "api": "acme-api", "apiKey": "k", "models": [{"id": "m"}]})
    assert ask(registry, model_of(registry, "acme")).text == "ok"
    assert seen[0].api_key == "k"


def test_failing_code_of_programs_arrives_as_error_events(tmp_path: Path, api: RecordingApi) -> None:
    registry = registry_of(tmp_path)

    def broken(*_: object) -> Any:
        raise ZeroDivisionError("oops")

    registry.register_provider("acme", {"stream": broken, "api": "acme-api", "apiKey": "k", "models": [{"id": "m"}]})
    assert "oops" in str(ask(registry, model_of(registry, "acme")).error_message)
    registry.register_provider("b", {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]})
    failed = ask(registry, model_of(registry, "b"), transform_headers=broken)
    assert "ZeroDivisionError" in str(failed.error_message)
    assert api.requests == []


def test_scripted_models_need_no_credentials(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    model = Model(id="s", name="s", api="faux", provider="demo", base_url="")
    assert registry.has_configured_auth(model)
    assert prepared(registry, model)[1].api_key is None


def test_models_of_a_live_provider_are_asked_for_on_refresh_and_its_failure_is_reported(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    lists: list[Any] = [[{"id": "a"}], [{"id": "b"}, {"id": "c"}], OSError("down")]

    async def refresh_models() -> Any:
        current = lists.pop(0)
        if isinstance(current, Exception):
            raise current
        return current

    registry.register_provider("live", {**CUSTOM, "apiKey": "k", "refresh_models": refresh_models})
    listed = []
    for _ in range(3):
        asyncio.run(registry.refresh())
        listed.append([model.id for model in registry.models_of("live")])
    assert listed == [["a"], ["b", "c"], ["b", "c"]]
    assert "provider 'live' could not list its models: down" in str(registry.get_error())


def test_a_registered_sign_in_adjusts_models_to_the_account(tmp_path: Path) -> None:
    stored = {"acme": {"type": "oauth", "access": "tok", "refresh": "r", "expires": FAR, "plan": "small"}}
    registry = registry_of(tmp_path, stored=stored)

    def modify(models: Sequence[Model], credential: OAuthCredential) -> Sequence[Model]:
        return [model for model in models if model.id == credential.extra["plan"]]

    config = {**CUSTOM, "models": [{"id": "small"}, {"id": "large"}], "oauth": Flow(), "modifyModels": modify}
    registry.register_provider("acme", config)
    assert [model.spec for model in registry.get_available()] == ["acme/small"]
    registry.unregister_provider("acme")
    assert "acme" not in registry.auth_storage.oauth_providers


# Choosing


def test_the_initial_model_is_the_settings_default_then_a_provider_default_then_any(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path,
        {"mine": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]}},
        env={"GROQ_API_KEY": "k", "CEREBRAS_API_KEY": "k"},
    )

    def initial(**options: Any) -> str | None:
        chosen = registry.initial_model(**options)
        return chosen.model.spec if chosen else None

    assert initial(provider="mine", model_id="m") == "mine/m"
    assert initial(provider="anthropic", model_id="claude-opus-4-5") == "groq/openai/gpt-oss-120b"
    assert initial() == "groq/openai/gpt-oss-120b"
    only_own = registry_of(tmp_path, {"mine": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]}})
    assert only_own.initial_model() is not None
    assert registry_of(tmp_path, {}).initial_model() is None


def test_a_recorded_model_is_restored_or_explained(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, env={"GROQ_API_KEY": "k"})

    def restored(provider: str, model_id: str) -> tuple[str | None, str | None]:
        model, message = asyncio.run(registry.restored_model(provider, model_id))
        return (model.spec if model else None), message

    assert restored("groq", "llama-3.1-8b-instant") == ("groq/llama-3.1-8b-instant", None)
    assert "not known here" in str(restored("groq", "gone")[1])
    assert "no credentials" in str(restored("anthropic", "claude-opus-4-5")[1])


def test_models_of_the_command_line_are_found_by_full_name_part_and_custom_id(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path, {"mine": {**CUSTOM, "apiKey": "k", "models": [{"id": "m"}]}}, env={"OPENROUTER_API_KEY": "k"}
    )

    def resolved(text: str, **flags: Any) -> tuple[str, Any, bool]:
        found = asyncio.run(registry.resolve_cli(text, **flags))
        return found.model.spec, found.thinking_level, found.warning is not None

    assert resolved("mine/m") == ("mine/m", None, False)
    assert resolved("MINE/M:high") == ("mine/m", "high", False)
    assert resolved("mine/other") == ("mine/other", None, True)
    assert resolved("m", provider="mine", thinking_level="low") == ("mine/m", "low", False)
    assert resolved("openai/gpt-5") == ("openrouter/openai/gpt-5", None, False)
    with pytest.raises(ModelError, match="--list-models"):
        resolved("no-such-model")
    with pytest.raises(ModelError, match="no provider 'zz'"):
        resolved("m", provider="zz")


def test_scopes_name_usable_models_only(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, env={"GROQ_API_KEY": "k"})
    scoped, remarks = registry.resolve_scope(["llama-*:low", "claude-opus-4-5"])
    assert {(item.model.provider, item.thinking_level) for item in scoped} == {("groq", "low")}
    assert [remark.code for remark in remarks] == ["no-match"]


# Secrets


def test_no_error_or_representation_of_the_room_shows_a_credential(tmp_path: Path) -> None:
    registry = registry_of(
        tmp_path,
        {
            "a": {
                **CUSTOM,
                "apiKey": CANARY,
                "headers": {"X": CANARY},
                "models": [{"id": "m", "headers": {"Y": CANARY}}],
            },
            "b": {**CUSTOM, "apiKey": f"{CANARY}\x01", "models": [{"id": "m"}]},
            "c": {**CUSTOM, "apiKey": "k", "headers": {"X": f"{CANARY}\nz"}, "models": [{"id": "m"}]},
        },
        stored={
            "d": {"type": "api_key", "key": CANARY},
            "xai": {"type": "oauth", "access": CANARY, "refresh": CANARY, "expires": 1},
        },
        env={"OPENAI_API_KEY": CANARY},
    )
    shown: list[object] = [registry, registry.auth_storage, registry.get_errors(), registry.get_all()]
    for provider in ("a", "b", "c", "xai"):
        model = model_of(registry, provider)
        shown.append(asyncio.run(registry.get_api_key_and_headers(model)))
        shown.append(registry.get_provider_auth_status(provider))
        try:
            prepared(registry, model)
        except AuthError as error:
            shown.append("".join(traceback.format_exception(error)))
    assert CANARY not in " ".join(f"{item!r} {item}" for item in shown)
