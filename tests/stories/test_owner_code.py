"""The first start prints a code that makes its sender the owner."""

from tests.fakes import ShiftedClock
from tests.polling import until
from tests.stories.access import CODE, owner_code
from tests.stories.harness import BotHarness, BotProcess, ask, running


async def test_the_first_start_prints_the_owner_code_once_and_it_works_once(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with BotProcess(on) as bot:
        await until(lambda: "Owner code: " in bot.log)
        assert bot.log.count("Owner code: ") == 1
        code = CODE.search(bot.log)
        assert code is not None
        assert "You are the owner now" in (await ask(on, code.group())).text
        assert "This bot is private" in (await ask(on, code.group(), user="mallory")).text
        assert "owner" in (await ask(on, "/whoami")).text
        assert await bot.terminate() == 0
    async with BotProcess(on) as bot:
        await on.tg.wait_for(lambda tg: len(tg.calls("getMe")) == 2)
        assert (await ask(on, "hi")).text == "You said: hi"
        assert await bot.terminate() == 0
        assert "Owner code" not in bot.log


async def test_a_link_that_carries_the_code_makes_its_reader_the_owner_and_welcomes_them(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        code = await owner_code(app)
        assert "I have no owner yet" in (await ask(on, "hello?")).text
        wrong = await ask(on, "/start BBBB-BBBB", user="mallory")
        assert "not the owner code" in wrong.text
        text = (await ask(on, f"/start {code}")).text
        assert text.startswith("👑 You are the owner now.\n\n👋 Write anything")
        await on.tg.reply(matching="You said: hello?")  # what the owner wrote before
        assert (await ask(on, f"/start {code}")).text == text, "a second tap does no harm"
        assert "This bot is private" in (await ask(on, f"/start {code}", user="mallory")).text
        assert on.rows("select role from people") == [("owner",)]


async def test_a_plain_start_claims_nothing(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/start")).text.startswith("👋 Write anything")
        assert (await ask(on, "/start from the website")).text.startswith("👋 Write anything")


async def test_five_wrong_owner_codes_lock_out_even_from_the_right_one(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    clock = ShiftedClock()
    async with running(on, clock) as app:
        code = await owner_code(app)
        for _ in range(5):
            assert "not the owner code" in (await ask(on, "BBBB-BBBB")).text
        assert "Too many wrong codes" in (await ask(on, code)).text
        assert (await ask(on, code, user="bob")).text.startswith("👑")
        assert on.rows("select count(*) from audit where action = 'wrong owner code'") == [(5,)]


async def test_the_owner_code_is_never_in_the_database(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with running(on) as app:
        code = await owner_code(app)
    stored = str(on.rows("select * from state"))
    assert code not in stored
    assert code.replace("-", "") not in stored
