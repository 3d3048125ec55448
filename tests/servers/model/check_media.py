"""What is refused by OpenAI's /audio/transcriptions, /audio/speech and /images/generations."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_RECORDINGS: Final = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "ogg", "wav", "webm")
_LANGUAGE: Final = re.compile("[a-z]{2,3}")
_TRANSCRIPTION: Final = ("model", "file", "language", "prompt", "response_format", "temperature")
_SPEECH: Final = ("model", "input", "voice", "response_format", "speed", "instructions")
_SOUNDS: Final = ("mp3", "opus", "aac", "flac", "wav", "pcm")
_PICTURE: Final = ("model", "prompt", "n", "size", "quality", "response_format", "output_format", "background", "user")
_SIZES: Final = ("auto", "1024x1024", "1536x1024", "1024x1536")
_MAX_INPUT: Final = 4096
_MAX_PROMPT: Final = 32_000


def check_transcription(request: ModelRequest, report: Report) -> None:
    body = request.body
    _check_common(body, report, _TRANSCRIPTION)
    name = str(body.get("file", ""))
    if report.need(name and request.upload, "file", "missing or empty"):
        report.need(name.rpartition(".")[2].lower() in _RECORDINGS, "file", f"{name!r} has no known format")
    language = body.get("language")
    report.need(language is None or _LANGUAGE.fullmatch(language), "language", f"{language!r} is not a code")
    forms = ("json", "text") if "gpt" in request.model else ("json", "text", "srt", "verbose_json", "vtt")
    report.need(body.get("response_format", "json") in forms, "response_format", f"not one of {forms}")


def check_speech(request: ModelRequest, report: Report) -> None:
    body = request.body
    _check_common(body, report, _SPEECH)
    _check_text(body, report, "input", _MAX_INPUT)
    report.need(isinstance(body.get("voice"), str) and body["voice"], "voice", "missing")
    report.need(body.get("response_format", "mp3") in _SOUNDS, "response_format", f"not one of {_SOUNDS}")


def check_picture(request: ModelRequest, report: Report) -> None:
    body = request.body
    _check_common(body, report, _PICTURE)
    _check_text(body, report, "prompt", _MAX_PROMPT)
    rules.check_positive(report, "n", body.get("n"))
    report.need(body.get("size", "auto") in _SIZES, "size", f"not one of {_SIZES}")
    form = body.get("response_format")
    legal = form is None if request.model.startswith("gpt-image") else form in (None, "url", "b64_json")
    report.need(legal, "response_format", f"{form!r} is not for this model")


def _check_common(body: dict[str, Any], report: Report, known: tuple[str, ...]) -> None:
    report.need(isinstance(body.get("model"), str) and body["model"], "model", "missing")
    for name in body:
        report.need(name in known, name, "unknown parameter")


def _check_text(body: dict[str, Any], report: Report, name: str, most: int) -> None:
    text = body.get(name)
    if report.need(isinstance(text, str) and text.strip(), name, "missing or empty"):
        report.need(len(str(text)) <= most, name, f"{len(str(text))} characters, at most {most}")
