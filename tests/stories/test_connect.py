"""/connect: step by step, tested at once, and the password is kept nowhere in the clear."""

from __future__ import annotations

import base64

import pytest

from handlers.commands.connect import KINDS, SPEC
from storage.people.secret_box import FernetBox
from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.radicale import PASSWORD, USER
from tests.stories.accounts import ADDRESS, UNREAD, connect, radicale
from tests.stories.harness import BotHarness, ask, press, running, settled
from tests.stories.test_schedules import pass_time

ASKED_PASSWORD = "What is your password there?"


async def test_an_account_is_connected_step_by_step(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            asked = await ask(on, "/connect calendar")
            assert "Connecting: Calendar. Your answers don't go to any model." in asked.text
            assert ADDRESS in asked.text
            assert "not a web address" in (await ask(on, "no address")).text
            assert "user name" in (await ask(on, server.address)).text
            assert ASKED_PASSWORD in (await ask(on, USER)).text
            sent = on.tg.say(PASSWORD)
            done = await on.tg.reply(sent, after=sent)
            assert done.text.startswith(f"✅ Connected and tested: Calendar, {USER} · 127.0.0.1.")
            assert sent.deleted, "Telegram was asked to delete the password"
            assert "delete your message" not in done.text
            listed = await ask(on, "/connect")
            assert f"✅ Calendar: {USER} · 127.0.0.1, tested on" in listed.text
            await settled(on)
            assert on.ms.calls == [], "no model saw any answer"
            assert on.rows("select count(*) from messages") == [(0,)]
            for answer in (PASSWORD, server.address + "x"):
                assert answer.encode() not in on.data.content()
            assert (await ask(on, "hello")).text == "You said: hello"
            assert PASSWORD not in str(on.ms.last.body)
            assert (await ask(on, "/connect off calendar")).text == "🗑 Disconnected: Calendar. The password is deleted."
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert "not connected" in (await ask(on, "/connect off calendar")).text
    assert (on.workspace / "secrets.key").stat().st_mode & 0o777 == 0o600


async def test_a_wrong_password_or_address_is_asked_again(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            await ask(on, "/connect calendar")
            wrong = await ask(on, "http://127.0.0.1:9")
            await ask(on, USER)
            wrong = await ask(on, PASSWORD)
            assert "127.0.0.1 can't be reached (Connection refused)" in wrong.text
            assert ADDRESS in wrong.text
            await ask(on, server.address)
            await ask(on, USER)
            wrong = await ask(on, "not my password")
            assert "refuses the user name or the password" in wrong.text
            assert ASKED_PASSWORD in wrong.text
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert "✅ Connected" in (await ask(on, PASSWORD)).text
    assert b"not my password" not in on.data.content()


async def test_a_new_account_says_what_it_replaces(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            assert "replaces" not in (await ask(on, "/connect calendar")).text
            await connect(on, server)
            asked = await ask(on, "/connect calendar")
            assert f"The new account replaces {USER} · 127.0.0.1 once it is tested." in asked.text
            await ask(on, "/stop")
            assert f"✅ Calendar: {USER}" in (await ask(on, "/connect")).text


async def test_kinds_have_other_names(on: BotHarness) -> None:
    async with running(on):
        for word, title in (("Mail", "E-mail"), ("github", "Git"), ("e-mail", "E-mail")):
            assert f"Connecting: {title}." in (await ask(on, f"/connect {word}")).text
        await ask(on, "/settings language de")
        assert "Kalender" in (await ask(on, "/connect Kalender")).text
        assert (
            "/connect calendar, /connect contacts, /connect email, /connect git,"
            in (await ask(on, "/connect nothing")).text
        )


async def test_one_of_two_accounts_of_a_kind_is_deleted(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/whoami")
        for label in ("ann · https://a.example", "ann · https://b.example"):
            on.change(
                "insert into service_accounts (person_id, kind, label, details, sealed, created_at, tested_at)"
                " select id, 'git', ?, '{}', '', 1.0, 1.0 from people where role = 'owner'",
                label,
            )
        listed = (await ask(on, "/connect")).text
        assert '/connect off git "ann · https://a.example"' in listed
        assert "Disconnected: Git" in (await ask(on, '/connect off git "ann · https://a.example"')).text
        assert on.rows("select label from service_accounts") == [("ann · https://b.example",)]


async def test_a_scheduled_prompt_is_no_answer(on: BotHarness) -> None:
    clock = ShiftedClock()
    async with running(on, clock) as app:
        await ask(on, '/schedule add "every minute" news')
        await ask(on, "/connect calendar")
        pass_time(app, clock, 61)
        assert (await on.tg.reply(matching="You said: news")).text.startswith("🗓 news")
        await ask(on, "/schedule pause 1")
        assert ADDRESS in (await ask(on, "/connect calendar")).text
        assert "not a web address" in (await ask(on, "no address")).text


async def test_edits_of_answers_are_not_read(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
        sent = on.tg.say("https://example.invalid")
        await on.tg.reply(sent, after=sent)
        await ask(on, "/stop")
        assert UNREAD in (await on.tg.reply(after=on.tg.edit(sent, "a password by mistake"))).text
        assert on.ms.calls == []


async def test_passwords_are_for_private_chats(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/access here on", group="Team")
        refused = await ask(on, "/connect@tierbot calendar", group="Team")
        assert refused.text.startswith("Passwords are for a private chat")
        assert refused.text == (await ask(on, "/connect@tierbot", group="Team")).text
        assert (await ask(on, "@tierbot hello", group="Team")).text == "You said: hello"


async def test_people_without_power_stay_out_of_the_owners_network(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    with radicale(on) as server:
        async with running(on):
            refused = await connect(on, server, user="bob")
            assert "127.0.0.1 is in a private network, or has no TLS" in refused.text
            assert server.requests == [("MKCALENDAR", "/ann/home/")], "nothing was asked of it"
        on.env["ACCOUNT_HOSTS"] = "radicale.lan, 127.0.0.1"
        async with running(on):
            assert "✅ Connected" in (await connect(on, server, user="bob")).text
            assert "✅" not in (await ask(on, "/connect")).text, "another person's accounts are not listed"


async def test_a_forgotten_person_has_no_accounts(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open", "ACCOUNT_HOSTS": "127.0.0.1"}
    with radicale(on) as server:
        async with running(on):
            await connect(on, server, user="bob")
            await press(on, "🗑 Delete it all", await ask(on, "/access forget me", user="bob"))
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert "✅" not in (await ask(on, "/connect", user="bob")).text


async def test_a_broken_key_is_told_before_any_question(on: BotHarness) -> None:
    async with running(on):
        (on.workspace / "secrets.key").write_text("broken")
        told = (await ask(on, "/connect calendar")).text
        assert told.startswith("I can't store passwords: the key in ")
        assert (await ask(on, "hello")).text == "You said: hello"


async def test_connecting_in_german(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            await ask(on, "/settings language de")
            assert "Welche Adresse hat dein Kalenderserver" in (await ask(on, "/connect calendar")).text
            await ask(on, server.address)
            await ask(on, USER)
            wrong = await ask(on, "falsch")
            assert "lehnt den Benutzernamen oder das Passwort ab" in wrong.text
            assert "✅ Verbunden und geprüft: Kalender" in (await ask(on, PASSWORD)).text


async def test_a_restart_with_a_new_key_makes_the_old_one_unnecessary(on: BotHarness) -> None:
    key = on.workspace / "secrets.key"
    with radicale(on) as server:
        async with running(on):
            assert "✅ Connected" in (await connect(on, server)).text
        ((before,),) = on.rows("select sealed from service_accounts")
        new = base64.urlsafe_b64encode(bytes(range(32))).decode()
        key.write_text(f"{new}\n{key.read_text()}")
        async with running(on):
            await until(lambda: on.rows("select sealed from service_accounts") != [(before,)])
    ((sealed,),) = on.rows("select sealed from service_accounts")
    assert await FernetBox(key, new).reveal(str(sealed)) == PASSWORD


async def test_the_list_has_buttons_that_connect(on: BotHarness) -> None:
    async with running(on):
        listed = await ask(on, "/connect")
        on.tg.press("🔌 Calendar", message=listed)
        assert ADDRESS in (await on.tg.reply(after=listed)).text
        assert "role owner" in (await ask(on, "/whoami")).text


async def test_an_account_is_disconnected_by_its_server_its_user_or_its_label(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            await connect(on, server)
            told = (await ask(on, "/connect off calendar example.com")).text
            assert (
                told == f"There is no account example.com (Calendar). Yours: {USER} · 127.0.0.1. Nothing was changed."
            )
            assert on.rows("select count(*) from service_accounts") == [(1,)]
            assert (await ask(on, "/connect off calendar 127.0.0.1")).text.startswith("🗑 Disconnected: Calendar.")
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert "is not connected" in (await ask(on, "/connect off calendar 127.0.0.1")).text
            for name in (USER, f'"{USER} · 127.0.0.1"'):
                await connect(on, server)
                assert "🗑 Disconnected" in (await ask(on, f"/connect off calendar {name}")).text


async def test_a_name_that_several_accounts_share_disconnects_none(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        for host in ("a.example", "b.example"):
            on.change(
                "insert into service_accounts (person_id, kind, label, details, sealed, created_at, tested_at) "
                f"values (1, 'git', 'ann · https://{host}', '{{}}', 'x', 1, 1)"
            )
        assert (await ask(on, "/connect off git ann")).text.startswith("Several accounts are called ann (")
        assert on.rows("select count(*) from service_accounts") == [(2,)]
        await ask(on, "/connect off git a.example")
        assert on.rows("select label from service_accounts") == [("ann · https://b.example",)]


async def test_completion_and_usage_know_every_kind_of_account(on: BotHarness) -> None:
    async with running(on):
        listed = await ask(on, "/connect")
        assert all(f"/connect {kind}" in listed.text for kind in KINDS)
        assert len(listed.buttons) == len(KINDS)
    assert SPEC.choices == ((*KINDS, "off"), KINDS)
    assert {f"/connect {kind}" for kind in KINDS} <= {*SPEC.usage}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/connect calender", "/connect calendar"),
        ("/connect off calender", "/connect off calendar"),
        ("/schedule cancle 3", "/schedule cancel"),
        ("/files sned x.pdf", "/files send"),
        ("/voice onn", "/voice on"),
        ("/files delte x.pdf", "/files delete"),
        ("/memory forgt 1", "/memory forget"),
    ],
)
async def test_a_mistyped_subcommand_is_answered_with_the_nearest(on: BotHarness, typed: str, meant: str) -> None:
    async with running(on):
        assert (await ask(on, typed)).text.startswith(f"Did you mean {meant}? Write /")
