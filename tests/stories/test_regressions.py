"""Regressions of earlier bugs."""

from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from storage.database.migrate import migrate
from tests.stories.harness import OWNER, BotHarness, BotProcess, ask, running


async def test_an_old_request_does_not_lower_a_role(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with BotProcess(on) as bot:
        on.tg.say("/start")
        await on.tg.reply()
        owner_code = bot.log.split("Owner code: ")[1][:9]
        assert "You are the owner now" in (await ask(on, owner_code)).text
        assert "No one is waiting" in (await ask(on, f"/access pair telegram:{OWNER}")).text
        assert "role owner" in (await ask(on, "/whoami")).text


async def test_the_owner_code_works_for_a_known_person(on: BotHarness) -> None:
    on.env |= {"BOT_OWNERS": "", "BOT_ACCESS": "open"}
    async with running(on):
        await ask(on, "hello")
    on.env["BOT_ACCESS"] = "pairing"
    async with running(on) as app:
        code = await app.access.owner_code(app.messaging.platforms)
        calls = len(on.ms.calls)
        assert "You are the owner now" in (await ask(on, str(code))).text
        assert len(on.ms.calls) == calls


async def test_an_invalid_model_reveals_nothing_about_the_disk(on: BotHarness) -> None:
    async with running(on):
        for name in ("local//etc/shadow", "local/nonsense"):
            assert "I don't know the model" in (await ask(on, f"/model smart {name}")).text
        assert "is not a valid model name" in (await ask(on, "/model smart local/../../etc/passwd")).text
    assert on.rows("select * from overrides") == []


async def test_a_mistyped_command_never_reaches_the_model(on: BotHarness) -> None:
    async with running(on):
        for typed in ("/status?", "/tier, smart", "/tier-smart", "/tier:smart"):
            await ask(on, typed)
    assert len(on.ms.calls) == 0


async def test_a_blocked_person_cannot_stop_a_turn(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    gate = on.ms.reply("a long answer", chunks=4, gate_after=2)
    async with running(on):
        await ask(on, "/access here on", group="Team")
        await ask(on, f"/access block telegram:{bob.id}")
        question = on.tg.say("@tierbot tell me", group="Team")
        await gate.reached()
        on.tg.say("@tierbot stop", user="bob", group="Team")
        await on.tg.reply(question.chat.id, matching="may not use this bot")
        gate.open()
        assert (await on.tg.reply(question.chat.id, matching="a long answer")).text == "a long answer"


async def test_an_owner_can_forget_a_person(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, f"/access allow telegram:{bob.id}")
        await ask(on, "my secret is xyzzy", user="bob")
        assert "is forgotten" in (await ask(on, f"/access forget telegram:{bob.id}")).text
        assert "I don't know" in (await ask(on, f"/access forget telegram:{bob.id}")).text
    assert on.rows("select count(*) from messages where text like '%xyzzy%'") == [(0,)]


async def test_an_out_of_range_number_is_refused(on: BotHarness) -> None:
    async with running(on):
        assert "/history resume" in (await ask(on, f"/history resume {10**30}")).text


async def test_a_failure_in_mid_stream_is_in_the_status(on: BotHarness) -> None:
    on.ms.truncate(after_chunks=2)
    async with running(on):
        await ask(on, "hm")
        assert "openai/gpt-5.1 failed" in (await ask(on, "/status full")).text
        assert (await ask(on, "/status")).text.splitlines()[-1].startswith("⚠️ openai/gpt-5.1 failed")


async def test_retry_of_a_tier_and_the_button_of_a_prefixed_question(on: BotHarness) -> None:
    on.ms.fail(401)
    async with running(on):
        sorry = await ask(on, "!deep pq")
        await on.tg.reply(matching="🔑")
        on.tg.press("🔁 Retry", message=sorry)
        await on.tg.reply(after=sorry)
        assert on.ms.last.model == "gpt-5.2"
        assert on.ms.last.reading.effort == "xhigh"
        await ask(on, "/retry smart")
        assert on.ms.last.model == "gpt-5.1"
        assert on.ms.last.reading.effort == "high"


async def test_extra_command_arguments_are_refused(on: BotHarness) -> None:
    async with running(on):
        for typed in ("/status banana", "/new foo", "/whoami extra", "/usage 7d foo"):
            assert "Write /" in (await ask(on, typed)).text


async def test_quoted_settings_stay_together(on: BotHarness) -> None:
    async with running(on):
        assert "Europe/Berlin" in (await ask(on, '/settings timezone "Europe/Berlin"')).text
        assert "Instructions: Be brief." in (await ask(on, '/settings instructions "Be brief."')).text


async def test_an_invalid_dotenv_line_is_reported(on: BotHarness) -> None:
    on.workspace.mkdir()
    (on.workspace / ".env").write_text("BOT_ACCESS=open\nthis is nonsense\n", encoding="utf-8")
    async with BotProcess(on) as bot:
        assert await bot.ended() == 2
    assert "line 2" in bot.log
    assert bot.log.count("\n") == 1


def test_a_plain_postgresql_url_uses_the_async_driver(tmp_path: Path) -> None:
    from routing.errors import ConfigError

    with pytest.raises(ConfigError):
        migrate("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    with pytest.raises(ConfigError, match="DATABASE_URL must look like"):
        migrate("postgresql+psycopg2://nobody@127.0.0.1:1/none", tmp_path)


def test_the_workspace_is_private(tmp_path: Path) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path / "fresh")}))
    workspace.prepare()
    workspace.release()
    assert workspace.root.stat().st_mode & 0o077 == 0
