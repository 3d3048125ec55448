"""Previews before the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from routing.errors import StorageFault
from routing.types.messages import InboundMessage
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.servers.telegram import Message, TelegramServer
from tests.servers.telegram.faults import Fault, Kind

FAILURES: tuple[Kind, ...] = ("server_error", "drop_before", "drop_after", "too_many", "forbidden", "bad_request")


async def ask(harness: TelegramHarness, text: str = "hm?", **where: Any) -> tuple[Message, InboundMessage]:
    message = harness.server.say(text, **where)
    return message, await harness.received(message)


async def test_a_quick_answer_costs_one_request() -> None:
    async with TelegramServer() as tg, running_platform(tg, pace={"typing_after": 5, "preview_after": 5}) as harness:
        message, inbound = await ask(harness)
        live = harness.live(inbound)
        await live.working()
        live.show("4")
        assert await live.close() == ""
        await harness.send(to(message.chat, "42"))
        assert tg.actions == []
        assert tg.drafts == []
        assert len(tg.calls("sendMessage")) == 1


async def test_typing_continues_until_the_end(tg: TelegramServer, harness: TelegramHarness) -> None:
    forum = tg.group("Forum", forum=True)
    topic = tg.topic(forum, "Cooking")
    _, inbound = await ask(harness, "@tierbot hm?", group=forum, topic=topic)
    live = harness.live(inbound)
    await live.working()
    await live.working()
    await tg.wait_for(lambda _: len(tg.actions) >= 3)
    assert {(action.action, action.thread_id) for action in tg.actions} == {("typing", topic.id)}
    await live.close()
    await asyncio.sleep(0)
    count = len(tg.actions)
    await tg.wait_for_change(0.3)
    assert len(tg.actions) == count


async def test_in_private_the_answer_is_streamed_into_one_draft(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness)
    live = harness.live(inbound)
    live.show("The **ans")
    await tg.wait_for(lambda _: len(tg.drafts) == 1)
    live.show("The **answer** i")
    live.show("The **answer** is")
    await tg.wait_for(lambda _: len(tg.drafts) == 2)
    assert [draft.text for draft in tg.drafts] == ["The ans", "The answer is"]
    assert tg.drafts[1].entities == [{"type": "bold", "offset": 4, "length": 6}]
    assert {draft.draft_id for draft in tg.drafts} == {message.id}
    assert tg.drafts[1].at - tg.drafts[0].at > 0.045
    assert await live.close() == ""
    assert harness.placeholders == []
    assert message.chat.from_bot() == []


async def test_a_draft_is_renewed_before_it_expires(tg: TelegramServer, harness: TelegramHarness) -> None:
    _, inbound = await ask(harness)
    live = harness.live(inbound)
    live.show("thinking hard")
    await tg.wait_for(lambda _: len(tg.drafts) == 3)
    assert {draft.text for draft in tg.drafts} == {"thinking hard"}
    await live.close()


async def test_a_failed_renewal_is_not_repeated_at_once() -> None:
    async with (
        TelegramServer() as tg,
        running_platform(tg, pace={"draft_refresh": 0.05, "private_gap": 0.2}) as harness,
    ):
        _, inbound = await ask(harness)
        live = harness.live(inbound)
        live.show("thinking hard")
        await tg.wait_for(lambda _: len(tg.drafts) == 1)
        fault = tg.fault("sendMessageDraft", "server_error", times=2)
        await tg.wait_for(lambda _: len(tg.drafts) == 2)
        calls = tg.calls("sendMessageDraft")
        assert fault.hits == 2
        assert calls[3].at - calls[1].at > 0.2
        await live.close()


async def test_refused_drafts_are_replaced_by_edits(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.fault("sendMessageDraft", "bad_request", times=None)
    message, inbound = await ask(harness)
    live = harness.live(inbound)
    live.show("one")
    shown = await tg.reply()
    live.show("one two")
    await tg.wait_for(lambda _: shown.text == "one two")
    assert await live.close() == str(shown.id)
    assert harness.placeholders == [str(shown.id)]
    await harness.send(to(message.chat, "one two three", edits=str(shown.id)))
    assert [version.text for version in shown.versions] == ["one …", "one two", "one two three"]
    again = harness.live(inbound)
    again.show("second turn")
    await tg.reply()
    await again.close()
    assert len(tg.calls("sendMessageDraft")) == 1


async def test_in_a_group_a_message_is_stored_then_edited(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness, "@tierbot hm?", group="Team")
    live = harness.live(inbound)
    live.show("one")
    shown = await tg.reply(message)
    assert shown.reply_to is message
    await tg.wait_for(lambda _: harness.placeholders == [str(shown.id)])
    live.show("one two")
    await tg.wait_for(lambda _: shown.text == "one two")
    live.show("one two")
    assert await live.close() == str(shown.id)
    await harness.send(to(message.chat, "one two", edits=str(shown.id)))
    assert len(shown.versions) == 2
    assert len(tg.calls("editMessageText")) == 1
    assert tg.drafts == []


async def test_a_given_placeholder_is_continued(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness)
    shown = tg.add_message(message.chat, tg.bot, "half an")
    live = harness.live(inbound, str(shown.id))
    live.show("half an answer")
    await tg.wait_for(lambda _: shown.text == "half an answer")
    assert await live.close() == str(shown.id)
    assert tg.drafts == []
    assert harness.placeholders == []
    assert await harness.live(inbound, "99").close() == "99"


async def test_a_preview_on_its_way_arrives_before_the_final_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness, "@tierbot hm?", group="Team")
    live = harness.live(inbound)
    tg.fault("sendMessage", "slow", seconds=0.2)
    live.show("half")
    shown = await tg.reply(message)
    assert await live.close() == str(shown.id) == harness.placeholders[0]


async def test_without_streaming_there_is_only_typing(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness)
    live = harness.platform.live(inbound, "", False, harness.keep)
    await live.working()
    live.show("one")
    await tg.wait_for(lambda _: len(tg.actions) >= 2)
    await live.close()
    assert tg.drafts == []
    assert message.chat.from_bot() == []


def once(fault: Fault) -> Callable[[object], bool]:
    return lambda _: fault.hits == 1


async def test_a_failing_preview_does_not_affect_the_final_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    for kind in FAILURES:
        message, inbound = await ask(harness, "@tierbot hm?", group=f"Team {kind}")
        tg.fault("sendChatAction", kind)
        fault = tg.fault("sendMessage", kind)
        live = harness.live(inbound)
        await live.working()
        live.show("half")
        await tg.wait_for(once(fault))
        placeholder = await live.close()
        if kind != "too_many":
            await harness.send(to(message.chat, "whole", edits=placeholder))
            await tg.reply(message, matching="whole")


async def test_a_429_on_an_edit_pauses_the_chat(tg: TelegramServer, harness: TelegramHarness) -> None:
    message, inbound = await ask(harness, "@tierbot hm?", group="Team")
    live = harness.live(inbound)
    await live.working()
    live.show("one")
    shown = await tg.reply(message)
    fault = tg.fault("editMessageText", "too_many", retry_after=1)
    live.show("one two")
    await tg.wait_for(lambda _: fault.hits == 1)
    live.show("one two three")
    refused = tg.calls("editMessageText")[0].at
    await tg.wait_for(lambda _: shown.text == "one two three")
    assert shown.versions[-1].at - refused >= 1
    paused = [action for action in tg.actions if refused < action.at < refused + 0.98]
    assert len(paused) <= 1, "one may be on its way, and there would be nine"
    await live.close()


async def test_a_preview_deleted_by_someone_is_replaced_by_a_new_message(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    message, inbound = await ask(harness, "@tierbot hm?", group="Team")
    live = harness.live(inbound)
    live.show("one")
    shown = await tg.reply(message)
    shown.deleted = True
    live.show("one two")
    await tg.wait_for(lambda _: [call.status for call in tg.calls("editMessageText")] == [400])
    assert await live.close() == ""
    await harness.send(to(message.chat, "one two three"))
    await tg.reply(message, matching="three")


async def test_a_failure_to_store_the_placeholder_does_not_reach_the_turn() -> None:
    async def keep(message_id: str) -> None:
        raise StorageFault("disk full")

    async with TelegramServer() as tg, running_platform(tg) as harness:
        message, inbound = await ask(harness, "@tierbot hm?", group="Team")
        live = harness.platform.live(inbound, "", True, keep)
        live.show("one")
        shown = await tg.reply(message)
        live.show("one two")
        assert await live.close() == str(shown.id)


async def test_a_press_is_acknowledged_exactly_once(tg: TelegramServer, harness: TelegramHarness) -> None:
    message = tg.add_message(tg.private(), tg.bot, "choose")
    tg.revise(message, "choose", [], {"inline_keyboard": [[{"text": "Smart", "callback_data": "t:7:0.0"}]]})
    first, second, old = (tg.press("Smart") for _ in range(3))
    await harness.until(3)
    tg.expire(old)
    live = harness.live(harness.accepted[0])
    await live.acknowledge("👍" * 150)
    await live.acknowledge("again")
    await live.close()
    answer = await tg.answered(first)
    assert answer["text"].startswith("👍👍")
    assert answer["text"].endswith("…")
    await harness.live(harness.accepted[1]).close()
    assert await tg.answered(second) == {}
    await harness.live(harness.accepted[2]).close()
    await tg.wait_for(lambda _: len(tg.calls("answerCallbackQuery")) == 3)


async def test_the_real_pacing_stays_below_the_real_limits() -> None:
    real = {"preview_after": 0.1, "private_gap": 1.0, "group_gap": 3.0}
    async with (
        TelegramServer(flood=True) as tg,
        running_platform(tg, flood_limit="30/s,1/s per chat,20/min per group", pace=real) as harness,
    ):
        tg.fault("sendMessageDraft", "bad_request", times=None)
        message, inbound = await ask(harness)
        live = harness.live(inbound)
        text = ""
        for _ in range(30):
            text += "more words "
            live.show(text)
            await tg.wait_for_change(0.1)
        placeholder = await live.close()
        await harness.send(to(message.chat, text + "the end", edits=placeholder))
        assert message.chat.from_bot()[0].text.endswith("the end")
        assert [call.method for call in tg.refusals] == ["sendMessageDraft"]
