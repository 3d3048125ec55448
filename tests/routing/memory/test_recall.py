"""Which facts a message is about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.memory import recall
from routing.memory.recall import MAX_IN_PROMPT, MAX_PROMPT_CHARACTERS, Memory
from routing.tools.embedding.static import StaticEmbedder
from routing.types.memory import Fact
from routing.types.vectors import Floats
from tests.fakes import FakeFacts

FACTS = (
    "The user is vegetarian",
    "The user lives in Berlin",
    "The user's dog is called Rex",
    "Allergic to peanuts",
    "Prefers metric units",
    "Has a daughter, Mia, born on 3 May 2015",
    "Spielt Klavier",
    "Живёт в Москве",
    "犬を飼っている",
)


@pytest.fixture
async def encoder() -> AsyncIterator[StaticEmbedder]:
    """Ready, as after the first message."""
    embedder = StaticEmbedder()
    await embedder.embed(["ready"])
    yield embedder
    await embedder.close()


@pytest.fixture
async def facts() -> FakeFacts:
    store = FakeFacts()
    for each in FACTS:
        await store.add(1, Fact(0, each, 0.0, "model"))
    return store


async def used(memory: Memory, message: str, *earlier: str) -> list[str]:
    return [each.text for each in (await memory.for_prompt(1, message, earlier)).used]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("What are my dogs called?", [FACTS[2]]),
        ("gift idea for Mia", [FACTS[5]]),
        ("KLAVIER?", [FACTS[6]]),
        ("Погода в Москве", [FACTS[7]]),
        ("犬の名前", [FACTS[8]]),
        ("hello", []),
        ("what is the user to do about it?", []),
        ("what's the capital of France?", []),
        ("", []),
        ("!?", []),
    ],
)
async def test_facts_are_found_by_whole_words(facts: FakeFacts, message: str, expected: list[str]) -> None:
    assert await used(Memory(facts, None), message) == expected


async def test_facts_are_found_by_meaning(facts: FakeFacts, encoder: StaticEmbedder) -> None:
    memory = Memory(facts, encoder)
    assert await used(memory, "What instrument do I play?") == [FACTS[6]]
    assert FACTS[3] in await used(memory, "Was kann ich heute essen?")
    assert await used(memory, "explain quantum physics") == []


async def test_an_encoder_that_is_not_ready_is_used_later(facts: FakeFacts) -> None:
    embedder = StaticEmbedder()
    memory = Memory(facts, embedder)
    assert await used(memory, "What instrument do I play?") == []
    await embedder.embed(["ready"])
    assert await used(memory, "What instrument do I play?") == [FACTS[6]]
    await embedder.close()
    assert await used(memory, "gift idea for Mia") == [FACTS[5]]


async def test_a_follow_up_uses_the_message_before(facts: FakeFacts) -> None:
    memory = Memory(facts, None)
    assert await used(memory, "And how old?", "Tell me about my dog") == [FACTS[2]]
    assert await used(memory, "Write a poem about autumn leaves", "Tell me about my dog") == []


async def test_the_prompt_is_bounded_and_pinned_facts_come_first() -> None:
    store = FakeFacts()
    for number in range(6):
        await store.add(1, Fact(0, f"basic {number}", 0.0, "person", pinned=True))
    for number in range(20):
        await store.add(1, Fact(0, f"dog {number} {'x' * 300}", 0.0, "person"))
    found = await Memory(store, None).for_prompt(1, "dog", ())
    assert found.total == 26
    texts = [each.text for each in found.used]
    assert texts[:4] == ["basic 2", "basic 3", "basic 4", "basic 5"]
    assert len(texts) <= MAX_IN_PROMPT
    assert sum(map(len, texts)) <= MAX_PROMPT_CHARACTERS
    assert [each.id for each in found.used] == sorted(each.id for each in found.used)


async def test_a_search_also_finds_what_is_near_and_follows_changes(facts: FakeFacts, encoder: StaticEmbedder) -> None:
    memory = Memory(facts, encoder)
    assert (await memory.search(1, "car or dog?", 3))[0].text == FACTS[2]
    assert [each.text for each in await memory.search(1, "", 2)] == [FACTS[8], FACTS[7]]
    await facts.delete(1, [3])
    assert FACTS[2] not in [each.text for each in await memory.search(1, "car or dog?", 9)]
    assert await memory.search(2, "dog", 3) == ()
    assert [each.text for each in await memory.containing(1, "daughter of the user born")] == [FACTS[5]]
    assert await memory.containing(1, "the user") == ()


async def test_the_indexes_are_bounded(facts: FakeFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MAX_INDEXED", 10)
    memory = Memory(facts, None)
    for person in (1, 2, 3):
        await facts.add(person, Fact(0, "Likes tea", 0.0, "model"))
        assert [each.text for each in await memory.search(person, "tea", 3)] == ["Likes tea"]
    assert sum(len(each.facts) for each in memory._indexes.values()) <= 10


class Related:
    """An encoder for which every question means the fact at `number`."""

    name = "related:1"

    def __init__(self, number: int, *fates: Exception | None, seconds: float = 0.0) -> None:
        self.number = number
        self.fates = list(fates)
        self.seconds = seconds
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.asked.extend(texts)
        fate = self.fates.pop(0) if self.fates else None
        if fate is not None:
            raise fate
        if self.seconds and len(self.asked) > 1:
            await asyncio.sleep(self.seconds)
        places = [FACTS.index(text) if text in FACTS else self.number for text in texts]
        return np.eye(len(FACTS), dtype=np.float32)[places]

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        return None

    async def close(self) -> None: ...


async def test_a_search_compares_with_another_encoder_too(facts: FakeFacts) -> None:
    other = Related(6)
    memory = Memory(facts, None, other)
    assert [each.text for each in await memory.search(1, "Τι όργανο παίζω;", 3)] == [FACTS[6]]
    assert sorted(other.asked[1:]) == sorted(FACTS)
    assert [each.text for each in await memory.search(1, "Τι όργανο παίζω;", 3)] == [FACTS[6]]
    assert len(other.asked) == len(FACTS) + 2, "the facts are computed once"
    assert await used(memory, "Τι όργανο παίζω;") == [], "a message does not wait for it"


@pytest.mark.parametrize("fate", [EmbedderFailed("e5 is still loading"), None])
async def test_a_search_goes_on_without_the_other_encoder(
    facts: FakeFacts, fate: Exception | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "routing")
    monkeypatch.setattr(recall, "SEARCH_SECONDS", 0.01)
    memory = Memory(facts, None, Related(6, fate, seconds=60))
    assert [each.text for each in await memory.search(1, "dog", 3)] == [FACTS[2]]
    assert ("e5 is still loading" if fate else "Not all facts were compared by e5 within 0.01 s") in caplog.text
