"""The subject of a message in its conversation: its own question, the one before, and the tools used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest

from routing.types.toolkits import Toolkit
from tests.routing.tools.turn_tools import ABOUT, BASE, CALENDAR, KITS, LONG, WEATHER, Found, ScriptedSelector


async def chosen(
    found: Found, message: str, *earlier: str, used: Iterable[str] = (), toolkits: Sequence[Toolkit] = KITS
) -> dict[str, str]:
    """How each toolkit was found."""
    selection = await ScriptedSelector(found).select(message, earlier, frozenset(used), toolkits)
    return {each.toolkit: each.why for each in selection.activated}


@pytest.mark.parametrize(
    ("message", "earlier", "found"),
    [
        ("rain?", (), {"weather": "embed"}),
        ("hello", (), {}),
        ("and tomorrow?", ("rain?",), {"weather": "follow-up"}),
        ("and tomorrow?", ("forecast?", "meet?"), {"weather": "follow-up"}),
        ("and tomorrow?", (LONG, "meet?"), {"notes": "follow-up"}),
        ("and on Sunday?", ("hm?", "forecast?", "meet?"), {"notes": "follow-up", "weather": "follow-up"}),
        ("and on Sunday?", ("and tomorrow?", "hello", "meet?"), {}),
        ("sum?", ("rain?",), {"basics": "embed", "weather": "follow-up"}),
        ("meet?", ("rain?",), {"calendar": "embed", "weather": "follow-up"}),
        ("forecast?", ("meet?",), {"weather": "embed"}),
        ("time?", ("rain?",), {"basics": "embed"}),
        ("rain?", ("rain?",), {"weather": "embed"}),
        (LONG, ("rain?",), {"notes": "embed"}),
        (LONG[1:], ("rain?",), {"weather": "follow-up"}),
        (LONG + "y", ("rain?",), {}),
    ],
)
async def test_a_follow_up_goes_on_with_the_question_before(
    message: str, earlier: tuple[str, ...], found: Mapping[str, str]
) -> None:
    assert await chosen(ABOUT, message, *earlier) == found


async def test_unavailable_tools_are_neither_found_nor_inherited() -> None:
    assert await chosen(ABOUT, "rain?", toolkits=(BASE, CALENDAR)) == {}
    assert await chosen(ABOUT, "and tomorrow?", "forecast?", toolkits=(BASE, CALENDAR)) == {}
    assert await chosen(ABOUT, "forecast?", "meet?", toolkits=(BASE, CALENDAR)) == {"calendar": "follow-up"}
    assert await chosen(ABOUT, "and tomorrow?", "meet?", toolkits=(BASE, CALENDAR)) == {"calendar": "follow-up"}


async def test_a_toolkit_whose_tools_were_called_stays() -> None:
    used = {"list_events", "calculate", "nobody_knows"}
    assert await chosen(ABOUT, "hello", used=used) == {"calendar": "used"}
    assert await chosen(ABOUT, "meet?", used=used) == {"calendar": "embed"}
    assert await chosen(ABOUT, "hello", used=used, toolkits=(BASE, WEATHER)) == {}


async def test_earlier_questions_fade_and_used_tools_count_half() -> None:
    selection = await ScriptedSelector(ABOUT, fallback_reason="OFF").select(
        "and?", ("rain?",), {"take_note", "get_weather"}, KITS
    )
    odds = selection.relevance
    assert (odds["get_weather"], odds["take_note"], odds["find_note"]) == (1.0, 0.0, -7.0)
    twice = await ScriptedSelector(ABOUT).select("and?", ("and tomorrow?", "rain?"), (), KITS)
    assert twice.relevance["get_weather"] == -1.0
    own = await ScriptedSelector({"meet?": {"weather": -0.5}, "rain?": {"weather": 1.0}}).select(
        "meet?", ("rain?",), (), KITS
    )
    assert own.relevance["get_weather"] == -0.5
    assert selection.fallback_reason == "OFF"
    assert [each.score for each in selection.activated] == [0.65, 1.0]
