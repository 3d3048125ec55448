"""What is refused by OpenAI's /embeddings, and Ollama's /api/embed and /api/show."""

from __future__ import annotations

from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_MAX_TEXTS: Final = 2048
_OPENAI: Final = ("model", "input", "encoding_format", "dimensions", "user")
_OLLAMA: Final = ("model", "input", "truncate", "options", "keep_alive", "dimensions")


def check_embeddings(request: ModelRequest, report: Report) -> None:
    body = request.body
    _check_common(body, report, _OPENAI)
    form = body.get("encoding_format")
    report.need(form in (None, "float", "base64"), "encoding_format", f"{form!r} is neither float nor base64")
    given = body.get("input")
    texts = given if isinstance(given, list) else [given]
    if report.need(texts, "input", "empty"):
        report.need(len(texts) <= _MAX_TEXTS, "input", f"{len(texts)} texts, at most {_MAX_TEXTS}")
        report.need(all(texts), "input", "an empty text")


def check_embed(request: ModelRequest, report: Report) -> None:
    _check_common(request.body, report, _OLLAMA)


def check_show(request: ModelRequest, report: Report) -> None:
    report.need(isinstance(request.body.get("model"), str) and request.body["model"], "model", "missing")
    for name in request.body:
        report.need(name in ("model", "verbose"), name, "unknown parameter")


def _check_common(body: dict[str, Any], report: Report, known: tuple[str, ...]) -> None:
    report.need(isinstance(body.get("model"), str) and body["model"], "model", "missing")
    rules.check_positive(report, "dimensions", body.get("dimensions"))
    for name in body:
        report.need(name in known, name, "unknown parameter")
    given = body.get("input")
    legal = isinstance(given, str) or (isinstance(given, list) and all(isinstance(text, str) for text in given))
    report.need(legal, "input", "neither a text nor a list of texts")
