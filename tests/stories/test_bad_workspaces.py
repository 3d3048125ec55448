"""Starting with a defective workspace: one sentence that says what to fix, exit code 2, and every file unchanged."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from tests.polling import until
from tests.stories.bad_workspaces import (
    checkpoint,
    checksums,
    fill,
    held,
    populate,
    read_only,
    refusal,
    refused,
    small_disk,
)
from tests.stories.harness import BotHarness, BotProcess, ask, running
from tests.stories.test_order import texts

DISK = pytest.mark.sqlite_only("its file is on the full disk")
LOCK = pytest.mark.sqlite_only("a lock of its file")


@pytest.fixture
def brief_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens SQLite's wait for another program's lock."""
    monkeypatch.setattr("storage.database.sqlite.BUSY_TIMEOUT_MS", 200)
    monkeypatch.setattr("storage.database.migrate.create_engine", partial(create_engine, connect_args={"timeout": 0.2}))


def config_file(on: BotHarness) -> Path:
    path = on.workspace / "preferences" / "runtime-config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"llm": {\n "providers": {,}}}', "runtime-config.json line 2: not valid JSON, "),
        ("", "runtime-config.json line 1: not valid JSON, "),
        ("[]", "runtime-config.json line 1: a JSON object is expected."),
        ('{\n"llm": 7}', "runtime-config.json line 2: llm must be an object."),
        ('{"modelRouter": {\n\n"temperature": "hot"}}', "runtime-config.json line 3: modelRouter.temperature must be "),
        ('{"tiers": {"smart": {"pool": "openai/gpt-5.1"}}}', "line 1: tiers.smart.pool must be a list"),
        ('{"llm": {"providers": {"x": {"apiType": "soap"}}}}', "line 1: llm.providers.x.apiType must be one of "),
        ('{"a": 1, "a": 2}', 'line 1: "a" is given twice.'),
        (
            '{"turn": {\n"maxUsd": 1%s}}' % ("0" * 400),
            "line 2: turn.maxUsd must be a number above 0, at most 1,000,000,",
        ),
        ('{"turn": {\n"maxUsd": 1e999}}', "line 2: turn.maxUsd must be a number above 0, at most 1,000,000,"),
        ('{"turn": {\n"maxUsd": 1%s}}' % ("0" * 5_000), "line 2: turn.maxUsd must have at most 640 digits."),
        ('{"turn": {\n"maxUsd": Infinity}}', "line 2: Infinity is not a JSON number."),
        ('{"turn": {\n"deadlineSeconds": 1%s}}' % ("0" * 400), "line 2: turn.deadlineSeconds must be a whole number "),
        ('{"sandbox": {\n"memoryMb": 1%s}}' % ("0" * 400), "line 2: sandbox.memoryMb must be a whole number above 0, "),
    ],
    ids=lambda value: value[:40],
)
async def test_a_malformed_configuration(on: BotHarness, text: str, expected: str) -> None:
    config_file(on).write_text(text, encoding="utf-8")
    assert expected in await refused(on)


async def test_a_configuration_that_is_not_text(on: BotHarness) -> None:
    config_file(on).write_bytes(b'{"llm":\n "\xff"}')
    assert await refused(on) == "runtime-config.json line 2: the text is not UTF-8."


async def test_a_configuration_that_is_a_folder(on: BotHarness) -> None:
    config_file(on).mkdir()
    assert (await refused(on)).startswith("runtime-config.json can't be read: ")


@pytest.mark.parametrize("text", ["{", '{"models": 5}', '{"models": {"m": {"provider": 5}}}'])
async def test_a_malformed_catalogue(on: BotHarness, text: str) -> None:
    catalog = on.workspace / "models" / "models.json"
    catalog.parent.mkdir(parents=True)
    catalog.write_text(text, encoding="utf-8")
    assert (await refused(on)).startswith("models.json line 1: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("USER_RATE_LIMIT", "x"),
        ("BOT_OWNERS", "x"),
        ("SEARXNG_URL", "searx.lan"),
        ("WEB_PRIVATE_HOSTS", "http://wiki"),
        ("WEB_SEARCH", "altavista"),
        ("DATABASE_URL", "x"),
        ("DATABASE_URL", "mysql://host/name"),
        ("TELEGRAM_BOT_TOKEN", "x"),
        ("TELEGRAM_FLOOD_LIMIT", "x"),
        ("TELEGRAM_API_ROOT", "x"),
        ("BOT_ACCESS", "x"),
        ("LOG_LEVEL", "x"),
        ("TIER_SMART_POOL", "x"),
    ],
)
async def test_a_malformed_variable_is_named_whatever_its_source(on: BotHarness, name: str, value: str) -> None:
    assert (await refused(on, **{name: value})).startswith((f"{name} ", f"{name}: "))
    on.env[name] = ""
    on.workspace.mkdir(exist_ok=True)
    (on.workspace / ".env").write_text(f"{name}={value}\n", encoding="utf-8")
    assert (await refused(on)).startswith((f"{name} ", f"{name}: "))


async def test_a_settings_file_that_is_not_text(on: BotHarness) -> None:
    on.workspace.mkdir()
    (on.workspace / ".env").write_bytes(b"BOT_ACCESS=\xff\xfe\n")
    assert ".env can't be read" in await refused(on)


async def test_without_a_platform_setup_and_chat_are_suggested(on: BotHarness) -> None:
    on.env["TELEGRAM_BOT_TOKEN"] = ""
    message = await refused(on)
    assert "TELEGRAM_BOT_TOKEN" in message
    assert "`tierbot setup`" in message
    assert "`tierbot chat`" in message


async def test_a_token_that_telegram_refuses(on: BotHarness) -> None:
    on.tg.revoke()
    message = await refused(on)
    assert message.startswith("Telegram refuses TELEGRAM_BOT_TOKEN")
    assert on.tg.token not in message


async def test_a_workspace_path_that_is_a_file(on: BotHarness) -> None:
    on.workspace.write_text("mine", encoding="utf-8")
    assert f"The workspace {on.workspace} can't be written" in await refused(on)
    assert on.workspace.read_text(encoding="utf-8") == "mine"


async def test_a_read_only_workspace(on: BotHarness) -> None:
    await populate(on)
    with read_only(on.workspace):
        assert (await refused(on)).startswith(f"The workspace {on.workspace} can't be written (Read-only file system)")


@DISK
async def test_a_full_disk_at_the_start(on: BotHarness) -> None:
    with small_disk(on.workspace, 1024):
        ballast = fill(on.workspace)
        message = await refused(on)
        assert "space" in message
        ballast.unlink()
        async with running(on):
            assert (await ask(on, "hello")).text == "You said: hello"


@DISK
async def test_a_disk_that_fills_up_while_it_runs_loses_nothing(
    on: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """Once there is space again, everything is answered exactly once, including messages that came meanwhile."""
    gate = on.ms.gate("thought through")
    with small_disk(on.workspace, 1024):
        async with running(on):
            on.tg.say("think")
            await gate.reached(60.0)
            ballast = fill(on.workspace)
            gate.open()
            for number in range(3):
                on.tg.say(f"q{number}")
            await until(lambda: "disk is full" in caplog.text)
            assert texts(on) == []
            ballast.unlink()
            replies = [message.text for message in await on.tg.reply(count=4)]
    assert replies == ["thought through", "You said: q0", "You said: q1", "You said: q2"]
    assert "Traceback" not in caplog.text
    assert len(texts(on)) == 4


@DISK
async def test_a_full_disk_and_a_kill_lose_nothing(on: BotHarness) -> None:
    gate = on.ms.gate("never said")
    with small_disk(on.workspace, 1024):
        async with BotProcess(on) as bot:
            on.tg.say("think")
            await gate.reached(60.0)
            ballast = fill(on.workspace)
            on.tg.say("q0")
            await until(lambda: "disk is full" in bot.log)
            gate.open()
            await bot.kill()
        ballast.unlink()
        on.ms.reply("thought again")
        async with running(on):
            replies = [message.text for message in await on.tg.reply(count=2)]
    assert replies == ["thought again", "You said: q0"]


@LOCK
async def test_a_database_held_by_another_program(on: BotHarness, brief_lock: None) -> None:
    await populate(on)
    async with held(on.database):
        message = await refused(on)
    assert "another program has locked it" in message
    assert str(on.database) in message


@LOCK
async def test_a_database_held_for_a_while_at_work(
    on: BotHarness, brief_lock: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is lost or repeated; the answers come once the database is free."""
    async with running(on):
        await ask(on, "hello")
        async with held(on.database):
            message = on.tg.say("and now?")
            await until(lambda: "locked" in caplog.text or "can't be saved" in caplog.text)
        assert (await on.tg.reply(message, after=message)).text == "You said: and now?"
    assert len(texts(on)) == 2


def garbage(database: Path) -> None:
    database.write_bytes(b"this is no database at all " * 4000)


def cut(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


def holed(database: Path) -> None:
    """Overwrites pages in the middle."""
    with database.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xa5" * 4096 * 6)


@pytest.mark.sqlite_only("its file is damaged")
@pytest.mark.parametrize("damage", [garbage, cut, holed])
async def test_a_damaged_database(on: BotHarness, damage: Callable[[Path], None]) -> None:
    await populate(on)
    damage(on.database)
    message = await refused(on)
    assert "it is damaged; move it aside and restore a copy from the backups folder" in message


async def test_a_database_newer_than_the_program(on: BotHarness) -> None:
    await populate(on)
    on.change("UPDATE alembic_version SET version_num = '9999'")
    checkpoint(on)
    message = await refused(on)
    assert message.startswith("The database is at revision 9999, which this version of tierbot does not know")


async def test_a_second_process_in_the_same_workspace(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        await on.tg.wait_for(lambda tg: tg.updates.is_polled, 30.0)
        assert await refusal(on) == (
            f"Another tierbot already runs in {on.workspace}. Stop it first, or set WORKSPACE to another folder."
        )
        on.tg.say("hello")
        assert (await on.tg.reply()).text == "You said: hello"
        assert await bot.terminate() == 0


@pytest.mark.sqlite_only("its file is checked")
async def test_the_checks_see_a_changed_file(on: BotHarness) -> None:
    """Otherwise the stories above could not fail."""
    await populate(on)
    before = checksums(on.workspace)
    assert "tierbot.db" in before
    assert "models/models.json" in before
    on.change("UPDATE people SET name = 'Mallory'")
    checkpoint(on)
    assert checksums(on.workspace) != before
