"""The simple algorithm: a keyword anywhere in the message, or else a cosine of 0.40 with one description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.selectors.minilm import MiniLm, missing
from routing.ports import Encoder
from routing.tools.selection.encoder import StaticEncoder

MIN_COSINE = 0.40


class Simple:
    """Shows an entry if one of its keywords occurs in the message (also inside a word), or if its description is
    similar."""

    def __init__(self, catalogue: Sequence[Mapping[str, Any]], encoder: Encoder) -> None:
        self._names = [entry["name"] for entry in catalogue]
        self._keywords = [[word.lower() for word in entry.get("keywords", ())] for entry in catalogue]
        self._vectors = encoder.encode([entry.get("description") or entry["name"] for entry in catalogue])
        self._encoder = encoder

    def select(self, query: str) -> list[str]:
        """Names in the catalogue's order."""
        folded = query.lower()
        alike = self._vectors @ self._encoder.encode([query])[0]
        return [
            name
            for name, keywords, cosine in zip(self._names, self._keywords, alike, strict=True)
            if cosine >= MIN_COSINE or any(word in folded for word in keywords)
        ]


def build(catalogue: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> Simple:
    """Uses MiniLM if it is installed, else our encoder. Ignores `examples`."""
    return Simple(catalogue, StaticEncoder.load() if missing() else MiniLm())


def encoder_name() -> str:
    """The name of the encoder that is used here."""
    return "our encoder" if missing() else MiniLm.name
