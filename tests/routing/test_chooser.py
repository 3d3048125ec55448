"""What is chosen while the index is not there, and whatever becomes of the encoder and of the store."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from routing.chooser import by_keyword
from routing.doubts import EMBEDDING, FAILED, LOADING, OFF, SLOW, UNMADE
from routing.embedding.embedder import EmbedderFailed
from routing.errors import StorageFault
from routing.selection.lexical import Floats
from routing.toolkits import Toolkit
from tests.routing.choosing import (
    ALARM,
    BASICS,
    MUSIC,
    WEATHER,
    Broken,
    Choosing,
    FakeEmbedder,
    FakeVectors,
    Slow,
    card,
    toolkit,
)

OPEN = "sunny or drizzle"
"""What no keyword says, and what the encoder knows."""

Made = Callable[..., Choosing]


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Made]:
    """Choosers that try again at once, and are closed at the end."""
    monkeypatch.setattr("routing.chooser.RETRY_SECONDS", 0.0)
    every: list[Choosing] = []

    def make(*toolkits: Toolkit, **parts: Any) -> Choosing:
        every.append(Choosing(*toolkits, **parts))
        return every[-1]

    yield make
    for each in every:
        await each.chooser.close()


def narrow(rows: Floats) -> Floats:
    return rows[:, :3]


def fewer(rows: Floats) -> Floats:
    return rows[1:]


async def test_before_the_index_is_there_whole_words_decide(made: Made) -> None:
    one = made(embedder=FakeEmbedder())
    one.toolkits = slow = Slow.of(WEATHER, ALARM, BASICS)
    selection = await one.chooser.choose("The FORECAST for Rome, please!")
    assert [(each.toolkit, each.why, each.score) for each in selection.activated] == [("weather", "keyword", 1.0)]
    assert selection.doubt == one.chooser.doubt == LOADING
    odds = selection.relevance
    assert odds["get_weather"] == odds["weather_alerts"] > 0 > odds["set_alarm"] == odds["calculate"]
    assert (await one.chooser.choose("Is the forecaster a weatherman?")).activated == ()
    slow.gate.set()
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"}


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("what's the weather", ["weather"]),
        ("WEATHER", ["weather"]),
        ("die AUSSENTEMPERATUR bitte", ["weather"]),
        ("die Außentemperatur bitte", ["weather"]),
        ("unweathered", []),
        ("set the alarm-clock", ["alarm"]),
        ("get me, out of bed", ["alarm"]),
        ("get me a bed out of wood", []),
        ("今天天气怎么样", ["weather"]),
        ("ein Wetterfrosch", []),
        ("music in this weather", ["weather", "music"]),
        ("", []),
        ("… ?!", []),
        ("a" * 4_000 + " music", []),
    ],
)
def test_keywords_are_whole_words_in_their_order(message: str, names: list[str]) -> None:
    kits = (WEATHER, ALARM, MUSIC, toolkit("blank", keywords=("", "  ", "?")))
    assert [each.toolkit for each in by_keyword(kits, message)] == names


async def test_an_index_that_cannot_be_made_leaves_keywords(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    one = made(embedder=FakeEmbedder())
    one.toolkits = Broken((WEATHER, ALARM))
    await one.indexed(f"{UNMADE} (MemoryError, see the log)")
    selection = await one.chooser.choose("the forecast")
    assert [each.toolkit for each in selection.activated] == ["weather"] and "MemoryError" in selection.doubt
    assert "secret detail" in caplog.text and "secret" not in selection.doubt
    one.toolkits = (WEATHER, MUSIC)
    await one.indexed()
    assert await one.found("hum a tune") == {"music": "embed"}
    one.toolkits = Broken((WEATHER, ALARM))
    await one.indexed(f"{UNMADE} (MemoryError, see the log)")
    still = await one.chooser.choose(OPEN)
    assert [each.toolkit for each in still.activated] == ["weather"] and "MemoryError" in still.doubt


async def test_without_an_encoder_words_decide_and_say_so(made: Made) -> None:
    one = await made().indexed(OFF)
    assert await one.found("what is the weather in Rome") == {"weather": "keyword"}
    assert (await one.chooser.choose("weather")).doubt == OFF and one.store.rows == {}


async def test_an_encoder_that_fails_at_the_start_is_tried_again(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gate = asyncio.Event()
    one = await made(embedder=FakeEmbedder(EmbedderFailed("the model is missing"), gate)).indexed(
        "the model is missing"
    )
    said = await one.chooser.choose("the weather forecast")
    assert said.doubt == "the model is missing" and [each.why for each in said.activated] == ["keyword"]
    assert "[Embeddings] None: the model is missing" in caplog.text
    gate.set()
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"} and (await one.chooser.choose(OPEN)).doubt == ""
    assert "[Embeddings] 6 tools, with matters:1" in caplog.text


@pytest.mark.parametrize("fault", [RuntimeError("secret detail"), asyncio.CancelledError(), fewer])
async def test_whatever_happens_at_the_start_it_is_tried_again(
    made: Made, caplog: pytest.LogCaptureFixture, fault: Any
) -> None:
    gate = asyncio.Event()
    one = made(embedder=FakeEmbedder(fault, gate))
    name = "ValueError" if fault is fewer else type(fault).__name__
    await one.indexed(f"the tools could not be embedded ({name}, see the log)")
    assert name in caplog.text
    gate.set()
    await one.indexed()
    assert await one.found(OPEN) == {"weather": "embed"}


@pytest.mark.parametrize(
    ("fate", "doubt"),
    [
        (EmbedderFailed("the service is down"), "the service is down"),
        (asyncio.Event(), SLOW),
        (RuntimeError("secret detail"), "the message could not be embedded (RuntimeError, see the log)"),
        (asyncio.CancelledError(), "the message could not be embedded (CancelledError, see the log)"),
        (fewer, "the message could not be embedded (ValueError, see the log)"),
        (narrow, FAILED),
    ],
    ids=["failed", "slow", "unforeseen", "cancelled inside", "too few", "too narrow"],
)
async def test_a_message_without_vectors_is_answered_by_words_and_the_next_one_with(
    made: Made, fate: Any, doubt: str
) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [fate]
    said = await one.chooser.choose("any forecast of drizzle?")
    assert said.doubt == doubt and "secret" not in said.doubt
    assert [(each.toolkit, each.why) for each in said.activated] == [("weather", "keyword")]
    assert one.chooser.doubt == doubt
    again = await one.chooser.choose("any forecast of drizzle?")
    assert again.doubt == "" and again.activated[0].why == "embed"
    assert one.chooser.doubt == ""


async def test_the_doubt_of_a_message_stays_until_vectors_are_compared_again(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    await one.chooser.choose(OPEN)
    embedder.fates = [EmbedderFailed("still loading")]
    await one.chooser.choose("rise in bed")
    assert (await one.chooser.choose(OPEN)).doubt == "" and one.chooser.doubt == "still loading", "it was remembered"
    embedder.fates = [gate := asyncio.Event()]
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    assert (await one.chooser.choose("hum a tune")).doubt == EMBEDDING
    gate.set()
    await one.indexed("still loading")
    assert (await one.chooser.choose("hum a tune")).doubt == one.chooser.doubt == ""


async def test_a_turn_that_is_stopped_is_stopped_and_the_next_message_works(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [asyncio.Event()]
    turn = asyncio.create_task(one.chooser.choose(OPEN))
    await embedder.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert await one.found(OPEN) == {"weather": "embed"}


async def test_vectors_that_are_kept_are_not_made_again(made: Made) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    assert first.embedder is not None and len(first.store.rows) == len(first.embedder.texts)
    said = {each for kit in (WEATHER, ALARM, MUSIC) for tool in kit.tools for each in tool.examples}
    told = {"weather. All about weather.", "weather alerts. XL: List warnings of storms."}
    assert said | told <= {*first.embedder.texts}
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None and len(second.embedder.texts) == 1, "one shows that the encoder works"
    for message in (OPEN, "hum a tune", "nobody knows"):
        assert await second.chooser.choose(message) == await first.chooser.choose(message)


async def test_a_text_that_changed_is_embedded_alone(made: Made) -> None:
    store = (await made(WEATHER, MUSIC, embedder=FakeEmbedder()).indexed()).store
    other = toolkit("music", card("play_music", "Play a song.", "something with drums"), keywords=("song", "music"))
    one = await made(WEATHER, other, embedder=FakeEmbedder(), store=store).indexed()
    assert one.embedder is not None and one.embedder.texts == ["something with drums"]


async def test_another_encoder_makes_its_own(made: Made) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    second = await made(embedder=FakeEmbedder(name="other:2"), store=first.store).indexed()
    assert first.embedder and second.embedder and sorted(first.embedder.texts) == sorted(second.embedder.texts)


@pytest.mark.parametrize("broken", [b"", b"123", b"12345", b"\0" * 12, b"\0" * 20])
async def test_broken_rows_are_made_anew(made: Made, broken: bytes) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    right, (key, *_) = dict(first.store.rows), first.store.rows
    first.store.rows[key] = broken
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None and len(second.embedder.texts) == 1 and first.store.rows == right
    assert await second.found(OPEN) == {"weather": "embed"}


@pytest.mark.parametrize("more", [b"\0\0\0\0", b"\0"])
async def test_rows_of_another_width_are_made_anew(made: Made, monkeypatch: pytest.MonkeyPatch, more: bytes) -> None:
    monkeypatch.setattr("routing.selection.catalogue.BATCH", 2)
    first = await made(embedder=FakeEmbedder()).indexed()
    right = dict(first.store.rows)
    first.store.rows = {key: row + more for key, row in right.items()}
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None and len(second.embedder.texts) == len(right) and first.store.rows == right
    assert await second.found(OPEN) == {"weather": "embed"}


async def test_an_encoder_that_fails_half_way_goes_on_there(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.selection.catalogue.BATCH", 2)
    embedder = FakeEmbedder(None, None, EmbedderFailed("down"))
    await made(embedder=embedder).indexed()
    (once, *_) = embedder.asked
    assert embedder.texts.count(once[0]) == 1 and len(embedder.asked) > 4


async def test_a_store_that_fails_costs_only_the_keeping(
    made: Made, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("routing.chooser.SETTLED_SECONDS", 0.0)
    store = FakeVectors(StorageFault("The disk is full."))
    one = await made(embedder=FakeEmbedder(), store=store).indexed()
    assert await one.found(OPEN) == {"weather": "embed"} and store.rows == {}
    await store.forgot.wait()
    for said in ("can't be read (The disk is full.)", "can't be kept (The disk", "can't be deleted (The disk"):
        assert said in caplog.text
    store.fault = None
    assert (await made(embedder=FakeEmbedder(), store=store).indexed()).chooser.doubt == "" and store.rows


async def test_what_nobody_needs_any_more_is_forgotten_once_all_is_settled(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FakeVectors()
    await made(embedder=FakeEmbedder(name="other:2"), store=store).indexed()
    await made(WEATHER, MUSIC, embedder=FakeEmbedder(), store=store).indexed()
    both = dict(store.rows)
    away = await made(WEATHER, embedder=FakeEmbedder(), store=store).indexed()
    assert store.rows == both, "a server that is away comes back"
    away.toolkits = (WEATHER, MUSIC)
    await away.indexed()
    assert away.embedder is not None and len(away.embedder.texts) <= 2
    monkeypatch.setattr("routing.chooser.SETTLED_SECONDS", 0.0)
    await made(WEATHER, embedder=FakeEmbedder(), store=store).indexed()
    await store.forgot.wait()
    assert {encoder for encoder, _ in store.rows} == {"matters:1"} and 0 < len(store.rows) < len(both) / 2


async def test_toolkits_that_change_are_indexed_anew_while_the_old_index_answers(made: Made) -> None:
    one = await made(WEATHER, ALARM, embedder=(embedder := FakeEmbedder())).indexed()
    one.toolkits = slow = Slow.of(WEATHER, MUSIC)
    assert await one.found(OPEN) == {"weather": "embed"} and await one.found("rise in bed") == {"alarm": "embed"}
    assert "music" not in await one.found("hum a tune")
    embedder.fates = [gate := asyncio.Event()]
    slow.gate.set()
    await one.indexed(EMBEDDING)
    gate.set()
    await one.indexed()
    assert "alarm" not in await one.found("rise in bed") and await one.found("hum a tune") == {"music": "embed"}


async def test_toolkits_that_change_meanwhile_are_indexed_as_they_are_last(made: Made) -> None:
    one = await made(WEATHER, embedder=(embedder := FakeEmbedder(asyncio.Event()))).indexed(EMBEDDING)
    await embedder.reached.wait()
    one.toolkits = (MUSIC, BASICS)
    await one.indexed()
    assert await one.found("hum a tune") == {"music": "embed"} and "weather" not in await one.found(OPEN)
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
async def test_the_event_loop_only_cuts_the_message(made: Made, count: int) -> None:
    many = toolkit("many", *(card(f"tool_{number}") for number in range(count)))
    one = await made(WEATHER, many).indexed(OFF)
    message = Probe("the weather forecast")
    message.threads = []
    assert "weather" in await one.found(message)
    cut, *compared = message.threads
    assert cut is threading.main_thread() and compared and cut not in compared


async def test_a_decision_is_remembered_until_there_is_another_index(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    first = await one.chooser.choose(OPEN)
    asked = len(embedder.asked)
    assert await one.chooser.choose(OPEN) is first and len(embedder.asked) == asked
    embedder.fates = [gate := asyncio.Event()]
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    assert (await one.chooser.choose(OPEN)).doubt == EMBEDDING
    gate.set()
    await one.indexed()
    assert "weather" not in await one.found(OPEN) and embedder.asked[-1] == (OPEN,)


async def test_of_a_long_message_the_beginning_counts(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    said = "hm " * 2_000
    first = await one.chooser.choose(f"{said}{OPEN}")
    asked = len(embedder.asked)
    assert await one.chooser.choose(f"{said}hum a tune") is first and len(embedder.asked) == asked


async def test_a_decision_in_doubt_is_not_remembered(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    embedder.fates = [EmbedderFailed("down"), EmbedderFailed("still down")]
    doubts = [(await one.chooser.choose(OPEN)).doubt for _ in range(4)]
    assert (
        doubts == ["down", "still down", "", ""] and [call for call in embedder.asked if OPEN in call] == [(OPEN,)] * 3
    )


async def test_a_decision_of_an_index_that_is_gone_is_not_remembered(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("routing.chooser.PATIENCE_SECONDS", 60)
    one = await made(WEATHER, ALARM, embedder=(embedder := FakeEmbedder())).indexed()
    message, index = asyncio.Event(), asyncio.Event()
    embedder.fates = [message, index]
    old = asyncio.create_task(one.chooser.choose(OPEN))
    await embedder.reached.wait()
    one.toolkits = (MUSIC, ALARM)
    await one.indexed(EMBEDDING)
    index.set()
    await one.indexed()
    message.set()
    assert [each.toolkit for each in (await old).activated] == ["weather"]
    assert "weather" not in await one.found(OPEN)


async def test_only_the_newest_decisions_are_remembered(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.chooser.MOST_REMEMBERED", 2)
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    for message in (OPEN, "hum a tune", "rise in bed", "hum a tune", OPEN):
        await one.chooser.choose(message)
    asked = [call[0] for call in embedder.asked[1:]]
    assert [asked.count(message) for message in (OPEN, "hum a tune", "rise in bed")] == [2, 1, 1]


async def test_the_end_ends_everything(made: Made) -> None:
    waiting = made(embedder=(embedder := FakeEmbedder(asyncio.Event())))
    await waiting.indexed(EMBEDDING)
    settled = await made(embedder=FakeEmbedder()).indexed()
    for one in (waiting, settled):
        await one.chooser.close()
        await one.chooser.close()
    assert embedder.closed and asyncio.all_tasks() == {asyncio.current_task()}
    settled.toolkits = (MUSIC,)
    assert "weather" in await settled.found(OPEN)
    assert asyncio.all_tasks() == {asyncio.current_task()}
