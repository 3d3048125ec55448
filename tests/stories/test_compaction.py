"""A conversation that grows too long continues, with a summary or shortened results."""

from __future__ import annotations

import json

import pytest

from tests.servers.model.request import ModelRequest
from tests.stories.harness import BotHarness, ask, running
from tests.stories.office import ONCE, card, pressed

SUMMARY = "Ada likes tea."
BIG = "x" * 1_400


def is_summary(request: ModelRequest) -> bool:
    return "<conversation>" in request.reading.last_user_text


def serve(on: BotHarness, tokens: int) -> None:
    """The balanced tier uses a model with this many tokens."""
    on.knows(small={"provider": "openai", "maxInputTokens": tokens})
    on.config["tiers"] = {"balanced": {"pool": ["openai/small"]}}


def spoken(on: BotHarness) -> list[str]:
    messages = [text for role, text in on.ms.last.reading.turns if role != "system"]
    return [text for text in messages if text != "[the beginning of the conversation is left out]"]


def talk(on: BotHarness, pairs: int, text: str = "short") -> None:
    """Writes earlier turns into the owner's conversation."""
    with_ids = on.rows("select id from conversations order by id desc limit 1")
    person = on.rows("select id from people limit 1")[0][0]
    for number in range(pairs):
        for role in ("user", "assistant"):
            on.change(
                "insert into messages (conversation_id, person_id, turn_id, role, text, pictures, at)"
                " values (?, ?, 't', ?, ?, '[]', 1.0)",
                with_ids[0][0],
                person,
                role,
                f"{role} {number} {text}",
            )


async def test_compaction_keeps_the_last_twenty_messages(on: BotHarness) -> None:
    on.config["compaction"] = {"maxContextTokens": 20_000}
    async with running(on):
        await ask(on, "hello")
    talk(on, 30, BIG)
    on.ms.reply(SUMMARY, when=is_summary, times=None)
    async with running(on):
        await ask(on, "what do I like?")
        assert "\n".join(on.ms.last.reading.system_text.splitlines()).count("[Conversation summary]") == 1
        assert SUMMARY in on.ms.last.reading.system_text
        assert len(spoken(on)) == 20
        assert spoken(on)[-1] == "what do I like?"
        summaries = [call for call in on.ms.calls if is_summary(call)]
        assert summaries
        assert {(call.model, call.reading.effort) for call in summaries} == {("gpt-5.1", "low")}
        made = len(on.ms.calls)
        await ask(on, "and what else?")
        assert len(on.ms.calls) == made + 1, "the summary is reused until the limit is reached again"
        status = await ask(on, "/status full")
        assert "Older messages were summarised 1×." in status.text
    assert on.rows("select count(*) from messages") == [(66,)], "the messages are stored"


async def test_a_failed_summary_drops_the_oldest_and_the_next_covers_them(on: BotHarness) -> None:
    on.config["compaction"] = {"maxContextTokens": 20_000}
    async with running(on):
        await ask(on, "hello")
    talk(on, 30, BIG)
    on.ms.fail(500, when=is_summary, times=None)
    async with running(on):
        answer = await ask(on, "still there?")
        assert answer.text.startswith("You said: still there?")
        assert len(spoken(on)) == 20
        assert "[Conversation summary]" not in on.ms.last.reading.system_text
        status = await ask(on, "/status full")
        assert "could not be written" in status.text
        on.ms.clear()
        on.ms.reply(SUMMARY, when=is_summary, times=None)
        done = await ask(on, "/compact 1")
        assert "became a summary" in done.text
        summaries = [call.reading.last_user_text for call in on.ms.calls if is_summary(call)]
        assert "user 0 x" in "".join(summaries), "also the messages that had been dropped"
        assert "could not be written" not in (await ask(on, "/status full")).text


async def test_compact_keeps_as_many_as_asked_and_is_billed(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    talk(on, 10)
    on.ms.reply(SUMMARY, when=is_summary)
    async with running(on):
        for wrong in ("/compact 0", "/compact 101", "/compact many"):
            assert "from 1 to 100" in (await ask(on, wrong)).text
        assert "The oldest 18 messages became a summary; the newest 4 stay" in (await ask(on, "/compact 4")).text
        assert "There is nothing to summarise" in (await ask(on, "/compact 50")).text
        await ask(on, "go on")
        assert len(spoken(on)) == 5
        await ask(on, "/retry")
        assert len(spoken(on)) == 5
    assert on.rows("select count(*) from usage where turn_id in (select turn_id from usage)") == [(4,)]


async def test_a_million_characters_and_a_small_model(on: BotHarness) -> None:
    serve(on, 8_000)
    async with running(on):
        await ask(on, "hello")
    talk(on, 100, "y" * 5_000)
    on.ms.reply(SUMMARY, when=is_summary, times=None)
    async with running(on):
        assert (await ask(on, "still there?")).text == "You said: still there?"
    assert sum(map(len, spoken(on))) < 0.8 * 8_000 * 3.5


@pytest.mark.parametrize(
    "phrase",
    [
        "Input exceeds maximum input length",
        "context_length_exceeded",
        "too many tokens in the prompt",
        "Request too large for this model",
        "Your input exceeds the context window of this model.",
    ],
)
async def test_an_overflow_that_the_provider_reports(on: BotHarness, phrase: str) -> None:
    serve(on, 32_000)
    async with running(on):
        await ask(on, "hello")
    talk(on, 1, "z" * 30_000)
    on.ms.fail(400, message=phrase)
    async with running(on):
        assert (await ask(on, "still there?")).text == "You said: still there?"
    assert len(on.ms.calls) == 3
    assert any("[EMERGENCY TRUNCATED: 30007 chars total" in text for text in spoken(on))
    kept = [str(row[0]) for row in on.rows("select text from messages where text like '%EMERGENCY%'")]
    assert len(kept) == 2
    assert all(len(text) <= 28_000 for text in kept)


async def test_a_lasting_overflow_is_reported_without_repeating_a_request(on: BotHarness) -> None:
    on.ms.fail(400, message="context_length_exceeded", times=None)
    async with running(on):
        answer = await ask(on, "hello")
    assert "too long for `openai/gpt-5.1`" in answer.text.replace("openai/gpt-5.1", "`openai/gpt-5.1`")
    assert len({call.raw for call in on.ms.calls}) == len(on.ms.calls) <= 3


async def test_a_stopped_summary_loses_no_messages(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    talk(on, 10)
    gate = on.ms.gate(when=is_summary)
    async with running(on):
        asked = on.tg.say("/compact 2")
        await gate.reached()
        on.tg.say("/stop")
        assert "Stopped" in (await on.tg.reply(asked, after=asked)).text
        await ask(on, "go on")
        assert len(spoken(on)) == 23
    assert on.rows("select * from summaries") == []


async def read_a_diary(on: BotHarness) -> None:
    """In a group with its owner; then a second question, so that everything can be summarised."""
    on.ms.call_tools([("write_file", {"path": "diary.txt", "content": "swordfish"})])
    on.ms.call_tools([("read_file", {"path": "diary.txt"})])
    on.ms.reply("I have read it.")
    await ask(on, "/access here on", group="Team")
    await pressed(on, ONCE, await card(on, "@tierbot read my diary", group="Team"))
    await ask(on, "@tierbot thanks", group="Team")


def repeats(request: ModelRequest) -> str:
    """A summary that repeats its input."""
    return "SUMMARY swordfish" if "swordfish" in json.dumps(request.body) else "SUMMARY without"


@pytest.mark.parametrize("sums_up", ["alice", "bob", "nobody asks for it"])
async def test_summaries_do_not_share_tool_results_with_other_people(on: BotHarness, sums_up: str) -> None:
    bob = on.tg.user("bob")
    on.ms.default = lambda request: repeats(request) if is_summary(request) else "fine"
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "/whoami", user=bob)
        await read_a_diary(on)
        if sums_up == "nobody asks for it":
            talk(on, 30, BIG)
            on.config["compaction"] = {"maxContextTokens": 20_000}
    on.change("update people set role = 'user' where role = 'guest'")  # guests of a group can't use /compact
    async with running(on):
        if sums_up == "nobody asks for it":
            await ask(on, "@tierbot go on", group="Team")
        else:
            user = bob if sums_up == "bob" else None
            await ask(on, f"/access role telegram:{bob.id} user")
            assert "became a summary" in (await ask(on, "/compact 1", user=user, group="Team")).text
        await ask(on, "@tierbot what did alice do?", user=bob, group="Team")
        assert "SUMMARY" in on.ms.last.reading.system_text
        assert "swordfish" not in json.dumps(on.ms.last.body)
        await ask(on, "/compact 1", group="Team")
        assert "swordfish" not in json.dumps(on.ms.last.body), "nor is it sent to the model again"


async def test_a_long_summary_stops_at_the_turns_budget(on: BotHarness) -> None:
    on.config |= {
        "turn": {"maxUsd": 0.01},
        "compaction": {"maxContextTokens": 11_000, "keepLastMessages": 2},
    }
    async with running(on):
        await ask(on, "hello")
    talk(on, 15, BIG * 2)
    on.ms.reply(SUMMARY, when=is_summary, usage=(1_000_000, 10), times=None)
    async with running(on):
        answer = await ask(on, "still there?")
        assert [is_summary(call) for call in on.ms.calls[1:]] == [True, False]
        assert answer.text.startswith("You said: still there?")
        assert "could not be summarised" in answer.text
        assert "$0.01" in answer.text
        status = await ask(on, "/status full")
        assert "The newest summary could not be written" in status.text
