"""Strangers: names are plain text, a crowd locks no one out, and first words are kept."""

from __future__ import annotations

import pytest

from handlers.access.roles import MAX_WAITING
from handlers.replies.names import plain_name, quoted
from tests.fakes import ShiftedClock
from tests.servers.discord import DiscordServer
from tests.stories.access import account, code_in
from tests.stories.discord_bot import up
from tests.stories.harness import OWNER, BotHarness, ask, press, running, settled

LINK = "[free](http://evil.com) evil.com @admin /stop `x` **b** \u202egnp"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        (LINK, "free http evil. com evil. com admin stop"),
        ("J.R. O'Neill-Smith", "J. R. O'Neill-Smith"),
        ("देवी", "देवी"),
        ("a\nb\x00c\u2028d", "a b c d"),
        ("🎉 ✅", ""),
        ("x" * 500, "x" * 40),
    ],
)
def test_a_display_name_is_plain_text(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_a_strangers_first_words_are_a_code_span() -> None:
    assert quoted("`[a](b)`\n\nc " + "d" * 200) == f"`'[a](b)' c {'d' * 88}…`"
    assert quoted("\u202eeno\u2066 \u200b\x07two\U000e0041") == "`eno two`", (
        "no character reverses or hides the rest of the card"
    )


async def test_a_display_name_makes_no_link(on: BotHarness) -> None:
    on.tg.private()
    mallory = on.tg.rename("mallory", LINK)
    async with running(on):
        await ask(on, f"hi {LINK}", user=mallory)
        card = await on.tg.reply(matching="wants to use me")
        listed = await ask(on, "/access")
        await press(on, "✅ Allow", card)
        logged = await ask(on, "/access log")
    for shown in (card, listed, logged):
        assert {entity["type"] for entity in shown.entities} <= {"code"}, shown.text


async def test_the_owner_can_block_from_the_card_and_the_next_stranger_is_announced(on: BotHarness) -> None:
    on.tg.private()
    async with running(on):
        for name in ("ann", "ben", "cid", "dan"):
            code_in(await ask(on, f"I am {name}", user=name))
        card = await on.tg.reply(matching="I am dan")
        assert "Dan (@dan) wants to use me: I am dan" in card.text
        await press(on, "🚫 Block", card)
        assert card.text == "✅ Dan is blocked."
        assert (await ask(on, "please", user="dan")).text == "You may not use this bot."
        assert "Alice blocked Dan" in (await ask(on, "/access log")).text


async def test_many_strangers_neither_grow_tables_nor_flood_the_owner(on: BotHarness) -> None:
    on.tg.private()
    async with running(on):
        for number in range(MAX_WAITING + 3):
            on.tg.say("let me in", user=f"crowd{number}")
        await settled(on)
        assert on.rows("select count(*) from pairings") == [(MAX_WAITING,)]
        code_in(await ask(on, "hello", user="honest"))
    notices = [message.text for message in on.tg.private().from_bot()]
    assert len(notices) == 6
    assert notices[-1].startswith("🔔 More people want to use me.")


async def test_first_words_are_answered_after_admission(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        for text in ("/start", "one", "two", "three", "four"):
            on.tg.say(text, user=bob)
            await settled(on)
    assert on.ms.calls == []
    async with running(on):  # a restart
        assert (await ask(on, "/access allow @bob")).text == "✅ Bob can use me now."
        await on.tg.wait_for(lambda _: any(each.text == "You said: four" for each in on.tg.private(bob).from_bot()))
        said = [message.text for message in on.tg.private(bob).from_bot()]
    assert said[-4:] == [
        "🎉 You may use me now. Write anything; /help lists the commands.",
        "You said: two",
        "You said: three",
        "You said: four",
    ]
    assert on.rows("select count(*) from pairings") == [(0,)]


async def test_a_strangers_button_works_after_the_code_expired(on: BotHarness) -> None:
    bob, clock = on.tg.user("bob"), ShiftedClock()
    on.tg.private()
    async with running(on, clock):
        code = code_in(await ask(on, "old words", user=bob))
        card = await on.tg.reply(matching="Bob (@bob) wants to use me")
        clock.ahead = 3600.0
        assert "may have expired" in (await ask(on, f"/access pair {code}")).text
        assert "waiting: Bob" in (await ask(on, "/access")).text
        await press(on, "✅ Allow", card)
        await on.tg.wait_for(
            lambda _: any(each.text == "You said: old words" for each in on.tg.private(bob).from_bot())
        )


async def test_a_strangers_words_are_dropped_after_a_week(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        code_in(await ask(on, "old words", user=bob))
    on.change("update pairings set expires_at = 1")
    async with running(on):
        code_in(await ask(on, "hello", user="carol"))
        await ask(on, f"/access allow {account(bob)}")
        await ask(on, "new words", user=bob)
    assert [call.last_user_text for call in on.ms.calls] == ["new words"]


async def test_owners_are_told_what_admins_do(on: BotHarness) -> None:
    on.tg.private()
    async with running(on):
        await ask(on, f"/access role {account(on.tg.user('carol'))} admin")
        await ask(on, "hi", user="carol")
        code_in(await ask(on, "hello", user="bob"))
        assert (await ask(on, "/access allow @bob", user="carol")).text == "✅ Bob can use me now."
        await on.tg.reply(matching="Carol let Bob in")


async def test_the_log_names_people(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, f"/access allow {account(bob)}")
        await ask(on, "hi", user=bob)
        await ask(on, f"/budget {account(bob)} 1")
        logged = (await ask(on, "/access log")).text
        assert "Alice set a budget: Bob:" in logged
        assert "person " not in logged
        await press(on, str(bob.id), await ask(on, "/access forget Bob"))
        logged = (await ask(on, "/access log")).text
        assert "Alice deleted person " in logged
        assert account(bob) not in logged, "a forgotten person's account is replaced by a number"


async def test_a_slash_command_keeps_the_username(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        said = dc.say("hi", user="bob")
        await dc.reply(said, after=said)
        asked = dc.slash("whoami", user="bob")
        await dc.wait_for(lambda _: any(not each.loading for each in asked.answers))
        waiting = await app.messaging.stores.people.waiting()
        assert [each.username for each in waiting] == ["bob"]
        asked = dc.slash("access", {"access": f"allow {waiting[0].user}"})
        await dc.wait_for(lambda _: any(not each.loading for each in asked.answers))
        asked = dc.slash("whoami", user="bob")
        await dc.wait_for(lambda _: any(not each.loading for each in asked.answers))
        assert "bob" in (await app.messaging.stores.people.usernames()).values()


async def test_an_ambiguous_name_is_asked_back(on: BotHarness) -> None:
    first, second = on.tg.rename("bob", "Bob"), on.tg.rename("bobby", "Bob")
    async with running(on):
        for person in (first, second):
            await ask(on, f"/access allow {account(person)}")
            await ask(on, "hi", user=person)
        asked = await ask(on, "/access block Bob")
        assert asked.text.startswith("Who do you mean?")
        assert "@bobby" in asked.text
        await press(on, str(second.id), asked)
        assert asked.text == "✅ Bob is blocked."
        asked = await ask(on, "/access role bob smith admin")
        assert "I don't know bob smith" in asked.text
        asked = await ask(on, "/access role @bob admin")
        assert asked.text.startswith("Do you mean this account? Names can change hands.")
        assert f"Bob (@bob) telegram:{first.id}" in asked.text
        assert on.rows("select count(*) from people where role = 'admin'") == [(0,)]
        await press(on, str(first.id), asked)
        assert asked.text == f"✅ Bob (telegram:{first.id}) is an admin now."
        assert "Did you mean" in (await ask(on, "/access block @bobb")).text
    roles = "select user_id, role from people join identities on people.id = person_id where role <> 'owner' order by 1"
    assert on.rows(roles) == [(str(first.id), "admin"), (str(second.id), "blocked")]


async def test_a_display_name_alone_grants_nothing(on: BotHarness) -> None:
    eve = on.tg.rename("eve", "Carol")
    async with running(on):
        await ask(on, "hello", user=eve)
        asked = await ask(on, "/access role Carol admin")
        assert asked.text.startswith("Do you mean this account?")
        assert f"telegram:{eve.id}" in asked.text
        asked = await ask(on, "/access forget @eve")
        assert asked.text.startswith("Do you mean this account?")
        assert f"telegram:{eve.id}" in asked.text
    assert on.rows("select count(*) from people where role = 'admin'") == [(0,)]


async def test_lists_stay_private_and_the_only_owner_stays(on: BotHarness) -> None:
    async with running(on):
        for line in ("/access", "/access list", "/access log"):
            assert "in private" in (await ask(on, line, group="Team")).text
        assert "You are the only owner" in (await ask(on, "/access forget me")).text
        assert "You are the only owner" in (await ask(on, f"/access forget telegram:{OWNER}")).text


async def test_a_missed_owner_code_comes_with_instructions(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        missed = await app.access.owner_code(app.messaging.platforms)
        assert "a restart prints a new one" in (await ask(on, "AAAA-AAAA")).text
        assert "each start prints a new one" in (await ask(on, "hello")).text
    async with running(on) as app:
        code = await app.access.owner_code(app.messaging.platforms)
        assert code is not None
        assert code != missed
        assert (await ask(on, code)).text.startswith("👑")
        await on.ms.journal.wait(lambda: len(on.ms.calls) == 1, 30)
    assert on.ms.last.last_user_text == "hello"
