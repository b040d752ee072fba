"""Typed answers: the model is told the shape, what it says is checked, and it may mend what does not fit."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from pinyon._util import json as _json
from pinyon.ai.message import AssistantMessage, CustomMessage
from pinyon.coding.answer import last_assistant
from pinyon.coding.output_text import json_values
from pinyon.coding.output_type import OutputType, UnfitValueError
from pinyon.coding.run_result import DEFAULT_REPAIRS, OutputResult, RunResult
from pinyon.errors import PinyonError

Output = TypeVar("Output")

WISH_TYPE = "output_schema"
REPAIR_TYPE = "output_repair"
_SAID_CHARS = 600


class OutputError(PinyonError):
    """Raised when a run ended without the typed answer that was asked for.

    `text` is what the model said last, `problem` why that does not do, `result` the run as it was.
    """

    def __init__(self, message: str, *, text: str, problem: str, result: RunResult) -> None:
        super().__init__(message)
        self.text = text
        self.problem = problem
        self.result = result


class OutputRequest(Generic[Output]):
    """A typed answer that one run is asked for. `repairs` bounds how often an answer is sent back."""

    def __init__(self, kind: Any, *, repairs: int = DEFAULT_REPAIRS) -> None:
        self._type: OutputType[Output] = OutputType(kind)
        self._repairs_left = repairs
        self._repairs_made = 0

    def instruction(self, now_ms: int) -> CustomMessage:
        """The message that goes with the prompt."""
        schema = _json.encode(self._type.schema).decode()
        return _message(
            WISH_TYPE,
            "When everything is done, answer with one JSON value and nothing else. It has to fit this JSON Schema:\n"
            f"{schema}",
            now_ms,
            display=False,
        )

    def repair(self, answer: AssistantMessage | None, now_ms: int) -> CustomMessage | None:
        """What to tell the model about its answer; None where that fits or nothing more is to be tried."""
        if answer is None or answer.stop_reason in ("error", "aborted") or not self._repairs_left:
            return None
        try:
            self._value(answer)
        except UnfitValueError as error:
            self._repairs_left -= 1
            self._repairs_made += 1
            text = f"That answer cannot be used: {error}. Answer again with the JSON value that was asked for, alone."
            return _message(REPAIR_TYPE, text, now_ms, display=True)
        return None

    def outcome(self, result: RunResult) -> OutputResult[Output]:
        """The result with the checked answer. Raises `OutputError` where there is none."""
        answer = last_assistant(result.messages)
        try:
            output = self._value(answer)
        except UnfitValueError as error:
            raise self._error(result, str(error)) from error
        values = {name: getattr(result, name) for name in RunResult.__struct_fields__}
        return OutputResult(**values, output=output)

    def _value(self, answer: AssistantMessage | None) -> Output:
        if answer is None:
            raise UnfitValueError("there is no answer of the model")
        if answer.stop_reason in ("error", "aborted"):
            raise UnfitValueError(answer.error_message or f"the answer ended as {answer.stop_reason!r}")
        problem = "it holds no JSON value"
        for place, value in enumerate(json_values(answer.text)):
            try:
                return self._type.convert(value)
            except UnfitValueError as error:
                problem = str(error) if place == 0 else problem
        if answer.stop_reason == "length":
            problem = f"it was cut at the output limit, and {problem}"
        raise UnfitValueError(problem)

    def _error(self, result: RunResult, problem: str) -> OutputError:
        said = result.text if len(result.text) <= _SAID_CHARS else result.text[:_SAID_CHARS] + "…"
        tries = f" after {self._repairs_made} attempts to mend it" if self._repairs_made else ""
        ended = f" (the limit of {result.limit} ended the run)" if result.limit else ""
        return OutputError(
            f"the model gave no usable {self._type.name!r}{tries}: {problem}{ended}; it said: {said!r}",
            text=result.text,
            problem=problem,
            result=result,
        )


def _message(custom_type: str, text: str, now_ms: int, *, display: bool) -> CustomMessage:
    return CustomMessage(
        custom_type=custom_type, content=text, display=display, details=msgspec.UNSET, timestamp=now_ms
    )
