"""/tier auto: each message gets a tier with a reason, within what the person may use."""

from __future__ import annotations

import pytest

from tests.stories.councils import ASKED, enable_council
from tests.stories.harness import BotHarness, ask, press, running
from tests.stories.vendors import facts, labels

PROOF = "Prove P != NP"
CODE = "Write a Python function that parses RFC 3339 timestamps, with tests.\n```python\ndef parse(text): ...\n```"
TIERS = {"balanced": "gpt-5.1", "coding": "gpt-5.2", "deep": "gpt-5.2"}


async def test_each_message_gets_a_tier_and_a_stated_reason(on: BotHarness) -> None:
    async with running(on):
        shown = (await ask(on, "/tier auto")).text
        assert shown.startswith("Tier: auto, Force: off")
        assert "a tier is chosen for each message" in shown
        await ask(on, "/settings footer on")
        for text, tier, why in ((PROOF, "deep", "a proof"), ("hi", "balanced", ""), (CODE, "coding", "code")):
            answer = (await ask(on, text)).text
            assert facts(on)["tier"] == tier
            assert on.ms.last.model == TIERS[tier]
            assert why in answer.rpartition(f"{tier} (")[2], "the footer gives the reason"
        assert (
            "Last call: coding with openai/gpt-5.2, because /tier auto chose it (code"
            in (await ask(on, "/status full")).text
        )
        assert [row[0] for row in on.rows("select source from turns")] == ["auto"] * 3


async def test_a_follow_up_keeps_its_tier_also_after_a_restart(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier auto")
        await ask(on, CODE)
    async with running(on):
        assert (await ask(on, "/tier")).text.startswith("Tier: auto, Force: off")
        await ask(on, "fix it")
        assert facts(on)["tier"] == "coding"
        await ask(on, "/new")
        await ask(on, "fix it")
        assert facts(on)["tier"] == "balanced"


async def test_auto_ends_a_tier_lock(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier smart force")
        assert "can't be locked" in (await ask(on, "/tier auto force")).text
        assert (await ask(on, "/tier")).text.startswith("Tier: smart, Force: on"), "nothing was changed"
        assert (await ask(on, "/tier AUTO")).text.startswith("Tier: auto, Force: off")
        await ask(on, f"!balanced {PROOF}")
        assert facts(on)["tier"] == "balanced", "an explicit prefix counts"
        assert "did you mean auto" in (await ask(on, "/tier auot")).text
        assert (await ask(on, "/tier balanced")).text.startswith("Tier: balanced, Force: off")
        await ask(on, PROOF)
        assert facts(on)["tier"] == "balanced"


@pytest.mark.parametrize("closed", [{"deep": {"mayBeEscalatedTo": False}}, {"balanced": {"mayEscalate": False}}])
async def test_auto_respects_the_contracts(on: BotHarness, closed: dict[str, object]) -> None:
    on.config["tiers"] = closed
    async with running(on):
        await ask(on, "/tier auto")
        await ask(on, PROOF)
        assert facts(on)["tier"] == ("smart" if "deep" in closed else "balanced")


async def test_a_retry_gets_the_same_tier(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier auto")
        await ask(on, CODE)
        await ask(on, "hm?")
        before = facts(on)["tier"]
        await ask(on, "/retry")
        assert facts(on)["tier"] == before


async def test_auto_escalations_are_recorded(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier auto")
        for text, up in (("hi", 0), (PROOF, 1)):
            await ask(on, text)
            assert facts(on)["escalated"] == up
        await ask(on, "/tier smart")
        await ask(on, PROOF)
        assert facts(on)["escalated"] == 0, "their own choice is no escalation"
        await ask(on, "/retry smart")
        assert facts(on)["escalated"] == 0, "neither is the same tier again"
        await ask(on, "/retry deep")
        assert facts(on)["escalated"] == 1


async def test_a_council_in_between_does_not_change_the_tier(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        await ask(on, "/tier auto")
        await ask(on, CODE)
        await ask(on, ASKED)
        assert on.rows("select tier, source from turns") == [("coding", "auto"), ("deep", "council")]
        await ask(on, "fix it")
        assert facts(on)["tier"] == "coding"


async def test_auto_in_german(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/settings language de")
        await ask(on, "/tier auto")
        await ask(on, "/settings footer on")
        assert "deep (ein Beweis)" in (await ask(on, "Beweise, dass es unendlich viele Primzahlen gibt.")).text
        assert " (/tier auto hat sie gewählt (ein Beweis" in (await ask(on, "/status full")).text


async def test_the_owners_default_applies_until_a_person_chooses_a_tier(on: BotHarness) -> None:
    on.config["modelRouter"] = {"defaultTier": "auto"}
    async with running(on):
        for command in ("/tier", "/status full"):
            shown = (await ask(on, command)).text
            assert shown.startswith("Tier: auto, Force: off")
            assert "The owner set auto as the default. Choose your own with /tier." in shown
        await ask(on, PROOF)
        assert on.rows("select tier, source from turns order by id desc limit 1") == [("deep", "auto")]
        assert "owner" not in (await ask(on, "/tier balanced")).text
        await ask(on, PROOF)
        assert on.rows("select tier, source from turns order by id desc limit 1") == [("balanced", "preference")]
    on.config["modelRouter"] = {"defaultTier": "smart"}
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        shown = (await ask(on, "/tier", user="bob")).text
        assert "In effect: smart, because it is the owner's default." in shown
        await ask(on, "hi", user="bob")
        assert on.rows("select tier, source from turns order by id desc limit 1") == [("smart", "owner")]


async def test_tier_default_returns_to_the_owners_default(on: BotHarness) -> None:
    on.config["modelRouter"] = {"defaultTier": "smart"}
    back = "↩ Owner's default (smart)"
    async with running(on):
        assert back not in labels(await ask(on, "/tier"))
        await ask(on, "/tier deep force")
        shown = await ask(on, "/tier")
        assert shown.text.startswith("Tier: deep, Force: on")
        assert labels(shown)[-1] == back
        await press(on, back, shown)
        assert shown.text.startswith("Tier: smart, Force: off\nIn effect: smart, because it is the owner's default.")
        assert back not in labels(shown)
        assert on.rows("select tier, force from preferences") == [(None, 0)]
        await ask(on, "/tier auto")
        assert (await ask(on, "/tier RESET")).text.startswith("Tier: smart, Force: off")
        await ask(on, "/tier coding")
        refused = (await ask(on, "/tier default force")).text
        assert refused.startswith("The default can't be locked.")
        assert "Nothing was changed." in refused
        assert "did you mean default?" in (await ask(on, "/tier defualt")).text
        await ask(on, "/settings language de")
        shown = await ask(on, "/tier")
        assert shown.text.startswith("Tier: coding, Force: off")
        assert labels(shown)[-1] == "↩ Standard des Besitzers (smart)"
        assert "/tier default" in (await ask(on, "/help tier")).text


async def test_without_an_owners_default_the_tier_is_balanced(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier deep")
        assert len(labels(await ask(on, "/tier"))) == 6, "no button without a default to return to"
        shown = (await ask(on, "/tier default")).text
    assert shown.startswith("Tier: balanced, Force: off")
    assert "because nothing else was chosen" in shown
