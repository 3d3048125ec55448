"""Slash commands and buttons: stored, acknowledged at once, and ended if there is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.discord.context import EPHEMERAL, InteractionRef, created
from bot.adapters.discord.interactions import read
from routing.types.messages import ChatKey, InboundMessage, UserKey
from tests.bot.adapters.discord.interactions import CommandClient, command_client
from tests.servers.discord import Channel, DiscordServer, Interaction

CALLBACK = "/interactions/{interaction_id}/{interaction_token}/callback"
BUTTONS = [{"type": 1, "components": [{"type": 2, "style": 2, "label": "Smart", "custom_id": "t:7:0.0"}]}]
MENU = [
    {
        "type": 1,
        "components": [
            {"type": 3, "custom_id": "t:7:0.0", "options": [{"label": n, "value": f"t:7:{n}.0"} for n in ("1", "2")]}
        ],
    }
]


def origin(message: InboundMessage) -> InteractionRef:
    """The interaction of a message."""
    found = InteractionRef.unpack(message.message_id)
    assert found is not None
    return found


async def test_a_command_becomes_a_message_and_is_deferred_at_once() -> None:
    async with command_client() as (dc, client):
        asked = await dc.answered(dc.slash("tier", {"tier": "smart", "force": True}, where="general"))
        received = await client.received(asked)
        assert asked.deferred
        assert asked.ephemeral
        assert 0 <= (asked.acknowledged_after or -1) < 3
        packed = InteractionRef(asked.id, asked.token, 1001, "en", ephemeral=True).pack()
        assert received == InboundMessage(
            user=UserKey("discord", "1001"),
            chat=ChatKey("discord", str(dc.channel().id)),
            bot_id=str(dc.bot.id),
            update_id=str(asked.id),
            text="/tier smart force",
            sent_at=created(asked.id),
            user_name="Alice",
            bot_name="tierbot",
            private=False,
            language="en",
            message_id=packed,
            username="alice",
        )


@pytest.mark.parametrize(
    ("name", "options", "text", "ephemeral"),
    [
        ("status", {}, "/status", True),
        ("model set", {"tier": "coding", "model": "openai/gpt-5.2"}, "/model coding openai/gpt-5.2", True),
        ("history", {}, "/history", True),
        ("history", {"history": "resume 2"}, "/history resume 2", False),
        ("new", {}, "/new", False),
        ("retry", {"retry": "smart"}, "/retry smart", False),
        ("compact", {"compact": "20"}, "/compact 20", False),
    ],
)
async def test_personal_commands_are_ephemeral(name: str, options: dict[str, Any], text: str, ephemeral: bool) -> None:
    async with command_client() as (dc, client):
        asked = await dc.answered(dc.slash(name, options, where="general"))
        received = await client.received(asked)
        assert (received.text, asked.ephemeral, origin(received).ephemeral) == (text, ephemeral, ephemeral)
        direct = await dc.answered(dc.slash(name, options))
        assert not direct.ephemeral
        assert not origin(await client.received(direct)).ephemeral


async def test_a_command_carries_its_channel_and_person() -> None:
    async with command_client() as (dc, client):
        thread = dc.thread("plans")
        bob = dc.user("bob", locale="pt-BR")
        received = await client.received(dc.slash("whoami", where=thread, user=bob))
        assert received.chat == ChatKey("discord", str(dc.channel().id), str(thread.id))
        assert not received.private
        assert (received.user, received.user_name, received.language) == (UserKey("discord", str(bob.id)), "Bob", "pt")
        received = await client.received(dc.slash("whoami", user=bob))
        assert received.chat == ChatKey("discord", str(dc.dm(bob).id))
        assert received.private


async def test_answers_of_a_user_installed_bot_are_ephemeral() -> None:
    async with command_client() as (dc, client):
        elsewhere = dc.channel("general", dc.guild("Elsewhere", has_bot=False))
        for where in (dc.private_channel("alice", "bob"), dc.private_channel("alice", "bob", "carol"), elsewhere):
            asked = await dc.answered(dc.slash("new", where=where))
            received = await client.received(asked)
            assert asked.is_users_only
            assert asked.ephemeral
            assert origin(received).ephemeral
            assert received.private
            assert received.chat == ChatKey("discord", str(where.id), f"@{asked.user.id}")


async def pressed(dc: DiscordServer, client: CommandClient, where: Channel, menu: bool = False) -> Interaction:
    """Presses the only button, or chooses from the menu, of a message."""
    sent = await client.context.send(str(where.id), {"content": "which?", "components": MENU if menu else BUTTONS})
    message = where.by_id[int(sent["id"])]
    return dc.choose(message, "t:7:0.0", ["2"]) if menu else dc.press(message, "Smart")


@pytest.mark.parametrize(("menu", "token"), [(False, "t:7:0.0"), (True, "t:7:2.0")])
async def test_buttons_and_choices_deliver_their_token(menu: bool, token: str) -> None:
    async with command_client() as (dc, client):
        asked = await dc.answered(await pressed(dc, client, dc.channel(), menu))
        received = await client.received(asked)
        assert (received.kind, received.text) == ("press", token)
        assert asked.response is not None
        assert (asked.response.type, asked.response.data) == (6, {})
        packed = InteractionRef(asked.id, asked.token, 1001, "en", component=True).pack()
        assert received.press is not None
        assert (received.press.query, received.press.message_id) == (packed, packed)


async def test_a_press_under_an_ephemeral_answer_stays_ephemeral() -> None:
    async with command_client() as (dc, client):
        first = await dc.answered(dc.slash("tier", where="general"))
        content = {"content": "which?", "components": BUTTONS, "flags": EPHEMERAL}
        await client.context.follow_up(origin(await client.received(first)), content)
        received = await client.received(dc.press(await dc.reply(first), "Smart"))
        assert received.kind == "press"
        assert origin(received).ephemeral


async def test_a_redelivered_interaction_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    async with command_client() as (dc, client):
        asked = await dc.answered(dc.slash("tier", where="general"))
        await client.received(asked)
        dc.redeliver(asked)
        await dc.wait_for(lambda _: len(dc.refusals) == 1)
        await dc.wait_for(lambda _: len(client.accepted) == 2)
        await client.end()
        assert client.accepted[0] == client.accepted[1]  # the inbox drops the second by its id
        assert caplog.messages == []
        assert dc.refusals[0].code == 40060


async def test_an_expired_interaction_is_still_a_message(caplog: pytest.LogCaptureFixture) -> None:
    async with command_client(response_limit=0.0) as (dc, client):
        asked = dc.slash("status", where="general")
        assert (await client.received(asked)).text == "/status"
        await dc.wait_for(lambda _: dc.refusals)
        client.no_replies.note(client.accepted[0])
        await client.end()
        assert dc.refusals[0].code == 10062
        assert asked.response is None
        assert caplog.messages == [
            f"Discord: interaction {asked.id} was acknowledged too late; its answer is a plain message"
        ]
        assert dc.calls("DELETE") == []


async def test_an_unanswered_command_does_not_show_thinking_for_ever() -> None:
    async with command_client() as (dc, client):
        silent = await dc.answered(dc.slash("stop", where="general"))
        spoken = await dc.answered(dc.slash("status", where="general"))
        client.no_replies.note(await client.received(silent))
        await dc.wait_for(lambda _: silent.message is not None and silent.message.deleted)
        await client.received(spoken)
        await client.end()  # the next start answers a pending interaction
        assert spoken.message is not None
        assert not spoken.message.deleted
        assert spoken.message.loading


@pytest.mark.parametrize("press", [False, True])
async def test_nothing_is_acknowledged_before_it_is_stored(press: bool) -> None:
    async with command_client(save_seconds=600.0) as (dc, client):
        client.storage.clear()
        asked = await pressed(dc, client, dc.channel()) if press else dc.slash("status")
        for _ in range(3):  # enough time for a deferral
            await client.fetch_user(dc.user().id)
        assert dc.calls("POST", CALLBACK) == []
        client.storage.set()
        await dc.answered(asked)
        assert (await client.received(asked)).update_id == str(asked.id)


async def test_a_slow_store_defers_the_interaction_and_stores_it_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with command_client(save_seconds=0.05) as (dc, client):
        client.failures = 1
        client.storage.clear()
        asked = await dc.answered(dc.slash("status"))
        assert client.failures == 0
        assert client.accepted == []
        client.storage.set()
        assert f"Discord: interaction {asked.id} is acknowledged before it is saved" in caplog.messages
        assert (await client.received(asked)).text == "/status"


async def test_an_interaction_that_cannot_be_stored_is_not_deferred(caplog: pytest.LogCaptureFixture) -> None:
    async with command_client() as (dc, client):
        client.failures, client.fault = 1, RuntimeError("a bug")
        dc.slash("status")
        await dc.wait_for(lambda _: not client.failures)
        await dc.answered(dc.slash("whoami"))
        assert len(dc.calls("POST", CALLBACK)) == 1
        assert "a background task failed" in caplog.text


async def test_answers_to_strangers_are_ephemeral() -> None:
    async with command_client() as (dc, client):
        assert not (await dc.answered(dc.slash("new", where="general"))).ephemeral
        asked = await dc.answered(dc.slash("new", where="general", user="mallory"))
        assert asked.ephemeral
        assert origin(await client.received(asked)).ephemeral


async def test_a_deferral_bypasses_the_bots_rate_limits() -> None:
    async with command_client() as (dc, client):
        client.http._global_over.clear()  # as after a global 429
        asked = await dc.answered(dc.slash("status"))
        assert asked.deferred
        client.http._global_over.set()


@pytest.mark.parametrize(
    "payload", [{"id": "1"}, {"id": "1", "type": 2, "token": "x", "channel_id": "2", "user": None}]
)
async def test_unreadable_interactions_are_skipped(payload: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    async with command_client() as (_, client):
        await client.interactions.take(payload)
        assert client.accepted == []
        assert "can't parse interaction 1" in caplog.text


def test_other_channel_types_are_read() -> None:
    bare = {"id": "5", "token": "t", "type": 2, "channel_id": "9", "user": {"id": "3", "username": "zoe"}, "data": {}}
    found = read(bare, "", False, None)
    assert (found.chat, found.user_name, found.private) == (ChatKey("discord", "9"), "zoe", True)
    member = {"nick": "Zoë", "user": {"id": "3", "username": "zoe", "global_name": "Zoe"}}
    guild = {"guild_id": "1", "member": member, "channel": {"id": "9", "type": 0, "parent_id": "4"}}
    found = read({**bare, **guild}, "", False, None)
    assert (found.chat, found.user_name, found.private) == (ChatKey("discord", "9"), "Zoë", False)
