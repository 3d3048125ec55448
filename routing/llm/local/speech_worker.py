"""The child process of `routing.llm.local.speech`: `transcribe FOLDER LANGUAGE` or `speak VOICE`, with a recording or a
text on stdin."""

from __future__ import annotations

import io
import json
import os
import sys
import wave

UNREADABLE = 3
"""Exit code for a recording that can't be decoded."""
THREADS = 2
RATE = 48_000
BITS_PER_SECOND = 24_000
"""For Opus; speech at this rate sounds clear."""


def main() -> int:
    """Writes the transcript and the length in seconds as JSON, or a recording, to stdout."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    task, path, *more = sys.argv[1:]
    given = sys.stdin.buffer.read()
    if task == "speak":
        sys.stdout.buffer.write(opus(speak(path, given.decode())))
        return 0
    return transcribe(path, more[0], given)


def transcribe(path: str, language: str, audio: bytes) -> int:
    from av.error import FFmpegError
    from faster_whisper import WhisperModel

    model = WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=THREADS, local_files_only=True)
    hint = language if model.model.is_multilingual and language in model.supported_languages else None
    try:
        segments, info = model.transcribe(io.BytesIO(audio), language=hint, beam_size=1)
    except (FFmpegError, IndexError, ValueError) as error:  # not audio; no audio stream; no samples
        print(type(error).__name__, file=sys.stderr)
        return UNREADABLE
    print(json.dumps({"text": "".join(each.text for each in segments).strip(), "seconds": info.duration}))
    return 0


def speak(path: str, text: str) -> bytes:
    """A WAV file."""
    from piper import PiperVoice

    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        PiperVoice.load(path).synthesize_wav(text, file)
    return sound.getvalue()


def opus(sound: bytes) -> bytes:
    """The recording as Opus in Ogg, which platforms show as a voice message."""
    import av

    encoded = io.BytesIO()
    with av.open(io.BytesIO(sound)) as source, av.open(encoded, "w", format="ogg") as target:
        stream = target.add_stream("libopus", rate=RATE, layout="mono", bit_rate=BITS_PER_SECOND)
        resampler = av.AudioResampler("s16", "mono", RATE)
        for frame in (*source.decode(audio=0), None):
            for each in resampler.resample(frame):
                target.mux(stream.encode(each))
        target.mux(stream.encode(None))
    return encoded.getvalue()


if __name__ == "__main__":
    sys.exit(main())
