"""What Bedrock says when it fails, as a refusal or in the middle of a stream, in texts that can be told apart."""

from __future__ import annotations

from typing import Any

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon.ai.event_stream import EventMessage
from pinyon.ai.http_error import HttpStatusError, error_text
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import DiagnosticError, MessageDiagnostic
from pinyon.errors import ProviderError

_PREFIXES = {
    "internalserverexception": "Internal server error",
    "modelstreamerrorexception": "Model stream error",
    "validationexception": "Validation error",
    "throttlingexception": "Throttling error",
    "serviceunavailableexception": "Service unavailable",
}
_DELAY_ASKED = "; the server asked for a retry delay"
"""How the text goes on where a wait was longer than allowed (see `open_with_retry`)."""

_RETENTION_DOCS = "https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html"


class BedrockError(ProviderError):
    """Raised for a failure that the service itself reports. `code` is the name of its exception."""

    def __init__(self, code: str, message: str, status: int | None = None, request_id: str = "") -> None:
        super().__init__(_text(code, message))
        self.code = code
        self.status = status
        self.request_id = request_id
        self.service_message = message

    @property
    def is_validation(self) -> bool:
        """Whether the service found fault with the request itself."""
        return self.code.lower() == "validationexception"


def _text(code: str, message: str) -> str:
    prefix = _PREFIXES.get(code.lower(), code or "error")
    text = f"{prefix}: {message}" if message else prefix
    if "data retention" in message.lower().replace("-", " "):
        text += f" (see {_RETENTION_DOCS})"
    return text


def refusal(error: HttpStatusError) -> ProviderError:
    """The failure that a refused request reports; `error` itself where the response is not the service's."""
    body = _object(error.body)
    code = _code(error.headers.get("x-amzn-errortype") or _string(body, "__type") or _string(body, "code"))
    message = _string(body, "message") or _string(body, "Message")
    if not code:
        return error
    _, asked, delay = str(error).rpartition(_DELAY_ASKED)
    failure = BedrockError(code, message, error.status, error.headers.get("x-amzn-requestid", ""))
    if asked:
        failure.args = (f"{failure}{asked}{delay}",)
    return failure


def stream_failure(message: EventMessage, request_id: str) -> BedrockError:
    """The failure that a message of the stream reports in place of an event."""
    if message.text(":message-type") == "error":
        return BedrockError(message.text(":error-code"), message.text(":error-message"), None, request_id)
    body = _object(message.payload)
    text = _string(body, "message") or _string(body, "Message")
    original = _string(body, "originalMessage")
    if original and original not in text:
        text = f"{text} ({original})" if text else original
    status = body.get("originalStatusCode")
    code = message.text(":exception-type")
    return BedrockError(code, text, status if isinstance(status, int) else None, request_id)


def note_failure(answer: LiveAnswer, error: Exception, request_id: str, secrets: list[str]) -> None:
    """Keep what helps to find a failure at the service beside the answer: status, code, id of the request."""
    details: dict[str, Any] = {}
    if isinstance(error, BedrockError):
        details = {"status": error.status, "errorCode": error.code, "requestId": error.request_id or request_id}
    elif isinstance(error, HttpStatusError):
        details = {"status": error.status, "requestId": error.headers.get("x-amzn-requestid", "")}
    details = {name: value for name, value in details.items() if value not in (None, "")}
    if details:
        shown = DiagnosticError(name=type(error).__name__, message=error_text(error, secrets))
        diagnostic = MessageDiagnostic("bedrock_response_failure", now_ms(), error=shown, details=details)
        answer.target.diagnostics = [*(answer.target.diagnostics or []), diagnostic]


def _code(text: str) -> str:
    """The bare name in `prefix#ThrottlingException:http://...`."""
    return text.split(":", 1)[0].rpartition("#")[2].strip()


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        value = _json.decode(text)
    except _json.JsonError:
        return {}
    return value if isinstance(value, dict) else {}


def _string(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""
