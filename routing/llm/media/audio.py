"""The length and the format of a recording."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_SECOND = 2_000
"""Bitrate of a voice note at 16 kbit/s, the lowest in use, so estimates tend to be too high."""
_PAGE = b"OggS"
_OPUS = b"OpusHead"
_OPUS_RATE = 48_000
_HEAD_BYTES = 256


def seconds_of(audio: bytes) -> int:
    """The length in whole seconds, rounded up: exact for OGG with Opus, as voice notes are; else estimated from the
    size."""
    page = audio.rfind(_PAGE)
    position = audio[page + 6 : page + 14] if page > 0 and _OPUS in audio[:_HEAD_BYTES] else b""
    samples = int.from_bytes(position, "little", signed=True) if len(position) == 8 else 0
    if samples > 0:
        return -(-samples // _OPUS_RATE)
    return 1 + len(audio) // BYTES_PER_SECOND


@dataclass(frozen=True, slots=True)
class SoundFormat:
    """The ending of a file's name, its MIME type, and whether platforms show it as a voice message."""

    ending: str
    mime: str
    is_voice: bool


def sound_format(audio: bytes) -> SoundFormat | None:
    """The format of a recording by its first bytes; None if it is none that people can play."""
    if audio.startswith(_PAGE):
        return SoundFormat("ogg", "audio/ogg", True)
    if audio.startswith(b"ID3") or (audio[:1] == b"\xff" and audio[1:2] >= b"\xe0"):
        return SoundFormat("mp3", "audio/mpeg", True)
    if audio.startswith(b"RIFF") and audio[8:12] == b"WAVE":
        return SoundFormat("wav", "audio/wav", False)
    return None
