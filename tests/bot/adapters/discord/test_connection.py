"""The gateway: connecting, reconnecting, and what is logged."""

from __future__ import annotations

from functools import partial

import pytest

from bot.adapters.discord.client import make_client
from bot.adapters.discord.connection import NO_CONTENT, REVOKED, SHARDS
from bot.adapters.discord.settings import DiscordSettings, Pace
from routing.errors import ConfigError
from tests.bot.adapters.discord.client import to
from tests.bot.adapters.discord.harness import DiscordHarness, PersistentState, running_platform
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.discord.intents import MESSAGE_CONTENT
from tests.servers.discord.sdk import pointed


def configured(token: str = "a.b.c", **given: str) -> DiscordSettings:
    named = {f"discord_{name}": value for name, value in given.items()}
    return DiscordSettings.model_validate({"discord_bot_token": token} | named)


def reconnected(harness: DiscordHarness) -> bool:
    """Whether the watchdog replaced a dead connection."""
    return any("nothing heard for" in line for line in harness.log.lines)


async def test_only_the_needed_intents_are_requested(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("hi"))
    assert [session.intents for session in dc.sessions] == [1 << 0 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 15]
    assert dc.sessions[0].presence is None
    assert harness.platform.progress.problem == ""
    assert harness.platform.progress.up_since > 0
    assert harness.platform.progress.last_step > 0
    assert harness.platform.progress.last_update > 0


async def test_a_missing_content_intent_is_reported_and_tolerated() -> None:
    async with DiscordServer(privileged=()) as dc, running_platform(dc) as harness:
        await harness.received(dc.say("hi"))
        assert [session.intents & MESSAGE_CONTENT for session in dc.sessions] == [0]
        assert harness.platform.progress.problem == NO_CONTENT
        dc.close_gateway(4013)
        await dc.wait_for(lambda _: len(dc.sessions) == 2 and harness.platform.progress.problem == NO_CONTENT)
        assert harness.log.lines.count(f"Discord: {NO_CONTENT}") == 1


async def test_a_refused_intent_is_dropped(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    dc.grant()
    dc.invalidate()
    dc.say("two")
    await dc.wait_for(lambda _: harness.platform.progress.problem == NO_CONTENT)
    await harness.received(dc.say("three"))
    assert dc.sessions[-1].intents & MESSAGE_CONTENT == 0
    assert await harness.texts(3) == ["one", "two", "three"]


@pytest.mark.parametrize("sharded", [False, True])
async def test_a_refused_token_is_reported_in_one_sentence(dc: DiscordServer, sharded: bool) -> None:
    dc.revoke()
    with pointed(dc):
        harness = DiscordHarness(dc, sharded=sharded)
        with pytest.raises(ConfigError, match=r"^Discord refuses DISCORD_BOT_TOKEN; copy .*DISCORD_API_ROOT"):
            await harness.platform.start()
        assert harness.platform.progress.problem.startswith("Discord refuses DISCORD_BOT_TOKEN")
        await harness.platform.close()


@pytest.mark.parametrize("sharded", [False, True])
async def test_a_revoked_token_is_reported_and_retried(sharded: bool) -> None:
    async with DiscordServer() as dc, running_platform(dc, sharded=sharded) as harness:
        await harness.received(dc.say("before"))
        dc.revoke()
        await dc.wait_for(lambda _: harness.platform.progress.problem == REVOKED)
        assert harness.log.lines.count(f"Discord: {REVOKED}") == 1
        dc.restore()
        dc.say("meanwhile")
        await dc.wait_for(lambda _: harness.platform.progress.problem == "")
        await harness.received(dc.say("after"))
        assert await harness.texts(3) == ["before", "meanwhile", "after"]
        await harness.send(to(dc.dm(), "still here"))


async def test_a_cut_connection_is_resumed_without_loss(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    dc.cut_gateway()
    dc.say("two", user="Bob")  # an unknown chat
    assert await harness.texts(2) == ["one", "two"]
    assert len(dc.sessions) == 1
    assert dc.sessions[0].resumes
    assert harness.platform.progress.problem == ""


async def test_a_reconnect_request_is_followed(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    dc.ask_reconnect()
    await dc.wait_for(lambda _: dc.sessions[0].resumes)
    await harness.received(dc.say("two"))
    assert not any("no connection" in line for line in harness.log.lines)


async def test_after_an_invalid_session_missed_messages_are_fetched(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    dc.invalidate()
    dc.say("two")
    await dc.wait_for(lambda _: len(dc.sessions) == 2)
    await harness.received(dc.say("three"))
    assert await harness.texts(3) == ["one", "two", "three"]


async def test_a_silent_gateway_is_left_and_resumed() -> None:
    async with DiscordServer(heartbeat_interval=0.1) as dc, running_platform(dc, pace={"silence": 0.4}) as harness:
        await harness.received(dc.say("one"))
        dc.gateway_silent()
        dc.say("two")
        assert await harness.texts(2) == ["one", "two"]
        assert dc.sessions[0].resumes
        assert not reconnected(harness)


@pytest.mark.parametrize("sharded", [False, True])
async def test_a_gateway_that_acknowledges_no_heartbeat_is_replaced(sharded: bool) -> None:
    async with (
        DiscordServer(heartbeat_interval=0.1) as dc,
        running_platform(dc, sharded=sharded, pace={"max_silence": 0.5}) as harness,
    ):
        await harness.received(dc.say("one"))
        dc.gateway_silent(events=True)
        await harness.received(dc.say("two"))
        await dc.wait_for(lambda _: len(dc.sessions) >= 2 and reconnected(harness))
        await harness.received(dc.say("three"))
        assert await harness.texts(3) == ["one", "two", "three"]
        await dc.wait_for(lambda _: not dc.sessions[0].is_connected)


async def test_heartbeats_are_progress() -> None:
    async with DiscordServer(heartbeat_interval=0.05) as dc, running_platform(dc) as harness:
        before = harness.platform.progress.last_step
        await dc.wait_for(lambda _: len(dc.sessions[0].heartbeats) > 4)
        await dc.wait_for(lambda _: harness.platform.progress.last_step > before)
        assert len(dc.sessions) == 1


async def test_an_outage_is_reported_once(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    async with dc.outage():
        await dc.wait_for(lambda _: harness.platform.progress.problem.startswith("no connection to Discord"))
        dc.say("two", user="Bob")
    await dc.wait_for(lambda _: harness.platform.progress.problem == "")
    assert await harness.texts(2) == ["one", "two"]
    assert len([line for line in harness.log.lines if "no connection" in line]) == 1
    assert "Discord works again" in harness.log.lines


async def test_an_unreachable_discord_does_not_delay_the_start(dc: DiscordServer) -> None:
    await dc.go_down()
    kept = PersistentState()
    async with running_platform(dc, kept) as harness:  # start() has returned
        assert harness.platform.progress.problem.startswith("no connection to Discord (")
        assert harness.platform.progress.last_step > 0
        await dc.come_back()
        await dc.ready()
        await harness.received(dc.say("hi"))
        assert harness.platform.progress.problem == ""


async def test_failed_connections_are_progress(dc: DiscordServer) -> None:
    await dc.go_down()
    async with running_platform(dc) as harness:
        progress = harness.platform.progress

        def progressed(since: float) -> bool:
            return progress.last_step > since

        for _ in range(3):  # failed attempts, and rounds of the watchdog between them
            await until(partial(progressed, progress.last_step))


async def test_a_transient_error_at_the_start_is_retried(dc: DiscordServer) -> None:
    stumble = dc.fault("GET /users/@me", "server_error", status=503)
    async with running_platform(dc) as harness:
        await dc.ready()
        await harness.received(dc.say("hi"))
        assert stumble.hits == 1
        assert "Discord works again" in harness.log.lines


async def test_other_close_codes_are_logged(dc: DiscordServer, harness: DiscordHarness) -> None:
    await harness.received(dc.say("one"))
    dc.close_gateway(4011)
    await dc.wait_for(lambda _: f"Discord: {SHARDS}" in harness.log.lines)
    await dc.wait_for(lambda _: len(dc.sessions) == 2)
    dc.close_gateway(4013)
    await dc.wait_for(lambda _: "Discord: Discord closed the connection (4013)" in harness.log.lines)
    await harness.received(dc.say("two"))


async def test_sharding_opens_several_connections(dc: DiscordServer) -> None:
    dc.shards = 2
    guilds = [dc.guild(1 << 22), dc.guild(2 << 22)]
    async with running_platform(dc, sharded=True) as harness:
        await dc.wait_for(lambda _: len(dc.sessions) == 2)
        for guild in guilds:
            await harness.received(dc.say("hi", mention=True, channel=next(iter(guild.channels.values()))))
        await harness.received(dc.say("hi"))
        assert {session.shard for session in dc.sessions} == {(0, 2), (1, 2)}


@pytest.mark.parametrize("sharded", [False, True])
async def test_the_gateway_url_setting_is_used(sharded: bool) -> None:
    """Discord recommends a URL together with the number of shards."""
    async with DiscordServer() as dc, running_platform(dc, sharded=sharded, gateway_url=f"{dc.gateway}own/") as harness:
        await harness.received(dc.say("hi"))
        assert [session.connection.path for session in dc.sessions if session.connection] == ["/own/"]


async def test_one_dead_connection_of_two_is_detected() -> None:
    async with DiscordServer(heartbeat_interval=0.1) as dc:
        dc.shards = 2
        async with running_platform(dc, sharded=True, pace={"max_silence": 0.5}) as harness:
            await dc.wait_for(lambda _: len(dc.sessions) == 2)
            await harness.received(dc.say("one"))
            assert dc.sessions[1].connection is not None
            dc.sessions[1].connection.mute(events=True)
            await dc.wait_for(lambda _: len(dc.sessions) >= 4 and reconnected(harness))
            await harness.received(dc.say("two"))


async def test_an_unreadable_event_does_not_end_the_connection(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.events.dispatch("MESSAGE_CREATE", {"id": "x"}, None)
    dc.events.dispatch("THREAD_CREATE", {"id": "1", "guild_id": "nonsense"}, None)
    dc.events.dispatch("NEWS_FROM_THE_FUTURE", {}, None)
    await harness.received(dc.say("hi"))
    assert len(dc.sessions) == 1
    assert not dc.sessions[0].resumes
    assert [line.partition(" event")[0] for line in harness.log.lines if "skipping it" in line] == [
        "Discord: can't parse a MESSAGE_CREATE", "Discord: can't parse a THREAD_CREATE",
    ]  # fmt: skip


async def test_a_removal_is_reported_to_the_owner(dc: DiscordServer) -> None:
    dc.guild()
    async with running_platform(dc) as harness:
        await harness.received(dc.say("hi", channel="general", mention=True))
        dc.kick()
        await dc.wait_for(lambda _: harness.notices)
        assert harness.notices == [
            "🚪 I was removed from the Discord server Team. I keep its conversations, but can no longer answer there."
        ]
        await harness.received(dc.say("in private"))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"token": "123:abc"}, "DISCORD_BOT_TOKEN does not look like"),
        ({"api_root": "discord.com"}, "DISCORD_API_ROOT must begin"),
        ({"gateway_url": "https://gateway"}, "DISCORD_GATEWAY_URL must begin"),
        ({"proxy": "socks5://u:p@x"}, "DISCORD_PROXY cannot be used"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=f"^{problem}") as refused:
        configured(**given).check_discord()
    assert "u:p" not in str(refused.value)
    assert "a.b.c" not in repr(configured())


async def test_a_working_connection_does_not_hide_a_broken_one(dc: DiscordServer) -> None:
    dc.shards = 2
    async with running_platform(dc, sharded=True) as harness:
        await dc.wait_for(lambda _: len(dc.sessions) == 2)
        await harness.received(dc.say("hi"))
        platform = harness.platform
        for shard in (0, 1):
            platform.disconnected(shard)
        assert platform.progress.problem == "", "Discord asks for a new IDENTIFY now and then"
        platform.disconnected(1)
        platform.session_resumed({"__shard_id__": 0})
        assert platform.progress.problem.startswith("no connection to Discord")
        platform.session_resumed({"__shard_id__": 1})
        assert platform.progress.problem == ""


@pytest.mark.parametrize("sharded", [False, True])
async def test_sessions_start_at_discords_interval(sharded: bool) -> None:
    async with DiscordServer(identify_gap=0.1) as dc:
        dc.shards = 2
        async with running_platform(dc, sharded=sharded, pace={"identify_gap": 0.35}) as harness:
            await harness.received(dc.say("one"))
            await dc.wait_for(lambda _: len(dc.sessions) == 1 + sharded)
            dc.invalidate()
            await dc.wait_for(lambda _: len(dc.sessions) == 2 * (1 + sharded))
            await harness.received(dc.say("two"))


async def test_what_the_library_still_reports_after_the_end_is_ignored() -> None:
    client = make_client(configured(), Pace())
    await client.leave()
    client.dispatch("disconnect")
