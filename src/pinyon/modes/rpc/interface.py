"""The person behind an RPC client: questions go out as `extension_ui_request`, answers come in as responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar
from uuid import uuid4

from pinyon._util.abort import AbortSignal
from pinyon.coding.user_interface import NoticeLevel, WidgetPlacement

Send = Callable[[Mapping[str, Any]], None]
"""Writes one line of the protocol."""

Answer = TypeVar("Answer")


class RpcInterface:
    """Asks and shows over the protocol. The first answer to a question counts, later and unknown ones do not."""

    has_ui = True

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._is_closed = False

    def close(self) -> None:
        """Nobody answers any more: questions, open and later ones, get their default."""
        self._is_closed = True
        for question in self._open.values():
            _give_up(question)

    def take_response(self, response: Mapping[str, Any]) -> None:
        """Take an `extension_ui_response` line."""
        question = self._open.pop(str(response.get("id")), None)
        if question is not None and not question.done():
            question.set_result(response)

    async def select(
        self, title: str, options: Sequence[str], *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        """See `Dialogs.select`."""
        fields = {"method": "select", "title": title, "options": list(options)}
        answer: str | None = await self._ask(fields, "value", None, timeout_s, signal)
        return answer

    async def confirm(
        self, title: str, message: str, *, timeout_s: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        """See `Dialogs.confirm`."""
        answer = await self._ask(
            {"method": "confirm", "title": title, "message": message}, "confirmed", default=False, timeout_s=timeout_s,
            signal=signal,
        )  # fmt: skip
        return answer is True

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout_s: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        """See `Dialogs.input`."""
        fields = {"method": "input", "title": title}
        if placeholder is not None:
            fields["placeholder"] = placeholder
        answer: str | None = await self._ask(fields, "value", None, timeout_s, signal)
        return answer

    async def editor(self, title: str, prefill: str | None = None) -> str | None:
        """See `Dialogs.editor`."""
        fields = {"method": "editor", "title": title}
        if prefill is not None:
            fields["prefill"] = prefill
        answer: str | None = await self._ask(fields, "value", None, None, None)
        return answer

    async def _ask(
        self,
        fields: Mapping[str, Any],
        answer_field: Literal["value", "confirmed"],
        default: Any,
        timeout_s: float | None,
        signal: AbortSignal | None,
    ) -> Any:
        if self._is_closed or (signal is not None and signal.aborted):
            return default
        question_id = str(uuid4())
        question: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[question_id] = question
        timed = {} if timeout_s is None else {"timeout": round(timeout_s * 1000)}
        remove = signal.add_listener(lambda: _give_up(question)) if signal is not None else None
        try:
            self._request({"id": question_id, **fields, **timed})
            done, _ = await asyncio.wait([question], timeout=timeout_s)
        finally:
            self._open.pop(question_id, None)
            if remove is not None:
                remove()
        if not done or question.cancelled() or question.result().get("cancelled") is True:
            return default
        return question.result().get(answer_field, default)

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        """See `Display.notify`."""
        self._show("notify", message=message, notifyType=level)

    def set_status(self, key: str, text: str | None) -> None:
        """See `Display.set_status`."""
        self._show("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: WidgetPlacement = "aboveEditor") -> None:
        """See `Display.set_widget`."""
        shown = list(lines) if lines is not None else None
        self._show("setWidget", widgetKey=key, widgetLines=shown, widgetPlacement=placement)

    def set_title(self, title: str) -> None:
        """See `Display.set_title`."""
        self._show("setTitle", title=title)

    def set_editor_text(self, text: str) -> None:
        """See `Display.set_editor_text`."""
        self._show("set_editor_text", text=text)

    def _show(self, method: str, **fields: Any) -> None:
        present = {name: value for name, value in fields.items() if value is not None}
        self._request({"id": str(uuid4()), "method": method, **present})

    def _request(self, fields: Mapping[str, Any]) -> None:
        self._send({"type": "extension_ui_request", **fields})


def _give_up(question: asyncio.Future[Mapping[str, Any]]) -> None:
    question.cancel()
