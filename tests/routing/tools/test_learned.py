"""What examples change about the selected toolkits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from routing.tools.learned import PROBABILITY, with_learned
from routing.tools.selector import KEYWORD_ODDS, NO_KEYWORD_ODDS, SURE, Activated, ToolSelection, Why
from routing.types.learning import Learned
from tests.routing.tools.fakes import ALARM, BASICS, MUSIC, WEATHER

ALL = (WEATHER, ALARM, MUSIC, BASICS)
MOST = 2


def selection(**activated: tuple[Why, float]) -> ToolSelection:
    return ToolSelection(tuple(Activated(name, *how) for name, how in activated.items()), {"play_music": -1.0})


def names(
    selected: ToolSelection, *, called: Mapping[str, int] | None = None, unwanted: Mapping[str, int] | None = None
) -> list[str]:
    learned = Learned(3, called or {}, unwanted or {})
    return [each.toolkit for each in with_learned(selected, learned, ALL, MOST).activated]


UNLIKELY, LIKELY = SURE - 0.1, SURE


@pytest.mark.parametrize(
    ("selected", "called", "expected"),
    [
        (selection(), {"set_alarm": 2}, []),
        (selection(), {"set_alarm": 3}, ["alarm"]),
        (selection(weather=("keyword", 1.0)), {"set_alarm": 3}, ["weather", "alarm"]),
        (selection(alarm=("embed", 0.5)), {"set_alarm": 3}, ["alarm"]),
        (selection(weather=("embed", 0.4), music=("embed", 0.6)), {"set_alarm": 3}, ["music", "alarm"]),
        (selection(weather=("embed", LIKELY), music=("keyword", UNLIKELY)), {"set_alarm": 3}, ["weather", "alarm"]),
        (selection(weather=("embed", LIKELY), music=("used", 0.1)), {"set_alarm": 3}, ["weather", "music"]),
        (selection(), {"get_weather": 2, "weather_alerts": 1}, ["weather"]),
        (selection(), {"calculate": 9}, []),
    ],
)
def test_called_tools_show_their_toolkit_in_the_place_of_an_unlikely_one(
    selected: ToolSelection, called: Mapping[str, int], expected: list[str]
) -> None:
    assert names(selected, called=called) == expected


@pytest.mark.parametrize(
    ("selected", "called", "unwanted", "expected"),
    [
        (selection(music=("embed", 0.9)), {}, {"music": 2}, ["music"]),
        (selection(music=("embed", 0.9)), {}, {"music": 3}, []),
        (selection(music=("embed", 0.9)), {"play_music": 1}, {"music": 3}, ["music"]),
        (selection(music=("used", 1.0)), {}, {"music": 9}, ["music"]),
        (selection(basics=("embed", 0.9)), {}, {"basics": 9}, ["basics"]),
    ],
)
def test_unwanted_toolkits_are_hidden_unless_in_use_or_base(
    selected: ToolSelection, called: Mapping[str, int], unwanted: Mapping[str, int], expected: list[str]
) -> None:
    assert names(selected, called=called, unwanted=unwanted) == expected


def test_a_learned_tool_is_relevant_and_a_hidden_one_is_not() -> None:
    shown = with_learned(selection(), Learned(1, {"set_alarm": 1}), ALL, MOST)
    assert shown.activated == (Activated("alarm", "learned", PROBABILITY),)
    assert shown.relevance == {"play_music": -1.0, "set_alarm": KEYWORD_ODDS}
    hidden = with_learned(selection(), Learned(1, {}, {"music": 1}), ALL, MOST)
    assert hidden.relevance == {"play_music": NO_KEYWORD_ODDS}


def test_more_than_the_limit_stay_if_they_were_selected() -> None:
    several = selection(weather=("used", 1.0), music=("used", 1.0), alarm=("used", 1.0))
    assert names(several, called={"set_alarm": 3}) == ["weather", "music", "alarm"]
