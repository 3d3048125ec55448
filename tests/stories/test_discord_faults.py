"""Discord drops an interaction, rate-limits, or refuses a message: the answer still arrives once, for the right
person."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bot.adapters.discord.outbound import TOO_LATE_FOR_ONE
from bot.adapters.discord.parts import RECOVERED
from handlers.languages import Say
from tests.servers.discord import DiscordServer, Fault, Interaction, User
from tests.servers.discord.faults import Kind
from tests.servers.model import Gate
from tests.stories.discord_bot import CALLBACK, SEND, SENDING, hurried, mention, shown, texts, up
from tests.stories.harness import BotHarness, running, settled

pytestmark = pytest.mark.usefixtures("open_access")

__all__ = ["hurried"]
TOO_LATE = 901.0


async def retried(on: BotHarness, dc: DiscordServer, answer: str, after: int = 0) -> tuple[Interaction, Gate]:
    """Asks a question again with /retry in the channel; the answer pauses after this many pieces."""
    on.ms.reply("One answer.")
    await mention(dc, "hm?")
    gate = on.ms.reply(answer, chunks=4, gate_after=after)
    asked = dc.slash("retry", where="general")
    await gate.reached(60.0)
    return asked, gate


async def test_an_answer_after_token_expiry_goes_to_the_channel(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on, dc.now) as app:
        await up(dc, app)
        asked, gate = await retried(on, dc, "Another answer.")
        await dc.answered(asked)
        dc.advance(TOO_LATE)
        gate.open()
        await dc.wait_for(lambda _: texts(dc.channel()) == ["One answer.", "Another answer."])
    assert shown(asked) == []
    assert asked.message is not None
    assert asked.message.loading, "Discord ends the indicator by itself"
    assert dc.refusals == [], "an expired token is not tried"


async def test_a_started_answer_continues_in_its_message(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on, dc.now) as app:
        await up(dc, app)
        asked, gate = await retried(on, dc, "Another answer, and a long one.", after=2)
        await dc.wait_for(lambda _: shown(asked))
        dc.advance(TOO_LATE)
        gate.open()
        await dc.wait_for(lambda _: shown(asked) == ["Another answer, and a long one."])
    assert texts(dc.channel()) == ["One answer.", "Another answer, and a long one."]


async def late(on: BotHarness, dc: DiscordServer, who: User) -> tuple[Interaction, Fault]:
    """A command with an ephemeral answer that can't be given for a quarter of an hour."""
    away = dc.fault("PATCH /webhooks/**", "server_error", status=503, times=None)
    asked = dc.slash("tier", where="general", user=who)
    await dc.wait_for(lambda _: away.hits)
    dc.advance(TOO_LATE)
    return asked, away


async def test_a_late_private_answer_goes_to_its_person(on: BotHarness, dc: DiscordServer) -> None:
    bea = dc.user("bea")
    async with running(on, dc.now) as app:
        await up(dc, app)
        asked, away = await late(on, dc, bea)
    away.clear()
    async with running(on, dc.now) as app:  # the recipient is still known
        await up(dc, app)
        answer = await dc.reply(bea)
        await settled(on)
    assert answer.text.startswith("Tier: balanced")
    assert not answer.buttons, "buttons belong to the original message"
    assert shown(asked) == texts(dc.channel()) == []
    assert len(texts(dc.dm(bea))) == 1


async def test_people_without_direct_messages_are_told_to_ask_again(on: BotHarness, dc: DiscordServer) -> None:
    bea = dc.user("bea", locale="de")
    dc.close_dms(bea)
    async with running(on, dc.now) as app:
        await up(dc, app)
        asked, away = await late(on, dc, bea)
        away.clear()
        reply = await dc.reply("general")
        await settled(on)
    assert reply.text == f"{bea.mention} {Say('de')(TOO_LATE_FOR_ONE)}"
    assert not reply.pings
    assert shown(asked) == texts(dc.dm(bea)) == []
    assert len(texts(dc.channel())) == 1
    assert on.rows("SELECT state FROM outbox") == [("sent",)], "this is no failure to report to the owner"


@pytest.mark.parametrize("command", ["retry", "tier"])
async def test_an_unknown_interaction_is_still_answered(
    on: BotHarness, dc: DiscordServer, caplog: pytest.LogCaptureFixture, command: str
) -> None:
    """The deferral came too late: a public answer goes to the channel, an ephemeral one to its person."""
    on.ms.reply("One answer.")
    on.ms.reply("Another answer.")
    async with running(on) as app:
        await up(dc, app)
        await mention(dc, "hm?")
        dc.fault(CALLBACK, "refuse", status=404, code=10062, text="Unknown interaction")
        asked = dc.slash(command, where="general")
        answer = await dc.reply("general" if command == "retry" else None)
        await settled(on)
    assert answer.text.startswith("Another answer." if command == "retry" else "Tier: balanced")
    assert asked.answers == []
    assert len(texts(dc.channel())) + len(texts(dc.dm())) == 2
    assert caplog.text.count("acknowledged too late") == 1
    assert len(dc.calls("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/@original")) <= 1


@pytest.mark.parametrize("kind", ["rate_limit", "rate_limit_global"])
async def test_each_429_costs_one_call_and_keeps_the_order(on: BotHarness, dc: DiscordServer, kind: Kind) -> None:
    """A long answer and the next question: each refused call is repeated once when allowed."""
    pieces = [f"part {number} " + "and so on " * 150 for number in range(3)]
    on.ms.reply("\n\n".join(pieces))
    on.ms.reply("The second answer.")
    async with running(on) as app:
        await up(dc, app)
        fault = dc.fault(SEND, kind, times=3, retry_after=0.3)
        dc.say("first", channel="general", mention=True)
        dc.say("second", channel="general", mention=True)
        await dc.wait_for(lambda _: texts(dc.channel())[-1:] == ["The second answer."])
        await settled(on)
    assert [text[:6] for text in texts(dc.channel())] == ["part 0", "part 1", "part 2", "The se"]
    calls = dc.calls("POST", SENDING)
    assert fault.hits == 3
    assert len(calls) == 3 + 4
    waits = [after.at - before.at for before, after in pairwise(calls) if before.refused]
    assert min(waits) >= 0.29


async def test_streaming_waits_out_rate_limits(on: BotHarness, dc: DiscordServer, hurried: None) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("count", channel="general", mention=True)
        await gate.reached(60.0)
        half = await dc.reply(message, after=message)
        fault = dc.fault("PATCH /channels/*/messages/*", "rate_limit", times=2, retry_after=0.3)
        gate.open()
        await dc.wait_for(lambda _: half.text == "one two three four")
        await settled(on)
    assert fault.hits == 2
    assert texts(message.channel) == ["one two three four"]
    assert len(dc.calls("PATCH")) <= 4, "the final text, perhaps a preview, and the two that were refused"


@pytest.mark.parametrize("again", [False, True])
async def test_a_retry_button_works_after_a_restart(on: BotHarness, dc: DiscordServer, again: bool) -> None:
    on.ms.fail(400, None, "no such thing")
    async with running(on) as app:
        await up(dc, app)
        failed = await mention(dc, "hm?")
        assert failed.buttons[0]["label"] == "🔁 Retry"
    gate = on.ms.reply("Now it works.", chunks=4, gate_after=2)
    async with running(on) as app:
        await up(dc, app)
        pressed = await dc.answered(dc.press(failed, "🔁 Retry"))
        await gate.reached(60.0)
        if again:
            dc.redeliver(pressed)
        gate.open()
        await dc.reply("general", matching="Now it works.")
        await settled(on)
    assert pressed.response is not None
    assert pressed.response.type == 6
    assert texts(dc.channel()).count("Now it works.") == 1
    assert len(on.ms.calls) == 2
    assert failed.text == texts(dc.channel())[0]
    assert failed.buttons == [], "the message remains without its button"


async def test_a_global_rate_limit_longer_than_a_preview_ends(
    on: BotHarness, dc: DiscordServer, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preview being sent is given up before the limit ends; everyone else waits for the same limit."""
    for module in ("adapters.shared.streaming", "adapters.discord.live"):
        monkeypatch.setattr(f"bot.{module}.CLOSE_SECONDS", 0.3)
    gate = on.ms.reply(" ".join(f"w{number}" for number in range(60)), chunks=12, gate_after=6)
    async with running(on) as app:
        await up(dc, app)
        fault = dc.fault(SEND, "rate_limit_global", retry_after=2)
        dc.say("count", channel="general", mention=True)
        await gate.reached(60.0)
        await dc.wait_for(lambda _: fault.hits)
        gate.open()
        other = dc.say("and I?", user="bob")
        await dc.wait_for(lambda _: texts(dc.channel()) and texts(dc.channel())[0].endswith("w59"))
        assert (await dc.reply(other, after=other)).text == "You said: and I?"
        await settled(on)
    assert fault.hits == 1
    assert len(texts(dc.channel())) == 1


async def test_without_file_permission_a_very_long_answer_is_text(on: BotHarness, dc: DiscordServer) -> None:
    whole = [f"paragraph {number} " + "word " * 60 for number in range(60)]
    on.ms.reply("\n\n".join(whole))
    dc.forbid("general", "attach_files")
    async with running(on) as app:
        await up(dc, app)
        dc.say("hm?", channel="general", mention=True, user="bob")
        await dc.wait_for(lambda _: "paragraph 59" in "".join(texts(dc.channel())))
        await settled(on)
    text = "\n\n".join(texts(dc.channel()))
    assert [part.strip() for part in text.split("\n\n")] == [part.strip() for part in whole]


async def test_a_follow_up_with_a_lost_response_is_repeated_with_a_mark(
    on: BotHarness, dc: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no nonce, so a possible duplicate is marked."""
    monkeypatch.setattr("bot.adapters.shared.outbound.AMBIGUOUS_SECONDS", 0.1)
    on.ms.reply("One answer.")
    async with running(on) as app:
        await up(dc, app)
        await mention(dc, "hm?")
        on.ms.reply("\n\n".join(f"paragraph {number} " + "word " * 60 for number in range(12)))
        lost = dc.fault("POST /webhooks/*/*", "error_after")
        asked = dc.slash("retry", where="general")
        await dc.wait_for(lambda _: any("paragraph 11" in text for text in shown(asked)))
        await settled(on)
    answers = shown(asked)
    assert lost.hits == 1
    assert len(set(answers)) == len(answers)
    again = [text for text in answers if text.startswith(RECOVERED)]
    assert len(again) == 1
    assert again[0].removeprefix(RECOVERED).strip() in answers, "the others came once, unmarked"
