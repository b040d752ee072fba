"""Newer models from a catalogue server: what is stored, what of it counts, and how it is fetched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.catalogue import catalogue_models, generated_at_ms
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.models_store import ModelsStore, StoredModels, checked_models, time_ms
from pinyon.ai.models_update import (
    ModelsUpdate,
    catalogue_sources,
    check_address,
    model_rows,
    provider_address,
    update_models,
)
from pinyon.ai.own_listing import openrouter_rows, radius_rows
from pinyon.ai.provider import providers
from pinyon.ai.transport import DefaultTransport, FunctionTransport, HttpRequest, MemoryResponse
from pinyon.errors import ConfigError
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply

NEWER = generated_at_ms() + 1
ROW = {"id": "new-1", "name": "New One", "contextWindow": 50_000, "maxTokens": 4000, "reasoning": True}


def stored(*rows: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"models": list(rows), "checkedAt": NEWER, **fields}


def registry_of(folder: Path, **entries: Any) -> ModelRegistry:
    (folder / "models-store.json").write_text(json.dumps(entries), encoding="utf-8")
    return ModelRegistry.create(AuthStorage.in_memory(env={"GROQ_API_KEY": "k"}), folder / "models.json")


def test_newer_models_stand_beside_and_over_the_packages_own(tmp_path: Path) -> None:
    changed = {"id": "openai/gpt-oss-120b", "name": "Changed", "contextWindow": 1000, "maxTokens": 10}
    registry = registry_of(tmp_path, groq=stored(ROW, changed))
    new = registry.find("groq", "new-1")
    assert new is not None
    assert (new.name, new.api, new.base_url) == ("New One", "openai-completions", "https://api.groq.com/openai/v1")
    over = registry.find("groq", "openai/gpt-oss-120b")
    assert over is not None
    assert (over.name, over.context_window) == ("Changed", 1000)
    assert len(registry.models_of("groq")) > 2
    assert registry.get_errors() == []


def test_flags_that_a_stored_model_does_not_state_stay_as_the_package_has_them(tmp_path: Path) -> None:
    plain = {"id": "openai/gpt-oss-120b", "name": "Changed", "contextWindow": 1000, "maxTokens": 10}
    own = catalogue_models("groq")
    known = next(model for model in own if model.id == plain["id"])
    found = registry_of(tmp_path, groq=stored(plain)).find("groq", "openai/gpt-oss-120b")
    assert found is not None
    assert (found.name, found.compat, found.thinking_level_map) == ("Changed", known.compat, known.thinking_level_map)
    own_flags = {**plain, "compat": {}, "thinkingLevelMap": {"off": None}}
    found = registry_of(tmp_path, groq=stored(own_flags)).find("groq", "openai/gpt-oss-120b")
    assert found is not None
    assert (found.compat, found.thinking_level_map) == ({}, {"off": None})
    other_api = registry_of(tmp_path, groq=stored({**plain, "api": "anthropic-messages"}))
    assert len(other_api.models_of("groq")) == len(own)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"checkedAt": NEWER}, True),
        ({"checkedAt": generated_at_ms() - 1}, False),
        ({"checkedAt": NEWER, "lastModified": "Mon, 01 Jun 2026 00:00:00 GMT"}, False),
        ({"checkedAt": 0, "lastModified": "Thu, 31 Dec 2099 00:00:00 GMT"}, True),
        ({"checkedAt": 0, "lastModified": "2099-12-31T00:00:00Z"}, True),
        ({"checkedAt": None, "lastModified": int(NEWER)}, True),
        ({"checkedAt": NEWER, "lastModified": "some day"}, False),
    ],
)
def test_stored_models_count_while_they_are_newer_than_the_package(
    tmp_path: Path, fields: dict[str, Any], counts: bool
) -> None:
    entry = {name: value for name, value in {"models": [ROW], **fields}.items() if value is not None}
    assert (registry_of(tmp_path, groq=entry).find("groq", "new-1") is not None) is counts


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**ROW, "baseUrl": "https://evil.example/v1"}, "foreign address 'https://evil.example/v1'"),
        ({**ROW, "baseUrl": "https://api.groq.com.evil.example"}, "foreign address"),
        ({**ROW, "baseUrl": "http://api.groq.com/openai/v1"}, "foreign address"),
        ({**ROW, "baseUrl": "https://api.groq.com:8443/openai/v1"}, "foreign address"),
        ({**ROW, "baseUrl": "https://user@api.groq.com/openai/v1"}, "foreign address"),
        ({**ROW, "contextWindow": 0}, "not above zero"),
        ({**ROW, "cost": {"input": "much"}}, "Expected"),
        ({**ROW, "id": " "}, "no id"),
        ({**ROW, "baseUrl": "http://[x"}, "new-1"),
        ({"name": "nameless"}, "no id"),
    ],
)
def test_what_cannot_be_a_model_of_the_provider_is_refused_and_the_rest_stays(
    tmp_path: Path, row: dict[str, Any], fault: str
) -> None:
    registry = registry_of(tmp_path, groq=stored(row, {**ROW, "id": "good"}))
    assert registry.find("groq", "good") is not None
    assert registry.find("groq", "new-1") is None
    registry.models_of("groq")
    assert any(fault in text and "models-store.json" in text for text in registry.get_errors())


def test_headers_and_provider_of_a_stored_model_do_not_count() -> None:
    row = {**ROW, "headers": {"X-Leak": "$HOME"}, "provider": "anthropic", "type": "chat"}
    models, faults = checked_models(providers()["groq"], [row, {**ROW, "id": "painter", "type": "image"}])
    assert faults == []
    assert [(model.id, model.provider, model.headers or None) for model in models] == [("new-1", "groq", None)]


def test_a_model_of_an_api_that_nobody_speaks_is_passed_over() -> None:
    assert checked_models(providers()["groq"], [{**ROW, "api": "of-tomorrow"}]) == ([], [])


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("text", [DEEP, '{"groq":' + DEEP + "}", '{"groq":{"models":[' + DEEP + "]}}"])
def test_a_store_that_is_nested_too_deeply_counts_as_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models-store.json"
    path.write_text(text, encoding="utf-8")
    store = ModelsStore(path)
    assert store.models_of("groq") == ([], [])
    assert len(store.problems()) == 1
    with pytest.raises(ConfigError, match="damaged"):
        asyncio.run(store.write({"groq": StoredModels()}))
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["{", "[]", '{"groq": 5}', '{"groq": {"models": "x"}}', '{"nobody": {"models": []}}'])
def test_a_damaged_store_leaves_the_packages_models(tmp_path: Path, text: str) -> None:
    registry = registry_of(tmp_path)
    before = len(registry.models_of("groq"))
    (tmp_path / "models-store.json").write_text(text, encoding="utf-8")
    again = ModelRegistry.create(AuthStorage.in_memory(env={}), tmp_path / "models.json")
    assert len(again.models_of("groq")) == before
    assert len(again.get_errors()) == (1 if text in ("{", "[]") else 0)


def test_a_store_that_changed_is_read_again_on_refresh(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    assert registry.find("groq", "new-1") is None
    (tmp_path / "models-store.json").write_text(json.dumps({"groq": stored(ROW)}), encoding="utf-8")
    asyncio.run(registry.refresh())
    assert registry.find("groq", "new-1") is not None


def test_writing_keeps_what_other_programs_stored(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "models-store.json"
    store = ModelsStore(path)
    asyncio.run(store.write({"groq": StoredModels(models=[ROW], checked_at=5)}))
    kept = {"models": [], "of tomorrow": {"a": [1, 1.5]}}
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "radius": kept}), encoding="utf-8")
    asyncio.run(store.write({"groq": StoredModels(models=[], etag="e")}))
    assert json.loads(path.read_bytes()) == {"groq": {"etag": "e"}, "radius": kept}
    assert not path.with_name("models-store.json.lock").exists()


def test_a_damaged_store_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "models-store.json"
    path.write_text("{ not json", encoding="utf-8")
    with pytest.raises(ConfigError, match="damaged"):
        asyncio.run(ModelsStore(path).write({"groq": StoredModels()}))
    assert path.read_text(encoding="utf-8") == "{ not json"
    with pytest.raises(ConfigError, match="no agent folder"):
        asyncio.run(ModelsStore(None).write({}))


def test_times_are_read_in_every_form() -> None:
    assert time_ms("Thu, 01 Jan 1970 00:00:01 GMT") == time_ms("1970-01-01T00:00:01Z") == time_ms(1000) == 1000
    assert time_ms("never") == time_ms("0001-01-01T00:00:00") == 0
    assert time_ms(10**400) == time_ms(float("inf")) == 0


# Fetching


def update(server: FakeServer, store: ModelsStore, *provider_ids: str, path: str = "", **options: Any) -> ModelsUpdate:
    clock = FakeClock(int(NEWER))
    sources = catalogue_sources(server.url + (path or "/api/models"), provider_ids)
    return asyncio.run(update_models(store, sources, DefaultTransport(), clock=clock, **options))


@pytest.mark.parametrize("form", ["list", "models", "map"])
def test_each_form_of_an_answer_is_stored(tmp_path: Path, form: str) -> None:
    bare = {name: value for name, value in ROW.items() if name != "id"}
    answers: dict[str, Any] = {"list": [ROW], "models": {"models": [ROW]}, "map": {"new-1": bare}}
    store = ModelsStore(tmp_path / "models-store.json")
    with FakeServer([Reply.json(answers[form], headers={"etag": '"1"'})]) as server:
        result = update(server, store, "groq")
        (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/api/models/providers/groq?types=chat")
    assert not {"authorization", "cookie", "x-api-key"} & set(request.headers)
    assert result == ModelsUpdate(updated={"groq": 1})
    entry = store.entry("groq")
    assert entry is not None
    assert (entry.models, entry.etag, entry.checked_at) == ([ROW], '"1"', int(NEWER))
    assert [model.id for model in store.models_of("groq")[0]] == ["new-1"]


def test_an_address_with_a_place_for_the_provider_is_filled(tmp_path: Path) -> None:
    with FakeServer([Reply.json([ROW])]) as server:
        update(server, ModelsStore(tmp_path / "s.json"), "groq", path="/files/{provider}.json")
        assert [request.path for request in server.requests] == ["/files/groq.json"]
    assert provider_address("https://x.example/", "groq") == "https://x.example/providers/groq?types=chat"


def test_only_what_changed_since_is_sent_again(tmp_path: Path) -> None:
    store = ModelsStore(tmp_path / "s.json")
    asyncio.run(store.write({"groq": StoredModels(models=[ROW], etag="tag", checked_at=1)}))
    with FakeServer([Reply.text("", 304)]) as server:
        result = update(server, store, "groq")
        assert server.requests[0].headers["if-none-match"] == "tag"
    assert result.unchanged == ["groq"]
    entry = store.entry("groq")
    assert entry is not None
    assert (entry.models, entry.checked_at) == ([ROW], int(NEWER))


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([Reply.text("no", 404)], {"unknown": ["groq"]}),
        ([Reply.text("no", 403)], {"errors": {"groq": "the server answered with status 403"}}),
        ([Reply.text("<html>")], {"errors": {"groq"}}),
        ([Reply.json({"models": 5})], {"errors": {"groq"}}),
        ([Reply.json([ROW, {**ROW, "baseUrl": "https://evil.example"}])], {"errors": {"groq"}}),
        ([Reply.drop()], {"errors": {"groq"}}),
        ([Reply.text("busy", 503), Reply.json([ROW])], {"updated": {"groq": 1}}),
    ],
    ids=["404", "403", "html", "no list", "foreign", "reset", "503 then well"],
)
def test_failures_leave_what_is_stored(tmp_path: Path, replies: list[ScriptedReply], expected: dict[str, Any]) -> None:
    store = ModelsStore(tmp_path / "s.json")
    asyncio.run(store.write({"groq": StoredModels(models=[ROW], checked_at=NEWER)}))
    before = (tmp_path / "s.json").read_bytes()
    with FakeServer(replies) as server:
        result = update(server, store, "groq")
    for name, value in expected.items():
        found = getattr(result, name)
        assert found == value if not isinstance(value, set) else set(found) == value
    if "updated" not in expected:
        assert (tmp_path / "s.json").read_bytes() == before


def test_one_provider_that_fails_does_not_hold_up_others(tmp_path: Path) -> None:
    def reply(request: RecordedRequest) -> Reply:
        return Reply.text("no", 500) if "groq" in request.path else Reply.json([ROW])

    store = ModelsStore(tmp_path / "s.json")
    with FakeServer([reply]) as server:
        result = update(server, store, "groq", "deepseek", "zai", "nobody")
    assert (set(result.errors), result.updated) == ({"groq"}, {"deepseek": 1, "zai": 1})


def test_a_server_that_never_answers_ends_the_update_in_time(tmp_path: Path) -> None:
    with FakeServer([Reply.never()]) as server:
        result = update(server, ModelsStore(tmp_path / "s.json"), "groq", "zai", limit_s=0.2)
    assert set(result.errors) == {"groq", "zai"}
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize("address", ["", "x", "ftp://x.example", "http://x.example/models", "https://", "file:///etc"])
def test_an_address_that_is_not_safe_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="cannot be asked"):
        check_address(address)


@pytest.mark.parametrize("address", [" https://x.example/models ", "http://localhost:8000", "http://127.0.0.1/x"])
def test_an_address_on_this_machine_or_over_https_is_taken(address: str) -> None:
    assert check_address(address) == address.strip()


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, {"models": [1]}, None])
def test_an_answer_that_is_no_list_of_models_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="no list of models"):
        model_rows(value)


@pytest.mark.parametrize("kind", [["chat"], {}, None, 5, "of tomorrow"])
def test_rows_of_an_unknown_type_are_passed_over(kind: Any) -> None:
    assert model_rows({"models": [{**ROW, "type": kind}, ROW]}) == [ROW]


def test_a_registry_asks_for_the_providers_that_are_signed_in(tmp_path: Path) -> None:
    registry = registry_of(tmp_path)
    with FakeServer([Reply.json([ROW])]) as server:
        result = asyncio.run(registry.update_models(server.url))
        assert [request.path for request in server.requests] == ["/providers/groq?types=chat"]
    assert result.updated == {"groq": 1}
    assert registry.find("groq", "new-1") is not None


# Providers that list their models themselves

LISTED = {
    "id": "vendor/model-1",
    "name": "Vendor: Model 1",
    "context_length": 200_000,
    "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
    "pricing": {"prompt": "0.000001", "completion": "0.000002", "input_cache_read": "0.0000001"},
    "top_provider": {"context_length": 100_000, "max_completion_tokens": 8000},
    "supported_parameters": ["tools", "reasoning"],
}


def test_the_list_of_openrouter_becomes_models() -> None:
    (row,) = openrouter_rows({"data": [LISTED]})
    assert row == {
        "id": "vendor/model-1",
        "name": "Model 1",
        "api": "openai-completions",
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": 100_000,
        "maxTokens": 8000,
        "cost": {"input": 1.0, "output": 2.0, "cacheRead": 0.1, "cacheWrite": 0},
    }
    assert checked_models(providers()["openrouter"], [row])[1] == []


FREE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"supported_parameters": []}, None),
        ({"architecture": {"output_modalities": ["image"]}}, None),
        ({"context_length": None, "top_provider": None}, None),
        ({"id": "anthropic/claude-x"}, {"api": "anthropic-messages"}),
        ({"top_provider": {}}, {"contextWindow": 200_000, "maxTokens": 32_768}),
        (
            {"pricing": {"prompt": "-1", "completion": "x"}},
            {"cost": FREE},
        ),
        ({"architecture": None}, {"input": ["text"]}),
        ({"architecture": {"input_modalities": None, "output_modalities": None}}, {"input": ["text"]}),
        ({"architecture": True, "pricing": True}, {"input": ["text"]}),
        ({"supported_parameters": True}, None),
        ({"context_length": [1], "top_provider": True}, None),
        ({"context_length": "x", "top_provider": {"context_length": 1e999}}, None),
        ({"top_provider": {"max_completion_tokens": "x"}}, {"maxTokens": 32_768}),
        ({"pricing": {"prompt": 10**400, "completion": "1e999"}}, {"cost": FREE}),
    ],
)
def test_odd_entries_of_the_list_are_read_with_care(changes: dict[str, Any], expected: dict[str, Any] | None) -> None:
    rows = openrouter_rows({"data": [{**LISTED, **changes}]})
    if expected is None:
        assert rows == []
    else:
        assert {name: rows[0][name] for name in expected} == expected


@pytest.mark.parametrize("value", [[], {}, {"data": 5}, {"models": "x"}, None])
def test_what_is_no_list_of_a_provider_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        openrouter_rows(value)
    with pytest.raises(ConfigError):
        radius_rows(value)


def test_providers_that_list_models_themselves_are_asked_with_the_users_key(tmp_path: Path) -> None:
    asked: list[HttpRequest] = []

    def answer(request: HttpRequest) -> MemoryResponse:
        asked.append(request)
        if request.url == "https://radius.pi.dev/v1/config":
            body: Any = {"baseUrl": "https://radius.pi.dev/v1", "models": [{**ROW, "api": "pi-messages"}]}
        else:
            body = {"data": [LISTED]}
        return MemoryResponse(200, {}, [json.dumps(body).encode()])

    storage = AuthStorage.in_memory(env={"RADIUS_API_KEY": "r-key", "OPENROUTER_API_KEY": "o-key", "GROQ_API_KEY": "k"})
    store = ModelsStore(tmp_path / "models-store.json")
    registry = ModelRegistry(storage, store=store, transport=FunctionTransport(answer))
    result = asyncio.run(registry.update_models(None))
    assert result == ModelsUpdate(updated={"openrouter": 1, "radius": 1})
    assert {(request.url, request.headers["authorization"]) for request in asked} == {
        ("https://radius.pi.dev/v1/config", "Bearer r-key"),
        ("https://openrouter.ai/api/v1/models/user", "Bearer o-key"),
    }
    found = registry.find("radius", "new-1")
    assert found is not None
    assert (found.api, found.base_url) == ("pi-messages", "https://radius.pi.dev/v1")
    assert registry.find("openrouter", "vendor/model-1") is not None
    assert "key" not in (tmp_path / "models-store.json").read_text(encoding="utf-8")
