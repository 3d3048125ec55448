"""The shipped encoder, as the selector uses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from routing.tools.selection.encoder import FOLDER, MAX_BATCH, MIN_BATCH, StaticEncoder
from routing.tools.selection.small_talk import small_talk

TEXTS = [
    "set an alarm",
    "will it rain tomorrow",
    "mach das Licht an",
    "내일 날씨 어때",
    "a",
    "x " * 500,
    "播放音乐",
    "don’t",
]


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return StaticEncoder.load()


def test_vectors_have_length_one(encoder: StaticEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == len(TEXTS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_text_without_known_words_is_a_zero_vector(encoder: StaticEncoder) -> None:
    assert not encoder.encode(["", "   ", "\n"]).any()


def test_no_texts_give_no_rows(encoder: StaticEncoder) -> None:
    width = encoder.encode(["x"]).shape[1]
    assert encoder.encode([]).shape == (0, width)


@pytest.mark.parametrize("count", [1, 2, MIN_BATCH - 1, MIN_BATCH, MIN_BATCH + 1, MAX_BATCH, MAX_BATCH + 1])
def test_batch_and_single_results_are_equal(encoder: StaticEncoder, count: int) -> None:
    texts = [f"{TEXTS[number % len(TEXTS)]} {number}" for number in range(count)]
    together = encoder.encode(texts)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in texts]))


def test_an_empty_text_among_many_keeps_its_place(encoder: StaticEncoder) -> None:
    texts = [*TEXTS, "", *TEXTS] * 3
    vectors = encoder.encode(texts)
    assert [at for at, vector in enumerate(vectors) if not vector.any()] == [
        at for at, text in enumerate(texts) if not text
    ]


@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_any_text_has_length_one_or_zero_in_any_batch(encoder: StaticEncoder, texts: list[str]) -> None:
    few, many = encoder.encode(texts), encoder.encode(texts * MIN_BATCH)[: len(texts)]
    assert np.array_equal(few, many)
    lengths = np.linalg.norm(few, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_the_end_of_a_long_text_counts(encoder: StaticEncoder) -> None:
    rain, both, song = encoder.encode(["rain " * 2_000, "rain " * 2_000 + "song " * 2_000, "song " * 2_000])
    assert rain @ both < 0.99
    assert song @ both > song @ rain + 0.1


def test_related_texts_are_nearer_than_unrelated_ones(encoder: StaticEncoder) -> None:
    said, meant, other = encoder.encode(["wake me up at seven", "set an alarm", "play a song"])
    assert said @ meant > said @ other


def test_a_vector_is_the_weighted_sum_of_its_tokens(encoder: StaticEncoder) -> None:
    tensors, tokenizer = load_file(FOLDER / "model.safetensors"), Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    for text in TEXTS[:5]:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        whole = sum(float(tensors["weights"][token]) * tensors["embeddings"][token].astype(float) for token in tokens)
        assert encoder.encode([text])[0] == pytest.approx(whole / np.linalg.norm(whole), abs=1e-5)


def test_two_readers_of_one_file_agree(encoder: StaticEncoder, tmp_path: Path) -> None:
    (tmp_path / "encoder").symlink_to(FOLDER)  # by another name, because the tests share the shipped encoder
    assert np.array_equal(StaticEncoder.load(tmp_path / "encoder").encode(TEXTS), encoder.encode(TEXTS))
    assert encoder.name == "static"


@given(text=st.text(st.sampled_from("a B'’-. \t\n\u00a0\u0301ü्é내天नر!½"), max_size=30))
def test_word_by_word_tokenisation_equals_whole_text(encoder: StaticEncoder, text: str) -> None:
    assert np.array_equal(encoder.encode([text]), encoder.encode([text] * MIN_BATCH)[:1])


def test_mapped_weights_are_released_after_bulk(encoder: StaticEncoder) -> None:
    many = [*TEXTS, *small_talk()]
    vectors, full = encoder.encode(many), resident()
    encoder.rest()
    assert resident() < full - 4_000_000
    assert np.array_equal(encoder.encode(many), vectors)


def resident() -> int:
    """Bytes of the weights in this process's memory, counting every mapping."""
    found, ours = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = line.endswith("/model.safetensors")
        elif ours and line.startswith("Rss:"):
            found += int(line.split()[1]) * 1024
    return found
