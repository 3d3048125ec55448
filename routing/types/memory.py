"""Facts that are remembered about people."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

MAX_FACTS = 1_000
"""Maximum number of facts per person."""
MAX_FACT_CHARACTERS = 500

FactAuthor = Literal["person", "model", "confirmed"]
"""Who wrote a fact: the person; a model; or a model that had read text from others, and the person confirmed it."""

_JOINER = "\u200d"
"""Joins emoji; the only invisible character that a fact keeps."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about a person. `at` is in Unix seconds. A model wrote it in the turn `turn_id` of the conversation
    `conversation_id` (0: none). `sources` are the outside texts that the model had read by then. A `pinned` fact is in
    every prompt."""

    id: int
    text: str
    at: float
    author: FactAuthor
    conversation_id: int = 0
    turn_id: str = ""
    sources: tuple[str, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Recollection:
    """The facts in a prompt, and the number of all facts about the person."""

    used: tuple[Fact, ...] = ()
    total: int = 0


NOTHING_REMEMBERED = Recollection()


def fact_text(text: str) -> str:
    """The text on one line, without control characters and invisible ones."""
    kept = (sign if sign == _JOINER or unicodedata.category(sign)[0] != "C" else " " for sign in text)
    return " ".join("".join(kept).split())


def fact_key(text: str) -> str:
    """Equal for facts that differ only in case, spacing, character width, or the full stop at the end."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(" .!。")
