"""Backups of a running bot: consistent while twenty chats write, and restored row by row."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops.backup.backup import make
from bot.ops.backup.restore import restore
from tests.polling import until
from tests.postgres import ON_POSTGRES, Server
from tests.stories.databases import SqliteFile, tables
from tests.stories.forked_cli import forked
from tests.stories.harness import BotHarness, BotProcess, ask, running, settled

CHATS, QUESTIONS = 20, 2
PASSPHRASE = "correct horse battery"


def rows(database: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(question).fetchall()


def whole(database: Path) -> list[str]:
    """All rows but what the end of the bot writes."""
    with closing(sqlite3.connect(database)) as connection:
        return [line for line in connection.iterdump() if not line.startswith('INSERT INTO "state"')]


async def test_backups_under_load_are_consistent_and_the_last_one_is_identical(on: BotHarness) -> None:
    """A turn is one transaction: its question, its answer and its usage are in a backup together or not at all."""
    on.env["BOT_ACCESS"] = "open"
    people = [on.tg.user(f"user{number}") for number in range(CHATS)]

    async def chat(number: int) -> None:
        for count in range(QUESTIONS):
            await ask(on, f"question {count} of {number}", user=people[number])

    folder, counts = on.workspace.parent, set[object]()
    workspace = Workspace(load(on.environment()))
    async with running(on):
        chatting = asyncio.gather(*map(chat, range(CHATS)))
        while not chatting.done():
            counts.add(await asyncio.to_thread(turns_in_a_backup, workspace, folder / str(len(counts))))
        await chatting
        await settled(on)
        last = await asyncio.to_thread(make, workspace, folder / "last.tar.gz")
    restore(restored := at(folder / "last"), str(last.path))
    assert on.rows("select count(*) from turns") == [(CHATS * QUESTIONS,)]
    assert len(counts) > 1, "nothing was written meanwhile"
    if ON_POSTGRES:
        with SqliteFile(restored.root / "tierbot.db").open() as query:
            assert tables(query) | {"state": []} == tables(on.rows) | {"state": []}
    else:
        assert whole(restored.root / "tierbot.db") == whole(on.database)


@pytest.mark.system
async def test_a_backup_under_load_moves_to_postgres(on: BotHarness, postgres: Server) -> None:
    on.env["BOT_ACCESS"] = "open"
    people = [on.tg.user(f"user{number}") for number in range(CHATS)]
    workspace, folder = Workspace(load(on.environment())), on.workspace.parent
    async with running(on):
        chatting = asyncio.gather(*(ask(on, f"I am {person.first_name}", user=person) for person in people))
        await until(lambda: len(on.ms.calls) > CHATS // 2)
        archive = await asyncio.to_thread(make, workspace, folder / "busy.tar.gz")
        await chatting
    postgres.sql("create database of_a_busy_bot")
    moved = at(folder / "moved", DATABASE_URL=postgres.url("of_a_busy_bot"))
    restore(here := at(folder / "here"), str(archive.path))
    await asyncio.to_thread(restore, moved, str(archive.path))
    again = await asyncio.to_thread(make, moved, folder / "moved.tar.gz")
    restore(back := at(folder / "back"), str(again.path))
    assert rows(here.root / "tierbot.db", "select count(*) > 0 from inbox") == [(1,)]
    assert sorted(whole(back.root / "tierbot.db")) == sorted(whole(here.root / "tierbot.db"))


def at(folder: Path, **environ: str) -> Workspace:
    return Workspace(load({"WORKSPACE": str(folder), **environ}))


def turns_in_a_backup(workspace: Workspace, folder: Path) -> object:
    """Makes a backup, restores and checks it."""
    archive = make(workspace, folder.with_name(f"{folder.name}.tar.gz"))
    assert restore(at(folder), str(archive.path)) == 0
    database, counted = folder / "tierbot.db", "select count(*) from "
    asked = counted + "messages where role = '{}'"
    questions = (asked.format("user"), asked.format("assistant"), f"{counted}turns", f"{counted}usage")
    found = {rows(database, question)[0][0] for question in questions}
    assert len(found) == 1
    assert rows(database, "select coalesce(sum(calls), 0) from usage_hours") == [(*found,)]
    assert rows(database, "pragma integrity_check") == [("ok",)]
    assert rows(database, "pragma foreign_key_check") == []
    return found.pop()


async def test_a_scheduled_backup_arrives_encrypted_and_restores(on: BotHarness) -> None:
    on.env |= {"BACKUP_EVERY_HOURS": "0.0003", "BACKUP_KEEP": "2", "BACKUP_PASSPHRASE": PASSPHRASE}
    async with BotProcess(on) as bot:
        await ask(on, "remember the apples")
        sent = await on.tg.reply(matching="💾 The encrypted backup")
        archives = on.workspace / "backups"
        await until(lambda: len(list(archives.glob("*.tar.gz"))) == 2)
        assert await bot.terminate() == 0
        assert PASSPHRASE not in bot.log
        assert "apples" not in bot.log
    file = on.tg.document(sent)
    path, target = on.workspace.parent / file.name, on.workspace.parent / "restored"
    path.write_bytes(file.data)
    environment = {"PATH": "/usr/bin:/bin", "BACKUP_PASSPHRASE": PASSPHRASE}
    async with forked("restore", str(path), "--workspace", str(target), env=environment) as process:
        code, output, errors = await process.ended()
    assert (code, errors) == (0, "")
    assert f"into {target}" in output
    assert rows(target / "tierbot.db", "select role from people") == [("owner",)]


async def test_a_restored_bot_goes_on(on: BotHarness) -> None:
    """After a backup, something is lost; the restored bot knows what was said before."""
    environment = {"PATH": "/usr/bin:/bin", "WORKSPACE": str(on.workspace), "DATABASE_URL": on.data.url}
    archive = on.workspace.parent / "backup.tar.gz"
    async with running(on):
        await ask(on, "my cat is called Minka")
        await settled(on)
        async with forked("backup", str(archive), env=environment) as process:
            assert (await process.ended())[0] == 0
        async with forked("restore", str(archive), env=environment) as process:
            code, _, errors = await process.ended()
        assert (code, errors) == (
            2,
            f"tierbot: A tierbot runs in {on.workspace}: stop it first. Nothing was changed.\n",
        )
        await ask(on, "/new")
    async with forked("restore", str(archive), env=environment) as process:
        assert (await process.ended())[0] == 0
    async with running(on):
        await ask(on, "what is my cat called?")
        assert ("user", "my cat is called Minka") in on.ms.last.reading.turns
