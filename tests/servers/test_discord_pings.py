"""Who a message of the bot pings on the loopback Discord."""

from typing import Any

import discord
import pytest

from tests.servers.discord import DiscordServer, Pings
from tests.servers.discord.pings import pings_of
from tests.servers.discord.sdk import talking

NO_PINGS = discord.AllowedMentions.none()


async def test_components_v2_are_text_that_can_ping() -> None:
    async with talking() as (dc, client):
        dm = await client.create_dm(discord.Object(dc.user().id))
        view = discord.ui.LayoutView()
        view.add_item(discord.ui.TextDisplay(f"# {dc.user('bob').mention}"))
        sent = await dm.send(view=view)
        message = await dc.reply()
        assert message.flags == 1 << 15
        assert message.pings.users == {dc.user("bob").id}
        assert message.text == ""
        view.add_item(discord.ui.ActionRow(discord.ui.Button(label="Go", custom_id="go")))
        await sent.edit(view=view)
        assert [button["label"] for button in message.buttons] == ["Go"]
        plain = await dm.send("plain")
        await plain.edit(content=None, view=view)
        assert (await dc.reply()).flags == 1 << 15


LOUD = "@everyone @here <@7> <@!8> <@&9> me@everyone.org"


@pytest.mark.parametrize(
    ("allowed", "users", "roles", "everyone"),
    [
        (None, {7, 8, 1001}, {9}, True),
        ({}, set(), set(), False),
        ({"parse": []}, set(), set(), False),
        ({"parse": ["users"]}, {7, 8}, set(), False),
        ({"parse": ["roles"]}, set(), {9}, False),
        ({"parse": ["everyone"]}, set(), set(), True),
        ({"users": ["8", "10"]}, {8}, set(), False),
        ({"parse": ["everyone"], "roles": ["9"], "replied_user": True}, {1001}, {9}, True),
    ],
)
async def test_pings_of_a_message(
    dc: DiscordServer, allowed: Any, users: set[int], roles: set[int], everyone: bool
) -> None:
    message = dc.say("hi")
    assert pings_of(LOUD, dc.channel(), allowed, message) == Pings(frozenset(users), frozenset(roles), everyone)
    assert not pings_of("nobody", dc.channel(), allowed)
    dc.forbid("general", "mention_everyone")
    assert not pings_of(LOUD, dc.channel(), allowed).everyone


async def test_pings_are_kept_on_the_message_edits_included() -> None:
    async with talking() as (dc, client):
        dm = await client.create_dm(discord.Object(dc.user().id))
        sent = await dm.send("quiet")
        message = await dc.reply()
        assert not message.pings
        await sent.edit(content=f"{dc.role('Staff').mention} @here", allowed_mentions=NO_PINGS)
        assert not message.pings
        await sent.edit(content=f"{dc.user('bob').mention} @here")
        await sent.edit(content="gone")
        assert message.pings == Pings(frozenset({dc.user("bob").id}), frozenset(), True)
