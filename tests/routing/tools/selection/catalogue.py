"""A small catalogue, hand-made weights, and an encoder that records its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from routing.tools.selection.entries import NO_TOOL
from routing.tools.selection.features import DENSE, LEXICAL, QUESTION
from routing.tools.selection.fusion import Fusion, Policy, Weights
from routing.tools.selection.words import written
from routing.types.vectors import Floats

CATALOGUE: list[dict[str, Any]] = [
    {
        "name": "weather",
        "description": "Forecasts.",
        "keywords": ["forecast", "umbrella"],
        "category": "info",
        "tools": [
            {"name": "get_weather", "description": "Tell the weather at a place.", "parameters": {}},
            {"name": "weather_alerts", "description": "List warnings of storms.", "parameters": {}},
        ],
    },
    {
        "name": "alarm",
        "description": "Ring at a time.",
        "keywords": ["alarm", "wake me"],
        "tools": [{"name": "set_alarm", "description": "Create an alarm.", "parameters": {}}],
    },
    {"name": "playMusic", "description": "Play a song.", "keywords": ["song"], "parameters": {"artist": {}}},
]
EXAMPLES = {
    "weather": ["will it rain tomorrow"],
    "alarm/set_alarm": ["get me out of bed at six"],
    "playMusic": ["put on some jazz"],
    NO_TOOL: ["how are you", "thank you very much"],
}
TOPICS = (
    frozenset({"weather", "forecast", "forecasts", "rain", "storms", "sunny", "drizzle"}),
    frozenset({"alarm", "ring", "bed", "wake", "rise"}),
    frozenset({"song", "jazz", "play", "music", "tune"}),
    frozenset({"how", "thank", "hello"}),
)

OPEN = Policy(gate=0.0, least=-3.0, falling=0.0, most=10.0, growing=1.0, certain=5.0)
"""Shows everything likelier than none, and at least a twentieth as likely as all together."""


def weights(
    features: Sequence[str], entry: Mapping[str, float], none: Mapping[str, float], constant: float = 0.0
) -> Weights:
    """By the names of the features; 0 by default."""
    return Weights(
        entry=np.array([entry.get(name, 0.0) for name in features], np.float32),
        none=np.array([none.get(name, 0.0) for name in QUESTION], np.float32),
        constant=constant,
    )


FUSION = Fusion(
    words=weights(LEXICAL, {"own keyword": 20.0}, {"words of negatives": 4.0}, 3.0),
    full=weights((*LEXICAL, *DENSE), {"own keyword": 10.0, "best": 8.0}, {"negatives": 8.0}, 4.0),
)
"""A keyword of a single toolkit is certain; a similarity above one half is enough."""


class TopicEncoder:
    """An encoder that knows groups of related words and records its texts."""

    name = "matters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        rows = [[sum(word in matter for word in written(text)) for matter in TOPICS] for text in texts]
        found = np.array(rows, np.float32).reshape(len(texts), len(TOPICS))
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9), np.float32)
