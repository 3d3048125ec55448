"""Transcripts, sounds and pictures of the loopback provider, and the requests that it refuses."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer
from tests.servers.model.wire_media import HEARD, PICTURE, SOUND

KEY = {"authorization": "Bearer sk-test"}
RECORDING = {"file": ("voice.ogg", b"OggS sounds")}
SPEECH = {"model": "tts-1", "input": "hi", "voice": "alloy"}
DRAWING = {"model": "gpt-image-2", "prompt": "a cat"}


async def post(ms: ModelServer, path: str, **given: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=ms.openai_base, headers=KEY) as web:
        return await web.post(path, **given)


async def test_legal_requests_are_answered(ms: ModelServer) -> None:
    heard = await post(ms, "/audio/transcriptions", data={"model": "whisper-1", "language": "de"}, files=RECORDING)
    assert heard.json() == {"text": HEARD}
    assert ms.media[0].upload == b"OggS sounds"
    assert (await post(ms, "/audio/speech", json=SPEECH)).content == SOUND
    ms.draw(url="https://example.org/a.png")
    assert (await post(ms, "/images/generations", json=DRAWING)).json()["data"] == [
        {"url": "https://example.org/a.png"}
    ]
    assert PICTURE.startswith(b"\x89PNG")
    assert ms.calls == []


@pytest.mark.parametrize(
    ("path", "given", "problem"),
    [
        (
            "/audio/transcriptions",
            {"data": {"model": "whisper-1"}, "files": {"file": ("a.txt", b"x")}},
            "file: 'a.txt'",
        ),
        ("/audio/transcriptions", {"data": {"model": "whisper-1"}, "files": {"file": ("a.ogg", b"")}}, "file: missing"),
        ("/audio/transcriptions", {"data": {"model": "", "language": "German"}, "files": RECORDING}, "language: 'Ger"),
        ("/audio/transcriptions", {"json": {"model": "whisper-1"}}, "file: missing"),
        ("/audio/speech", {"json": SPEECH | {"input": "x" * 4097}}, "input: 4097 characters"),
        ("/audio/speech", {"json": SPEECH | {"voice": ""}}, "voice: missing"),
        ("/audio/speech", {"json": SPEECH | {"response_format": "ogg"}}, "response_format: not one of"),
        ("/images/generations", {"json": DRAWING | {"prompt": " "}}, "prompt: missing"),
        ("/images/generations", {"json": DRAWING | {"size": "1x1"}}, "size: not one of"),
        ("/images/generations", {"json": DRAWING | {"response_format": "url"}}, "is not for this model"),
        ("/images/generations", {"json": DRAWING | {"timeout": 3}}, "timeout: unknown parameter"),
    ],
)
async def test_illegal_requests_are_refused(ms: ModelServer, path: str, given: dict[str, Any], problem: str) -> None:
    answer = await post(ms, path, **given)
    assert answer.status_code == 400
    assert problem in "; ".join(answer.json()["violations"])
