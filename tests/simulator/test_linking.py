"""Linking a Telegram and a Discord account on simcord."""

from __future__ import annotations

import pytest

from tests.simulator.team import Team
from tests.stories.access import CODE
from tests.stories.harness import OWNER, BotHarness, ask


@pytest.fixture(autouse=True)
def both(on: BotHarness) -> None:
    """People are known only on Telegram."""
    on.env |= {"TELEGRAM_BOT_TOKEN": on.tg.token, "BOT_OWNERS": f"telegram:{OWNER}", "BOT_ACCESS": "pairing"}


async def test_a_discord_account_is_linked_to_its_telegram_person(team: Team, on: BotHarness) -> None:
    """With a command and a code. Their choices and role are kept, and they get a notice on both."""
    alice, room = team.alice.user, team.alice.user.dm_channel
    async with team.bot(on):
        await ask(on, "/tier deep force")
        assert "This bot is private" in (await team.reply(room, await alice.send_dm("hello"))).content
        code = CODE.search((await ask(on, "/access link")).text)
        assert code is not None
        text = await team.answer(await alice.slash("access", access=f"link {code.group()}"))
        assert f"`telegram:{OWNER}`" in text
        assert f"`discord:{alice.id}`" in text
        assert f"discord:{alice.id}" in (await on.tg.reply(matching="is linked with this account now")).text
        assert (await team.answer(await alice.slash("tier"))).startswith("Tier: deep, Force: on")
        await team.reply(room, matching="You said: hello")  # it waited for them to be let in
        message = await alice.send_dm("and here?")
        assert (await team.reply(room, message)).content == "You said: and here?"
    assert on.rows("select count(distinct person_id) from identities") == [(1,)]


async def test_two_people_are_merged_after_the_second_confirms(team: Team, on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    bob = team.bob.user
    async with team.bot(on):
        await ask(on, "/model smart openai/gpt-4.1", user="bob")
        await team.answer(await bob.slash("tier", tier="deep"))
        code = CODE.search((await ask(on, "/access link", user="bob")).text)
        assert code is not None
        asked = await bob.slash("access", access=f"link {code.group()}")
        assert "smart" not in await team.answer(asked)
        assert asked.response is not None
        assert on.rows("select count(distinct person_id) from identities") == [(3,)], "it takes a press"
        await bob.click(asked.response, label="🔗 That is me")
        await team.answer(asked, "🔗 You are one person")
        assert "openai/gpt-4.1" in await team.answer(await bob.slash("model show"))
        assert "Tier: deep" in (await ask(on, "/tier", user="bob")).text
    assert on.rows("select count(distinct person_id) from identities") == [(2,)]
