"""The preferred models, and the length of recordings."""

from __future__ import annotations

from typing import get_args

import pytest

from routing.llm.adapter import LiteLlm
from routing.llm.media import calls as media_calls
from routing.llm.media.audio import seconds_of, sound_format
from routing.llm.media.models import PREFERRED
from routing.ports import MediaKind
from tests.stories.test_voice import opus


@pytest.mark.parametrize("kind", get_args(MediaKind))
async def test_litellm_knows_the_preferred_models(llm: LiteLlm, kind: MediaKind) -> None:
    names = PREFERRED[kind]
    library = await llm.load()
    always = {name: {**entry, "deprecation_date": None} for name, entry in library.model_cost.items()}
    assert media_calls.offered(always, kind, names) == names
    assert await llm.offered(kind, ("openai/gpt-5.1", "openai/gone")) == ()


def test_a_retired_model_is_not_offered() -> None:
    known = {
        "whisper-1": {"mode": "audio_transcription", "deprecation_date": "2020-01-01"},
        "groq/new": {"mode": "audio_transcription", "deprecation_date": "9020-01-01"},
    }
    assert media_calls.offered(known, "audio_transcription", ("openai/whisper-1", "groq/new")) == ("groq/new",)


@pytest.mark.parametrize(
    ("audio", "seconds"),
    [(opus(1), 1), (opus(90), 90), (b"", 1), (b"OggS", 1), (b"x" * 20_000, 11), (opus(5)[:-10] + b"OggS", 1)],
)
def test_the_length_of_a_recording(audio: bytes, seconds: int) -> None:
    assert seconds_of(audio) == seconds


@pytest.mark.parametrize(
    ("audio", "ending"),
    [
        (opus(1), "ogg"),
        (b"ID3\x04 sound", "mp3"),
        (b"\xff\xfb sound", "mp3"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "wav"),
        (b"", ""),
        (b"\xff\xd8\xff\xe0 a picture", ""),
        (b'{"error": "no"}', ""),
    ],
)
def test_the_format_of_a_recording(audio: bytes, ending: str) -> None:
    found = sound_format(audio)
    assert (found.ending if found else "") == ending
