"""/connect: step by step, tested at once, and the password is kept nowhere in the clear."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from handlers.accounts.connecting import VALID_MINUTES
from handlers.commands.connect import KINDS, SPEC
from routing.errors import StorageFault
from routing.types.messages import ChatKey, InboundMessage, UserKey
from storage.codec import INBOUND
from storage.people.secret_box import FernetBox
from storage.people.service_accounts import SqlServiceAccounts
from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.discord import DiscordServer, Message
from tests.servers.model.script import BEFORE_HEADERS
from tests.servers.radicale import PASSWORD, USER, RadicaleServer
from tests.stories.accounts import connect, radicale
from tests.stories.discord_bot import up
from tests.stories.harness import OWNER, BotHarness, ask, press, running, settled
from tests.stories.test_linking import code, confirmed, linked, only_telegram_has_owners, written
from tests.stories.test_schedules import pass_time

ADDRESS = "What is the address of your calendar server"
ASKED_PASSWORD = "What is your password there?"
ENDED = "⌛ My question about your account has ended meanwhile. I did not read this message"
UNREAD = "I did not read this message"


def stored(on: BotHarness) -> bytes:
    """Everything in the database's files, also what was deleted."""
    return b"".join(path.read_bytes() for path in on.workspace.glob("tierbot.db*"))


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
                assert answer.encode() not in stored(on)
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
    assert b"not my password" not in stored(on)


async def test_a_command_cancels(on: BotHarness) -> None:
    async with running(on):
        for command in ("/stop", "stop"):
            await ask(on, "/connect calendar")
            assert (await ask(on, command)).text == "Connecting is cancelled (Calendar). Nothing was stored."
        await ask(on, "/connect calendar")
        told = (await ask(on, "/whoami")).text
        assert "role owner" in told
        assert told.endswith("Connecting is cancelled (Calendar). Nothing was stored.")
        assert (await ask(on, "hello")).text == "You said: hello"
        assert on.rows("select count(*) from connect_steps") == [(0,)]


async def test_a_refused_command_says_that_it_cancels(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            for each in ("/connect calendar", server.address, USER):
                await ask(on, each)
            refused = (await ask(on, "/tier nonsense")).text
            assert "nonsense" in refused
            assert refused.endswith("Connecting is cancelled (Calendar). Nothing was stored.")
            assert on.rows("select count(*) from connect_steps") == [(0,)]


async def test_stop_ends_the_question_and_the_answer(on: BotHarness) -> None:
    gate = on.ms.reply("One two three.", gate_after=BEFORE_HEADERS)
    async with running(on):
        on.tg.say("hello")
        await gate.reached()
        await ask(on, "/connect calendar")
        stop = on.tg.say("/stop")
        await on.tg.reply(after=stop, matching="⏹ Stopped.")
        told = await on.tg.reply(after=stop, matching="Connecting is cancelled")
        assert told.text == "Connecting is cancelled (Calendar). Nothing was stored."
        assert on.rows("select count(*) from connect_steps") == [(0,)]


@contextmanager
def hanging(server: RadicaleServer) -> Iterator[threading.Event]:
    """The server takes requests and answers none; the event is set with the first one."""
    asked, released = threading.Event(), threading.Event()

    def hang(_environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        asked.set()
        released.wait(60)
        start("503 Service Unavailable", [])
        return []

    server.fault = hang
    try:
        yield asked
    finally:
        released.set()
        server.fault = None


@pytest.mark.parametrize(("said", "answer"), [("/stop", ""), ("Stop!", ""), ("/whoami", "role owner")])
async def test_a_command_ends_the_test_of_an_account(on: BotHarness, said: str, answer: str) -> None:
    with radicale(on) as server:
        async with running(on):
            for each in ("/connect calendar", server.address, USER):
                await ask(on, each)
            with hanging(server) as asked:
                on.tg.say(PASSWORD)
                await until(asked.is_set)
                told = (await ask(on, said)).text
                assert answer in told
                assert told.endswith("Connecting is cancelled (Calendar). Nothing was stored.")
                assert (await ask(on, "hello")).text == "You said: hello"
            assert PASSWORD not in str(on.ms.last.body)
            await settled(on)
            for table in ("service_accounts", "connect_steps"):
                assert on.rows(f"select count(*) from {table}") == [(0,)]
            assert "✅ Connected" in (await connect(on, server)).text
    assert PASSWORD.encode() not in stored(on)


async def test_a_password_is_not_used_if_the_person_connects_anew(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            for each in ("/connect calendar", server.address, USER):
                await ask(on, each)
            on.tg.fault(method="deleteMessage", kind="slow", seconds=0.5)
            on.tg.say(PASSWORD)
            await until(lambda: bool(on.tg.calls("deleteMessage")))
            before = len(server.requests)
            assert ADDRESS in (await ask(on, "/connect calendar")).text
            await settled(on)
            assert len(server.requests) == before
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert on.rows("select count(*) from connect_steps") == [(1,)]


async def test_connecting_anew_ends_the_test_before(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            for each in ("/connect calendar", server.address, USER):
                await ask(on, each)
            with hanging(server) as asked:
                on.tg.say(PASSWORD)
                await until(asked.is_set)
                assert ADDRESS in (await ask(on, "/connect calendar")).text
            await ask(on, server.address)
            await ask(on, USER)
            assert "✅ Connected" in (await ask(on, PASSWORD)).text


async def test_a_restart_during_the_test_repeats_it(on: BotHarness) -> None:
    with radicale(on) as server:
        with hanging(server) as asked:
            async with running(on) as app:
                for each in ("/connect calendar", server.address, USER):
                    await ask(on, each)
                sent = on.tg.say(PASSWORD)
                await until(asked.is_set)
                await app.inbox.drain(0)
        async with running(on):
            assert "✅ Connected" in (await on.tg.reply(after=sent)).text


async def test_a_word_cancels_in_many_languages(on: BotHarness) -> None:
    async with running(on):
        for word in ("Cancel", "abbrechen!", "Отмена", "İptal", "取消。"):
            await ask(on, "/connect calendar")
            assert (await ask(on, word)).text == "Connecting is cancelled (Calendar). Nothing was stored."
        assert on.rows("select count(*) from connect_steps") == [(0,)]


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


async def test_the_steps_survive_a_restart_and_expire(on: BotHarness) -> None:
    clock = ShiftedClock()
    with radicale(on) as server:
        async with running(on, clock):
            await ask(on, "/connect calendar")
            await ask(on, server.address)
            await ask(on, USER)
        async with running(on, clock):
            assert "✅ Connected" in (await ask(on, PASSWORD)).text
            await ask(on, "/connect calendar")
        clock.ahead += VALID_MINUTES * 60 + 1
        async with running(on, clock):
            late = await ask(on, "my late password")
            assert late.text.startswith(f"⌛ The {VALID_MINUTES} minutes for connecting are over.")
            assert on.ms.calls == []
            assert (await ask(on, "hello")).text == "You said: hello"
    assert b"my late password" not in stored(on)


async def test_a_late_answer_is_not_read_nor_its_edit(on: BotHarness) -> None:
    clock = ShiftedClock()
    async with running(on, clock):
        await ask(on, "/connect calendar")
        clock.ahead += VALID_MINUTES * 60 + 60
        sent = on.tg.say("my late password")
        late = await on.tg.reply(sent, after=sent)
        assert late.text.startswith(f"⌛ The {VALID_MINUTES} minutes for connecting are over.")
        assert "delete it if it does, or send it again if it was for me. /connect calendar starts again." in late.text
        assert UNREAD in (await on.tg.reply(after=on.tg.edit(sent, "my later password"))).text
        assert on.ms.calls == []
        assert (await ask(on, "hello")).text == "You said: hello", "only one message is not read"
    assert b"password" not in str(on.rows("select * from messages")).encode()


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


async def test_a_step_of_last_week_is_deleted(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
    on.change("update connect_steps set expires_at = expires_at - ?", 8 * 86_400)
    async with running(on):
        await until(lambda: on.rows("select count(*) from connect_steps") == [(0,)])


async def test_the_list_has_buttons_that_connect(on: BotHarness) -> None:
    async with running(on):
        listed = await ask(on, "/connect")
        on.tg.press("🔌 Calendar", message=listed)
        assert ADDRESS in (await on.tg.reply(after=listed)).text
        assert "role owner" in (await ask(on, "/whoami")).text


@asynccontextmanager
async def on_both(on: BotHarness, dc: DiscordServer) -> AsyncIterator[RadicaleServer]:
    """The bot on Telegram and Discord, open to everyone, and a calendar server that everyone may use."""
    only_telegram_has_owners(on)
    on.env |= {"BOT_ACCESS": "open", "ACCOUNT_HOSTS": "127.0.0.1"}
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            yield server


async def test_a_person_connects_in_two_chats_at_once(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        await written(dc, "/whoami", "bobby")
        await linked(dc, await code(on, "bob"))
        await ask(on, "/connect calendar", user="bob")
        assert ADDRESS in (await written(dc, "/connect calendar", "bobby")).text
        for said in (server.address, USER):
            await ask(on, said, user="bob")
        assert "✅ Connected" in (await ask(on, PASSWORD, user="bob")).text
        assert "not a web address" in (await written(dc, PASSWORD, "bobby")).text, "still a question here"
        assert on.ms.calls == []
    assert PASSWORD.encode() not in stored(on)


async def test_a_password_in_another_chat_is_not_read(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        await written(dc, "/whoami", "bobby")
        await linked(dc, await code(on, "bob"))
        await ask(on, "/connect calendar", user="bob")
        await ask(on, server.address, user="bob")
        assert (await written(dc, "hi", "bobby")).text == "You said: hi", "only a password is secret"
        await ask(on, USER, user="bob")
        assert (await written(dc, "hey", "carol")).text == "You said: hey", "another person"
        told = (await written(dc, PASSWORD, "bobby")).text
        assert told.startswith("🔑 I am waiting for a password in another chat with you (Telegram).")
        assert PASSWORD not in str([call.body for call in on.ms.calls])
        assert (await written(dc, "hello", "bobby")).text == "You said: hello", "it is told once"
        assert "✅ Connected" in (await ask(on, PASSWORD, user="bob")).text
    assert PASSWORD.encode() not in stored(on)


async def test_linking_moves_a_step_to_the_one_person(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        given = await code(on, "bob")
        asked = await written(dc, f"/access link {given}", "bobby")
        for said in ("/connect calendar", server.address, USER):
            await written(dc, said, "bobby")
        await confirmed(dc, asked)
        assert "✅ Connected" in (await written(dc, PASSWORD, "bobby")).text
        assert f"✅ Calendar: {USER}" in (await ask(on, "/connect", user="bob")).text


async def test_someone_forgotten_while_connecting_leaves_nothing(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open", "ACCOUNT_HOSTS": "127.0.0.1"}
    with radicale(on) as server:
        async with running(on):
            for said in ("/connect calendar", server.address, USER):
                await ask(on, said, user="bob")
            bob = on.tg.user("bob").id
            assert "is forgotten" in (await ask(on, f"/access forget telegram:{bob}")).text
            assert ENDED in (await ask(on, PASSWORD, user="bob")).text
            assert on.ms.calls == []
            assert on.rows("select count(*) from service_accounts") == [(0,)]
            assert on.rows("select count(*) from connect_steps") == [(0,)]
            assert (await ask(on, "hello", user="bob")).text == "You said: hello"
    assert PASSWORD.encode() not in stored(on)


async def test_discord_asks_to_delete_the_password(on: BotHarness, dc: DiscordServer) -> None:
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            for said in ("/connect calendar", server.address, USER):
                await written(dc, said, "alice")
            done = await written(dc, PASSWORD, "alice")
            assert "✅ Connected and tested: Calendar" in done.text
            assert done.text.endswith("🧹 Please delete your message with the password now.")
            assert on.ms.calls == []
    assert PASSWORD.encode() not in stored(on)


async def test_a_quoted_password_is_not_read(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await written(dc, "/connect calendar", "alice")
        secret = dc.say(PASSWORD, user="alice")
        assert "not a web address" in (await dc.reply(secret, after=secret)).text
        await written(dc, "/stop", "alice")
        quoting = dc.say("What is this?", user="alice", reply_to=secret)
        assert (await dc.reply(quoting, after=quoting)).text == "You said: What is this?"
        assert PASSWORD not in str(on.ms.last.body)
    assert PASSWORD.encode() not in stored(on)


async def test_a_password_is_entered_in_a_form_on_discord(on: BotHarness, dc: DiscordServer) -> None:
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            for said in ("/connect calendar", server.address):
                await written(dc, said, "alice")
            asked = await written(dc, USER, "alice")
            assert "Enter it with the button, then it is not in our chat." in asked.text
            wrong = await entered(dc, asked, "not my password")
            assert "refuses the user name or the password" in wrong.text
            assert "🧹" not in wrong.text
            done = await entered(dc, wrong, "/help is my password")
            assert "refuses the user name or the password" in done.text, "a form holds no commands"
            done = await entered(dc, done, PASSWORD)
            assert "✅ Connected and tested: Calendar" in done.text
            assert "🧹" not in done.text
            assert UNREAD in (await entered(dc, asked, PASSWORD)).text, "an old button"
            assert on.ms.calls == []
            assert on.rows("select count(*) from messages") == [(0,)]
    for secret in (PASSWORD, "not my password", "/help is my password"):
        assert secret.encode() not in stored(on)


async def entered(dc: DiscordServer, asked: Message, text: str) -> Message:
    """The reply to what is entered in the form of a question."""
    opened = dc.press(asked, "🔑 Enter it")
    await dc.wait_for(lambda _: opened.modal)
    sent = dc.submit(opened, {"text": text})
    await dc.wait_for(lambda _: sent.answers and not sent.answers[0].loading)
    return sent.answers[0]


async def test_an_answer_that_ended_the_process_is_not_tried_forever(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
    chat = ChatKey("telegram", str(OWNER))
    answer = InboundMessage(UserKey("telegram", str(OWNER)), chat, "1", "9", "https://a.example", time.time())
    on.change(
        "INSERT INTO inbox (platform, bot_id, update_id, payload, state, attempts, placeholder, received_at)"
        " VALUES ('telegram', '1', '9', ?, 'waiting', 2, '', 0)",
        INBOUND.dump(answer),
    )
    async with running(on):
        assert (await on.tg.reply(matching=ENDED)).text.endswith("/connect calendar starts again.")
        assert on.rows("select count(*) from connect_steps") == [(0,)]
        assert on.ms.calls == []


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


async def test_an_account_that_could_not_be_stored_changes_nothing(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage fails when the new account should replace the old one, and the person cancels before the next
    attempt."""
    real = SqlServiceAccounts.connect
    failed: list[object] = []

    async def failing(self: SqlServiceAccounts, *given: Any, **more: Any) -> None:
        if not failed:
            failed.append(given)
            raise StorageFault("The database can't be used at the moment (disk I/O error).")
        await real(self, *given, **more)

    with radicale(on) as server:
        server.calendar("ben")
        async with running(on):
            await connect(on, server)
            for each in ("/connect calendar", server.address, "ben"):
                await ask(on, each)
            monkeypatch.setattr("handlers.storage_retry.PAUSES", (1.5,))
            monkeypatch.setattr(SqlServiceAccounts, "connect", failing)
            on.tg.say(PASSWORD)
            await until(lambda: failed)
            assert "Nothing was stored" in (await ask(on, "/stop")).text
            await settled(on)
            assert on.rows("select label from service_accounts") == [(f"{USER} · 127.0.0.1",)]
            assert on.rows("select count(*) from connect_steps") == [(0,)]
