"""Selection while the index changes and while the encoder fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from routing.errors import EmbedderFailed
from routing.tools.fallback_reasons import (
    BUSY,
    EMBEDDING,
    LOADING,
    MODEL_CHANGED,
    OFF,
    SLOW,
)
from routing.tools.selector import ToolSelection
from routing.types.toolkits import Toolkit
from routing.types.vectors import Floats
from tests.routing.tools.fakes import ALARM, BASICS, MUSIC, OPEN, WEATHER, FakeEmbedder, Made, Slow, card, toolkit


def narrow(rows: Floats) -> Floats:
    return rows[:, :3]


def wordy(rows: Floats) -> Any:
    return rows.astype(str)


def fewer(rows: Floats) -> Floats:
    return rows[1:]


def alike(count: int) -> tuple[Toolkit, ...]:
    """As many servers of the same kind."""
    described = ("Tell the weather at a place.", "will it rain tomorrow", "is it sunny outside")
    return tuple(toolkit(f"weather{each}", card(f"get_weather{each}", *described)) for each in range(count))


async def test_an_encoder_that_fails_at_the_start_is_retried(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gate = asyncio.Event()
    one = await made(embedder=FakeEmbedder(EmbedderFailed("the model is missing"), gate)).indexed(
        "the model is missing"
    )
    said = await one.selector.match("the weather forecast")
    assert said.fallback_reason == "the model is missing"
    assert [each.why for each in said.activated] == ["keyword"]
    assert "[Embeddings] Off: the model is missing" in caplog.text
    gate.set()
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"}
    assert (await one.selector.match(OPEN)).fallback_reason == ""
    assert "[Embeddings] 6 tools, with matters:1" in caplog.text


@pytest.mark.parametrize("fault", [RuntimeError("secret detail"), asyncio.CancelledError(), fewer])
async def test_a_failed_start_is_retried(made: Made, caplog: pytest.LogCaptureFixture, fault: Any) -> None:
    gate = asyncio.Event()
    one = made(embedder=FakeEmbedder(fault, gate))
    name = "ValueError" if fault is fewer else type(fault).__name__
    await one.indexed(f"the tools could not be embedded ({name}, see the log)")
    assert name in caplog.text
    gate.set()
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"}


@pytest.mark.parametrize(
    ("fate", "fallback_reason"),
    [
        (EmbedderFailed("the service is down"), "the service is down"),
        (asyncio.Event(), SLOW),
        (RuntimeError("secret detail"), "the message could not be embedded (RuntimeError, see the log)"),
        (asyncio.CancelledError(), "the message could not be embedded (CancelledError, see the log)"),
        (fewer, "the message could not be embedded (ValueError, see the log)"),
        (wordy, "the message could not be embedded (TypeError, see the log)"),
    ],
    ids=["failed", "slow", "unforeseen", "cancelled inside", "too few", "no numbers"],
)
async def test_a_message_without_vectors_uses_keywords_and_the_next_uses_vectors(
    made: Made, fate: Any, fallback_reason: str
) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [fate]
    said = await one.selector.match("any forecast of drizzle, is it sunny outside?")
    assert said.fallback_reason == fallback_reason
    assert "secret" not in said.fallback_reason
    assert [(each.toolkit, each.why) for each in said.activated] == [("weather", "keyword")]
    assert one.selector.fallback_reason == fallback_reason
    again = await one.selector.match("any forecast of drizzle, is it sunny outside?")
    assert again.fallback_reason == ""
    assert again.activated[0].why == "embed"
    assert one.selector.fallback_reason == ""


async def test_a_changed_vector_width_embeds_the_tools_again(made: Made) -> None:
    """A provider may change what stands behind a name."""
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [narrow] * 4
    said = await one.selector.match("any forecast of drizzle, is it sunny outside?")
    assert said.fallback_reason == MODEL_CHANGED
    assert [each.why for each in said.activated] == ["keyword"]
    one.selector.start()
    await one.indexed(EMBEDDING)
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"}
    assert embedder.fates == []


async def test_new_keywords_count_while_the_index_is_rebuilt(made: Made) -> None:
    """A server that has just connected: the next message may be about it."""
    one = await made(ALARM, BASICS, embedder=FakeEmbedder()).indexed()
    one.toolkits = slow = Slow.of(WEATHER, ALARM, BASICS)
    said = await one.selector.match("wake me when the weather is nice")
    assert {each.toolkit for each in said.activated} >= {"weather"}
    assert said.fallback_reason == one.selector.fallback_reason == LOADING
    assert {"get_weather", "set_alarm"} <= said.relevance.keys()
    slow.gate.set()
    await one.indexed()
    assert (await one.selector.match("wake me when the weather is nice")).fallback_reason == ""


async def test_other_peoples_tools_do_not_displace_ones_own(made: Made) -> None:
    one = await made(*alike(6), embedder=FakeEmbedder()).indexed()
    for name in ("weather0", "weather5"):
        said = await one.selector.match(OPEN, frozenset({name}))
        assert [each.toolkit for each in said.activated] == [name]
    assert len((await one.selector.match(OPEN)).activated) < 6
    assert (await one.selector.match(OPEN, frozenset())).activated == ()


async def test_text_without_words_selects_nothing(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    asked = len(embedder.asked)
    for message in ("", " ", "?", "??!", "…", "👍"):
        assert await one.selector.match(message) == ToolSelection()
    assert len(embedder.asked) == asked


async def test_a_busy_thread_pool_does_not_delay_a_message(made: Made) -> None:
    one = await made(embedder=FakeEmbedder()).indexed()
    over = threading.Event()
    busy = [asyncio.create_task(asyncio.to_thread(over.wait, 60)) for _ in range(40)]
    try:
        async with asyncio.timeout(60):
            assert await one.found(OPEN) == {"weather": "embed"}
    finally:
        over.set()
        await asyncio.gather(*busy)


async def test_a_comparison_timeout_falls_back_to_keywords(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.tools.selector.MAX_SECONDS", 0.05)
    one, over = await made(embedder=FakeEmbedder()).indexed(), threading.Event()
    held = one.selector._threads.submit(over.wait, 60)
    try:
        said = await one.selector.match("the weather forecast")
    finally:
        over.set()
        held.result()
    assert said.fallback_reason == one.selector.fallback_reason == BUSY
    assert [each.why for each in said.activated] == ["keyword"]
    monkeypatch.undo()
    assert await one.found(OPEN) == {"weather": "embed"}
    assert one.selector.fallback_reason == ""


async def test_a_fallback_reason_lasts_until_vectors_are_used_again(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    await one.selector.match(OPEN)
    embedder.fates = [EmbedderFailed("still loading")]
    await one.selector.match("rise in bed")
    assert (await one.selector.match(OPEN)).fallback_reason == ""
    assert one.selector.fallback_reason == "still loading", "it was remembered"
    embedder.fates = [gate := asyncio.Event()]
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    assert (await one.selector.match("hum a tune")).fallback_reason == EMBEDDING
    gate.set()
    await one.indexed()
    assert (await one.selector.match("hum a tune")).fallback_reason == one.selector.fallback_reason == ""


async def test_a_stopped_turn_does_not_affect_the_next_message(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [asyncio.Event()]
    turn = asyncio.create_task(one.selector.match(OPEN))
    await embedder.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert await one.found(OPEN) == {"weather": "embed"}


async def test_changed_toolkits_are_reindexed_while_the_old_index_answers(made: Made) -> None:
    one = await made(WEATHER, ALARM, embedder=(embedder := FakeEmbedder())).indexed()
    one.toolkits = slow = Slow.of(WEATHER, MUSIC)
    assert await one.found(OPEN) == {"weather": "embed"}
    assert await one.found("rise in bed") == {"alarm": "embed"}
    assert "music" not in await one.found("hum a tune")
    embedder.fates = [gate := asyncio.Event()]
    slow.gate.set()
    await one.indexed(EMBEDDING)
    gate.set()
    await one.indexed()
    assert "alarm" not in await one.found("rise in bed")
    assert await one.found("hum a tune") == {"music": "embed"}


async def test_repeated_changes_are_indexed_once_at_the_end(made: Made) -> None:
    one = await made(WEATHER, embedder=(embedder := FakeEmbedder(asyncio.Event()))).indexed(EMBEDDING)
    await embedder.reached.wait()
    one.toolkits = (MUSIC, BASICS)
    await one.indexed()
    assert await one.found("hum a tune") == {"music": "embed"}
    assert "weather" not in await one.found(OPEN)
    assert len(asyncio.all_tasks()) == 2, "this one, and the one that will forget"


class Probe(str):
    """A message that notes which threads look into it, in their order."""

    threads: list[threading.Thread]

    def __getitem__(self, key: Any) -> Probe:
        self.threads.append(threading.current_thread())
        found = Probe(str(self)[key])
        found.threads = self.threads
        return found


@pytest.mark.parametrize("count", [1, 1_500])
async def test_the_event_loop_only_splits_the_message(made: Made, count: int) -> None:
    many = toolkit("many", *(card(f"tool_{number}") for number in range(count)))
    one = await made(WEATHER, many).indexed(OFF)
    message = Probe("the weather forecast")
    message.threads = []
    assert "weather" in await one.found(message)
    cut, *compared = message.threads
    assert cut is threading.main_thread()
    assert compared
    assert cut not in compared


async def test_close_ends_all_tasks(made: Made) -> None:
    waiting = made(embedder=(embedder := FakeEmbedder(asyncio.Event())))
    await waiting.indexed(EMBEDDING)
    settled = await made(embedder=FakeEmbedder()).indexed()
    for one in (waiting, settled):
        await one.selector.close()
        await one.selector.close()
    assert embedder.closed
    assert asyncio.all_tasks() == {asyncio.current_task()}
    settled.toolkits = (MUSIC,)
    assert "weather" in await settled.found(OPEN)
    assert asyncio.all_tasks() == {asyncio.current_task()}
