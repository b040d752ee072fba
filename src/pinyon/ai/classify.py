"""Classifiers: models that answer set questions about a state instead of talking.

::

    safe = BoolQuestion(instructions="Is it safe?", criteria={"true": "harms nothing", "false": "may harm"})
    context = ClassifyContext(state={"command": "ls"}, questions={"safe": safe})
    answer = await classify(model, context, StreamOptions(api_key=...))
    answer.answers["safe"].probability

A failed request is an answer whose `stop_reason` is `error` or `aborted`; nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.clock import now_ms
from pinyon.ai.content import ImageContent
from pinyon.ai.cost import token_cost
from pinyon.ai.http_error import error_text, is_abort
from pinyon.ai.model import InputKind, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.errors import ModelError, ProviderError

DEFAULT_RETRIES = 2


class ClassifierModel(msgspec.Struct, rename="camel", kw_only=True):
    """A classifier of one provider; `compat` holds the flags of its API."""

    id: str
    api: str
    provider: str
    base_url: str
    name: str = ""
    input: list[InputKind] = msgspec.field(default_factory=lambda: ["text"])
    cost: ModelCost = msgspec.field(default_factory=ModelCost)
    context_window: int = 0
    headers: dict[str, str] | UnsetType = UNSET
    compat: dict[str, Any] | UnsetType = UNSET
    type: Literal["classifier"] = "classifier"


class ChoiceQuestion(msgspec.Struct, tag_field="type", tag="choice", kw_only=True):
    """Which of the named options holds; `criteria` describes each."""

    criteria: dict[str, str]
    instructions: str = ""


class ScoreQuestion(msgspec.Struct, tag_field="type", tag="score", kw_only=True):
    """How far along the levels it is; `criteria` describes them, lowest first."""

    criteria: list[str]
    instructions: str = ""


class BoolQuestion(msgspec.Struct, tag_field="type", tag="bool", kw_only=True):
    """Whether it holds; `criteria` says what `true` and `false` mean."""

    criteria: dict[Literal["true", "false"], str]
    instructions: str = ""


Question: TypeAlias = ChoiceQuestion | ScoreQuestion | BoolQuestion


class ClassifyContext(msgspec.Struct, kw_only=True):
    """What is judged: any JSON value and images, and the questions about it by name."""

    state: Any
    questions: Mapping[str, Question]
    images: list[ImageContent] = []


class ChoiceAnswer(msgspec.Struct, tag_field="type", tag="choice"):
    """The likeliest option, how likely each is, and how sure the choice is (0 for an even guess, 1 for certainty)."""

    choice: str
    probabilities: dict[str, float]
    confidence: float


class ScoreAnswer(msgspec.Struct, tag_field="type", tag="score"):
    """The expected level, counted from 0, and how sure it is."""

    score: float
    confidence: float


class BoolAnswer(msgspec.Struct, tag_field="type", tag="bool"):
    """How likely it holds, from 0 to 1."""

    probability: float


Answer: TypeAlias = ChoiceAnswer | ScoreAnswer | BoolAnswer


class Classification(msgspec.Struct, rename="camel", kw_only=True):
    """The answers by the names of their questions; all of them, or none after a failure."""

    api: str
    provider: str
    model: str
    answers: dict[str, Answer]
    stop_reason: Literal["stop", "error", "aborted"]
    timestamp: int
    usage: Usage | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


class RawAnswers(msgspec.Struct):
    """What a classifier API read from a response: answers, and token counts where there are some."""

    answers: dict[str, Answer]
    usage: Usage | None = None


class ClassifierApi(Protocol):
    """A module that speaks one classifier API."""

    async def ask(self, model: ClassifierModel, context: ClassifyContext, options: StreamOptions) -> RawAnswers:
        """The answers; raises `PinyonError`."""
        ...


_APIS = {
    "typesafe-system-one": "pinyon.ai.apis.system_one",
    "cloudflare-workers-ai-system-one": "pinyon.ai.apis.system_one",
    "openai-decisions": "pinyon.ai.apis.openai_decisions",
    "llama-cpp-classify": "pinyon.ai.apis.llama_cpp_classify",
}


def classifier_apis() -> list[str]:
    """The names of the APIs that classifiers may have."""
    return sorted(_APIS)


async def classify(
    model: ClassifierModel, context: ClassifyContext, options: StreamOptions | None = None
) -> Classification:
    """Ask `model` every question of `context`. Without options a passing failure is repeated twice."""
    options = options or StreamOptions(max_retries=DEFAULT_RETRIES)
    answer = Classification(
        api=model.api, provider=model.provider, model=model.id, answers={}, stop_reason="stop", timestamp=now_ms()
    )
    try:
        raw = await _api(model).ask(model, context, options)
    except Exception as error:  # noqa: BLE001 - whatever fails is told in the answer, as for streams
        aborted = is_abort(error, options.signal)
        answer.stop_reason = "aborted" if aborted else "error"
        secrets = [options.api_key or "", *(value or "" for value in (options.headers or {}).values())]
        answer.error_message = "Request was aborted" if aborted else error_text(error, secrets)
        return answer
    answer.answers = raw.answers
    if raw.usage is not None:
        raw.usage.cost = token_cost(model.cost, raw.usage)
        answer.usage = raw.usage
    return answer


def _api(model: ClassifierModel) -> ClassifierApi:
    home = _APIS.get(model.api)
    if home is None:
        known = ", ".join(classifier_apis())
        raise ModelError(f"unknown classifier API {model.api!r}; a classifier's `api` must be one of: {known}")
    return cast("ClassifierApi", import_module(home))


def read_answer(name: str, question: Question, raw: Any, *, bool_field: str) -> Answer:
    """An answer in a server's form, checked against its question. Raises `ProviderError` where it does not fit."""
    if not isinstance(raw, Mapping):
        raise ProviderError(f"the server gave no answer to {name!r}")
    match question:
        case ChoiceQuestion():
            chances = _chances(name, raw.get("probabilities"))
            if raw.get("choice") not in question.criteria or set(chances) != set(question.criteria):
                raise ProviderError(f"the server chose none of the options of {name!r}")
            return ChoiceAnswer(str(raw["choice"]), chances, fraction(name, raw.get("confidence")))
        case ScoreQuestion():
            score = raw.get("score")
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score < len(question.criteria):
                raise ProviderError(f"the server gave a score of {name!r} that is none of its levels: {score!r}")
            return ScoreAnswer(score, fraction(name, raw.get("confidence")))
        case BoolQuestion():
            return BoolAnswer(fraction(name, raw.get(bool_field)))


def _chances(name: str, raw: Any) -> dict[str, float]:
    if isinstance(raw, list):  # as a list of values with their probabilities
        raw = {item.get("value"): item.get("probability") for item in raw if isinstance(item, Mapping)}
    if not isinstance(raw, Mapping):
        raise ProviderError(f"the server gave no probabilities for {name!r}")
    return {str(option): fraction(name, chance) for option, chance in raw.items()}


def fraction(name: str, value: Any) -> float:
    """`value` as a number from 0 to 1. Raises `ProviderError` naming the question."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ProviderError(f"the server gave a number for {name!r} that is no probability: {value!r}")
    return value


def read_usage(raw: Any) -> Usage | None:
    """Token counts in `input_tokens` and `output_tokens`; None where there are none."""
    if not isinstance(raw, Mapping):
        return None
    counts = [raw.get(name) for name in ("input_tokens", "output_tokens")]
    fresh, output = (count if isinstance(count, int) and count > 0 else 0 for count in counts)
    return Usage(input=fresh, output=output, total_tokens=fresh + output)
