"""Transcribes and speaks on this machine: faster-whisper and Piper, in a child process for each call."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.util import find_spec
from pathlib import Path

from routing.errors import BadModelRequest, ModelUnknown, Reason, Unreachable, system_reason
from routing.llm.local.speech_worker import UNREADABLE
from routing.llm.local.weights import PREFIX
from routing.ports import MediaKind
from routing.process import ChildProcess
from routing.types.llm import Recording, Transcript

INSTALL = "pip install 'faster-whisper>=1.2'"
INSTALL_VOICES = "pip install 'piper-tts>=1.3' av"
SECONDS = 600.0
"""Time limit for one call, loading included. A Raspberry Pi 4 takes about as long as the recording with the model
`base`."""
_MODEL_FILES = ("model.bin", "config.json", "tokenizer.json")
_VOICE, _VOICE_SETTINGS = ".onnx", ".onnx.json"
_MOST_BYTES = 32 * 2**20
_GRACE_SECONDS = 1.0


class LocalSpeech:
    """`routing.ports.LocalMedia`. In the models folder, transcription models are folders in CTranslate2's format, and
    voices are pairs of files."""

    def __init__(self, models_folder: Path, seconds: float = SECONDS) -> None:
        self._folder = models_folder
        self._seconds = seconds

    def available(self, kind: MediaKind) -> tuple[str, ...]:
        """The usable models, sorted by name; none without the packages. Blocks on disk access."""
        if kind == "audio_speech":
            voices = sorted(self._folder.glob(f"*{_VOICE}")) if _can_speak() else []
            return tuple(PREFIX + each.stem for each in voices if self._settings_of(each.stem).is_file())
        if kind != "audio_transcription" or find_spec("faster_whisper") is None or not self._folder.is_dir():
            return ()
        return tuple(PREFIX + each.name for each in sorted(self._folder.iterdir()) if _is_model(each))

    async def transcribe(self, model: str, recording: Recording) -> Transcript:
        """Transcribe a recording in any format that FFmpeg reads. Raises ModelError."""
        folder = self._folder / model.removeprefix(PREFIX)
        if ".." in folder.parts or not _is_model(folder):
            words = "no folder {folder} with a faster-whisper model ({files})"
            raise ModelUnknown(model, Reason(words, folder=folder, files=", ".join(_MODEL_FILES)))
        if find_spec("faster_whisper") is None:
            raise ModelUnknown(model, Reason("its engine is not installed: {command}", command=INSTALL))
        written = await self._run(model, ("transcribe", str(folder.absolute()), recording.language), recording.data)
        try:
            found = json.loads(written)
            return Transcript(str(found["text"]), float(found["seconds"]))
        except (ValueError, TypeError, KeyError):
            raise Unreachable(model, Reason("its answer can't be read")) from None

    async def speak(self, model: str, text: str) -> bytes:
        """Speak a text with a voice. Raises ModelError."""
        name = model.removeprefix(PREFIX)
        voice = self._folder / f"{name}{_VOICE}"
        if "/" in name or not (voice.is_file() and self._settings_of(name).is_file()):
            words = "no files {voice} and {settings} of a Piper voice"
            raise ModelUnknown(model, Reason(words, voice=voice, settings=self._settings_of(name).name))
        if not _can_speak():
            raise ModelUnknown(model, Reason("its engine is not installed: {command}", command=INSTALL_VOICES))
        return await self._run(model, ("speak", str(voice.absolute())), text.encode())

    def _settings_of(self, name: str) -> Path:
        return self._folder / f"{name}{_VOICE_SETTINGS}"

    async def _run(self, model: str, arguments: tuple[str, ...], given: bytes) -> bytes:
        """What a child process wrote. Its memory (about 400 MB) is free again afterwards."""
        command = (sys.executable, "-m", "routing.llm.local.speech_worker", *arguments)
        try:
            process = await ChildProcess.start(command, grace_seconds=_GRACE_SECONDS)
        except OSError as error:
            words = Reason("its process can't be started ({error})", error=system_reason(error))
            raise Unreachable(model, words) from error
        try:
            async with asyncio.timeout(self._seconds):
                await process.write(given)
                process.stdin.close()
                written = b""
                while (chunk := await process.stdout.read(65_536)) and len(written) <= _MOST_BYTES:
                    written += chunk
                await process.wait()
        except TimeoutError:
            raise Unreachable(model, Reason("no answer within {seconds:g} s", seconds=self._seconds)) from None
        except ConnectionError:
            await process.wait()
        finally:
            await process.kill()
        if process.exit_code == 0:
            return written
        last = process.log.strip().rpartition("\n")[2][:160]
        if process.exit_code == UNREADABLE:
            raise BadModelRequest(model, Reason("it can't use this request"), raw=last)
        raise Unreachable(model, Reason("its process {ended}: {output}", ended=process.ending, output=last))


def _can_speak() -> bool:
    return find_spec("piper") is not None and find_spec("av") is not None


def _is_model(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _MODEL_FILES)
