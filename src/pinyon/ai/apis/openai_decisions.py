"""The Decisions API of OpenAI: questions about a state, each answered by probabilities."""

from __future__ import annotations

from typing import Any

from pinyon._util import json as _json
from pinyon.ai.classify import (
    ChoiceQuestion,
    ClassifierModel,
    ClassifyContext,
    Question,
    RawAnswers,
    ScoreQuestion,
    read_answer,
    read_usage,
)
from pinyon.ai.json_request import JsonClient
from pinyon.ai.option import StreamOptions
from pinyon.errors import ProviderError

FINAL_STATUSES = frozenset({504})
"""The service's own time limit: asking again takes as long again."""


async def ask(model: ClassifierModel, context: ClassifyContext, options: StreamOptions) -> RawAnswers:
    """See `ClassifierApi.ask`."""
    headers = dict(model.headers or {})
    client = JsonClient(model.provider, model.base_url, options, headers=headers, final_statuses=FINAL_STATUSES)
    questions = [_wire_question(name, question) for name, question in context.questions.items()]
    answer = await client.post("decisions", {"model": model.id, "input": _input(context), "questions": questions})
    listed = answer.get("answers")
    if not isinstance(listed, list):
        raise ProviderError("the server gave no answers")
    given = {item.get("name"): item for item in listed if isinstance(item, dict)}
    read = {
        name: read_answer(name, question, given.get(name), bool_field="probability")
        for name, question in context.questions.items()
    }
    return RawAnswers(read, read_usage(answer.get("usage")))


def _input(context: ClassifyContext) -> Any:
    text = _json.encode_clean(context.state).decode()
    if not context.images:
        return text
    content: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
    content += [
        {"type": "input_image", "image_url": f"data:{image.mime_type};base64,{image.data}"} for image in context.images
    ]
    return [{"role": "user", "content": content}]


def _wire_question(name: str, question: Question) -> dict[str, Any]:
    if isinstance(question, ChoiceQuestion):
        choices = [{"value": value, "description": text} for value, text in question.criteria.items()]
        return {"type": "choice", "name": name, "instructions": question.instructions, "choices": choices}
    if isinstance(question, ScoreQuestion):
        levels = [{"label": text} for text in question.criteria]
        return {"type": "score", "name": name, "instructions": question.instructions, "levels": levels}
    meaning = [f"{word} means: {question.criteria[key]}" for word, key in _MEANINGS if key in question.criteria]
    text = "\n\n".join(part for part in (question.instructions, "\n".join(meaning)) if part)
    return {"type": "predicate", "name": name, "instructions": text}


_MEANINGS: tuple[tuple[str, Any], ...] = (("True", "true"), ("False", "false"))
