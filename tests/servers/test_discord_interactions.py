"""Commands, buttons, menus and forms on the loopback Discord, through discord.py."""

from typing import Any

import discord
import pytest

from tests.servers.discord.sample import Panel, commanded


async def test_a_command_is_deferred_answered_and_followed_up() -> None:
    async with commanded() as (dc, _):
        asked = dc.slash("tier", {"tier": "Smart", "force": True}, where="general")
        first, second = await dc.reply(asked, count=2)
        assert (first.text, second.text) == ("smart True 1", "that is all")
        assert asked.deferred
        assert asked.ephemeral
        assert first.ephemeral
        assert second.ephemeral
        assert asked.message is first
        assert asked.followups == [second]
        assert 0 <= (asked.acknowledged_after or -1) < 3


async def test_an_ephemeral_answer_is_neither_an_event_nor_in_the_history() -> None:
    async with commanded() as (dc, client):
        hidden = await dc.reply(dc.slash("tier", {"tier": "fast"}, where="general"), count=2)
        open_one = await dc.reply(dc.slash("panel", where="general"))
        event_ids = {frame["d"].get("id") for frame in dc.sessions[0].backlog}
        assert str(open_one.id) in event_ids
        assert not event_ids & {str(message.id) for message in hidden}
        general = client.get_channel(dc.channel().id)
        assert isinstance(general, discord.TextChannel)
        assert [message.id async for message in general.history()] == [open_one.id]
        with pytest.raises(discord.NotFound, match="10008"):
            await general.fetch_message(hidden[0].id)
        assert open_one.kind == 20
        assert (await general.fetch_message(open_one.id)).interaction_metadata is not None


async def test_subcommands_are_autocompleted() -> None:
    async with commanded() as (dc, _):
        offered = await dc.autocomplete("model set", {"tier": "coding", "model": "gp"}, focused="model")
        assert [choice["value"] for choice in offered] == ["gp-coding-0", "gp-coding-1"]
        set_one = dc.slash("model set", {"tier": "coding", "model": offered[0]["value"]})
        assert (await dc.reply(set_one)).text == "coding: gp-coding-0"


async def test_buttons_menus_and_forms() -> None:
    async with commanded() as (dc, _client):
        panel = await dc.reply(dc.slash("panel", where="general"))
        await dc.answered(dc.press(panel, "More"))
        assert [version.text for version in panel.versions] == ["panel", "more"]
        chosen = dc.choose(panel, "Pick one", ["Red", "blue"], user="bob")
        assert (await dc.reply(chosen)).text == "red and blue"
        assert chosen.ephemeral
        opened = await dc.answered(dc.press(panel, "Ask"))
        assert (await dc.reply(dc.submit(opened, {"name": "Bob"}))).text == "hello Bob"
        later = dc.press(panel, "later")
        await dc.wait_for(lambda _: panel.text == "later")
        assert later.deferred
        assert later.message is panel
        assert panel.buttons == []


async def test_a_button_works_after_a_restart() -> None:
    async with commanded() as (dc, client):
        panel = await dc.reply(dc.slash("panel"))
        client.add_view(Panel())
        dc.invalidate()
        await dc.wait_for(lambda dc: len(dc.sessions) == 2 and dc.sessions[1].is_connected)
        await dc.answered(dc.press(panel, "More"))
        assert panel.text == "more"


async def test_contexts_and_installations() -> None:
    async with commanded() as (dc, _):
        assert (await dc.reply(dc.slash("anywhere", where="general"))).text == "[0] False"
        private = dc.private_channel("alice", "bob")
        assert (await dc.reply(dc.slash("anywhere", where=private, user="bob"))).text == "[2] True"
        crowd = dc.private_channel("alice", "bob", "carol")
        assert (await dc.reply(dc.slash("anywhere", where=crowd))).text == "[2] True"
        elsewhere = dc.channel("general", dc.guild("Elsewhere", has_bot=False))
        assert (await dc.reply(dc.slash("anywhere", where=elsewhere))).text == "[0] True"
        assert (await dc.reply(dc.slash("anywhere"))).text == "[1] False"
        dc.forbid("general", "send_messages")
        permissions = int(dc.slash("anywhere", where="general").event["app_permissions"])
        assert not discord.Permissions(permissions).send_messages
        assert discord.Permissions(permissions).view_channel


async def test_resolved_users_come_with_the_command() -> None:
    async with commanded() as (dc, _):
        bob = dc.user("bob")
        reply = await dc.reply(dc.slash("who", {"person": bob}))
        assert reply.text == bob.mention
        assert not reply.pings


@pytest.mark.parametrize(
    ("name", "options", "where", "reason"),
    [
        ("teir", {}, None, "not registered"),
        ("tier", {}, None, "needs"),
        ("tier", {"tier": "huge"}, None, "one of"),
        ("tier", {"tier": "smart", "force": "yes"}, None, "takes"),
        ("tier", {"tier": "smart", "count": 6}, None, "count"),
        ("tier", {"tier": "smart", "size": 6}, None, "has the options"),
        ("model", {}, None, "subcommands"),
        ("model get", {}, None, "subcommands"),
        ("who", {"person": "bob"}, None, "person takes"),
        ("tier", {"tier": "smart"}, "private", "context 2"),
    ],
)
async def test_unregistered_commands_cannot_be_used(
    name: str, options: dict[str, Any], where: str | None, reason: str
) -> None:
    async with commanded() as (dc, _):
        with pytest.raises(AssertionError, match=reason):
            dc.slash(name, options, where=dc.private_channel() if where else None)
        with pytest.raises(AssertionError, match="without autocomplete"):
            dc.suggest("model set", {"tier": "x"}, focused="tier")
        assert dc.interactions == []


async def test_press_permissions() -> None:
    async with commanded() as (dc, _client):
        panel = await dc.reply(dc.slash("panel", where="general"))
        with pytest.raises(AssertionError, match="no button"):
            dc.press(panel, "Explode")
        with pytest.raises(AssertionError, match="too few or too many"):
            dc.choose(panel, "pick", ["red", "green", "blue"])
        with pytest.raises(AssertionError, match="the menu has"):
            dc.choose(panel, "pick", ["pink"])
        hidden = await dc.reply(dc.choose(panel, "pick", ["red"]))
        hidden.versions[-1].components.extend(panel.components)
        with pytest.raises(AssertionError, match="does not see"):
            dc.press(hidden, "More", user="bob")


async def test_commands_are_kept_by_scope_and_keep_their_ids() -> None:
    async with commanded() as (dc, client):
        before = {command["name"]: command["id"] for command in dc.commands}
        synced = await client.tree.sync()
        assert {command.name: str(command.id) for command in synced} == before
        client.tree.copy_global_to(guild=client.guilds[0])
        await client.tree.sync(guild=client.guilds[0])
        home = dc.guild()
        assert {command["guild_id"] for command in dc.guild_commands[home.id]} == {str(home.id)}
        assert dc.slash("panel", where="general").data["guild_id"] == str(home.id)
        assert "guild_id" not in dc.slash("panel").data
        fetched = await client.tree.fetch_command(int(before["tier"]))
        await fetched.edit(description="Another.")
        assert next(command for command in dc.commands if command["name"] == "tier")["description"] == "Another."
        await fetched.delete()
        with pytest.raises(discord.NotFound, match="10063"):
            await client.tree.fetch_command(fetched.id)
        assert {command.name for command in await client.tree.fetch_commands()} == before.keys() - {"tier"}
