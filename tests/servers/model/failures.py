"""Error answers in each provider's own form."""

from __future__ import annotations

import math
from typing import Any, Final

from tests.servers.model.request import ModelRequest, Provider
from tests.servers.model.script import Failure

_MESSAGES: Final = {
    "context_length_exceeded": "This model's maximum context length is 128000 tokens. However, your messages "
    "resulted in 500000 tokens. Please reduce the length of the messages.",
    "content_policy_violation": "Your request was rejected as a result of our safety system.",
    "content_filter": "The response was filtered due to the prompt triggering our content management policy.",
    "insufficient_quota": "You exceeded your current quota, please check your plan and billing details.",
    "model_not_found": "The model does not exist or you do not have access to it.",
}
_BY_STATUS: Final = {
    400: ("invalid_request", "The request is invalid."),
    401: ("invalid_api_key", "Incorrect API key provided."),
    403: ("permission_denied", "You are not allowed to use this model."),
    404: ("model_not_found", _MESSAGES["model_not_found"]),
    413: ("request_too_large", "Request exceeds the maximum size."),
    429: ("rate_limit_exceeded", "Rate limit reached for requests."),
    503: ("overloaded", "The engine is currently overloaded, please try again later."),
    529: ("overloaded_error", "Overloaded"),
}
_OPENAI_TYPE: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ANTHROPIC_TYPE: Final = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_GEMINI_STATUS: Final = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


def failure(
    status: int, code: str | None = None, message: str | None = None, retry_after: float | None = None
) -> Failure:
    """A failure with the message a provider uses for that code or status, unless one is given."""
    usual, words = _BY_STATUS.get(status, ("server_error", "The server had an error."))
    code = code or usual
    return Failure(status, message or _MESSAGES.get(code, words), code, retry_after)


def refusal(violations: list[str]) -> Failure:
    """The 400 for an illegal request: every violation in the message and in a separate list."""
    found = tuple(violations)
    return Failure(400, "Invalid request: " + "; ".join(found), "invalid_request", violations=found)


def body(provider: Provider, fail: Failure) -> dict[str, Any]:
    """The JSON of the answer, with `violations` next to the provider's own fields."""
    extra = {"violations": list(fail.violations)} if fail.violations else {}
    if provider == "anthropic":
        kind = _ANTHROPIC_TYPE.get(fail.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": fail.message}, **extra}
    if provider == "ollama":
        return {"error": fail.message, **extra}
    if provider == "gemini":
        state = _GEMINI_STATUS.get(fail.status, "INTERNAL")
        return {"error": {"code": fail.status, "message": fail.message, "status": state}, **extra}
    default = "invalid_request_error" if fail.status < 500 else "server_error"
    kind = _OPENAI_TYPE.get(fail.status, default)
    return {"error": {"message": fail.message, "type": kind, "param": None, "code": fail.code}, **extra}


def stream_event(request: ModelRequest, fail: Failure) -> dict[str, Any]:
    """The error as an event of a stream that started normally."""
    if request.endpoint == "responses":
        return {"type": "error", "code": fail.code, "message": fail.message, "param": None}
    return body(request.provider, fail)


def headers(fail: Failure) -> dict[str, str]:
    if fail.retry_after is None:
        return {}
    return {"retry-after": f"{math.ceil(fail.retry_after)}", "retry-after-ms": f"{fail.retry_after * 1000:.0f}"}
