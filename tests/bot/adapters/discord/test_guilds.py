"""Notices to owners about removals and missing permissions, each once."""

from __future__ import annotations

import pytest

from bot.adapters.discord.guilds import NO_FILES, NO_HISTORY, NO_THREADS, REMOVED, OwnerAlerts
from bot.adapters.shared.descriptor import Tell
from routing.types.messages import ChatKey
from tests.bot.adapters.discord.harness import DiscordHarness, PersistentState, running_platform
from tests.bot.adapters.harness import States
from tests.servers.discord import DiscordServer


def notices(harness: DiscordHarness) -> list[str]:
    """The notices about permissions."""
    return [words for words in harness.notices if words.startswith("🔐")]


async def wait_for_servers(harness: DiscordHarness, dc: DiscordServer) -> None:
    """Until the client knows every server."""
    await dc.wait_for(lambda _: harness.log.lines)
    await harness.platform._client.wait_until_ready()
    await harness.platform._check_guilds()


async def test_a_removal_while_offline_is_reported_once_by_name(dc: DiscordServer) -> None:
    dc.guild()
    dc.guild("Other")
    kept = PersistentState()
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
    dc.kick()
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
        assert harness.notices == [REMOVED.format(server="Team")]
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
        assert harness.notices == []


async def test_a_server_joined_later_is_known(dc: DiscordServer) -> None:
    kept = PersistentState()
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
        dc.join("Later")
        await harness.received(dc.say("hi", guild="Later", mention=True))
        await dc.wait_for(lambda _: "Later" in kept.state.kept["discord_guilds"])
    dc.kick("Later")
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
        assert harness.notices == [REMOVED.format(server="Later")]


@pytest.mark.parametrize(
    ("permission", "template"),
    [
        ("read_message_history", NO_HISTORY),
        ("attach_files", NO_FILES),
        ("create_public_threads", NO_THREADS),
    ],
)
async def test_a_missing_permission_is_reported_once_per_channel(
    dc: DiscordServer, permission: str, template: str
) -> None:
    for name in ("general", "other"):
        dc.forbid(dc.channel(name), permission)
    kept = PersistentState()
    threads = permission == "create_public_threads"
    async with running_platform(dc, kept, threads=threads) as harness:
        for name in ("general", "general", "other"):
            await harness.received(dc.say("hi", channel=name, mention=True))
        await dc.wait_for(lambda _: len(notices(harness)) == 2)
        general, other = (template.format(channel=name, server="Team") for name in ("general", "other"))
        assert notices(harness) == [general, other]
    async with running_platform(dc, kept, threads=threads) as harness:
        await wait_for_servers(harness, dc)
        assert notices(harness) == []
        dc.allow("general", permission)
        await harness.received(dc.say("thanks", channel="general", mention=True))
        dc.forbid("general", permission)
        await harness.received(dc.say("and now?", channel="general", mention=True))
        await dc.wait_for(lambda _: notices(harness) == [general])


async def test_permissions_missing_in_known_channels_are_reported_at_the_start(dc: DiscordServer) -> None:
    dc.guild()
    dc.forbid("general", "read_message_history")
    kept = PersistentState()
    for chat in (ChatKey("discord", str(dc.channel().id)), ChatKey("discord", str(dc.dm().id))):
        kept.chats[chat] = None
    async with running_platform(dc, kept) as harness:
        await wait_for_servers(harness, dc)
        assert notices(harness) == [NO_HISTORY.format(channel="general", server="Team")]


async def test_unused_threads_need_no_permission(dc: DiscordServer) -> None:
    dc.forbid(dc.channel(), "create_public_threads")
    async with running_platform(dc) as harness:
        await harness.received(dc.say("hi", channel="general", mention=True))
        await wait_for_servers(harness, dc)
        assert harness.notices == []


async def test_an_undeliverable_answer_is_reported_by_the_outbox(dc: DiscordServer) -> None:
    dc.forbid(dc.channel(), "send_messages", "attach_files")
    async with running_platform(dc) as harness:
        await harness.received(dc.say("hi", channel="general", mention=True))
        await wait_for_servers(harness, dc)
        assert harness.notices == []


def owner() -> tuple[list[str], Tell]:
    """The sentences that the owner was told, and the function that tells them."""
    sentences: list[str] = []

    async def tell(template: str, /, **values: object) -> None:
        sentences.append(template.format(**values))

    return sentences, tell


async def test_a_connection_problem_is_reported_again_only_after_recovery() -> None:
    sentences, tell = owner()
    state = States()
    alerts = OwnerAlerts(tell, state)
    for sentence in ("", "no token", "no token", "", "no token", "no intent"):
        await alerts.connection(sentence)
    await OwnerAlerts(tell, state).connection("no intent")  # as after a restart
    assert sentences == ["no token", "no token", "no intent"]
    await alerts.connection("closed ({code})", code=4013)
    await alerts.connection("closed ({code})", code=4013)
    await alerts.connection("closed ({code})", code=4014)
    assert sentences[3:] == ["closed (4013)", "closed (4014)"]


async def test_a_missing_permission_is_reported_once_until_granted() -> None:
    sentences, tell = owner()
    state = States()
    alerts = OwnerAlerts(tell, state)
    for what, template in (("1 files", "no files in {n}"), ("2 files", "no files in {n}"), ("1 threads", "no threads")):
        for _ in range(2):
            await alerts.permission(what, template, n=what[0])
    again = OwnerAlerts(tell, state)  # as after a restart
    await again.permission("1 files", "no files in {n}", n=1)
    assert sentences == ["no files in 1", "no files in 2", "no threads"]
    await again.permission("1 files", "", n=1)
    await again.permission("1 files", "no files in {n}", n=1)
    assert sentences[3:] == ["no files in 1"]
