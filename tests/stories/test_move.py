"""A bot that moves to PostgreSQL and back: it knows what was said before."""

from __future__ import annotations

import pytest

from tests.postgres import Server
from tests.stories.forked_cli import forked
from tests.stories.harness import BotHarness, ask, running, settled


@pytest.mark.system
@pytest.mark.sqlite_only("it begins there")
async def test_a_moved_bot_goes_on(on: BotHarness, postgres: Server) -> None:
    postgres.sql("create database of_a_moved_bot")
    url = postgres.url("of_a_moved_bot")

    async def move(target: str) -> tuple[int, str, str]:
        environment = {"PATH": "/usr/bin:/bin", "WORKSPACE": str(on.workspace)}
        async with forked("migrate-to", target, env=environment) as process:
            return await process.ended()

    async with running(on):
        await ask(on, "my cat is called Minka")
        await settled(on)
        code, output, errors = await move(url)
        assert (code, output) == (2, "")
        assert errors.startswith(f"tierbot: Another tierbot already runs in {on.workspace}. Stop it first")
    code, output, errors = await move(url)
    assert (code, errors) == (0, "")
    assert "\nmessages: 2 rows\n" in output
    async with running(on):
        await ask(on, "my dog is called Rex")
        assert ("user", "my cat is called Minka") in on.ms.last.reading.turns
    on.database.rename(on.workspace / "kept.db")
    code, output, errors = await move("sqlite")
    assert (code, errors) == (0, "")
    assert "\nmessages: 4 rows\n" in output
    async with running(on):
        await ask(on, "what are they called?")
        said = on.ms.last.reading.turns
        assert ("user", "my cat is called Minka") in said
        assert ("user", "my dog is called Rex") in said
        await settled(on)
    assert on.rows("select count(*) from messages") == [(6,)]
