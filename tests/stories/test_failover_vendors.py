"""Differences between vendors: refusals, broken streams, and how they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routing.types.tiers import TIERS
from tests.servers.model import wire_gemini
from tests.servers.model.script import Script, ToolCall
from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import POOLS, asked, at, facts, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

ORDERS = [POOLS["smart"][n:] + POOLS["smart"][:n] for n in range(3)]
"""Each vendor in first place."""
FIRST = ORDERS[0][0]

HALF = {
    "thinking": Script(thinking="Let me think about it.", text="hi", fault="truncate", fault_after=2),
    "a call": Script(calls=(ToolCall("get_datetime", "{}"),), fault="truncate", fault_after=1),
}


def asks(on: BotHarness, order: tuple[str, ...]) -> str:
    """The order of every tier; the first of them."""
    vendors(on, **{tier: {"pool": list(order)} for tier in TIERS})
    return order[0]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
async def test_a_broken_connection_is_named_as_such(on: BotHarness, order: tuple[str, ...]) -> None:
    first = asks(on, order)
    on.ms.reset(when=at(first.partition("/")[0]))
    async with running(on):
        answer = await ask(on, "hm")
    assert answer.text == f"You said: hm\n\n↪ {order[1]} answered: {first}: Connection error."


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
async def test_an_error_inside_a_stream_is_shown_verbatim(on: BotHarness, order: tuple[str, ...]) -> None:
    first = asks(on, order)
    on.ms.break_stream(after_chunks=0, when=at(first.partition("/")[0]))
    async with running(on):
        answer = await ask(on, "hm")
    assert answer.text == f"You said: hm\n\n↪ {order[1]} answered: {first}: The server had an error."


async def test_invalid_json_is_reported_as_unreadable(on: BotHarness) -> None:
    first = asks(on, ORDERS[0])
    on.ms.garbage(after_chunks=0, when=at("openai"))
    async with running(on):
        assert (await ask(on, "hm")).text.endswith(f"{first}: its answer can't be read.")


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY"])
async def test_a_gemini_refusal_does_not_fail_over(
    on: BotHarness, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(wire_gemini._FINISH, "content_filter", reason)  # the server's name for it
    asks(on, ORDERS[2])
    on.ms.empty(finish="content_filter", when=at("gemini"))
    async with running(on):
        sorry = await ask(on, "hm")
    assert sorry.text == "🛑 The provider ended the answer here because of its content rules."
    assert asked(on) == [ORDERS[2][0]]
    assert facts(on)["failed"] == "[]"


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
@pytest.mark.parametrize("half", HALF)
async def test_a_stream_that_ends_before_its_first_token_is_retried(
    on: BotHarness, half: str, order: tuple[str, ...]
) -> None:
    first = asks(on, order)
    on.ms.script(replace(HALF[half], when=at(first.partition("/")[0])))
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm", "the first choice answered, so there is no notice"
        usage = (await ask(on, "/usage")).text
    assert f"{first}: 2 calls" in usage
    assert (" (one unpriced)" in usage) == (first == FIRST), "OpenAI reports usage only at the end of a stream"
    assert asked(on) == [first, first]
    assert (facts(on)["model"], facts(on)["failed"], facts(on)["fallback"]) == (first, "[]", 0)


async def test_a_claude_without_room_to_think_answers_at_once(on: BotHarness) -> None:
    vendors(on, "anthropic", balanced={"pool": ["anthropic/claude-sonnet-4-5"]})
    on.ms.fail(400, message="prompt is too long: 210000 tokens > 200000 maximum")
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"
    first, again = on.ms.calls
    assert first.body["thinking"]["budget_tokens"] > again.body["max_tokens"]
    assert "thinking" not in again.body
