"""Admission: codes, roles, groups and limits."""

import json
import re

import pytest

from tests.fakes import ShiftedClock
from tests.polling import until
from tests.stories.access import CODE, account, code_in
from tests.stories.harness import OWNER, BotHarness, ask, press, running, settled


async def test_a_stranger_gets_only_a_code_until_the_owner_approves(on: BotHarness) -> None:
    on.tg.private()  # the owner has written to the bot before
    async with running(on):
        answer = await ask(on, "/start", user="mallory")
        assert "This bot is private" in answer.text
        assert "10 minutes" in answer.text
        code = code_in(answer)
        notice = await on.tg.reply()
        assert "Mallory" in notice.text
        assert code in notice.text
        assert code_in(await ask(on, "/start please", user="mallory")) == code
        assert on.ms.calls == []
        approved = await ask(on, f"/access pair {code.lower()}")
        assert approved.text == "✅ Mallory can use me now."
        welcome = await on.tg.reply(answer, after=answer, matching="You may use me now")
        assert (await ask(on, "hi", user="mallory")).text == "You said: hi"
        assert "No one is waiting" in (await ask(on, f"/access pair {code}")).text
    assert welcome.chat.id == answer.chat.id
    assert len(on.ms.calls) == 1


async def test_an_owner_of_the_configuration_stays_one(on: BotHarness) -> None:
    """Their next message would make them an owner again, so a confirmed block would be a lie."""
    bob = on.tg.user("bob")
    on.env["BOT_OWNERS"] = f"telegram:{OWNER},{account(bob)}"
    async with running(on):
        await ask(on, "hi", user=bob)
        for change in (f"role {account(bob)} user", f"block {account(bob)}"):
            refused = await ask(on, f"/access {change}")
            assert refused.text == f"Remove {account(bob)} from BOT_OWNERS first, and restart. Nothing was changed."
        assert "Bob" in (await ask(on, "/access list")).text
        assert "owner" in (await ask(on, "/whoami", user=bob)).text.lower()


async def test_the_owner_approves_with_the_button_of_the_notice(on: BotHarness) -> None:
    on.tg.private()  # the owner has opened the chat before
    async with running(on):
        await ask(on, "/start", user="mallory")
        notice = await on.tg.reply()
        await press(on, "✅ Allow", notice)
        assert notice.text == "✅ Mallory can use me now."
        await on.tg.reply(on.tg.user("mallory"), matching="You may use me now")
        assert (await ask(on, "hi", user="mallory")).text == "You said: hi"


async def test_the_owners_button_does_not_work_in_another_chat(on: BotHarness) -> None:
    on.tg.private()
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, f"/access allow {account(bob)}")
        his = await ask(on, "hi", user=bob)
        hers = await ask(on, "hello", user="mallory")
        notice = await on.tg.reply(matching="wants to use me")
        data = notice.buttons[0]["callback_data"]
        stolen = await on.tg.answered(on.tg.press(data, message=his, force=True))
        assert stolen["text"] == "This button is no longer valid."
        on.tg.press(data, message=hers, force=True)
        assert "This bot is private" in (await ask(on, "well?", user="mallory")).text
    assert len(on.ms.calls) == 1


async def test_a_code_expires_and_a_new_one_is_given(on: BotHarness) -> None:
    clock = ShiftedClock()
    async with running(on, clock):
        old = code_in(await ask(on, "hello", user="mallory"))
        clock.ahead = 601.0
        assert "it may have expired" in (await ask(on, f"/access pair {old}")).text
        new = code_in(await ask(on, "hello", user="mallory"))
        assert new != old
        assert (await ask(on, f"/access pair {new}")).text.startswith("✅")


async def test_five_wrong_codes_lock_the_owner_out_for_an_hour(on: BotHarness) -> None:
    clock = ShiftedClock()
    async with running(on, clock):
        code = code_in(await ask(on, "hello", user="mallory"))
        for _ in range(5):
            assert "No one is waiting" in (await ask(on, "/access pair AAAA-AAAA")).text
        assert "Too many wrong codes" in (await ask(on, f"/access pair {code}")).text
        clock.ahead = 3601.0
        code = code_in(await ask(on, "hello", user="mallory"))
        assert (await ask(on, f"/access pair {code}")).text.startswith("✅")


async def test_only_permitted_roles_may_assign_roles(on: BotHarness) -> None:
    bob, carol = on.tg.user("bob"), on.tg.user("carol")
    async with running(on):
        for person in (bob, carol):
            assert (await ask(on, f"/access allow {account(person)}")).text.endswith("can use me now.")
        assert "Only admins and owners" in (await ask(on, "/access list", user=bob)).text
        assert "Only admins and owners" in (await ask(on, f"/access role {account(bob)} owner", user=bob)).text
        made = await ask(on, f"/access role {account(bob)} ADMIN")
        assert "is an admin now" in made.text
        assert (
            "Carol" not in (await ask(on, "/access", user=bob)).text
        )  # carol has never written, so her name is unknown
        assert account(carol) in (await ask(on, "/access", user=bob)).text
        assert "Only an owner can do that" in (await ask(on, f"/access role {account(carol)} admin", user=bob)).text
        assert "Only an owner can do that" in (await ask(on, f"/access block telegram:{OWNER}", user=bob)).text
        assert "is blocked" in (await ask(on, f"/access block {account(carol)}", user=bob)).text
        await on.tg.wait_for(lambda _: any("Bob blocked" in each.text for each in made.chat.from_bot()))
        await on.tg.reply(matching=f"Bob blocked {account(carol)}")
        assert "You can't change your own role" in (await ask(on, f"/access role telegram:{OWNER} guest")).text
        assert "The roles are owner, admin" in (await ask(on, f"/access role {account(bob)} king")).text
        assert "I don't know nobody" in (await ask(on, "/access allow nobody")).text
        assert "Nothing was changed" in (await ask(on, "/access dance")).text
    roles = "select user_id, role from people join identities on people.id = person_id order by role"
    assert on.rows(roles) == [(str(bob.id), "admin"), (str(carol.id), "blocked"), (str(OWNER), "owner")]


async def test_blocked_people_are_told_once_and_get_no_access(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, f"/access allow {account(bob)}")
        await ask(on, "hi", user=bob)
        await ask(on, f"/access block {account(bob)}")
        assert (await ask(on, "hi", user=bob)).text == "You may not use this bot."
        on.tg.say("hello?", user=bob)
        on.tg.say("/status", user=bob)
        await settled(on)
        await ask(on, f"/access allow {account(bob)}")
        back = await ask(on, "I am back", user=bob)
        assert back.text == "You said: I am back"
        assert len(back.chat.from_bot()) == 3
    assert len(on.ms.calls) == 2


async def test_a_group_opens_by_its_owner_and_its_members_are_guests(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        hint = await ask(on, "@tierbot hi", user=bob, group="Team")
        assert "This group isn't enabled yet" in hint.text
        on.tg.say("@tierbot are you there?", user=bob, group="Team")
        await settled(on)
        assert "Everyone in this group" in (await ask(on, "/access here on", group="Team")).text
        question = on.tg.say("@tierbot hi", user=bob, group="Team")
        await on.tg.reply(question, after=question, matching=lambda message: message.text == "You said: hi")
        assert "role guest" in (await ask(on, "/whoami", user=bob, group="Team")).text
        assert "Only admins and owners" in (await ask(on, "/access here off", user=bob, group="Team")).text
        assert "Only admins and owners" in (await ask(on, "/access list", user=bob, group="Team")).text
        await ask(on, "/access here off", group="Team")
        on.tg.say("@tierbot and now?", user=bob, group="Team")
        await settled(on)
        assert "Tier: " in (await ask(on, "/tier", group="Team")).text
    assert len(on.ms.calls) == 1
    assert [message for message in hint.chat.from_bot() if "enabled yet" in message.text] == [hint]


async def test_access_allow_here_is_refused_in_private(on: BotHarness) -> None:
    async with running(on):
        assert "Write this in that group" in (await ask(on, "/access here on")).text


async def test_allowlist_mode_names_the_admission_command(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "allowlist"
    bob = on.tg.user("bob")
    async with running(on):
        reply = await ask(on, "hi", user=bob)
        command = f"/access allow {account(bob)}"
        assert command in reply.text
        assert not CODE.search(reply.text)
        on.tg.say("hello?", user=bob)
        await settled(on)
        assert (await ask(on, command)).text.startswith("✅")
        assert (await ask(on, "hi", user=bob)).text == "You said: hi"
        assert len(reply.chat.from_bot()) == 2
    assert on.rows("select count(*) from pairings") == [(0,)]


async def test_open_access_makes_everyone_a_user(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open", "BOT_OWNERS": ""}
    async with running(on) as app:
        assert await app.access.owner_code(app.messaging.platforms) is None
        assert (await ask(on, "hi", user="bob")).text == "You said: hi"
        assert "role user" in (await ask(on, "/whoami", user="bob")).text
        assert "Only admins and owners" in (await ask(on, "/access list", user="bob")).text


async def test_the_rate_limit_is_announced_once_with_its_end(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open", "USER_RATE_LIMIT": "2/minute,100/hour"}
    async with running(on):
        for text in ("one", "two"):
            await ask(on, text, user="bob")
        reply = await ask(on, "three", user="bob")
        seconds = re.fullmatch(r"Too many messages at once\. I'll answer again in (\d+) seconds\.", reply.text)
        assert seconds is not None
        assert 50 <= int(seconds.group(1)) <= 60
        for text in ("four", "five"):
            on.tg.say(text, user="bob")
        await settled(on)
        for text in ("1", "2", "3", "4"):
            assert (await ask(on, text)).text == f"You said: {text}"  # the owner is exempt
        assert (await ask(on, "hi", user="carol")).text == "You said: hi"
        assert [message.text[:8] for message in reply.chat.from_bot()] == ["You said", "You said", "Too many"]


async def test_the_rate_limit_counts_messages_that_waited_for_a_restart(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.GRACE_SECONDS", 0.1)
    on.env |= {"BOT_ACCESS": "open", "USER_RATE_LIMIT": "2/minute"}
    gate = on.ms.gate("never said")
    async with running(on):
        asked = [on.tg.say(text, user="bob") for text in ("one", "two", "three", "four")]
        await gate.reached()
        await until(lambda: on.rows("select count(*) from inbox") == [(4,)])
    async with running(on):
        await settled(on)
    assert [message.text[:8] for message in asked[0].chat.from_bot()] == ["You said", "You said", "Too many"]


async def test_replies_to_strangers_are_limited(on: BotHarness) -> None:
    on.env["USER_RATE_LIMIT"] = "3/minute"
    async with running(on):
        for _ in range(3):
            code_in(await ask(on, "let me in", user="mallory"))
        assert "Too many messages at once" in (await ask(on, "let me in", user="mallory")).text
        for _ in range(5):
            on.tg.say("let me in", user="mallory")
        await settled(on)
        assert len(on.tg.private("mallory").from_bot()) == 4


async def test_every_change_is_in_the_audit_log(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, f"/access allow {account(bob)}")
        await ask(on, f"/access role {account(bob)} admin")
        await ask(on, "/access here on", group="Team")
        await ask(on, f"/access block {account(bob)}")
        logged = (await ask(on, "/access log")).text
        await ask(on, "/settings language de")
        assert "Die Konfiguration hat Alice zum Besitzer gemacht" in (await ask(on, "/access log")).text
    team = on.tg.group("Team").id
    rows = on.rows("select actor, action, detail from audit order by id")
    changes = [(actor, action, json.loads(str(detail))) for actor, action, detail in rows]
    assert changes[1:] == [
        (f"telegram:{OWNER}", "admit", [account(bob), "user"]),
        (f"telegram:{OWNER}", "admit", [account(bob), "admin"]),
        (f"telegram:{OWNER}", "allow chat", [f"telegram:{team}", ""]),
        (f"telegram:{OWNER}", "admit", [account(bob), "blocked"]),
    ]
    assert len(logged.splitlines()) == len(changes)
    assert f"Alice blocked {account(bob)}" in logged.splitlines()[0]


async def test_the_audit_log_shows_entries_of_earlier_versions(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hi")
    for action, detail in (("admit", "telegram:7 as guest"), ("budget", "person 1: $5 a day"), ("forget", "discord:8")):
        on.change("insert into audit (at, actor, action, detail) values (0.0, ?, ?, ?)", "boss", action, detail)
    async with running(on):
        newest = (await ask(on, "/access log")).text.splitlines()[:3]
    changes = [line.partition("boss ")[2] for line in newest]
    assert changes == ["deleted discord:8", "set a budget: Alice: $5 a day", "made telegram:7 a guest"]


async def test_a_guest_cannot_administer(on: BotHarness) -> None:
    async with running(on):
        bob = on.tg.user("bob")
        await ask(on, f"/access role {account(bob)} guest")
        await ask(on, "/access here on", group="Team")
        for typed in ("/access list", "/access pair ABCD-EFGH", "/access log", "/access allow telegram:1"):
            assert "Only admins and owners" in (await ask(on, typed, user=bob, group="Team")).text


async def test_a_guest_sees_only_the_tiers_for_guests(on: BotHarness) -> None:
    async with running(on):
        bob = on.tg.user("bob")
        assert "deep" in (await ask(on, "/start")).text
        await ask(on, "/access here on", group="Team")
        for typed in ("/start", "@tierbot !turbo hi", "/tier turbo"):
            reply = await ask(on, typed, user=bob, group="Team")
            assert "smart" in reply.text, typed
            assert "deep" not in reply.text, typed


async def test_a_guest_of_a_group_is_a_stranger_in_private(on: BotHarness) -> None:
    async with running(on):
        on.tg.user("bob")
        await ask(on, "/access here on", group="Team")
        assert (await ask(on, "@tierbot hello", user="bob", group="Team")).text == "You said: hello"
        calls = len(on.ms.calls)
        code = code_in(await ask(on, "/start", user="bob"))
        assert len(on.ms.calls) == calls
        await ask(on, f"/access pair {code}")
        await on.tg.reply(on.tg.private("bob").id)
        assert (await ask(on, "and now?", user="bob")).text == "You said: and now?"


async def test_the_list_of_people_has_pages(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        for number in range(60):
            on.change("insert into people (name, role, created_at) values (?, 'guest', 0)", f"Guest {number}")
        first = (await ask(on, "/access")).text
        assert "Guest 48" in first
        assert "Guest 49" not in first
        assert "More people: /access list 2" in first
        second = (await ask(on, "/access list 2")).text
        assert "Guest 49" in second
        assert "Guest 59" in second
        assert "More people" not in second
