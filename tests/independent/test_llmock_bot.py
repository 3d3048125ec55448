"""The whole bot against llmock: what a person sees of provider faults, and turns with working and broken tools."""

from __future__ import annotations

import pytest

from tests.independent.conversation import STATIONS, Station, point_providers_at, provider_faults, rounds
from tests.independent.llmock import DOWN, HOUR, SILENT, Behaviour, Llmock, Verdict, cut
from tests.stories.harness import BotHarness, ask, running


def serve_from(on: BotHarness, judge: Llmock, station: Station) -> None:
    """Configure the station's model, served by llmock, as the balanced tier."""
    point_providers_at(on, judge)
    on.config["tiers"] = {"balanced": {"pool": [station.model]}}


@pytest.mark.parametrize("station", STATIONS, ids=lambda station: station.model)
async def test_the_bot_survives_a_failing_provider(on: BotHarness, judge: Llmock, station: Station) -> None:
    """A rate limit, a bad gateway, a truncated answer that the person retries, and an outage. llmock counts the
    person's retry as another attempt at the same call."""
    serve_from(on, judge, station)
    async with running(on):
        await judge.will({"type": "fail", "status": 429, "retry_after": 1}, {"type": "reply", "text": "One."})
        assert (await ask(on, "first")).text == "One."
        await judge.will({"type": "fail", "status": 502}, {"type": "reply", "text": "Two."})
        assert (await ask(on, "second")).text == "Two."
        await judge.will(cut("truncate", SILENT[station.kind] + 2), {"type": "reply", "text": "a b c d", "times": 2})
        broken = await ask(on, "third")
        assert broken.text.startswith("a b")
        assert "cut the answer off here" in broken.text
        on.tg.press("🔁 Retry", message=broken)
        assert (await on.tg.reply(after=broken)).text == "a b c d"
        await judge.will(DOWN | {"times": 2}, {"type": "reply", "text": "Four."})
        assert (await ask(on, "fourth")).text.startswith("Four.\n\n↪ "), "another model of the only provider"
    found = await judge.verdict()
    assert (found.errors, found.warnings) == ((), ())


async def test_a_long_retry_after_is_reported_and_honoured(on: BotHarness, judge: Llmock) -> None:
    """Until then, questions are answered with the remaining time, without a request to the provider."""
    serve_from(on, judge, STATIONS[0])
    await judge.will(HOUR)
    async with running(on):
        assert "try again in 3600 s" in (await ask(on, "first")).text
        assert "try again in 3" in (await ask(on, "/retry")).text
        assert "try again in 3" in (await ask(on, "second")).text
    assert await judge.verdict() == Verdict(2, 2, (), ("gave_up", "gave_up")), "one try for each model of the tier"


USE = {"type": "reply", "tool_calls": [{"name": "calculate", "arguments": {"expression": "6*7"}}]}


@pytest.mark.parametrize("station", STATIONS, ids=lambda station: station.model)
@pytest.mark.parametrize("fault", [None, "malformed_arguments", "unknown_tool"])
async def test_a_turn_with_working_and_broken_tools(
    on: BotHarness, judge: Llmock, station: Station, fault: str | None
) -> None:
    """The tool result or the error is sent back with the call's id."""
    serve_from(on, judge, station)
    broken: list[Behaviour] = [{"type": "tool_fault", "kind": fault}] if fault else []
    await judge.will(USE, *broken, {"type": "reply", "text": "It is 42."})
    async with running(on):
        assert (await ask(on, "What is six times seven?")).text == "It is 42."
    first, second = await judge.sent()
    assert provider_faults(first) == provider_faults(second) == []
    (told,) = rounds(station.kind, second.body)
    if fault == "unknown_tool":
        assert told.name == "llmock_unknown_tool"
        assert "calculate" in told.result
    else:
        lacking = "expression" if station.kind == "gemini" else "JSON"  # an object there, never half a text
        assert told.name == "calculate"
        assert (lacking if fault else "42") in told.result
    assert (await judge.verdict()).errors == ()
