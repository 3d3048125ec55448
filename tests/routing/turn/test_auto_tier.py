"""Which tiers /tier auto may choose, and its inputs besides the message."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.errors import EmbedderFailed
from routing.policy.auto.vector_classifier import VectorClassifier
from routing.policy.models import Models
from routing.tools.embedding.message_vectors import MessageVectors
from routing.turn.auto_tier import AutoTier, allowed
from routing.types.learning import NOTHING_LEARNED, Learned
from routing.types.messages import Attachment
from routing.types.people import Override, Person, Preferences, Role
from routing.types.tiers import TIERS, Tier
from routing.types.turns import Question
from tests.routing.tools.fakes import FakeEmbedder, Outcome

FENCE = "Here:\n```python\nprint(1)\n```"
PHOTO = Attachment("image", "a.png", "image/png", 5, "telegram:abc")


@pytest.mark.parametrize(
    ("document", "keys", "tiers"),
    [
        ("{}", {"openai": "k"}, ("balanced", "smart", "coding", "deep")),
        ("{}", {}, ("balanced",)),
        ("{}", {"gemini": "k"}, ("balanced", "smart", "coding")),
        ('{"tiers": {"smart": {"mayBeEscalatedTo": false}}}', {"openai": "k"}, ("balanced", "coding", "deep")),
        ('{"tiers": {"balanced": {"mayEscalate": false}}}', {"openai": "k"}, ("balanced",)),
    ],
)
def test_only_allowed_and_available_tiers_are_chosen(
    document: str, keys: dict[str, str], tiers: tuple[Tier, ...]
) -> None:
    config = read_config(jsonfile.parse(document, "x.json"), keys, {}, ())
    assert allowed(Models(config, Catalog.load(BUNDLED)), Preferences()) == tiers


def test_a_persons_model_makes_a_tier_available() -> None:
    models = Models(read_config(jsonfile.parse("{}", "x.json"), {"mistral": "k"}, {}, ()), Catalog.load(BUNDLED))
    own = Preferences(overrides={"deep": Override("mistral/mistral-large")})
    assert allowed(models, own) == ("balanced", "deep")


@dataclass(slots=True)
class Talk:
    """The tiers of the turns so far, by their first message, and the latest answer."""

    tiers_by_id: tuple[tuple[int, Tier], ...] = ()
    answer: str = ""
    messages: MessageVectors | None = None

    async def tiers(self, conversation_id: int, limit: int, before: int | None = None) -> tuple[Tier, ...]:
        return tuple(tier for at, tier in self.tiers_by_id if before is None or at < before)[-limit:]

    def last_answer(self) -> str:
        return self.answer

    async def chooses(
        self, text: str, learned: Learned = NOTHING_LEARNED, role: Role = "owner", **more: Any
    ) -> tuple[Tier, tuple[str, ...]]:
        models = Models(read_config(jsonfile.parse("{}", "x.json"), {"openai": "k"}, {}, ()), Catalog.load(BUNDLED))
        question = Question(Person(1, role, "Ann"), 1, text, **more)
        talk: Any = self  # only what the choice reads of a history and a context
        found = await AutoTier(talk, self.messages).choose(models, question, Preferences(), talk, learned)
        return found.tier, found.signals


async def test_code_in_the_last_answer_counts_for_any_tier() -> None:
    assert (await Talk(((1, "balanced"),), FENCE).chooses("fix it"))[0] == "coding"
    assert (await Talk(((1, "balanced"),), "It is broken.").chooses("fix it"))[0] == "balanced"
    assert (await Talk(((1, "coding"),), "It is broken.").chooses("fix it"))[0] == "coding"


async def test_pictures_are_a_feature() -> None:
    assert await Talk().chooses("", pictures=(PHOTO,)) == ("balanced", ("a picture",))
    assert await Talk().chooses("") == ("balanced", ("nothing special",))


async def test_a_retry_ignores_the_turn_it_replaces() -> None:
    talk = Talk(((1, "balanced"), (3, "deep")))
    assert (await talk.chooses("hm?"))[0] == "deep"
    assert (await talk.chooses("hm?", replaces=3))[0] == "balanced"


CHOSEN: Learned = Learned(3, chosen={"coding": 3})
DISLIKED: Learned = Learned(3, disliked={"balanced": 3})


@pytest.mark.parametrize(
    ("text", "learned", "role", "found"),
    [
        ("water my plants", CHOSEN, "owner", ("coding", ("you chose it for similar messages",))),
        ("water my plants", Learned(3, chosen={"coding": 2}), "owner", ("balanced", ("nothing special",))),
        ("water my plants", DISLIKED, "owner", ("smart", ("you disliked answers to similar messages",))),
        ("think hard about my plants", CHOSEN, "owner", ("smart", ("asks to think hard",))),
        ("water my plants", Learned(3, chosen={"deep": 3}), "guest", ("balanced", ("nothing special",))),
    ],
)
async def test_what_was_learned_decides_unless_it_is_not_allowed_or_the_message_asks_to_think_hard(
    text: str, learned: Learned, role: Role, found: tuple[Tier, tuple[str, ...]]
) -> None:
    assert await Talk().chooses(text, learned, role) == found


OPEN = "My neighbour keeps bees and I wonder about the honey"
"""A message whose tier words leave open."""
CLEAR = "good morning"


def encoder(tier: Tier, *fates: Outcome) -> FakeEmbedder:
    """Makes vectors that mean one tier, under the name of the encoder that the classifier knows."""
    classifier = VectorClassifier.load()
    meant = np.array(classifier.weights[TIERS.index(tier)], np.float32)
    row = meant / np.linalg.norm(meant)
    return FakeEmbedder(*(fates or [lambda rows: np.array([row] * len(rows))]), name=classifier.encoder)


@pytest.mark.parametrize("tier", ["smart", "deep", "coding"])
async def test_a_vector_decides_where_words_leave_it_open(tier: Tier) -> None:
    assert (await Talk().chooses(OPEN))[0] == "balanced"
    embedder = encoder(tier)
    assert (await Talk(messages=MessageVectors(embedder, 1)).chooses(OPEN))[0] == tier
    assert embedder.asked == [(OPEN,)]


async def test_a_message_that_words_decide_needs_no_vector() -> None:
    embedder = encoder("deep")
    assert (await Talk(messages=MessageVectors(embedder, 1)).chooses(CLEAR))[0] == "balanced"
    assert embedder.asked == []


async def test_small_talk_needs_no_vector() -> None:
    embedder = encoder("coding")
    talk = Talk(((1, "coding"),), messages=MessageVectors(embedder, 1))
    assert (await talk.chooses("lol ok it works now, good night"))[0] == "balanced"
    assert embedder.asked == []


async def test_a_follow_up_keeps_its_tier_whatever_the_vector_says() -> None:
    talk = Talk(((1, "coding"),), messages=MessageVectors(encoder("balanced"), 1))
    assert await talk.chooses("jetzt ist die Liste leer") == ("coding", ("continues the code",))


async def test_vectors_of_another_encoder_are_not_used() -> None:
    other = FakeEmbedder(name="another")
    assert (await Talk(messages=MessageVectors(other, 1)).chooses(OPEN))[0] == "balanced"
    assert other.asked == []


@pytest.mark.parametrize("text", ["Prove that P != NP", FENCE])
async def test_certain_features_need_no_vector(text: str) -> None:
    embedder = encoder("balanced")
    assert (await Talk(messages=MessageVectors(embedder, 1)).chooses(text))[0] != "balanced"
    assert embedder.asked == []


async def test_another_release_of_the_encoder_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    other = FakeEmbedder(name="e5:other")
    assert (await Talk(messages=MessageVectors(other, 1)).chooses(OPEN))[0] == "balanced"
    assert "[AutoTier] By words alone: the classifier was trained with" in caplog.text
    assert other.asked == []


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        (EmbedderFailed("e5 is still loading"), "e5 is still loading"),
        (ValueError("broken"), "the message could not be embedded (ValueError, see the log)"),
        (asyncio.Event(), "the embeddings took too long"),
    ],
)
async def test_without_its_vector_words_decide_and_the_log_says_why(
    fate: Outcome, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "routing")
    late = MessageVectors(encoder("deep", fate), 0.01)
    assert (await Talk(messages=late).chooses(OPEN))[0] == "balanced"
    assert f"[AutoTier] By words alone: {reason}" in caplog.text
