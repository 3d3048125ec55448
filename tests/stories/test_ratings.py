"""Ratings by reaction or command: only the asker's count, and no reply is sent."""

from __future__ import annotations

import json

import pytest

from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.telegram import Message
from tests.stories.access import account
from tests.stories.councils import ASKED, WRITER, enable_council
from tests.stories.discord_bot import hurried as hurried
from tests.stories.discord_bot import mention, up
from tests.stories.harness import BotHarness, ask, running, settled

pytestmark = pytest.mark.usefixtures("own_clients")

LONG = "\n\n".join(f"Paragraph {number}: " + "and so on, " * 80 for number in range(12))


def ratings(on: BotHarness) -> list[object]:
    """The ratings of all turns, oldest first."""
    return [row[0] for row in on.rows("select rating from turns order by id")]


async def rated(on: BotHarness, *wanted: int | None) -> None:
    """The ratings of all turns, once they are as expected."""
    await until(lambda: ratings(on) == list(wanted))
    await settled(on)


async def stored(on: BotHarness, text: str, *, user: str | None = None, group: str | None = None) -> Message:
    """The answer, once it is recorded as sent; earlier reactions do not count."""
    answer = await ask(on, text, user=user, group=group)
    await settled(on)
    return answer


async def test_a_telegram_reaction_is_added_changed_and_removed(on: BotHarness) -> None:
    async with running(on):
        first, second = await stored(on, "one"), await stored(on, "two")
        on.tg.react(second, "👍")
        await rated(on, None, 1)
        on.tg.react(second, "👎")
        await rated(on, None, -1)
        on.tg.react(first, "🔥", "👍")
        await rated(on, 1, -1)
        on.tg.react(second)
        await rated(on, 1, None)
        on.tg.react(second, "🔥")
        on.tg.react(second, "👍")
        await rated(on, 1, 1)
        assert len(on.tg.private().from_bot()) == 2, "none of them gets a reply"


async def test_every_message_of_a_long_answer_counts(on: BotHarness) -> None:
    on.ms.reply(LONG)
    async with running(on):
        message = on.tg.say("tell me all")
        pieces: list[Message] = await on.tg.reply(message.chat, after=message, count=3)
        await settled(on)
        for piece in pieces:
            on.tg.react(piece, "👍")
            await rated(on, 1)
            on.tg.react(piece)
            await rated(on, None)


async def test_only_the_person_whose_answer_it_is_counts(on: BotHarness) -> None:
    async with running(on):
        answer = await ask(on, "one")
        group = on.tg.group("Team")
        group.bot_is_admin = True
        await ask(on, "/access here on", group="Team")
        in_group = await stored(on, "@tierbot two", group="Team")
        before = on.rows("select count(*) from people"), len(group.from_bot())
        on.tg.react(in_group, "👍", user="bob")
        on.tg.react(answer, "👎", user="bob")
        on.tg.react(in_group, "👎", user="alice")
        await rated(on, None, -1)
        assert (on.rows("select count(*) from people"), len(group.from_bot())) == before
        assert on.rows("select count(*) from pairings") == [(0,)], "strangers are not asked for"


async def test_ratings_of_blocked_people_do_not_count(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/access here on", group="Team")
        on.tg.group("Team").bot_is_admin = True
        in_group = await stored(on, "@tierbot one", group="Team", user="bob")
        on.tg.react(in_group, "👎", user="bob")
        await rated(on, -1)
        await ask(on, f"/access block {account(on.tg.user('bob'))}")
        mine = await stored(on, "two")
        on.tg.react(in_group, "👍", user="bob")
        on.tg.react(mine, "👍")
        await until(lambda: ratings(on)[1] == 1 and on.rows("select id from inbox where state != 'done'") == [])
        assert ratings(on) == [-1, 1]


async def test_the_answer_of_a_council_is_rated_and_not_the_one_before(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        await ask(on, "one")
        council = await ask(on, ASKED)
        await settled(on)
        on.tg.react(council, "👎")
        await rated(on, None, -1)
        assert (await ask(on, "/rate up")).text == "👍 Noted."
        await rated(on, None, 1)
        report = (await ask(on, "/usage tiers")).text
    own = report.partition("\ncouncil: 1× · p50 ")[2]
    assert "👍 1" in own
    assert "balanced: 1×" in report.partition("\ncouncil: ")[0], "councils come last"
    assert "deep: " not in report
    assert "unknown" not in own
    newest = "select tier, source, model, timed_out, escalated, fallback, cost_nano > 0 from turns where id = 2"
    assert on.rows(newest) == [("deep", "council", WRITER, 0, 0, 0, 1)]


async def test_a_reaction_during_downtime_counts_after_the_start(on: BotHarness) -> None:
    async with running(on):
        answer = await stored(on, "one")
    on.tg.react(answer, "👍")
    async with running(on):
        await rated(on, 1)
    assert len(on.tg.private().from_bot()) == 1


@pytest.mark.parametrize(
    ("before", "removed", "after"), [("🔥", False, -1), ("👎", True, None)], ids=["added", "removed"]
)
async def test_a_stored_reaction_is_processed_after_the_start(
    on: BotHarness, before: str, removed: bool, after: int | None
) -> None:
    async with running(on):
        answer = await stored(on, "one")
        on.tg.react(answer, before)
        await rated(on, -1 if before == "👎" else None)
    payload = {
        "user": {"platform": "telegram", "user_id": "1001"},
        "chat": {"platform": "telegram", "chat_id": "1001"},
        "bot_id": "7",
        "update_id": "5",
        "text": "👎",
        "sent_at": 0.0,
        "kind": "reaction",
        "removed": removed,
        "message_id": str(answer.id),
    }
    row = ("telegram", "7", "5", json.dumps(payload))
    on.change(
        "insert into inbox (platform, bot_id, update_id, payload, state, attempts, placeholder, received_at) "
        "values (?, ?, ?, ?, 'waiting', 0, '', 0.0)",
        *row,
    )
    async with running(on):
        await rated(on, after)


@pytest.mark.usefixtures("hurried")
async def test_reactions_on_discord_in_private_and_in_a_channel(on: BotHarness, dc: DiscordServer) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        private = await dc.reply(dc.say("one"))
        public = await mention(dc, "two")
        await settled(on)
        dc.react(private, "👍🏽")
        await rated(on, 1, None)
        dc.react(public, "👍", user="Bob")
        dc.react(public, "👎")
        await rated(on, 1, -1)
        dc.react(public, "👍")
        dc.unreact(public, "👎")
        await rated(on, 1, 1)
        dc.unreact(private, "👍🏽")
        await rated(on, None, 1)
        assert len(dc.dm().from_bot()) == len(dc.channel("general").from_bot()) == 1


async def test_the_rate_command_works_without_reactions(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/rate 👍")).text == "There is no recent answer of mine to rate here."
        await ask(on, "one")
        await ask(on, "two")
        assert (await ask(on, "/rate down")).text == "👎 Noted."
        await rated(on, None, -1)
        asked = await ask(on, "/rate")
        await ask(on, "three")
        on.tg.press("👍", message=asked)
        await rated(on, None, 1, None)
        assert (await ask(on, "/rate none")).text == "Your rating was removed."
        await rated(on, None, 1, None)
