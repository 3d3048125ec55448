"""A running bot shows what another process commits to its database."""

from __future__ import annotations

from tests.stories.accounts import connect, radicale
from tests.stories.harness import OWNER, BotHarness, ask, press, running
from tests.stories.test_command_order import prepare
from tests.stories.test_forgetting import SECRET


def turns(on: BotHarness) -> list[tuple[str, str]]:
    """What the model was sent last, without the system's messages."""
    return [turn for turn in on.ms.last.reading.turns if turn[0] != "system"]


async def test_changed_messages_and_settings_show_in_the_next_turn(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "two")
        assert ("user", "one") in turns(on)
        on.change("update messages set text = 'uno' where text = ?", "one")
        await ask(on, "three")
        assert ("user", "uno") in turns(on)
        assert (await ask(on, "/tier")).text.startswith("Tier: balanced")
        on.change(
            "insert into preferences (person_id, tier, force, language, time_zone, instructions)"
            " select id, 'smart', true, '', 'UTC', '' from people where role = ?",
            "owner",
        )
        assert (await ask(on, "/tier")).text.startswith("Tier: smart, Force: on")
        model = "openai/gpt-4.1"
        on.change("insert into overrides (person_id, tier, model) select person_id, tier, ? from preferences", model)
        assert model in (await ask(on, "/model smart")).text


async def test_a_conversation_ended_elsewhere_is_not_continued(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        on.change("update conversations set ended_at = ?", 1.0)
        await ask(on, "two")
        assert turns(on) == [("user", "two")]


async def test_the_tier_and_skill_of_a_conversation_set_elsewhere_apply(on: BotHarness) -> None:
    prepare(on)
    async with running(on):
        await ask(on, "one")
        assert on.ms.last.reading.effort == "medium"
        assert "Speak like a poet" not in on.ms.last.reading.system_text
        on.change("update conversations set tier = 'smart', tier_at = ?, skill = 'poet', skill_at = ?", 1.0, 1.0)
        await ask(on, "two")
        assert on.ms.last.reading.effort == "high"
        assert "Speak like a poet" in on.ms.last.reading.system_text


async def test_a_summary_written_elsewhere_replaces_the_messages(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "two")
        on.change(
            "insert into summaries (conversation_id, upto, covers, text, reason, at)"
            " select conversation_id, max(id), count(*), 'They counted.', '', 1.0 from messages where text != ?"
            " group by conversation_id",
            "",
        )
        await ask(on, "three")
        assert ("user", "one") not in turns(on)
        assert "They counted." in str(on.ms.last.body)


async def test_a_group_opened_or_closed_elsewhere_is_open_or_closed(on: BotHarness) -> None:
    async with running(on):
        assert "isn't enabled yet" in (await ask(on, "@tierbot hi", user="bob", group="Team")).text
        on.change(
            "insert into chats (platform, chat_id, streaming, allowed) values ('telegram', ?, true, true)",
            str(on.tg.group("Team").id),
        )
        assert (await ask(on, "@tierbot hi", user="bob", group="Team")).text == "You said: hi"
        on.change("update chats set allowed = ?", False)
        assert "isn't enabled yet" in (await ask(on, "@tierbot hi", user="carol", group="Team")).text
    assert len(on.ms.calls) == 1


async def test_streaming_switched_off_elsewhere_is_off(on: BotHarness) -> None:
    async with running(on):
        assert "Streaming in this chat: on" in (await ask(on, "/settings")).text
        on.change(
            "insert into chats (platform, chat_id, streaming, allowed) values ('telegram', ?, false, false)", str(OWNER)
        )
        assert "Streaming in this chat: off" in (await ask(on, "/settings")).text


async def test_accounts_linked_elsewhere_are_one_person(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "/tier deep", user="bob")
        assert (await ask(on, "/tier", user="carol")).text.startswith("Tier: balanced")
        on.change(
            "update identities set person_id = (select person_id from identities where user_id = ?) where user_id = ?",
            *(str(on.tg.user(name).id) for name in ("bob", "carol")),
        )
        assert (await ask(on, "/tier", user="carol")).text.startswith("Tier: deep")


async def test_someone_forgotten_elsewhere_is_a_stranger(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "/settings language de", user="bob")
        assert "Sprache" in (await ask(on, "/settings", user="bob")).text
        on.change("delete from identities where user_id = ?", str(on.tg.user("bob").id))
        assert "Language" in (await ask(on, "/settings", user="bob")).text
        assert "@bob" in (await ask(on, "/access")).text, "known by username again"


async def test_someone_blocked_elsewhere_gets_no_answer(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hi", user="bob")
        calls = len(on.ms.calls)
        on.change("update people set role = 'blocked' where role != ?", "owner")
        await on.noticed()
        on.tg.say("hi again", user="bob")
        await ask(on, "me too")
        assert len(on.ms.calls) == calls + 1


async def test_what_was_spent_elsewhere_counts_against_the_limits(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 1}
    async with running(on):
        on.ms.reply("one", usage=(1000, 100))
        await ask(on, "one")
        calls = len(on.ms.calls)
        on.change("update usage set cost_nano = ?, held_nano = null", 5_000_000_000)
        on.change("update usage_hours set cost_nano = 5000000000, charged_nano = ?", 5_000_000_000)
        assert "$5.00 of $1" in (await ask(on, "/budget")).text
        assert "limit of $1" in (await ask(on, "two")).text
        assert len(on.ms.calls) == calls


async def test_a_limit_set_elsewhere_applies(on: BotHarness) -> None:
    async with running(on):
        on.ms.reply("one", usage=(100_000, 1000))
        await ask(on, "one")
        on.change("insert into budgets (person_id, daily_nano) select id, 10000000 from people where role = ?", "owner")
        assert "your limit of $0.01 a day" in (await ask(on, "two")).text


async def test_a_connect_step_ended_elsewhere_asks_no_more(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/connect calendar")
        on.change("delete from connect_steps where kind = ?", "calendar")
        told = (await ask(on, SECRET)).text
        assert told.startswith("⌛ My question about your account has ended meanwhile. I did not read this message")
        assert told.endswith("/connect calendar starts again.")
        assert on.ms.calls == []
        assert on.rows("select count(*) from messages") == [(0,)]
        assert SECRET.encode() not in on.data.content()
        assert (await ask(on, "hello")).text == "You said: hello"
        await ask(on, "/connect calendar")
        on.change("delete from connect_steps where kind = ?", "calendar")
        assert (await ask(on, "/new")).text.endswith("Connecting is cancelled (Calendar). Nothing was stored.")
        assert (await ask(on, "hello again")).text == "You said: hello again", "a command ends the question"


async def test_an_account_removed_elsewhere_is_not_connected(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            assert "✅ Connected" in (await connect(on, server)).text
            on.change("update service_accounts set label = ?", "renamed")
            assert "renamed" in (await ask(on, "/connect")).text
            on.change("delete from service_accounts where label = ?", "renamed")
            assert "✅" not in (await ask(on, "/connect")).text


async def test_forgotten_words_do_not_come_back_from_memory(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, f"My secret is {SECRET}", user="bob")
        await ask(on, "What was it?", user="bob")
        assert SECRET in str(turns(on))
        await press(on, "🗑 Delete it all", await ask(on, "/access forget me", user="bob"))
        await ask(on, "What was it?", user="bob")
        assert SECRET not in str(on.ms.last.body)


async def test_a_reminder_removed_elsewhere_is_gone(on: BotHarness) -> None:
    async with running(on):
        assert "fern" in (await ask(on, "/remind in 20 minutes water the fern")).text
        assert "fern" in (await ask(on, "/schedule")).text
        on.change("delete from schedules where text = ?", "water the fern")
        assert "fern" not in (await ask(on, "/schedule")).text
