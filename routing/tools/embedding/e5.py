"""Loads multilingual-e5-small (384 dimensions, 100 languages) in the worker process, and runs it in numpy."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from routing.tools.embedding.backend import E5_MEAN, E5_MODEL
from routing.tools.embedding.e5_weights import Weights, decoded, weights_file
from routing.tools.embedding.rows import unit
from routing.tools.embedding.word_pieces import WordPieces
from routing.types.vectors import Floats

PREFIX = "query: "
"""The prefix for comparing similar texts, such as messages and tools. The model was trained with "passage: " for
answers to a question."""
MAX_TOKENS = 128
"""How much of a text is read, about 400 letters. A message waits for its vector; 512 tokens take ten times as long."""


def load(model: str = E5_MODEL) -> Callable[[Sequence[str]], Floats]:
    """The encoding function of the only model. Raises RuntimeError with a clause for people."""
    path = weights_file()
    try:
        return E5.load(path).encode
    except (OSError, ValueError, KeyError, struct.error) as error:
        reason = f"{path.name} can't be read ({error}): delete .venv/.e5 and run `make embeddings`"
        raise RuntimeError(reason) from error


Linear = tuple[Floats, Floats]
"""A matrix (input × output) or the scale of a layer norm, and the bias."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer layer. `qkv` computes queries, keys and values side by side; the queries are already divided by
    the root of a head's width."""

    qkv: Linear
    attention_output: Linear
    attention_norm: Linear
    intermediate: Linear
    output: Linear
    output_norm: Linear

    @classmethod
    def load(cls, weights: Weights, number: int) -> Self:
        width, inner = weights.dimensions.width, weights.dimensions.inner

        def linear(name: str, given: int, made: int, factor: float = 1.0) -> Linear:
            matrix = weights.tensor(f"l{number}.{name}.w", made, given).T
            return np.ascontiguousarray(matrix) * np.float32(factor), bias(name, made) * np.float32(factor)

        def bias(name: str, size: int) -> Floats:
            return weights.tensor(f"l{number}.{name}.b", size)

        def norm(name: str) -> Linear:
            return weights.tensor(f"l{number}.{name}.w", width), bias(name, width)

        scale = (weights.dimensions.heads / width) ** 0.5
        parts = [linear("q", width, width, scale), linear("k", width, width), linear("v", width, width)]
        matrices, biases = zip(*parts, strict=True)
        return cls(
            (np.concatenate(matrices, 1), np.concatenate(biases)),
            linear("ao", width, width),
            norm("aln"),
            linear("fi", width, inner),
            linear("fo", inner, width),
            norm("oln"),
        )


class E5:
    """A BERT encoder; a text's vector is the mean of those of its tokens. The layers take 85 MB."""

    def __init__(self, weights: Weights, mean: Floats) -> None:
        """`mean` is subtracted from vectors of length 1."""
        self._size = weights.dimensions
        width = self._size.width
        self._mean = mean
        self._pieces = WordPieces(weights.pieces, weights.scores, min(MAX_TOKENS, self._size.tokens))
        self._words = weights.rows("emb.word", width)
        self._positions = weights.tensor("emb.pos", -1, width) + weights.tensor("emb.type", -1, width)[0]
        self._norm = weights.tensor("emb.ln.w", width), weights.tensor("emb.ln.b", width)
        self._layers = [Layer.load(weights, number) for number in range(self._size.layers)]

    @property
    def width(self) -> int:
        return self._size.width

    @classmethod
    def load(cls, path: Path) -> Self:
        """Raises OSError, ValueError, KeyError or struct.error."""
        return cls(Weights.load(path), np.array(json.loads(E5_MEAN.read_text("ascii")), np.float32))

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row per text; zero for a text without words. Without what all have in common, cosines spread as those of
        other models do: unrelated texts have 0 instead of 0.8, so that the same thresholds fit."""
        rows = self.vectors(texts)
        return np.where(rows.any(1, keepdims=True), rows - self._mean, 0)

    def vectors(self, texts: Sequence[str]) -> Floats:
        """The model's own vectors, of length 1; zero for a text without words."""
        normalised = [self._pieces.normalised(text) for text in texts]
        spoken = [at for at, text in enumerate(normalised) if text]
        tokens = [self._pieces.ids(PREFIX + normalised[at]) for at in spoken]
        found = np.zeros((len(texts), self._size.width), np.float32)
        done = 0
        for part in self._parts(tokens):
            found[spoken[done : done + len(part)]] = self._means(part)
            done += len(part)
        return unit(found, len(texts))

    def _parts(self, texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
        """Texts that together have as many tokens as one may have: few passes over the layers, in little memory."""
        part, size = list[Sequence[int]](), 0
        for text in texts:
            if part and size + len(text) > self._size.tokens:
                yield part
                part, size = [], 0
            part.append(text)
            size += len(text)
        if part:
            yield part

    def _means(self, texts: Sequence[Sequence[int]]) -> Floats:
        ends = np.cumsum([len(text) for text in texts]).tolist()
        spans = [slice(end - len(text), end) for end, text in zip(ends, texts, strict=True)]
        words = decoded(self._words[np.concatenate(texts)])
        states = self._normed(words + np.concatenate([self._positions[: len(text)] for text in texts]), self._norm)
        for layer in self._layers:
            context = self._attention(_linear(states, layer.qkv), spans)
            states = self._normed(states + _linear(context, layer.attention_output), layer.attention_norm)
            states = self._normed(
                states + _linear(_gelu(_linear(states, layer.intermediate)), layer.output), layer.output_norm
            )
        return np.stack([states[span].mean(0) for span in spans])

    def _attention(self, projected: Floats, spans: Sequence[slice]) -> Floats:
        """Multi-head self-attention within each text."""
        width, heads = self._size.width, self._size.heads
        context = np.empty((len(projected), width), np.float32)
        for span in spans:
            queries, keys, values = projected[span].reshape(-1, 3, heads, width // heads).transpose(1, 2, 0, 3)
            weights = queries @ keys.transpose(0, 2, 1)
            np.exp(weights - weights.max(2, keepdims=True), out=weights)
            weights /= weights.sum(2, keepdims=True)
            context[span] = (weights @ values).transpose(1, 0, 2).reshape(-1, width)
        return context

    def _normed(self, states: Floats, norm: Linear) -> Floats:
        """In place."""
        states -= states.mean(1, keepdims=True)
        states *= norm[0] / np.sqrt(np.square(states).mean(1, keepdims=True) + self._size.epsilon)
        states += norm[1]
        return states


def _linear(states: Floats, weights: Linear) -> Floats:
    made: Floats = states @ weights[0]
    made += weights[1]
    return made


def _gelu(states: Floats) -> Floats:
    """By its approximation with tanh, because numpy has no error function."""
    bent = np.square(states)
    bent *= 0.044715
    bent += 1
    bent *= states
    bent *= (2 / np.pi) ** 0.5
    np.tanh(bent, out=bent)
    bent += 1
    bent *= states
    bent *= 0.5
    return bent
