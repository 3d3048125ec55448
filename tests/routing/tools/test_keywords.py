"""Selection by keywords: before there is an index, and without an encoder."""

from __future__ import annotations

import pytest

from routing.tools.fallback_reasons import LOADING, OFF
from routing.tools.selector import by_keyword
from tests.routing.tools.fakes import ALARM, BASICS, MUSIC, OPEN, WEATHER, Broken, FakeEmbedder, Made, Slow, toolkit


async def test_before_the_index_is_ready_keywords_decide(made: Made) -> None:
    one = made(embedder=FakeEmbedder())
    one.toolkits = slow = Slow.of(WEATHER, ALARM, BASICS)
    selection = await one.selector.match("The FORECAST for Rome, please!")
    assert [(each.toolkit, each.why, each.score) for each in selection.activated] == [("weather", "keyword", 1.0)]
    assert selection.fallback_reason == one.selector.fallback_reason == LOADING
    odds = selection.relevance
    assert odds["get_weather"] == odds["weather_alerts"] > 0 > odds["set_alarm"] == odds["calculate"]
    assert (await one.selector.match("Is the forecaster a weatherman?")).activated == ()
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
def test_keywords_match_whole_words_in_order(message: str, names: list[str]) -> None:
    kits = (WEATHER, ALARM, MUSIC, toolkit("blank", keywords=("", "  ", "?")))
    assert [each.toolkit for each in by_keyword(kits, message)] == names


async def test_without_an_index_keywords_decide(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    one = made(embedder=FakeEmbedder())
    one.toolkits = Broken((WEATHER, ALARM))
    await one.indexed("the tool index could not be built (MemoryError, see the log)")
    selection = await one.selector.match("the forecast")
    assert [each.toolkit for each in selection.activated] == ["weather"]
    assert "MemoryError" in selection.fallback_reason
    assert "secret detail" in caplog.text
    assert "secret" not in selection.fallback_reason
    one.toolkits = (WEATHER, MUSIC)
    await one.indexed()
    assert await one.found("hum a tune") == {"music": "embed"}
    one.toolkits = Broken((WEATHER, ALARM))
    await one.indexed("the tool index could not be built (MemoryError, see the log)")
    still = await one.selector.match(OPEN)
    assert [each.toolkit for each in still.activated] == ["weather"]
    assert "MemoryError" in still.fallback_reason


async def test_without_an_encoder_keywords_decide_and_this_is_reported(made: Made) -> None:
    one = await made().indexed(OFF)
    assert await one.found("what is the weather in Rome") == {"weather": "keyword"}
    assert (await one.selector.match("weather")).fallback_reason == OFF
    assert one.store.rows == {}
