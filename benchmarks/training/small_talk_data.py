"""Small talk in the training data: greetings, thanks, yes and no."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator
from pathlib import Path

LABELS = frozenset(
    (
        *(
            "general_quirky",
            "general_negate",
            "general_explain",
            "general_dontcare",
            "general_praise",
            "general_affirm",
        ),
        *(
            "general_confirm",
            "general_repeat",
            "general_commandstop",
            "general_joke",
            "greeting",
            "goodbye",
            "thank_you",
        ),
        *("yes", "no", "maybe", "cancel", "repeat", "tell_joke", "fun_fact", "meaning_of_life", "where_are_you_from"),
        *("do_you_have_pets", "who_do_you_work_for", "what_is_your_name", "how_old_are_you", "who_made_you"),
        *("what_are_your_hobbies", "are_you_a_bot", "user_name"),
    )
)
"""Intents of CLINC150 and HWU64."""
UNSURE = frozenset({"none", "what_can_i_ask_you"})
"""CLINC150's out-of-scope questions, and those about what the assistant can do, for which the bot has a tool: neither
small talk nor requests in its catalogue."""


def small_talk_messages(path: Path, most: int, rng: random.Random, without: Collection[str] = ()) -> Iterator[str]:
    """At most `most` small-talk messages of the training rows, in random order."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    messages = sorted({row["query"] for row in rows if row["label"] in LABELS} - set(without))
    yield from rng.sample(messages, min(most, len(messages)))
