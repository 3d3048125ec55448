"""Reading the database reveals no usable one-time code or Discord interaction token."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command

from handlers.access.codes import MAX_WRONG_CODES
from routing.one_time_codes import hashed, matches
from tests.migrations.test_migrations import config, connected
from tests.servers.discord import DiscordServer
from tests.stories.access import CODE, code_in, owner_code
from tests.stories.databases import tables
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, ask, running, settled


def dump(on: BotHarness) -> str:
    """Every row."""
    return str(tables(on.rows))


def test_a_hash_is_salted_and_only_its_own_code_matches() -> None:
    first, second = hashed("ABCDEFGH"), hashed("ABCDEFGH")
    assert first != second
    assert "ABCDEFGH" not in first
    assert matches("ABCDEFGH", first)
    assert matches("ABCDEFGH", second)
    assert not any(matches("ABCDEFGH", stored) for stored in ("", "ABCDEFGH", "$", "zz$00", hashed("ABCDEFGJ")))


async def test_no_code_can_be_read_in_the_database(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        owner = await owner_code(app)
        assert owner.replace("-", "") not in dump(on)
        await ask(on, owner)
        link = code_in(await ask(on, "/access link"))
        pairing = code_in(await ask(on, "hello", user="mallory"))
        assert code_in(await ask(on, "hello?", user="mallory")) == pairing
        await settled(on)
        kept = dump(on)
        for code in (link, pairing):
            assert code not in kept
            assert code.replace("-", "") not in kept
        assert (await ask(on, f"/access pair {pairing}")).text.startswith("✅")


async def test_a_restart_gives_a_waiting_stranger_a_new_code(on: BotHarness) -> None:
    async with running(on):
        old = code_in(await ask(on, "hello", user="mallory"))
    async with running(on):
        new = code_in(await ask(on, "hello", user="mallory"))
        assert new != old
        assert "No one is waiting" in (await ask(on, f"/access pair {old}")).text
        assert (await ask(on, f"/access pair {new}")).text.startswith("✅")


async def test_a_code_that_is_posted_in_a_group_no_longer_works(
    on: BotHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        old = await owner_code(app)
        told = await ask(on, f"@tierbot {old}", user="bob", group="Team")
        assert "no longer works. I have printed a new one" in told.text
        printed = CODE.findall(capsys.readouterr().out)
        assert printed[-1] != old
        assert "This is not the owner code" in (await ask(on, old, user="mallory")).text
        assert (await ask(on, printed[-1])).text.startswith("👑")
        pairing = code_in(await ask(on, "hello", user="mallory"))
        told = await ask(on, f"@tierbot let me in: {pairing}", user="mallory", group="Team")
        assert "no longer works. Write to me in private" in told.text
        assert "No one is waiting" in (await ask(on, f"/access pair {pairing}")).text
        renewed = code_in(await ask(on, "hello?", user="mallory"))
        assert renewed != pairing
        assert (await ask(on, f"/access pair {renewed}", group="Team")).text.startswith("✅")
        link = code_in(await ask(on, "/access link"))
        told = await ask(on, f"@tierbot {link}", group="Team")
        assert "no longer works. Make a new one with /access link" in told.text
        for _ in range(MAX_WRONG_CODES):
            on.tg.say("@tierbot AAAA-AAAA", user="eve", group="Team")
        last = code_in(await ask(on, "/access link"))
        on.tg.say(f"@tierbot {last}", user="eve", group="Team")
        await settled(on)
        assert on.rows("select count(*) from links") == [(1,)], "guesses in a group are ignored"


async def test_an_interaction_token_is_deleted_after_the_answer(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        said = dc.say("hi")
        await dc.reply(said, after=said)
        menu = await dc.reply(dc.slash("tier"))
        await dc.reply(dc.slash("retry", {"retry": "smart"}))
        dc.press(menu, menu.buttons[0]["label"])
        await dc.wait_for(lambda _: "you chose it" in menu.text)
        await settled(on)
        tokens = [interaction.token for interaction in dc.interactions]
        kept = dump(on)
    assert len(tokens) >= 3
    assert not [token for token in tokens if token in kept]


def test_old_codes_are_dropped(tmp_path: Path) -> None:
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "0011")
        connection.exec_driver_sql("insert into people (id, name, role, created_at) values (1, 'Alice', 'owner', 0)")
        connection.exec_driver_sql("insert into links (person_id, code, expires_at) values (1, 'ABCDEFGH', 2e9)")
        connection.exec_driver_sql("insert into pairings values ('telegram', '2', 'Ben', 'BCDEFGHJ', 2e9)")
        connection.exec_driver_sql("insert into state values ('owner_code', 'digest')")
        command.upgrade(config(connection), "head")
    with sqlite3.connect(tmp_path / "a.db") as database:
        kept = "\n".join(database.iterdump())
    assert "ABCDEFGH" not in kept
    assert "BCDEFGHJ" not in kept
    assert "owner_code" not in kept
    assert "Alice" in kept
