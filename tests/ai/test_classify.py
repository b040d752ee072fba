"""Classifier APIs over loopback: what is sent, how answers are read, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from typing import Any

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.classify import (
    BoolAnswer,
    BoolQuestion,
    ChoiceAnswer,
    ChoiceQuestion,
    Classification,
    ClassifierModel,
    ClassifyContext,
    ScoreAnswer,
    ScoreQuestion,
    classifier_apis,
    classify,
)
from pinyon.ai.content import ImageContent
from pinyon.ai.model import ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply

KEY = "classifier-key-SECRET-123"
QUESTIONS: dict[str, Any] = {
    "a": ChoiceQuestion(instructions="pick", criteria={"x": "the x", "y": "the y"}),
    "b": BoolQuestion(instructions="is it", criteria={"true": "yes it is", "false": "no"}),
    "c": ScoreQuestion(instructions="rate", criteria=["bad", "ok", "good"]),
}
CHOICE = {"type": "choice", "choice": "x", "confidence": 0.4}
SCORE = {"type": "score", "score": 1.2, "confidence": 0.5}
USAGE = {"input_tokens": 11, "output_tokens": 2}
SYSTEM_ONE: dict[str, Any] = {
    "answers": {"a": {**CHOICE, "probabilities": {"x": 0.7, "y": 0.3}}, "b": {"type": "noul", "noul": 0.8}, "c": SCORE},
    "usage": USAGE,
}
CHANCES = [{"value": "x", "probability": 0.7}, {"value": "y", "probability": 0.3}]
DECISIONS = {
    "answers": [
        {"name": "a", **CHOICE, "probabilities": CHANCES},
        {"name": "b", "type": "predicate", "probability": 0.8},
        {"name": "c", **SCORE},
    ],
    "usage": USAGE,
}
RANKED = {"A": -0.1, "B": -2.5, "Yes": -0.2, "No": -1.8, "0": -3.0, "1": -0.5, "2": -1.2}


def llama(request: RecordedRequest) -> Reply:
    """A llama.cpp server whose tokens are whole labels."""
    body = request.json
    ids = {label: number for number, label in enumerate(RANKED, 100)}
    if request.path == "/tokenize":
        return Reply.json({"tokens": [ids[body["content"]]]})
    if request.path == "/apply-template":
        return Reply.json({"prompt": body["messages"][1]["content"]})
    top = [{"id": ids[label], "token": label, "logprob": chance} for label, chance in RANKED.items()]
    if body["n_probs"] == 256:
        top = top[:3]
    return Reply.json({"content": "A", "completion_probabilities": [{"id": 100, "top_logprobs": top}]})


REPLIES: dict[str, ScriptedReply] = {
    "typesafe-system-one": Reply.json(SYSTEM_ONE),
    "cloudflare-workers-ai-system-one": Reply.json({"success": True, "errors": [], "result": SYSTEM_ONE}),
    "openai-decisions": Reply.json(DECISIONS),
    "llama-cpp-classify": llama,
}
REMOTE = [api for api in REPLIES if api != "llama-cpp-classify"]


def model(api: str, url: str, **fields: Any) -> ClassifierModel:
    cost = ModelCost(input=1, output=2)
    defaults: dict[str, Any] = {"id": "c-1", "api": api, "provider": "p", "base_url": url, "cost": cost}
    return ClassifierModel(**(defaults | fields))


def ask(
    api: str, *replies: ScriptedReply, fields: dict[str, Any] | None = None, context: Any = None, **options: Any
) -> tuple[Classification, list[RecordedRequest]]:
    with FakeServer(replies or [REPLIES[api]]) as server:
        asked = context or ClassifyContext(state="the state", questions=QUESTIONS)
        given = StreamOptions(**{"api_key": KEY, "max_retries": 2, **options})
        return asyncio.run(classify(model(api, server.url, **(fields or {})), asked, given)), server.requests


def test_every_api_is_tested() -> None:
    assert classifier_apis() == sorted(REPLIES)


@pytest.mark.parametrize("api", REMOTE)
def test_answers_are_read(api: str) -> None:
    answer, requests = ask(api)
    assert answer.stop_reason == "stop", answer.error_message
    assert answer.answers == {
        "a": ChoiceAnswer("x", {"x": 0.7, "y": 0.3}, 0.4),
        "b": BoolAnswer(0.8),
        "c": ScoreAnswer(1.2, 0.5),
    }
    assert answer.usage is not UNSET
    assert (answer.usage.input, answer.usage.output, answer.usage.total_tokens) == (11, 2, 13)
    assert answer.usage.cost.total == pytest.approx(15e-6)
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_system_one_on_the_wire() -> None:
    _, (request,) = ask("typesafe-system-one")
    assert request.path == "/systemone"
    body = {
        "state": "the state",
        "questions": {
            "a": {"type": "choice", "instructions": "pick", "criteria": {"x": "the x", "y": "the y"}},
            "b": {"type": "noul", "instructions": "is it", "criteria": {"true": "yes it is", "false": "no"}},
            "c": {"type": "score", "instructions": "rate", "criteria": ["bad", "ok", "good"]},
        },
    }
    assert request.json == {"model": "c-1", **body}
    _, (request,) = ask("cloudflare-workers-ai-system-one")
    assert (request.path, request.json) == ("/run", {"model": "c-1", "input": body})


def test_decisions_on_the_wire() -> None:
    _, (request,) = ask("openai-decisions")
    assert request.path == "/decisions"
    assert request.json == {
        "model": "c-1",
        "input": '"the state"',
        "questions": [
            {
                "type": "choice",
                "name": "a",
                "instructions": "pick",
                "choices": [{"value": "x", "description": "the x"}, {"value": "y", "description": "the y"}],
            },
            {"type": "predicate", "name": "b", "instructions": "is it\n\nTrue means: yes it is\nFalse means: no"},
            {
                "type": "score",
                "name": "c",
                "instructions": "rate",
                "levels": [{"label": "bad"}, {"label": "ok"}, {"label": "good"}],
            },
        ],
    }


IMAGE = ImageContent("AAAA", "image/png")
SEEN = ClassifyContext(state={"k": "v"}, questions={"b": QUESTIONS["b"]}, images=[IMAGE])
URL = "data:image/png;base64,AAAA"


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        (
            None,
            {
                "state": ["<image-1>", {"k": "v"}],
                "assets": {"<image-1>": {"type": "image", "format": "png", "data_base64": "AAAA"}},
            },
        ),
        ("images", {"state": {"k": "v"}, "images": [URL]}),
        ("state-image-urls", {"state": [{"type": "image_url", "image_url": {"url": URL}}, {"k": "v"}]}),
    ],
)
def test_images_of_system_one(flag: str | None, expected: dict[str, Any]) -> None:
    for api, has_header in (("typesafe-system-one", True), ("cloudflare-workers-ai-system-one", False)):
        _, (request,) = ask(api, fields={"compat": {"imageInput": flag}}, context=SEEN)
        body = request.json.get("input", request.json)
        assert {name: body[name] for name in body if name not in ("questions", "model")} == expected
        assert ("typesafe-danger-zone-images" in request.headers) is has_header
    _, (request,) = ask(api, fields={"compat": {"sendImageOptInHeader": True}}, context=SEEN)
    assert request.headers["typesafe-danger-zone-images"] == "true"


def test_images_of_decisions_and_none_for_llama() -> None:
    _, (request,) = ask("openai-decisions", context=SEEN)
    assert request.json["input"] == [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": '{"k":"v"}'}, {"type": "input_image", "image_url": URL}],
        }
    ]
    answer, _ = ask("llama-cpp-classify", context=SEEN)
    assert "images" in str(answer.error_message)


def test_llama_ranks_the_tokens_of_labels() -> None:
    answer, requests = ask("llama-cpp-classify", api_key=None)
    assert answer.stop_reason == "stop", answer.error_message
    choice, yes, score = answer.answers["a"], answer.answers["b"], answer.answers["c"]
    assert isinstance(choice, ChoiceAnswer)
    first = math.exp(-0.1) / (math.exp(-0.1) + math.exp(-2.5))
    assert choice.choice == "x"
    assert choice.probabilities["x"] == pytest.approx(first)
    assert choice.confidence == pytest.approx(2 * first - 1)
    assert isinstance(yes, BoolAnswer)
    assert yes.probability == pytest.approx(0.8320183851339245)
    assert isinstance(score, ScoreAnswer)
    assert score.score == pytest.approx(1.2625629332)
    assert score.confidence == pytest.approx(0.4501667306)
    depths = [request.json["n_probs"] for request in requests if request.path == "/completion"]
    assert depths == [256, 256, 4096, 256, 4096]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (ChoiceQuestion(criteria={"x": "only"}), "from 2 to 26"),
        (ChoiceQuestion(criteria={str(n): "" for n in range(27)}), "from 2 to 26"),
        (ScoreQuestion(criteria=["a"] * 11), "from 2 to 10"),
    ],
)
def test_llama_takes_as_many_options_as_there_are_labels(question: Any, words: str) -> None:
    answer, requests = ask("llama-cpp-classify", context=ClassifyContext(state=1, questions={"q": question}))
    assert words in str(answer.error_message)
    assert not requests


def test_labels_that_begin_alike_or_never_rank_are_errors() -> None:
    alike = Reply.json({"tokens": [7]})
    answer, _ = ask("llama-cpp-classify", alike)
    assert "same token" in str(answer.error_message)

    def unranked(request: RecordedRequest) -> Reply:
        return Reply.json({"completion_probabilities": []}) if request.path == "/completion" else llama(request)

    answer, requests = ask("llama-cpp-classify", unranked)
    assert "32768" in str(answer.error_message)
    assert [r.json["n_probs"] for r in requests if r.path == "/completion"] == [256, 4096, 32_768]


@pytest.mark.parametrize(
    "change",
    [
        {"a": None},
        {"a": {**CHOICE, "choice": "z", "probabilities": {"x": 0.7, "y": 0.3}}},
        {"a": {**CHOICE, "probabilities": {"x": 0.7}}},
        {"a": {**CHOICE, "probabilities": {"x": 7, "y": 0.3}}},
        {"a": {**CHOICE, "probabilities": 3}},
        {"b": {"noul": "likely"}},
        {"b": {"noul": True}},
        {"c": {"score": 9, "confidence": 0.5}},
        {"c": {"score": 1, "confidence": None}},
    ],
)
def test_an_answer_that_fits_no_question_is_an_error_and_no_answer(change: dict[str, Any]) -> None:
    reply = Reply.json({"answers": {**SYSTEM_ONE["answers"], **change}})
    answer, _ = ask("typesafe-system-one", reply)
    assert answer.stop_reason == "error"
    assert repr(next(iter(change))) in str(answer.error_message)
    assert answer.answers == {}


@pytest.mark.parametrize("api", list(REPLIES))
@pytest.mark.parametrize("reply", [Reply.text("<html>"), Reply.text(""), Reply.json([1]), Reply.json({})])
def test_what_is_no_answer_is_an_error(api: str, reply: Reply) -> None:
    answer, _ = ask(api, reply)
    assert answer.stop_reason == "error"
    assert answer.error_message


def test_the_errors_in_an_envelope_are_told() -> None:
    reply = Reply.json({"success": False, "errors": [{"code": 1, "message": "no capacity"}], "result": None})
    assert ask("cloudflare-workers-ai-system-one", reply)[0].error_message == "no capacity"


@pytest.mark.parametrize("api", list(REPLIES))
def test_passing_failures_are_repeated_twice_and_final_ones_not(api: str) -> None:
    busy = Reply.text("busy", 503, {"retry-after-ms": "1"})
    answer, requests = ask(api, busy, busy, busy, REPLIES[api])
    assert (answer.stop_reason, len(requests)) == ("error", 3)
    answer, requests = ask(api, Reply.json({"error": {"message": "no"}}, 400))
    assert (answer.stop_reason, len(requests)) == ("error", 1)
    assert "no" in str(answer.error_message)
    timeout = Reply.text("slow", 504, {"retry-after-ms": "1"})
    assert len(ask(api, timeout)[1]) == (1 if api == "openai-decisions" else 3)


@pytest.mark.parametrize("api", list(REPLIES))
def test_an_abort_ends_the_question(api: str) -> None:
    controller = AbortController()

    def when(server: FakeServer) -> None:
        server.wait_for_requests(1)
        controller.abort()

    with FakeServer([Reply.never()]) as server:
        threading.Thread(target=when, args=[server]).start()
        context = ClassifyContext(state=1, questions=QUESTIONS)
        options = StreamOptions(api_key=KEY, signal=controller.signal)
        assert asyncio.run(classify(model(api, server.url), context, options)).stop_reason == "aborted"


@pytest.mark.parametrize("api", list(REPLIES))
def test_no_credential_shows_whatever_the_server_echoes(api: str) -> None:
    for reply in (Reply.json({"error": {"message": KEY}}, 401), Reply.text(KEY)):
        assert KEY not in json.dumps(str(ask(api, reply)[0]))


@pytest.mark.parametrize("api", REMOTE)
def test_a_missing_key_names_the_provider(api: str) -> None:
    answer, requests = ask(api, fields={"provider": "somebody"}, api_key=None)
    assert "'somebody'" in str(answer.error_message)
    assert not requests


def test_an_unknown_api_is_named() -> None:
    answer = asyncio.run(classify(model("other", "http://127.0.0.1:1"), SEEN))
    assert "'other'" in str(answer.error_message)
