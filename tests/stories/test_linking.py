"""One person on two platforms: role and settings follow them."""

from __future__ import annotations

import re

from routing.types.messages import UserKey
from tests.fakes import ShiftedClock
from tests.servers.discord import DiscordServer, Message
from tests.stories.access import CODE
from tests.stories.discord_bot import up
from tests.stories.harness import OWNER, BotHarness, ask, press, running

PEOPLE = "select platform, user_id, role from identities join people on people.id = person_id order by 1, 2"


def only_telegram_has_owners(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = f"telegram:{OWNER}"


async def code(on: BotHarness, user: str | None = None) -> str:
    """A new code, created on Telegram."""
    found = CODE.search((await ask(on, "/access link", user=user)).text)
    assert found is not None
    return found.group()


async def written(dc: DiscordServer, text: str, user: str | None = None) -> Message:
    """The reply to a direct message on Discord."""
    message = dc.say(text, user=user)
    return await dc.reply(message, after=message)


async def linked(dc: DiscordServer, given: str) -> Message:
    """The answer after Bobby, known on Discord, has sent a code and confirmed."""
    return await confirmed(dc, await written(dc, f"/access link {given}", "bobby"))


async def confirmed(dc: DiscordServer, asked: Message) -> Message:
    """The question after Bobby has pressed its button."""
    dc.press(asked, "That is me", user="bobby")
    await dc.wait_for(lambda _: asked.text.startswith("🔗"))
    return asked


async def test_a_discord_account_is_linked_to_its_telegram_person(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    async with running(on) as app:
        await up(dc, app)
        await ask(on, "/tier deep force")
        await ask(on, "/model smart openai/gpt-4.1")
        assert "This bot is private" in (await written(dc, "/start", "ali")).text
        reply = await written(dc, f"/access link {await code(on)}", "ali")
        assert reply.text.startswith(f"🔗 You are one person on `telegram:{OWNER}`, `discord:")
        notice = await on.tg.reply(matching="is linked with this account now")
        assert re.search(r"discord:\d+", notice.text)
        assert (await written(dc, "/tier", "ali")).text.startswith("Tier: deep, Force: on")
        assert "openai/gpt-4.1" in (await written(dc, "/model", "ali")).text
        assert (await written(dc, "hi", "ali")).text == "You said: hi"
        await written(dc, "/tier coding", "ali")
        assert (await ask(on, "/tier")).text.startswith("Tier: coding, Force: off")
        listed = (await ask(on, "/access")).text
    assert listed.count("owner") == 1
    assert "waiting" not in listed
    assert {row[0] for row in on.rows("select person_id from usage")} == {on.rows("select id from people")[0][0]}


async def test_linking_two_people_keeps_all_their_data(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        await ask(on, "/model smart openai/gpt-4.1", user="bob")
        await ask(on, "/settings instructions Call me Bob", user="bob")
        menu = await written(dc, "/tier", "bobby")
        await written(dc, "/model smart openai/gpt-5", "bobby")
        await written(dc, "/model deep openai/gpt-5", "bobby")
        await written(dc, "what is this?", "bobby")
        await ask(on, "and that?", user="bob")
        for say in (lambda text: ask(on, text, user="bob"), lambda text: written(dc, text, "bobby")):
            await say("/memory add I drink tea")
            await say("/remind in 2 hours tea")
        await ask(on, "/memory add I live in Bonn", user="bob")
        await written(dc, "/memory add I have a dog", "bobby")
        discord_first = "select person_id from identities where user_id != '1001' order by platform"
        was, mine = (str(row[0]) for row in on.rows(discord_first))
        for person, name in ((was, "here.txt"), (mine, "there.txt")):
            (on.workspace / "files" / person).mkdir(parents=True)
            (on.workspace / "files" / person / name).write_text("kept")
        asked = await written(dc, f"/access link {await code(on, 'bob')}", "bobby")
        assert "to Bob" in asked.text
        assert on.rows("select count(*) from people") == [(3,)], "not yet"
        dc.press(asked, "That is me", user="bobby")
        await dc.wait_for(lambda _: asked.text.startswith("🔗 You are one person"))
        assert (await ask(on, "/model deep", user="bob")).text.startswith("The model for deep is openai/gpt-5.\n")
        dc.press(menu, "deep", user="bobby")
        await dc.wait_for(lambda _: menu.text.startswith("Tier: deep"))
        assert (await ask(on, "/tier", user="bob")).text.startswith("Tier: deep")
        remembered = (await ask(on, "/memory", user="bob")).text
        assert all(remembered.count(each) == 1 for each in ("I drink tea", "I live in Bonn", "I have a dog"))
        assert (await written(dc, "/schedule", "bobby")).text.count("tea") == 2
        await written(dc, "who am I?", "bobby")
        assert "Call me Bob" in str(on.ms.last.body)
    own = on.workspace / "files" / mine
    assert sorted(str(path.relative_to(own)) for path in own.rglob("*.txt")) == ["linked-1/here.txt", "there.txt"]
    chosen = on.rows("select tier, model from overrides order by 1")
    assert chosen == [("deep", "openai/gpt-5"), ("smart", "openai/gpt-4.1")]
    assert on.rows("select count(*), count(distinct person_id) from usage") == [(3, 1)]
    assert on.rows("select count(distinct person_id) from messages where person_id is not null") == [(1,)]


async def test_linked_accounts_share_a_limit(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    on.env["BOT_ACCESS"] = "open"
    on.config["budget"] = {"perUserDailyUsd": 1}
    for _ in range(2):
        on.ms.reply("one", usage=(240_000, 30_000))
    async with running(on) as app:
        await up(dc, app)
        await ask(on, "hi", user="bob")
        await written(dc, "hi", "bobby")
        assert "$0.60 of $1" in (await ask(on, "/budget", user="bob")).text
        await linked(dc, await code(on, "bob"))
        assert "$1.20 of $1" in (await ask(on, "/budget", user="bob")).text


async def test_a_link_code_never_raises_a_role(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await ask(on, f"/access allow telegram:{on.tg.user('bob').id}")
        lure = await code(on, "bob")
        before = on.rows(PEOPLE)
        text = (await written(dc, f"/access link {lure}")).text
        assert "Your role is owner here and user there" in text
        assert on.rows(PEOPLE) == before


async def test_limits_of_link_codes(on: BotHarness, dc: DiscordServer) -> None:
    clock = ShiftedClock()
    only_telegram_has_owners(on)
    bob, carol = on.tg.user("bob"), on.tg.user("carol")
    async with running(on, clock) as app:
        await up(dc, app)
        for person in (bob, carol):
            await ask(on, f"/access allow telegram:{person.id}")
        own = await code(on, "bob")
        assert "This is your own code" in (await ask(on, f"/access link {own}", user="bob")).text
        assert "two accounts on one platform" in (await ask(on, f"/access link {own}", user="carol")).text
        assert "in private" in (await ask(on, "/access link", group="Team")).text
        newer = await code(on, "bob")
        assert "is not valid" in (await written(dc, f"/access link {own}", "bobby")).text, "only the newest works"
        clock.ahead = 601.0
        assert "is not valid" in (await written(dc, f"/access link {newer}", "bobby")).text
        newest = await code(on, "bob")
        await ask(on, f"/access block telegram:{bob.id}")
        assert "is not valid" in (await written(dc, f"/access link {newest}", "bobby")).text
        await ask(on, f"/access allow telegram:{bob.id}")
        for _ in range(2):
            await written(dc, "/access link AAAA-AAAA", "bobby")
        assert "Too many wrong codes" in (await written(dc, f"/access link {newest}", "bobby")).text
        clock.ahead += 3601.0
        again = await code(on, "bob")
        assert (await written(dc, f"/access link {again.lower()}", "bobby")).text.startswith("🔗")
        assert "is not valid" in (await written(dc, f"/access link {again}", "eve")).text, "a code works once"
    assert len(on.rows(PEOPLE)) == 4


async def test_an_account_can_be_unlinked(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    async with running(on) as app:
        await up(dc, app)
        assert "your only account" in (await ask(on, "/access unlink")).text
        linked = await written(dc, f"/access link {await code(on)}", "ali")
        account = re.search(r"discord:\d+", linked.text)
        assert account is not None
        await written(dc, "hello", "ali")
        assert "not one of your accounts" in (await ask(on, "/access unlink discord:5")).text
        assert f"{account.group()} is unlinked" in (await ask(on, f"/access unlink {account.group()}")).text
        await dc.wait_for(lambda _: any("unlinked" in each.text for each in dc.dm("ali").from_bot()))
        assert "This bot is private" in (await written(dc, "hello again", "ali")).text
        assert (await ask(on, "/whoami")).text.endswith("role owner.")
        assert on.rows(PEOPLE) == [("telegram", str(OWNER), "owner")]
        await written(dc, f"/access link {await code(on)}", "ali")
        await written(dc, "hello", "ali")
        assert f"{account.group()} (@ali)" in (await ask(on, "/access")).text, "known by username again"


async def test_forget_me_covers_both_accounts(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    async with running(on) as app:
        await up(dc, app)
        await ask(on, f"/access allow telegram:{on.tg.user('bob').id}")
        await written(dc, f"/access link {await code(on, 'bob')}", "bobby")
        await press(on, "Delete it all", await ask(on, "/access forget me", user="bob"))
        assert "This bot is private" in (await written(dc, "hello?", "bobby")).text
    assert len(on.rows(PEOPLE)) == 1


async def test_two_accounts_have_one_rate_limit(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    on.env |= {"BOT_ACCESS": "open", "USER_RATE_LIMIT": "3/minute"}
    async with running(on) as app:
        await up(dc, app)
        await written(dc, "/access link", "bobby")  # counted for the earlier person
        await linked(dc, await code(on, "bob"))
        await ask(on, "one", user="bob")
        assert (await written(dc, "two", "bobby")).text == "You said: two"
        assert "Too many messages at once" in (await ask(on, "three", user="bob")).text


async def test_an_unlinked_account_cannot_reuse_its_old_code(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    async with running(on) as app:
        await up(dc, app)
        linked = await written(dc, f"/access Link {await code(on)}", "eve")
        eve = re.search(r"discord:\d+", linked.text)
        kept = CODE.search((await written(dc, "/access link", "eve")).text)
        assert eve is not None
        assert kept is not None
        assert "is older than this account" in (await written(dc, f"/access unlink telegram:{OWNER}", "eve")).text
        await ask(on, f"/access unlink {eve.group()}")
        notice = await dc.reply(dc.dm("eve"), matching="unlinked")
        assert f"telegram:{OWNER}" in notice.text, "the unlinked person is told"
        assert "is not valid" in (await written(dc, f"/access link {kept.group()}", "eve")).text
    assert on.rows(PEOPLE) == [("telegram", str(OWNER), "owner")]
    assert ("unlink", f'["{eve.group()}",""]') in on.rows("select action, detail from audit")


async def test_a_code_shown_to_others_is_invalid(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    async with running(on) as app:
        await up(dc, app)
        given = await code(on)
        message = dc.say(f"/access link {given}", channel="general", user="ali", mention=True)
        assert "it no longer works. Make a new one with /access link" in (await dc.reply(message, after=message)).text
        assert "is not valid" in (await written(dc, f"/access link {given}", "eve")).text
    assert len(on.rows(PEOPLE)) == 1


async def test_a_link_interrupted_by_a_crash_is_finished_at_the_next_start(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        await written(dc, "hello", "bobby")
        was = on.rows("select person_id from identities where platform = 'discord'")[0][0]
        folder = on.workspace / "files" / str(was)
        folder.mkdir(parents=True)
        (folder / "thesis.txt").write_text("kept")
        given = await code(on, "bob")
        mine = on.rows(f"select person_id from identities where user_id = '{on.tg.user('bob').id}'")[0][0]
        bobby = on.rows("select user_id from identities where platform = 'discord'")[0][0]
        asked = await written(dc, f"/access link {given}", "bobby")
        await app.messaging.stores.links.join(given.replace("-", ""), UserKey("discord", str(bobby)), "crash")
        assert folder.exists(), "the bot ends here"
    async with running(on) as app:
        await up(dc, app)
        assert (on.workspace / "files" / str(mine) / "thesis.txt").read_text() == "kept"
        assert not folder.exists()
        again = await confirmed(dc, asked)
        assert again.text.startswith("🔗 You are one person"), "the lost answer"


async def test_running_turns_end_before_linking(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
        first = dc.say("first", channel="general", user="bobby", mention=True)
        await gate.reached(60.0)
        second = dc.say("second", channel="general", user="bobby", mention=True)
        await linked(dc, await code(on, "bob"))
        gate.open()
        await dc.reply(first, after=first, matching="Stopped")
        await dc.reply(second, after=second, matching="You said: second")
    people = on.rows("select distinct person_id from usage union select distinct person_id from messages")
    assert len(people) == 1
    assert on.rows("select count(*) from usage") == [(2,)]


async def test_an_admins_button_works_in_a_group_that_is_not_allowed(on: BotHarness) -> None:
    async with running(on):
        menu = await ask(on, "/tier", group="Team")
        await press(on, "deep", menu)
        assert menu.text.startswith("Tier: deep")


async def test_each_person_in_a_closed_group_is_told_once(on: BotHarness) -> None:
    async with running(on):
        for name in ("bob", "carol"):
            assert "enabled yet" in (await ask(on, "@tierbot hi", user=name, group="Team")).text


async def test_a_terminal_owner_leaves_the_owner_code_valid(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        await app.messaging.stores.people.admit(UserKey("console", "root"), "root", "owner", "terminal")
        assert await app.access.owner_code(app.messaging.platforms) is not None
        await app.messaging.stores.people.admit(UserKey("telegram", "5"), "Ann", "owner", "test")
        assert await app.access.owner_code(app.messaging.platforms) is None
