"""Transcripts of voice messages, through LiteLLM's real code."""

from __future__ import annotations

import pytest
from aiohttp import web

from routing.errors import BadModelRequest, Unreachable
from routing.llm.adapter import LiteLlm
from routing.types.llm import ProviderProfile, Recording
from tests.servers.listener import drip, listening


async def test_a_response_that_trickles_in_times_out(llm: LiteLlm) -> None:
    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        return await drip(request, web.json_response({"text": "hello " * 20}), 0.05)

    async with listening(slow) as base:
        profile = ProviderProfile("openai", "openai", f"{base}/v1", "sk-test", 0.5, "OPENAI_KEY")
        with pytest.raises(Unreachable, match=r"within 0\.5 s"):
            await llm.transcribe("openai/whisper-1", profile, Recording("voice.ogg", b"OggS"))


async def test_an_error_does_not_repeat_the_name_of_the_file(llm: LiteLlm) -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        error = {"message": "Invalid file format: Zoe.mp3. Supported formats: flac, mp3, ogg", "type": "invalid"}
        return web.json_response({"error": error}, status=400)

    async with listening(refuse) as base:
        profile = ProviderProfile("openai", "openai", f"{base}/v1", "sk-test", 5, "OPENAI_KEY")
        with pytest.raises(BadModelRequest) as failed:
            await llm.transcribe("openai/whisper-1", profile, Recording("Call with Zoe.mp3", b"OggS"))
    assert failed.value.raw == "Invalid file format: ….mp3. Supported formats: flac, mp3, ogg"
