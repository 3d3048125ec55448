"""The encoder that is shipped, as the selector uses it."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models, pre_tokenizers

from routing.tools.selection.encoder import FEW, FOLDER, TOGETHER, StaticEncoder
from routing.tools.selection.small_talk import small_talk
from routing.tools.selection.weights import Weights

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


def test_what_holds_no_known_word_is_nothing(encoder: StaticEncoder) -> None:
    assert not encoder.encode(["", "   ", "\n"]).any()


def test_no_texts_are_no_rows(encoder: StaticEncoder) -> None:
    width = encoder.encode(["x"]).shape[1]
    assert encoder.encode([]).shape == (0, width)


@pytest.mark.parametrize("count", [1, 2, FEW - 1, FEW, FEW + 1, TOGETHER, TOGETHER + 1])
def test_one_by_one_and_together_are_the_same(encoder: StaticEncoder, count: int) -> None:
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
def test_any_text_has_length_one_or_none_alone_as_among_many(encoder: StaticEncoder, texts: list[str]) -> None:
    few, many = encoder.encode(texts), encoder.encode(texts * FEW)[: len(texts)]
    assert np.array_equal(few, many)
    lengths = np.linalg.norm(few, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_the_end_of_a_long_text_counts(encoder: StaticEncoder) -> None:
    rain, both, song = encoder.encode(["rain " * 2_000, "rain " * 2_000 + "song " * 2_000, "song " * 2_000])
    assert rain @ both < 0.99
    assert song @ both > song @ rain + 0.1


def test_what_is_meant_is_nearer_than_what_is_not(encoder: StaticEncoder) -> None:
    said, meant, other = encoder.encode(["wake me up at seven", "set an alarm", "play a song"])
    assert said @ meant > said @ other


def test_a_vector_is_the_weighted_sum_of_its_tokens(encoder: StaticEncoder) -> None:
    tensors, tokenizer = load_file(FOLDER / "model.safetensors"), Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    for text in TEXTS[:5]:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        whole = sum(float(tensors["weights"][token]) * tensors["embeddings"][token].astype(float) for token in tokens)
        assert encoder.encode([text])[0] == pytest.approx(whole / np.linalg.norm(whole), abs=1e-5)


def test_two_readers_of_one_file_agree(encoder: StaticEncoder) -> None:
    assert np.array_equal(StaticEncoder.load().encode(TEXTS), encoder.encode(TEXTS))
    assert encoder.name == "static"


@given(text=st.text(st.sampled_from("a B'’-. \t\n\u00a0\u0301ü्é내天नر!½"), max_size=30))
def test_a_text_is_read_by_words_as_a_whole(encoder: StaticEncoder, text: str) -> None:
    assert np.array_equal(encoder.encode([text]), encoder.encode([text] * FEW)[:1])


def test_what_many_texts_read_of_the_weights_is_given_back(encoder: StaticEncoder) -> None:
    many = [*TEXTS, *small_talk()]
    vectors, full = encoder.encode(many), resident()
    encoder.rest()
    assert resident() < full - 4_000_000
    assert np.array_equal(encoder.encode(many), vectors)


def resident() -> int:
    """Bytes of the weights, however often they are mapped, that are in this process's memory."""
    found, ours = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = line.endswith("/model.safetensors")
        elif ours and line.startswith("Rss:"):
            found += int(line.split()[1]) * 1024
    return found


class Asked:
    """A tokenizer that keeps what it was asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.texts: list[str] = []
        self.pre_tokenizer = tokenizer.pre_tokenizer
        self._tokenizer = tokenizer

    def encode(self, text: str, add_special_tokens: bool) -> object:
        self.texts.append(text)
        return self._tokenizer.encode(text, add_special_tokens=add_special_tokens)


def of(tokenizer: Tokenizer) -> tuple[StaticEncoder, Asked]:
    asked = Asked(tokenizer)
    rows = np.arange(8, dtype=np.int8).reshape(4, 2)
    weights = Weights(rows, np.ones(4, np.float32), mmap.mmap(-1, 1))
    return StaticEncoder(asked, weights, "small"), asked  # type: ignore[arg-type]


def test_a_word_that_was_read_is_not_read_again() -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "set": 1, "an": 2, "alarm": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer()])
    small, asked = of(tokenizer)
    small.encode(["set an alarm", "an alarm", "set an"])
    assert asked.texts == ["set", "an", "alarm"]


@pytest.mark.parametrize("splitting", [None, pre_tokenizers.Metaspace(), pre_tokenizers.ByteLevel()])
def test_a_tokenizer_that_looks_across_blanks_gets_the_whole_text(
    splitting: pre_tokenizers.PreTokenizer | None,
) -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "b": 2, "a b": 3}, unk_token="[UNK]"))
    if splitting is not None:
        tokenizer.pre_tokenizer = splitting
    small, asked = of(tokenizer)
    small.encode(["a b", "a b"])
    assert asked.texts == ["a b", "a b"]
