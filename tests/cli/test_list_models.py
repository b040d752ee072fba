import asyncio

import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.transport import FunctionTransport, HttpRequest, MemoryResponse, TransportError
from pinyon.cli.list_models import NOTHING_USABLE, list_models, models_table, tokens_text


def model(provider: str, model_id: str, **fields: object) -> Model:
    return Model(id=model_id, name=model_id, api="x", provider=provider, base_url="", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (500, "500"),
        (4096, "4.1K"),
        (8192, "8.2K"),
        (128_000, "128K"),
        (1_000_000, "1M"),
        (1_500_000, "1.5M"),
        (1049, "1.0K"),
        (65_536, "65.5K"),
        (1_048_576, "1.0M"),
    ],
)
def test_token_counts_have_at_most_one_decimal(count: int, text: str) -> None:
    assert tokens_text(count) == text


def test_the_table_is_aligned_and_sorted() -> None:
    table = models_table(
        [
            model("zai", "glm", context_window=200_000, max_tokens=4096, reasoning=True),
            model("acme", "big-one", context_window=1_000_000, max_tokens=64_000, input=["text", "image"]),
        ]
    )
    assert table.splitlines() == [
        "provider  model    context  max-out  thinking  images",
        "acme      big-one  1M       64K      no        yes",
        "zai       glm      200K     4.1K     yes       no",
    ]


def test_search_looks_at_provider_and_id() -> None:
    models = [model("zai", "glm"), model("acme", "big-one")]
    for search in ("ac big", "acme/big", "one ACME"):
        assert "glm" not in models_table(models, search)
        assert "big-one" in models_table(models, search)
    assert models_table(models, "nope") == "No model matches 'nope'.\n"


def test_models_that_hold_the_words_hide_those_that_only_have_their_letters() -> None:
    models = [model("openrouter", "mistral/plus"), model("openrouter", "anthropic/claude-opus-5")]
    assert "mistral" not in models_table(models, "opus")
    assert "mistral" not in models_table(models, "ROUTER opus")
    assert "mistral" in models_table(models, "mstrl")


def test_without_models_the_list_says_what_to_do() -> None:
    assert models_table([]) == NOTHING_USABLE


def test_names_of_servers_cannot_move_the_cursor() -> None:
    assert "\x1b" not in models_table([model("acme", "evil\x1b[2J\nname")])


def test_the_list_holds_models_with_credentials_and_those_of_local_servers_that_answer() -> None:
    def answer(request: HttpRequest) -> MemoryResponse:
        if request.url == "http://127.0.0.1:8000/v1/models":
            return MemoryResponse(200, {}, [b'{"data": [{"id": "here", "max_model_len": 4096}]}'])
        raise TransportError("Connection error: ECONNREFUSED", "connection", "ECONNREFUSED")

    storage = AuthStorage.in_memory(env={"GROQ_API_KEY": "k"})
    registry = ModelRegistry(storage, transport=FunctionTransport(answer))
    table = asyncio.run(list_models(registry))
    assert {line.split()[0] for line in table.splitlines()[1:]} == {"groq", "vllm"}
    assert "vllm      here                     4.1K" in table
    silent = ModelRegistry(AuthStorage.in_memory(env={}), transport=FunctionTransport(lambda _: MemoryResponse(404)))
    assert asyncio.run(list_models(silent)) == NOTHING_USABLE
