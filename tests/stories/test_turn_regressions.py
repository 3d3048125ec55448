"""Regressions of earlier bugs in turns: tools, tier switches, retries, long prompts."""

from __future__ import annotations

import re

import pytest

from tests.servers.telegram import Message, TelegramServer
from tests.stories.harness import BotHarness, ask, running, tool_results
from tests.stories.test_compaction import is_summary, talk


def spoken(on: BotHarness) -> list[tuple[object, ...]]:
    return on.rows("select role, text from messages order by id")


def own_models(on: BotHarness) -> None:
    """Only the balanced tier has a model; the others use it as a stand-in."""
    on.env["OPENAI_API_KEY"] = ""
    on.config["llm"] = {"providers": {"mine": {"apiType": "openai", "baseUrl": on.ms.openai_base}}}
    on.config["tiers"] = {"balanced": {"pool": ["mine/llama-70b"]}}


async def test_no_escalation_leads_to_the_small_local_model(on: BotHarness) -> None:
    own_models(on)
    skill = on.workspace / "skills" / "review"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\ndescription: Reviews.\nmodel_tier: coding\n---\nLook twice.", encoding="utf-8"
    )
    on.ms.call_tools([("write_file", {"path": "app.py", "content": "x"}), ("set_tier", {"tier": "deep"})])
    on.ms.reply("Written.")
    async with running(on):
        assert (await ask(on, "write it")).text == "Written."
        assert tool_results(on)[1] == "The deep tier answers from now on in this conversation."
        await ask(on, "/skill review")
        await ask(on, "look")
    assert {call.model for call in on.ms.calls} == {"llama-70b"}
    assert len(on.ms.calls) == 3


async def test_a_failed_retry_keeps_the_previous_answer(on: BotHarness) -> None:
    on.ms.reply("A good answer.")
    async with running(on):
        await ask(on, "why?")
        on.ms.fail(400, message="no")
        assert "refused the request" in (await ask(on, "/retry : why not?")).text
        assert spoken(on) == [("user", "why?"), ("assistant", "A good answer.")]
        gate = on.ms.gate()
        message = on.tg.say("/retry")
        await gate.reached()
        on.tg.say("stop")
        await on.tg.reply(message, after=message)
    assert spoken(on) == [("user", "why?"), ("assistant", "A good answer.")]


async def test_an_edited_question_that_failed_can_be_retried(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        on.ms.fail(400, message="no")
        failed = await ask(on, "/retry : two")
        on.tg.press("🔁 Retry", message=failed)
        await on.tg.wait_for(lambda _: any(each.text == "You said: two" for each in failed.chat.from_bot()))


async def test_an_edit_keeps_what_came_with_the_question(on: BotHarness) -> None:
    async with running(on):
        first = await ask(on, "what is a fjord?")
        message = on.tg.say("explain this", reply_to=first)
        await on.tg.reply(message, after=message)
        on.tg.edit(message, "explain this briefly")
        await on.tg.wait_for(lambda _: any("Answer the new" in each.text for each in message.chat.from_bot()))
        offer = next(each for each in message.chat.from_bot() if "Answer the new" in each.text)
        made = len(on.ms.calls)
        on.tg.press("🔁 Answer again", message=offer)
        await on.ms.journal.wait(lambda: len(on.ms.calls) > made, 30)
    assert (
        on.ms.last.reading.last_user_text
        == "> [I reply to Tierbot]\n> You said: what is a fjord?\n\nexplain this briefly"
    )


async def test_every_skill_is_listed_in_the_prompt(on: BotHarness) -> None:
    for number in range(30):
        folder = on.workspace / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\ndescription: {'long ' * 40}\n---\nBody {number}.", encoding="utf-8")
    async with running(on):
        await ask(on, "hello")
    assert all(f"- skill-{number}" in on.ms.last.reading.system_text for number in range(30))


async def test_a_skill_broken_by_an_edit_keeps_its_old_version(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0.02)
    file = on.workspace / "skills" / "review" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Reviews.\nmodel_tier: coding\n---\nLook twice.", encoding="utf-8")
    async with running(on):
        await ask(on, "/skill review")
        file.write_text("---\nmodel_tier: turbo\n---\n", encoding="utf-8")
        for _ in range(200):
            shown = (await ask(on, "/skills")).text
            if "is skipped" in shown:
                break
        assert "review is skipped" in shown
        assert "✅ review" in shown
        await ask(on, "look")
    assert on.ms.last.model == "gpt-5.2"
    assert "Look twice." in on.ms.last.reading.system_text


async def test_a_skill_added_mid_turn_keeps_the_prompt_prefix(on: BotHarness) -> None:
    file = on.workspace / "skills" / "review" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Reviews.\n---\nLook twice.", encoding="utf-8")
    on.ms.call_tools([("use_skill", {"name": "review"})])
    on.ms.call_tools([("get_datetime", {})])
    on.ms.reply("Reviewed.")
    async with running(on):
        await ask(on, "review it")
        first, *later = [call.body["messages"][0] for call in on.ms.calls]
        assert later == [first, first]
        assert "Look twice." in tool_results(on)[0]
        await ask(on, "and this?")
    assert "Look twice." in on.ms.last.reading.system_text, "the next turn has it in the prompt prefix"


async def test_a_small_window_still_holds_the_question(on: BotHarness) -> None:
    on.config["compaction"] = {"maxContextTokens": 4_000}
    async with running(on):
        await ask(on, "what is a fjord?")
        assert on.ms.last.reading.last_user_text == "what is a fjord?"
        found = re.search(r"Context: ([\d,]+) of 2,000 tokens", (await ask(on, "/status full")).text)
        assert found is not None
        assert int(found[1]) < 200


async def test_deeply_nested_arguments_are_answered(on: BotHarness) -> None:
    on.ms.call_tools([("calculate", '{"expression": ' + "[" * 5_000 + "]" * 5_000 + "}")])
    on.ms.reply("Too deep.")
    async with running(on):
        assert (await ask(on, "dig")).text == "Too deep."


@pytest.mark.parametrize("where", ["name", "arguments", "text"])
async def test_a_lone_surrogate_is_answered(on: BotHarness, where: str) -> None:
    half = "a\ud83d" + "b"
    if where == "text":
        on.ms.reply(f"{half} and \ud83d\ude00 and \0.", chunks=40)
    else:
        call = (half, {"name": "x"}) if where == "name" else ("use_skill", '{"name": "x\\ud800\\u0000y"}')
        on.ms.call_tools([call])
        on.ms.reply("Never mind.")
    async with running(on):
        answer = (await ask(on, "odd")).text
        assert answer == ("a\ufffdb and 😀 and ." if where == "text" else "Never mind.")
        assert (await ask(on, "and then?")).text == "You said: and then?"


async def test_an_overflow_cuts_the_question_and_the_system_message_too(on: BotHarness) -> None:
    (on.workspace).mkdir(parents=True)
    (on.workspace / "SYSTEM.md").write_text("s" * 140_000, encoding="utf-8")
    on.knows(mid={"provider": "openai", "maxInputTokens": 128_000})
    on.config |= {"tiers": {"balanced": {"pool": ["openai/mid"]}}, "compaction": {"maxContextTokens": 120_000}}
    async with running(on):
        await ask(on, "hello")
        on.ms.fail(400, message="context_length_exceeded")
        await ask(on, "again")
    assert max(len(text) for _, text in on.ms.last.reading.turns) <= 112_000


async def test_the_turn_deadline_is_a_separate_limit(on: BotHarness) -> None:
    on.config["turn"] = {"deadlineSeconds": 1}
    on.ms.call_tools([("get_datetime", {})], text="Let me look.")
    on.ms.hang(60)
    async with running(on):
        answer = await ask(on, "what time is it?")
        assert "Let me look." in answer.text
        assert "Stopped at the 1 s limit" in answer.text
        assert "failed" not in (await ask(on, "/status full")).text


async def test_a_lock_set_mid_turn_forbids_the_next_switch(on: BotHarness) -> None:
    gate = on.ms.call_tools([("set_tier", {"tier": "deep"})], text="Hm.", gate_after=0)
    on.ms.reply("As you like.")
    async with running(on):
        question = on.tg.say("this is hard")
        await gate.reached()
        await ask(on, "/tier smart force")
        gate.open()
        await on.tg.reply(question, after=question)
    assert "Tier is locked by user (smart)" in tool_results(on)[0]


async def test_status_names_the_escalation_rule(on: BotHarness) -> None:
    on.ms.call_tools([("write_file", {"path": "app.py", "content": "x"})])
    gate = on.ms.reply("Written.", gate_after=0)
    async with running(on):
        question = on.tg.say("write it")
        await gate.reached()
        status = (await ask(on, "/status full")).text
        assert "Last call: coding with openai/gpt-5.2, because the work turned to coding." in status
        gate.open()
        await on.tg.reply(question, after=question)


async def test_a_refused_tool_does_not_escalate(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hello", user=bob)
        await ask(on, f"/access role telegram:{bob.id} guest")
        on.ms.call_tools([("write_file", {"path": "app.py", "content": "x"})])
        on.ms.reply("No.")
        await ask(on, "write it", user=bob)
    assert on.ms.last.model == "gpt-5.1"


async def test_in_a_group_tool_results_stay_with_their_person(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    on.ms.call_tools([("write_file", {"path": "diary.txt", "content": "swordfish"})])
    on.ms.call_tools([("read_file", {"path": "diary.txt"})])
    on.ms.reply("I have read it.")
    async with running(on):
        await ask(on, "/access here on", group="Team")
        await ask(on, "@tierbot read my diary", group="Team")
        await ask(on, "@tierbot and mine?", user=bob, group="Team")
        assert "swordfish" not in tool_results(on)[1]
        assert "stays theirs" in tool_results(on)[1]
        export = await ask(on, "/history export", user=bob, group="Team")
        assert "swordfish" not in _file(on.tg, export)
        refused = await ask(on, "/retry", group="Team")
        assert "Someone else" in refused.text


def _file(tg: TelegramServer, message: Message) -> str:
    return tg.document(message).data.decode()


async def test_forgetting_or_blocking_ends_a_running_turn(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hello", user=bob)
        gate = on.ms.call_tools([("write_file", {"path": "after.txt", "content": "x"})], text="Hm.", gate_after=0)
        on.tg.say("write it", user=bob)
        await gate.reached()
        await ask(on, f"/access block telegram:{bob.id}")
        gate.open()
        await ask(on, "still there?")
    assert list((on.workspace / "files").rglob("after.txt")) == []


async def test_a_failed_summary_is_reported_and_not_counted(on: BotHarness) -> None:
    on.config["compaction"] = {"maxContextTokens": 20_000}
    async with running(on):
        await ask(on, "hello")
    talk(on, 30, "z" * 1_400)
    on.ms.fail(500, times=2, when=is_summary)
    async with running(on):
        answer = await ask(on, "still there?")
        assert "could not be summarised" in answer.text
        assert answer.text.startswith("You said: still there?")
        assert "were summarised" not in (await ask(on, "/status full")).text
