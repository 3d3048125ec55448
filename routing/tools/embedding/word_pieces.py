"""Splits a text into the word pieces of a SentencePiece unigram model, as XLM-R does."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

WORD = "▁"
"""Stands for the space before a word."""
MAX_PIECE = 16
"""Maximum length of a piece in characters, as in every SentencePiece model that doesn't say otherwise."""
_UNKNOWN_PENALTY = 10.0
"""A character without a piece costs this much more than the least likely piece, as in SentencePiece."""
_SPECIAL = 4
"""The first pieces are special tokens: begin, padding, end, unknown."""
BEGIN, END, UNKNOWN = 0, 2, 3
_SPACES = (*range(0x200B, 0x2010), 0x2581, 0xFEFF, 0xFFFD)
_DROPPED = (*range(0x09), *range(0x0E, 0x1C), 0x7F, 0x8F, 0x9F)
_NORMALISED = dict.fromkeys(_SPACES, " ") | dict.fromkeys(_DROPPED)


class WordPieces:
    """The pieces with the highest sum of scores. Takes time in proportion to the text, which is cut."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], most: int) -> None:
        """`scores` are log-probabilities; `most` is the maximum number of tokens of a text."""
        known = enumerate(zip(pieces[_SPECIAL:], scores[_SPECIAL:], strict=True), _SPECIAL)
        self._known = {piece: (score, number) for number, (piece, score) in known}
        self._unknown = min(scores) - _UNKNOWN_PENALTY
        self._most = most

    def ids(self, text: str) -> list[int]:
        """The tokens of a normalised text, with those for its begin and end."""
        return [BEGIN, *self._best(WORD + text.replace(" ", WORD))[: self._most - 2], END]

    def normalised(self, text: str) -> str:
        """Compatibility characters replaced, spaces joined, control characters removed; cut to what `most` tokens can
        hold."""
        room = self._most * MAX_PIECE
        folded = unicodedata.normalize("NFKC", text[:room])[:room]
        return " ".join(folded.translate(_NORMALISED).split())

    def _best(self, text: str) -> list[int]:
        """By dynamic programming: the best way to each place is the best way to an earlier one, and a piece."""
        scores, steps = [0.0], [(0, 0)]
        known, unknown = self._known, (self._unknown, UNKNOWN)
        for end in range(1, len(text) + 1):
            best, step = -float("inf"), (0, 0)
            for start in range(max(0, end - MAX_PIECE), end):
                found = known.get(text[start:end]) or (unknown if start == end - 1 else None)
                if found is not None and (score := scores[start] + found[0]) > best:
                    best, step = score, (start, found[1])
            scores.append(best)
            steps.append(step)
        ids, place = list[int](), len(text)
        while place:
            place, number = steps[place]
            if number != UNKNOWN or ids[-1:] != [UNKNOWN]:  # neighbours without a piece are one token
                ids.append(number)
        return ids[::-1]
