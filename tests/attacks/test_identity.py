"""Identities are not mixed up: in shared channels, or behind a group's or channel's name."""

from __future__ import annotations

from tests.servers.discord import DiscordServer
from tests.servers.telegram import User
from tests.stories.discord_bot import up
from tests.stories.harness import OWNER, BotHarness, ask, running, settled


async def test_ephemeral_answers_have_a_separate_conversation(on: BotHarness, dc: DiscordServer) -> None:
    on.env |= {"BOT_OWNERS": f"telegram:{OWNER}", "BOT_ACCESS": "open"}
    skill = on.workspace / "skills" / "treasure" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Finds treasure.\n---\nDig.", "utf-8")
    dc.guild("Elsewhere")
    there = dc.channel("general", "Elsewhere")
    dc.kick("Elsewhere")

    async def answer_to(user: str, **options: str) -> str:
        asked = dc.slash("skill", options, user=user, where=there)
        await dc.wait_for(lambda _: any(not each.loading for each in asked.answers))
        return next(each.text for each in asked.answers if not each.loading)

    async with running(on) as app:
        await up(dc, app)
        assert "treasure" in await answer_to("ann", skill="treasure")
        assert "treasure" not in await answer_to("bob")
    async with running(on) as app:  # the bot backfills the channels it is in
        await up(dc, app)
        assert "treasure" in await answer_to("ann")
        said = dc.say("hi", user="ann")
        assert (await dc.reply(said, after=said)).text == "You said: hi"


async def test_anonymous_senders_are_at_most_guests(on: BotHarness) -> None:
    team = on.tg.group("Team")
    channel = {"id": -100888, "type": "channel", "title": "News"}
    robot = User(1087968824, "Group", "GroupAnonymousBot", None, is_bot=True)
    on.env["BOT_OWNERS"] = f"telegram:{OWNER},telegram:{team.id},telegram:-100888"
    async with running(on):
        for sender in (team.json(), channel):
            for line in ("/access here on", "/access role telegram:666 admin"):
                on.tg.say(line, user=robot, group=team, content={"sender_chat": sender})
        await settled(on)
        assert on.rows("select * from chats where allowed") == []
        await ask(on, "/access here on", group="Team")
        said = on.tg.say("@tierbot what is in my files?", user=robot, group=team, content={"sender_chat": channel})
        await on.tg.reply(said, after=said)
        assert not {"write_file", "run_command", "set_tier"} & set(on.ms.last.reading.tool_names)
        asked = on.tg.say("/whoami", user=robot, group=team, content=said.content)
        assert "role guest" in (await on.tg.reply(asked, after=asked)).text
        refused = await ask(on, "/access role telegram:-100888 user")
        assert "guest at most" in refused.text
    assert "666" not in str(on.rows("select user_id from identities"))


async def test_channels_that_post_in_a_forum_share_one_limit_in_all_its_topics(on: BotHarness) -> None:
    forum = on.tg.group("Forum", forum=True)
    topics = [on.tg.topic("Forum", name) for name in ("News", "Talk")]
    robot = User(1087968824, "Group", "GroupAnonymousBot", None, is_bot=True)
    on.env["USER_RATE_LIMIT"] = "2/hour"
    async with running(on):
        await ask(on, "/access here on", group="Forum")
        for number in range(6):
            channel = {"id": -100800 - number, "type": "channel", "title": "News"}
            on.tg.say(
                f"@tierbot {number}", user=robot, chat=forum, topic=topics[number % 2], content={"sender_chat": channel}
            )
        await settled(on)
    assert len(on.ms.calls) == 2
