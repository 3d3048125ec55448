"""The length of a recording."""

from __future__ import annotations

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
