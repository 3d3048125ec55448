"""The child process of `routing.llm.local.speech`: `speech_worker transcribe FOLDER LANGUAGE`, a recording on stdin."""

from __future__ import annotations

import io
import json
import os
import sys

UNREADABLE = 3
"""Exit code for a recording that can't be decoded."""
THREADS = 2


def main() -> int:
    """Writes the transcript and the length in seconds to stdout, as JSON."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    task, path, language = sys.argv[1:]
    assert task == "transcribe"
    audio = sys.stdin.buffer.read()
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


if __name__ == "__main__":
    sys.exit(main())
