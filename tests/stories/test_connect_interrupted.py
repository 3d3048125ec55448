"""/connect that is cancelled or interrupted, and answers that come too late."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from handlers.accounts.connecting import VALID_MINUTES
from routing.errors import StorageFault
from routing.types.messages import ChatKey, InboundMessage, UserKey
from storage.codec import INBOUND
from storage.people.service_accounts import SqlServiceAccounts
from tests.fakes import ShiftedClock
from tests.polling import until
from tests.postgres import ON_POSTGRES
from tests.servers.model.script import BEFORE_HEADERS
from tests.servers.radicale import PASSWORD, USER, RadicaleServer
from tests.stories.accounts import ADDRESS, UNREAD, connect, radicale
from tests.stories.harness import OWNER, BotHarness, ask, running, settled

BEGUN = 3 if ON_POSTGRES else 2
"""Attempts of a message that was begun three times. On SQLite, any message that waits at the start was begun."""
ENDED = "⌛ My question about your account has ended meanwhile. I did not read this message"


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
    assert PASSWORD.encode() not in on.data.content()


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
    assert b"my late password" not in on.data.content()


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


async def test_a_step_of_last_week_is_deleted(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
    on.change("update connect_steps set expires_at = expires_at - ?", 8 * 86_400)
    async with running(on):
        await until(lambda: on.rows("select count(*) from connect_steps") == [(0,)])


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
    assert PASSWORD.encode() not in on.data.content()


async def test_an_answer_that_ended_the_process_is_not_tried_forever(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
    chat = ChatKey("telegram", str(OWNER))
    answer = InboundMessage(UserKey("telegram", str(OWNER)), chat, "1", "9", "https://a.example", time.time())
    on.change(
        "INSERT INTO inbox (platform, bot_id, update_id, payload, state, attempts, placeholder, received_at, chat)"
        f" VALUES ('telegram', '1', '9', ?, 'waiting', {BEGUN}, '', 0, '{chat.claim}')",
        INBOUND.dump(answer),
    )
    async with running(on):
        assert (await on.tg.reply(matching=ENDED)).text.endswith("/connect calendar starts again.")
        assert on.rows("select count(*) from connect_steps") == [(0,)]
        assert on.ms.calls == []


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
