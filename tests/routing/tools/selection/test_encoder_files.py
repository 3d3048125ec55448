"""The shipped encoder: small, complete, readable with numpy alone, and the same in sentence-transformers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

import routing

FOLDER = Path(routing.__file__).parent / "tools" / "selection" / "encoder"
MEGABYTE = 1_000_000
ALIKE = [
    ("wake me up at seven", "set an alarm", "play a song"),
    ("wird es morgen regnen", "weather forecast", "send an email"),
    ("ajoute du lait à la liste de courses", "shopping list", "weather forecast"),
    ("apaga la luz de la cocina", "turn off the light", "book a table"),
    ("przypomnij mi o lekarzu", "set a reminder", "turn off the light"),
    ("bir şarkı çal", "play a song", "set a reminder"),
    ("забронируй столик на двоих", "book a restaurant table", "play a song"),
    ("내일 날씨 어때", "weather forecast", "turn off the light"),
    ("七時にアラームをセットして", "set an alarm", "send an email"),
    ("把客厅的灯打开", "turn on the light", "weather forecast"),
    ("أضف هذه الأغنية إلى قائمة التشغيل", "add a song to the playlist", "set an alarm"),
    ("nustatyk žadintuvą", "set an alarm", "book a restaurant table"),
    ("ертең ауа райы қандай", "weather forecast", "play a song"),
    ("podseti me da kupim hleb", "set a reminder", "turn on the light"),
]
NOTHING = ["", " ", "😶‍🌫️", "नमस्ते"]
"""Texts without a token: the last one is in a script that the encoder doesn't know."""
OTHERS = ["x", "$25.00 to euros", "W-2 and 401(k)", "don't", "a " * 600, "Łódź İstanbul", "nicht नमस्ते"]
SCRIPT = """
import json, sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
print(json.dumps(model.encode(json.load(sys.stdin), normalize_embeddings=True).tolist()))
"""


def missing(what: str) -> None:
    """Skips the test with a reason; fails if all sets are required."""
    if os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"TIERBOT_SETS=all, but {what}")
    pytest.skip(f"system set: {what}")


class MinimalEncoder:
    """Reads the files with numpy and tokenizers alone: int8 rows, and a factor for each."""

    def __init__(self) -> None:
        data = (FOLDER / "model.safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8 : 8 + size])
        self.embeddings = self.tensor(data[8 + size :], "embeddings", np.dtype(np.int8))
        self.weights = self.tensor(data[8 + size :], "weights", np.dtype("<f4"))
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))

    def tensor(self, data: bytes, name: str, kind: np.dtype[np.generic]) -> NDArray[np.generic]:
        start, end = self.header[name]["data_offsets"]
        return np.frombuffer(data[start:end], kind).reshape(self.header[name]["shape"])

    def vectors(self, texts: list[str]) -> NDArray[np.float64]:
        rows = np.zeros((len(texts), self.embeddings.shape[1]))
        for row, text in zip(rows, texts, strict=True):
            tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
            if tokens:
                row += (self.embeddings[tokens].astype(float) * self.weights[tokens].astype(float)[:, None]).mean(
                    axis=0
                )
        lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return np.asarray(rows / lengths, dtype=np.float64)


@pytest.fixture(scope="module")
def light() -> MinimalEncoder:
    return MinimalEncoder()


def test_the_files_are_small_and_describe_themselves() -> None:
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    assert size <= 13 * MEGABYTE
    modules = json.loads((FOLDER / "modules.json").read_text("utf-8"))
    assert [module["type"].rpartition(".")[2] for module in modules] == ["StaticEmbedding", "Normalize"]
    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    assert config["normalize"] is True
    assert config["embedding_dtype"] == "int8"
    assert "Apache-2.0" in (FOLDER / "README.md").read_text("utf-8")


def test_every_token_has_a_row_and_unknown_words_are_zero(light: MinimalEncoder) -> None:
    tokens = light.tokenizer.get_vocab()
    assert sorted(tokens.values()) == list(range(len(light.embeddings)))
    assert light.embeddings.dtype == np.int8
    assert light.weights.shape == (len(light.embeddings),)
    assert np.isfinite(light.weights.astype(float)).all()
    assert len(np.unique(light.weights)) > len(tokens) / 2
    assert not light.embeddings[[tokens["[PAD]"], tokens["[UNK]"]]].any()
    assert light.embeddings.any(axis=1).mean() > 0.99


def test_vectors_have_length_one_or_zero(light: MinimalEncoder) -> None:
    assert not light.vectors(NOTHING).any()
    assert np.allclose(np.linalg.norm(light.vectors([*OTHERS, *(text for text, _, _ in ALIKE)]), axis=1), 1)


@pytest.mark.parametrize(("said", "meant", "other"), ALIKE, ids=[said for said, _, _ in ALIKE])
def test_translations_are_near_each_other(light: MinimalEncoder, said: str, meant: str, other: str) -> None:
    vectors = light.vectors([said, meant, other])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_numbers_and_case_do_not_matter(light: MinimalEncoder) -> None:
    vectors = light.vectors(["set a timer for 5 minutes", "SET A TIMER FOR 45 MINUTES", "transfer 45 dollars"])
    assert vectors[0] @ vectors[1] > 0.9 > vectors[1] @ vectors[2]


@pytest.mark.system
def test_sentence_transformers_reads_the_same_vectors(light: MinimalEncoder) -> None:
    texts = [*(text for row in ALIKE for text in row), *OTHERS, *NOTHING]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    asked = [sys.executable, "-c", SCRIPT, str(FOLDER)]
    ran = subprocess.run(asked, input=json.dumps(texts), capture_output=True, text=True, env=environment, timeout=100)
    if "No module named 'sentence_transformers'" in ran.stderr:
        missing("sentence-transformers is not installed (make test-embeddings installs it)")
    assert ran.returncode == 0, ran.stderr[-2000:]
    theirs = np.array(json.loads(ran.stdout.splitlines()[-1]))
    assert np.abs(theirs - light.vectors(texts)).max() < 1e-5
