"""A model calls a council: result, cost, confirmation, and stop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes import later
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.servers.telegram import Message
from tests.stories.councils import CLAUDE, GEMINI, GPT, MEMBERS, Members, at, enable_council, made, part_of
from tests.stories.harness import BotHarness, ask, press, running
from tests.stories.office import CANCEL, HERE, ONCE, pressed
from tests.stories.vendors import DEADLINE, labels

pytestmark = pytest.mark.usefixtures("own_clients")

WISH = "Ask several models for a second opinion: tabs or spaces?"
QUESTION = "Tabs or spaces?"


def consulting(on: BotHarness, *calls: dict[str, Any], names: tuple[str, ...] = (), above: float = 100.0) -> None:
    """A model that calls these councils one after the other and then repeats the last result."""
    wanted = calls or ({"question": QUESTION},)

    def answer(request: ModelRequest) -> str | Script:
        since = [text if role == "tool" else "" for role, text in request.reading.turns]
        roles = [role for role, _ in request.reading.turns]
        results = [text for text in since[len(roles) - roles[::-1].index("user") :] if text]
        if len(results) < len(wanted):
            return Script(calls=(ToolCall("consult_council", json.dumps(wanted[len(results)])),))
        return f"Done: {results[-1]}"

    enable_council(on, *names, members=Members(otherwise=answer), tool_above=above)


def councils(on: BotHarness) -> int:
    """Number of calls of a council."""
    return sum(part_of(call) is not None for call in on.ms.calls)


async def ask_for_council(on: BotHarness, user: str | None = None, group: str | None = None) -> Message:
    return await ask(on, f"@tierbot {WISH}" if group else WISH, user=user, group=group)


async def test_a_cheap_council_runs_at_once_and_the_model_continues(on: BotHarness) -> None:
    consulting(on)
    gate = on.ms.gate(when=at("openai", "answers"))
    async with running(on):
        message = on.tg.say(WISH)
        await gate.reached(60.0)
        progress = "🏛 Council: answers 2/3 · ranking 0/3 …\nabout $0."
        await on.tg.wait_for(lambda tg: any(progress in draft.text for draft in tg.drafts))
        later(DEADLINE["balanced"] + 10.0)  # the turn's own deadline
        gate.open()
        answer = await on.tg.reply(message, after=message)
        assert answer.text.startswith("Done: All agree.\n\n🏛 3 of 3 answered. openai/gpt-5.2 wrote the final answer.")
        assert councils(on) == 7
        assert len(on.ms.calls) == 9
        assert all(call.last_user_text == QUESTION for call in made(on, "answers")), "they have no other tools"
        assert all(not call.reading.tool_names for call in on.ms.calls if part_of(call)), "nor can they call a council"
        [(spent, calls)] = on.rows("select sum(cost_nano), count(*) from usage where tier != 'balanced'")
        assert isinstance(spent, int)
        assert spent > 0
        assert calls == 7, "it is recorded"
        [line] = [line for line in (await ask(on, "/tools")).text.splitlines() if "Ask before some runs" in line]
        assert "consult_council" in line


async def test_an_expensive_council_waits_for_its_button_also_after_a_restart(on: BotHarness) -> None:
    consulting(on, {"question": QUESTION, "members": 2, "tier": "deep"}, above=0.01)
    async with running(on):
        asked = await ask_for_council(on)
        assert "🔐 Shall I run consult_council (council)?" in asked.text
        assert f"🏛 It asks 2 models: {GPT}, {CLAUDE}.\nabout $0." in asked.text
        assert " · at most 180 s" in asked.text
        assert 'members: 2\nquestion: "Tabs or spaces?"\ntier: "deep"' in asked.text
        assert councils(on) == 0
        assert ONCE in labels(asked)
        assert "has NOT run" in str(on.rows("select text from messages where role = 'tool'")[0][0])
    async with running(on):
        answer = await pressed(on, ONCE, asked)
        assert answer.text.startswith("Done: All agree.\n\n🏛 2 of 2 answered.")
        assert councils(on) == 3
        [(calls,)] = on.rows("select count(*) from usage where tier = 'deep'")
        assert calls == 3, "a council started by a button is recorded, too"
        assert "confirmed consult_council already" in (await pressed(on, HERE, asked)).text
        again = await ask_for_council(on)
        assert (await press(on, CANCEL, again)).text == "❌ Cancelled. consult_council was not run."
        assert councils(on) == 3


async def test_an_unknown_price_asks_first_also_in_german(on: BotHarness) -> None:
    consulting(on)
    on.env["TIER_DEEP_POOL"] = f"openai/gpt-new-unheard-of,{CLAUDE}"
    async with running(on):
        await ask(on, "/settings language de")
        asked = await ask_for_council(on)
    assert "🏛 Gefragt werden 3 Modelle: " in asked.text
    assert "ohne Preis" in asked.text
    assert councils(on) == 0


@pytest.mark.parametrize(
    ("calls", "config", "sentence"),
    [
        pytest.param(
            [{"question": QUESTION, "members": 7}],
            {},
            "You asked for 7 members, but only 5 models can take part:",
            id="too few models",
        ),
        pytest.param([{"question": "x" * 24_001}], {}, "too long for a council: 24001", id="too long"),
        pytest.param([{"question": QUESTION, "members": 8}], {}, "members", id="too many members"),
        pytest.param(
            [{"question": QUESTION}],
            {"turn": {"maxUsd": 0.1}},
            "and a turn may cost $0.10. No model was asked.",
            id="more than a turn may cost",
        ),
        pytest.param(
            [{"question": QUESTION}],
            {"budget": {"perUserDailyUsd": 0.15}},
            "more than your limit of $0.15 a day allows. No model was asked.",
            id="a limit has no room",
        ),
    ],
)
async def test_the_model_is_told_why_no_council_is_possible(
    on: BotHarness, calls: list[dict[str, Any]], config: dict[str, Any], sentence: str
) -> None:
    """Also where every council needs a confirmation: an impossible one never asks for it."""
    consulting(on, *calls, names=("openai", "anthropic"), above=0.0)
    on.config |= config
    async with running(on):
        answer = await ask_for_council(on)
    assert answer.text.startswith("Done: Error: ")
    assert sentence in answer.text
    assert councils(on) == 0


async def test_one_council_per_turn_whose_calls_count_apart(on: BotHarness) -> None:
    consulting(on, {"question": QUESTION}, {"question": "Tea or coffee?"})
    on.config["turn"] = {"maxModelCalls": 4}
    async with running(on):
        answer = await ask_for_council(on)
    assert answer.text == "Done: Error: You have consulted a council in this turn already. Answer with what it said."
    assert councils(on) == 7
    assert len(on.ms.calls) == 10


@pytest.mark.parametrize("above", [100.0, 0.01])
async def test_stop_ends_the_council_and_charges_its_calls(on: BotHarness, above: float) -> None:
    consulting(on, above=above)
    on.config["budget"] = {"perUserDailyUsd": 0.25}
    gates = [on.ms.gate(when=at(vendor, "answers")) for vendor in MEMBERS]
    async with running(on):
        message = on.tg.say(WISH)
        if above < 1:
            message = await on.tg.reply(message, after=message, matching="🔐")
            on.tg.press(ONCE, message=message)
        for gate in gates:
            await gate.reached(60.0)
        on.tg.say("/stop")
        await on.tg.reply(after=message, matching="⏹")
        for gate in gates:
            gate.open()
        assert councils(on) == 3
        assert len(on.ms.calls) == 4
        held = "select count(*), count(*) filter (where held_nano > 0) from usage where tier != 'balanced'"
        assert on.rows(held) == [(3, 3)]
        assert "and exceed " in (await ask_for_council(on)).text, "another one is expected to cost $0.20"
    async with running(on):
        assert "and exceed " in (await ask_for_council(on)).text, "nor after a restart"
    assert councils(on) == 3


async def test_tool_and_command_share_the_limit_of_one_council(on: BotHarness) -> None:
    consulting(on)
    gate = on.ms.gate(when=at("openai", "answers"))
    async with running(on):
        await ask(on, "/access here on", group="Team")
        message = on.tg.say(WISH)
        await gate.reached(60.0)
        refused = await ask(on, f"/council {QUESTION}", group="Team")
        assert refused.text.startswith("You already have a council running")
        gate.open()
        assert (await on.tg.reply(message, after=message)).text.startswith("Done: All agree.")


async def test_guests_and_single_vendor_bots_get_no_council_tool(on: BotHarness) -> None:
    consulting(on)
    async with running(on):
        await ask(on, "/access here on", group="Team")
        answer = await ask_for_council(on, user="bob", group="Team")
        assert answer.text.startswith("Done: Error: There is no tool consult_council here.")
        assert councils(on) == 0
    consulting(on, names=("openai",))
    async with running(on):
        assert "consult_council: fewer than two providers have a key" in (await ask(on, "/tools")).text
        answer = await ask_for_council(on)
    assert "A council needs at least 2 models from 2 vendors" in answer.text
    assert councils(on) == 0
    assert not any("consult_council" in call.reading.tool_names for call in on.ms.calls[-2:])
    assert GEMINI not in answer.text or "has no key" in answer.text
