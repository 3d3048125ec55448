"""Whether a provider would accept the request: one module per wire format, and shared code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.servers.model.check_anthropic import check_messages
from tests.servers.model.check_chat import check_chat
from tests.servers.model.check_embeddings import check_embed, check_embeddings, check_show
from tests.servers.model.check_gemini import check_generate
from tests.servers.model.check_media import check_picture, check_speech, check_transcription
from tests.servers.model.check_responses import check_responses
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_CHECKS: Final[dict[str, Callable[[ModelRequest, Report], None]]] = {
    "chat": check_chat,
    "responses": check_responses,
    "messages": check_messages,
    "generate": check_generate,
    "embeddings": check_embeddings,
    "embed": check_embed,
    "show": check_show,
    "transcriptions": check_transcription,
    "speech": check_speech,
    "images": check_picture,
}


def violations(request: ModelRequest) -> list[str]:
    """All errors in the body with their places; empty for a legal one."""
    report = Report()
    try:
        _CHECKS[request.endpoint](request, report)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        report.add("body", f"malformed beyond further checks ({type(error).__name__}: {error})")
    return report.found
