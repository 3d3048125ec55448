"""Commands about conversations and settings, and text that is not a command."""

import re

from handlers.commands import COMMANDS
from handlers.commands.help import TOPICS
from tests.stories.harness import OWNER, BotHarness, ask, press, running

UNKNOWN = {
    "/teir smart": "There is no command /teir. Did you mean /tier? /help lists them all.",
    "/STATS": "There is no command /stats. Did you mean /status? /help lists them all.",
    "/qqqqqqq": "There is no command /qqqqqqq. /help lists them all.",
}


async def test_an_unknown_command_names_the_nearest_and_never_reaches_the_model(on: BotHarness) -> None:
    async with running(on):
        for typed, answer in UNKNOWN.items():
            assert (await ask(on, typed)).text == answer
    assert on.ms.calls == []


async def test_a_path_is_not_a_command(on: BotHarness) -> None:
    async with running(on):
        for typed in ("/usr/bin/env fails", "what does /tier do?", "a / b", "/"):
            assert (await ask(on, typed)).text == f"You said: {typed}"


async def test_help_lists_every_command_and_describes_one(on: BotHarness) -> None:
    async with running(on):
        text = (await ask(on, "/help all")).text
        assert re.findall(r"^/(\w+):", text, re.MULTILINE) == [spec.name for spec in COMMANDS]
        topics = (await ask(on, "/help")).text
        assert sorted(re.findall(r"[ (]/(\w+)(?=,|$)", topics, re.MULTILINE)) == sorted(spec.name for spec in COMMANDS)
        assert topics.startswith("Who answers: /tier, /model")
        assert len(topics.splitlines()) == len(TOPICS) + 2
        one = (await ask(on, "/help /Tier")).text
        assert one.startswith("/tier: ")
        assert "/tier smart force" in one
        assert "Did you mean /tier?" in (await ask(on, "/help teir")).text


async def test_start_shows_the_tiers_and_two_buttons(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/start deep-link-payload")
        assert [button["text"] for button in shown.buttons] == ["/tier", "/help"]
        for tier in ("balanced", "smart", "coding", "deep"):
            assert tier in shown.text
        await press(on, "/tier", shown)
        assert shown.text.startswith("Tier: balanced, Force: off")


async def test_whoami_shows_the_account_in_the_form_access_accepts(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/whoami")).text == f"Alice, account telegram:{OWNER}, role owner."


async def test_new_starts_a_conversation_and_history_resumes_an_old_one(on: BotHarness) -> None:
    async with running(on):
        assert "There is nothing here yet." in (await ask(on, "/history")).text
        await ask(on, "remember apples")
        await ask(on, "/new")
        await ask(on, "now bananas")
        assert "apples" not in str(on.ms.last.body)
        listed = (await ask(on, "/history")).text.splitlines()
        assert re.fullmatch(r"1\. \d{4}-\d\d-\d\d \d\d:\d\d, 2 messages: now bananas ← this one", listed[0])
        assert re.fullmatch(r"2\. \d{4}-\d\d-\d\d \d\d:\d\d, 2 messages: remember apples", listed[1])
        assert (await ask(on, "/history RESUME 2")).text == "↩ Back in conversation 2."
        await ask(on, "and now?")
        assert ("user", "remember apples") in on.ms.last.reading.turns
        assert "bananas" not in str(on.ms.last.body)
        assert "There is no conversation 9" in (await ask(on, "/history resume 9")).text
        assert "There is no conversation 0" in (await ask(on, "/history resume 0")).text
        for typed in ("/history resume", "/history resume two", "/history burn 1"):
            assert "Nothing was changed" in (await ask(on, typed)).text


async def test_history_is_resumed_by_a_button_and_after_a_restart(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "remember apples")
        await ask(on, "/new")
        await ask(on, "now bananas")
        listed = await ask(on, "/history")
        await press(on, "2", listed)
    async with running(on):
        await ask(on, "and now?")
    assert ("user", "remember apples") in on.ms.last.reading.turns


async def test_history_is_private_to_its_chat(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "remember apples")
        assert (await ask(on, "/history", user="bob")).text == "There is nothing here yet."
        assert (await ask(on, "/history resume 1", user="bob")).text.startswith("There is no conversation 1")


async def test_new_and_resume_do_not_wait_for_the_running_answer(on: BotHarness) -> None:
    """History stays in its chat."""
    async with running(on):
        await ask(on, "first")
        gate = on.ms.gate("done")
        on.tg.say("a long one")
        await gate.reached()
        assert "A new conversation" in (await ask(on, "/new")).text
        gate.open()
        await on.tg.reply(matching="done")
        await ask(on, "another")
        assert "Back in conversation 2" in (await ask(on, "/history resume 2")).text
        await ask(on, "and?")
    assert [text for role, text in on.ms.last.reading.turns if role == "user"] == ["first", "a long one", "and?"]


async def test_retry_replaces_the_old_answer(on: BotHarness) -> None:
    async with running(on):
        for answer in ("an opening", "a bad one", "a good one", "an end"):
            on.ms.reply(answer)
        await ask(on, "hello")
        await ask(on, "!deep and?")
        assert (await ask(on, "/retry")).text == "a good one"
        assert "a bad one" not in str(on.ms.last.body)
        assert on.ms.last.last_user_text == "and?"
        await ask(on, "go on")
    assert on.ms.last.reading.turns[1:] == (
        ("user", "hello"),
        ("assistant", "an opening"),
        ("user", "and?"),
        ("assistant", "a good one"),
        ("user", "go on"),
    )
    texts = [text for (text,) in on.rows("select text from messages order by id")]
    assert texts == ["hello", "an opening", "and?", "a good one", "go on", "an end"]


async def test_retry_has_nothing_to_repeat_in_a_new_conversation(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        await ask(on, "/new")
        assert (await ask(on, "/retry")).text == "There is no question to repeat in this conversation."
    assert len(on.ms.calls) == 1


async def test_a_failed_answer_has_a_retry_button(on: BotHarness) -> None:
    async with running(on):
        on.ms.fail(400, None, "no such thing")
        failed = await ask(on, "hello")
        assert "refused the request (no such thing)" in failed.text
        on.ms.reply("here you are")
        on.tg.press("🔁 Retry", message=failed)
        await on.tg.reply(matching="here you are")
        await ask(on, "and?")
    assert [turn for turn in on.ms.last.reading.turns if turn[1] == "hello"] == [("user", "hello")]


async def test_usage_adds_up_a_persons_own_days_by_model(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        assert (await ask(on, "/usage")).text == "Last 24 hours: nothing yet."
        on.ms.reply("one", usage=(8000, 1000))
        await ask(on, "hi")
        on.ms.reply("two", usage=(8000, 1000))
        await ask(on, "!deep hi")
        await ask(on, "hi", user="bob")
        lines = (await ask(on, "/usage 7d")).text.splitlines()
        assert lines[0] == "Last 7 days"
        assert "• openai/gpt-5.1: 1 call · 8,000 in / 1,000 out · $0.02" in lines
        assert "• openai/gpt-5.2: 1 call · 8,000 in / 1,000 out · $0.0280" in lines
        assert lines[-1] == "Total: 2 calls · 16,000 in / 2,000 out · $0.0480"
        for typed in ("/usage week", "/usage 0d", "/usage 9999"):
            assert (await ask(on, typed)).text.startswith("Write /usage, /usage 7d for seven days,")


async def test_settings_changes_one_value_and_refuses_unknown_names(on: BotHarness) -> None:
    async with running(on):
        shown = (await ask(on, "/settings")).text.splitlines()
        assert shown == [
            "Language: English", "Streaming in this chat: on", "Learning tools and tiers in this chat: on",
            "Footer: off", "Time zone: UTC", "Instructions: none",
        ]  # fmt: skip
        await ask(on, "/settings timezone Europe/Berlin")
        await ask(on, "/settings streaming off")
        shown = (await ask(on, '/settings instructions Call me "the boss", please.')).text.splitlines()
        assert shown[1:] == [
            "Streaming in this chat: off", "Learning tools and tiers in this chat: on", "Footer: off",
            "Time zone: Europe/Berlin", 'Instructions: Call me "the boss", please.',
        ]  # fmt: skip
        await ask(on, "hi")
        assert 'Call me "the boss", please.' in on.ms.last.reading.system_text
        for typed, words in [
            ("/settings timezone Mars/Base", "Mars/Base is not a time zone"),
            ("/settings language xx", "I speak "),
            ("/settings streaming maybe", "Write on or off"),
            ("/settings colour red", "There is no setting colour"),
            ("/settings instructions " + "x" * 2001, "2,000 characters"),
        ]:
            refusal = (await ask(on, typed)).text
            assert words in refusal
            assert "Nothing was changed." in refusal
        again = (await ask(on, "/settings instructions none")).text.splitlines()
        assert again[-1] == "Instructions: none"
        assert again[4] == "Time zone: Europe/Berlin"


async def test_german_answers_and_menus_by_setting_and_back(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/settings language de")
        assert shown.text.splitlines()[0] == "Sprache: Deutsch"
        assert (await ask(on, "/tier")).text.splitlines()[0] == "Tier: balanced, Force: off"
        assert "Aktiv: balanced" in (await ask(on, "/tier")).text.splitlines()[1]
        assert "Befehl" in (await ask(on, "/qqqqqqq")).text
        assert "Es wurde nichts geändert" in (await ask(on, "/tier turbo")).text
        help_text = (await ask(on, "/help all")).text
        assert "Show or choose" not in help_text
        assert "Zeigt" in help_text
        settings = await ask(on, "/settings")
        await press(on, "English", settings)
        assert settings.text.splitlines()[0] == "Language: English"
    async with running(on):
        assert (await ask(on, "/qqqqqqq")).text.startswith("There is no command")


async def test_a_german_client_is_answered_in_german_and_has_a_german_menu(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    on.menus = True
    uwe = on.tg.user("uwe", language_code="de")
    async with running(on):
        assert "Befehl" in (await ask(on, "/qqqqqqq", user=uwe)).text
        await on.tg.wait_for(lambda tg: len(tg.calls("setMyCommands")) == 4)
    menus = {call.params.get("language_code", ""): call.params["commands"] for call in on.tg.calls("setMyCommands")}
    assert set(menus) == {"", "de"}
    assert [each["command"] for each in menus["de"]] == [spec.name for spec in COMMANDS]
    same = [spec.name for spec, each in zip(COMMANDS, menus["de"], strict=True) if each["description"] == spec.summary]
    assert same == []


async def test_an_edit_and_unreadable_things_get_a_clear_answer(on: BotHarness) -> None:
    async with running(on):
        message = on.tg.say("helo")
        await on.tg.reply()
        on.tg.edit(message, "hello")
        assert (await on.tg.reply()).text.startswith("You edited your message.")
        for kind, words in [("sticker", "stickers"), ("poll", "polls"), ("location", "locations")]:
            on.tg.unsupported(kind)
            assert (await on.tg.reply()).text.startswith(f"I can't read {words}.")
    assert len(on.ms.calls) == 1


async def test_stop_reports_whether_an_answer_was_running(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/stop")).text == "Nothing is running here."
        gate = on.ms.reply("a very long answer " * 10, gate_after=3)
        on.tg.say("talk")
        await gate.reached()
        await on.tg.wait_for(lambda tg: any(draft.text for draft in tg.drafts))
        on.tg.say("Stop!")
        ended = await on.tg.reply()
        assert ended.text.startswith("a very long answer")
        assert ended.text.endswith("⏹ Stopped.")
        await ask(on, "and?")
        assert "⏹" not in str(on.ms.last.body)
