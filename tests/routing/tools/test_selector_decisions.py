"""Which decisions are remembered, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from routing.errors import EmbedderFailed
from routing.tools.fallback_reasons import EMBEDDING
from tests.routing.tools.fakes import ALARM, MUSIC, OPEN, WEATHER, FakeEmbedder, Made


async def test_a_decision_is_cached_until_the_index_changes(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.tools.embedding.message_vectors.CACHED_TEXTS", 0)
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    first = await one.selector.match(OPEN)
    asked = len(embedder.asked)
    assert await one.selector.match(OPEN) is first
    assert len(embedder.asked) == asked
    embedder.fates = [gate := asyncio.Event()]
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    assert (await one.selector.match(OPEN)).fallback_reason == EMBEDDING
    gate.set()
    await one.indexed()
    assert "weather" not in await one.found(OPEN)
    assert embedder.asked[-1] == (OPEN,)


async def test_only_the_beginning_of_a_long_message_counts(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    said = "hm " * 2_000
    first = await one.selector.match(f"{said}{OPEN}")
    asked = len(embedder.asked)
    assert await one.selector.match(f"{said}hum a tune") is first
    assert len(embedder.asked) == asked


async def test_a_fallback_decision_is_not_cached(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [EmbedderFailed("down"), EmbedderFailed("still down")]
    reasons = [(await one.selector.match(OPEN)).fallback_reason for _ in range(4)]
    assert reasons == ["down", "still down", "", ""]
    assert [call for call in embedder.asked if OPEN in call] == [(OPEN,)] * 3


async def test_a_decision_of_an_old_index_is_not_cached(made: Made) -> None:
    one = await made(WEATHER, ALARM, embedder=(embedder := FakeEmbedder()), wait_seconds=60).indexed()
    message, index = asyncio.Event(), asyncio.Event()
    embedder.fates = [message, index]
    old = asyncio.create_task(one.selector.match(OPEN))
    await embedder.reached.wait()
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    index.set()
    await one.indexed()
    message.set()
    assert [each.toolkit for each in (await old).activated] == ["weather"]
    assert "weather" not in await one.found(OPEN)


async def test_the_decision_cache_is_bounded(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.tools.index_builder.CACHED_MESSAGES", 2)
    monkeypatch.setattr("routing.tools.embedding.message_vectors.CACHED_TEXTS", 0)
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    for message in (OPEN, "hum a tune", "rise in bed", "hum a tune", OPEN):
        await one.selector.match(message)
    asked = [call[0] for call in embedder.asked[1:]]
    assert [asked.count(message) for message in (OPEN, "hum a tune", "rise in bed")] == [2, 1, 1]


async def test_a_certain_keyword_does_not_wait_for_the_encoder(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    asked = len(embedder.asked)
    chosen = await one.selector.match("what is that umbrella business good for today?")
    assert len(embedder.asked) == asked
    assert not chosen.fallback_reason
    assert [(each.toolkit, each.why) for each in chosen.activated][:1] == [("weather", "keyword")]
    await one.selector.match("does a song about the umbrella exist?")
    assert len(embedder.asked) == asked + 1, "two toolkits have a keyword in it"
